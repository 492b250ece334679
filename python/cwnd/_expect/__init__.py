"""Expectations over runs: what a scenario's `[[expect]]` tables ask for, decided on its results."""
