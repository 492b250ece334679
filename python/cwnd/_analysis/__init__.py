"""Questions about results: verdicts of a gate, models beside simulations, tuning."""
