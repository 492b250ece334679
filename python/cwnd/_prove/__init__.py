"""Proofs about the hooks of a header: bytecode as expressions, questions, the solver, verdicts."""
