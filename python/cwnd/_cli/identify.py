"""`cwnd identify`."""

from __future__ import annotations

import click

from cwnd import identify
from cwnd._cli.answers import print_answers, texts_of
from cwnd._cli.options import flag_errors, read_number


@click.command("identify")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--connection", metavar="N", help="Only the connection with this number.  [all]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file.")
def identify_command(files: tuple[str, ...], connection: str | None, as_json: bool) -> None:
    """Say which congestion control algorithm each connection of a packet capture has.

    FILE is a pcap or pcapng, as it is or in gzip, xz or zstd; - is standard input.

    \b
    cwnd identify slow.pcap
    cwnd identify slow.pcap --connection 2 --json
    """
    with flag_errors():
        number = None if connection is None else read_number(connection)
        # All are read before the first is printed: an error of one leaves no half answer.
        all_identified = [identify(name) for name in files]
        texts = texts_of(all_identified, number, as_json)
    print_answers(files, texts, as_json)
