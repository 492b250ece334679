"""Proofs about the hooks of a header: its bytecode as expressions, the questions, the solver, the verdicts."""
