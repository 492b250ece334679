"""The question: scenarios, the registry of algorithms, algorithms written in Python."""
