"""Which algorithm for a path: the path, the candidates, what they do there, the choice, the answer."""
