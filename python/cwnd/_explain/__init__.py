"""Packet captures explained: what limited each connection, and what to do."""
