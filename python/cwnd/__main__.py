"""``python -m cwnd`` is the command ``cwnd``."""

from cwnd.cli import main

main()
