"""`cwnd advise`."""

from __future__ import annotations

import sys

import click

from cwnd import Advice, advise
from cwnd._cli.options import flag_errors, read_number, read_numbers
from cwnd._cli.progress import progress_bar
from cwnd._common.errors import one_line


@click.command("advise")
@click.argument("path", required=False, metavar="[FILE]")
@click.option(
    "--from",
    "trace",
    metavar="PATH",
    help="Estimate the path from a 'cwnd kernel trace --out PATH', or a file that 'cwnd explain' takes.",
)
@click.option("--rate", metavar="RATE", help="Rate of the bottleneck, such as 2Gbps.")
@click.option("--rtt", metavar="TIME", help="Round-trip time without a queue, such as 80ms.")
@click.option("--loss", metavar="P", help="Random losses, such as 0.01%.  [0]")
@click.option(
    "--buffer", metavar="SIZE", help="Buffer of the bottleneck: packets, 2BDP, 64KiB, 50ms.  [1BDP]"
)
@click.option("--queue", metavar="NAME", help="Queue of the bottleneck, such as fq-codel.  [droptail]")
@click.option("--jitter", metavar="TIME", help="Standard deviation of the delay.  [none]")
@click.option("--flows", metavar="N", help="Flows that the advice is for.  [4]")
@click.option("--beside", metavar="NAME:N", help="Flows that share the path, or none.  [cubic, as many]")
@click.option(
    "--goal", metavar="NAME", default="throughput", help="throughput, latency or fairness.  [throughput]"
)
@click.option("--present", metavar="NAME", default="cubic", help="The algorithm in use.  [cubic]")
@click.option(
    "--cca", "ccas", multiple=True, metavar="NAME", help="A candidate; repeatable.  [all that a kernel runs]"
)
@click.option("--seed", metavar="N", default="1", help="Of the runs, and of the paths near this one.  [1]")
@click.option("--jobs", metavar="N", default="0", help="Number of runs at a time.  [one per core]")
@click.option("--now", metavar="RATE", help="What a connection has today, such as 900Mbps.")
@click.option("--quick", is_flag=True, help="A quarter of the time, with wider intervals.")
@click.option(
    "--files",
    metavar="DIR",
    help="Write the settings to DIR: for sysctl.d, a unit of systemd, and what undoes them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def advise_command(
    path: str | None,
    trace: str | None,
    ccas: tuple[str, ...],
    flows: str | None,
    seed: str,
    jobs: str,
    quick: bool,
    files: str | None,
    as_json: bool,
    **given: str | None,
) -> None:
    """Say what limits on a path today, run the candidates there, and say which one to use.

    The limit of today is arithmetic, and printed at once. The candidates run with competition and after the
    start-up.

    The path is in flags, in a scenario FILE, or in a trace of real connections.

    \b
    cwnd advise --rate 10gbit --rtt 150ms --now 900mbit
    cwnd advise --rate 2Gbps --rtt 80ms --loss 0.01% --beside cubic:4
    cwnd advise --rate 20Mbps --rtt 30ms --buffer 500ms --goal latency
    cwnd advise --from traced
    cwnd advise --from slow.pcap
    cwnd advise --rate 10gbit --rtt 150ms --files settings
    """
    said: list[str] = []

    def tell(sentence: str) -> None:
        """The limit of today goes to the answer, the time that it takes to standard error."""
        if sentence.startswith("Simulating"):
            click.echo(f"cwnd: {sentence[0].lower()}{sentence[1:]}", err=True)
        elif not as_json:
            said.append(sentence)
            click.echo(sentence)
            sys.stdout.flush()

    with flag_errors(), progress_bar(lines="advise") as progress:
        advice = advise(
            path,
            trace=trace,
            ccas=list(ccas) or None,
            flows=None if flows is None else read_number(flows),
            seed=read_number(seed),
            jobs=read_number(jobs),
            quick=quick,
            files=files,
            told=tell,
            progress=progress,
            **read_numbers({name: value for name, value in given.items() if value is not None}),
        )
    if as_json:
        click.echo(advice.to_json())
        return
    click.echo(str(advice).removeprefix("".join(f"{one}\n" for one in said)))
    if files is not None:
        _show_files(advice, files)


def _show_files(advice: Advice, folder: str) -> None:
    """Prints how the files are applied and undone."""
    files = advice.files
    if not files.content:
        click.echo("\nThere is nothing to set: no files are written.")
        return
    click.echo(f"\nIn {one_line(folder)}: {', '.join(files.content)}; DEV is the device.")
    for step, lines in (("Apply", files.apply), ("Undo", files.undo)):
        click.echo("\n".join([f"{step}, as root:", *(f"  {line}" for line in lines)]))
