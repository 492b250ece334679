"""Figures and the page of a result; they read tables and compute nothing that `_results` has."""
