"""Papers re-run: their experiments, claims, verdicts and figures."""
