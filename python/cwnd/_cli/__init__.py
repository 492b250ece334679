"""The command `cwnd`, a file for each command: it reads flags, calls, prints."""
