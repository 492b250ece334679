"""Conformance: clauses of RFCs and drafts as cases, run on an algorithm."""
