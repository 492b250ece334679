"""``python -m cwnd`` is the command ``cwnd``."""

from cwnd._cli.main import main

main()
