"""`cwnd explain`."""

from __future__ import annotations

import click

from cwnd import explain
from cwnd._cli.answers import print_answers, texts_of
from cwnd._cli.options import flag_errors, read_number
from cwnd._common.errors import error


@click.command("explain")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--connection", metavar="N", help="Explain the connection with this number.  [most bytes]")
@click.option("--anonymous", is_flag=True, help="Replace addresses by 10.0.0.1, 10.0.0.2, ...")
@click.option(
    "--out", metavar="PATH", help="Also write PATH.html with plots, or a directory with scenarios, too."
)
@click.option("--cca", metavar="NAME", help="The sender's algorithm.  [as the evidence says, or cubic]")
@click.option(
    "--with", "others", metavar="NAMES", help="Say what these would have had, such as bbr3,elastic."
)
@click.option("--jobs", metavar="N", default="0", help="Runs at a time, for --with.  [one per core]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file.")
def explain_command(
    files: tuple[str, ...],
    connection: str | None,
    anonymous: bool,
    out: str | None,
    cca: str | None,
    others: str | None,
    jobs: str,
    as_json: bool,
) -> None:
    """Say what limited each connection of a packet capture, or of other evidence, and what to do.

    FILE is a pcap or pcapng, as it is or in gzip, xz or zstd; text of 'ss -ti'; JSON of iperf3, flent, qlog;
    the directory of a 'cwnd kernel trace'. - is standard input.

    \b
    cwnd explain slow.pcap
    cwnd explain slow.pcap --out slow.html
    cwnd explain slow.pcap --cca cubic --with bbr3,elastic
    cwnd explain slow.pcap --out slow && cwnd run slow/app.toml --cca bbr3
    tcpdump -i eth0 -s 128 -c 100000 -w - tcp | cwnd explain -
    cwnd explain slow.pcap.gz --json --anonymous
    """
    with flag_errors():
        number = None if connection is None else read_number(connection)
        if out is not None and len(files) > 1:
            raise error("out", f"takes the answer about one FILE, not {len(files)}")
        # All are read before the first is printed: an error of one leaves no half answer.
        all_explained = [
            explain(
                name,
                anonymous=anonymous,
                connection=number,
                out=out,
                present=cca,
                ccas=[] if others is None else [one.strip() for one in others.split(",")],
                jobs=read_number(jobs),
            )
            for name in files
        ]
        texts = texts_of(all_explained, number, as_json)
    print_answers(files, texts, as_json)
    for one in all_explained:
        if one.written and not as_json:
            click.echo("\n" + "\n".join(one.written))
