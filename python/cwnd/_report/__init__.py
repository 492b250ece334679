"""Figures and the page of a result; they read tables and compute no metric that `_results` has."""
