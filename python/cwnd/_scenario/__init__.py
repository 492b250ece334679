"""Scenarios, the registry of algorithms, and algorithms written in Python."""
