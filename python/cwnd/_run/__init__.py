"""Runs of scenarios and sweeps, and the directory of a sweep."""
