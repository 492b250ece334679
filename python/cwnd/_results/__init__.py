"""Results: tables, metrics, the directory of a result and its manifest."""
