"""Evaluation of an algorithm against RFC 9743 and the suites that it is measured with."""
