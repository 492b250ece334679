"""Worst cases: paths on which an algorithm fails and another one does not, searched, made small and shown."""
