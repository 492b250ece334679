"""`cwnd advise`."""

from __future__ import annotations

import click

from cwnd import advise
from cwnd._cli.options import flag_errors, read_number
from cwnd._cli.progress import progress_bar


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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def advise_command(
    path: str | None,
    trace: str | None,
    ccas: tuple[str, ...],
    flows: str | None,
    seed: str,
    jobs: str,
    as_json: bool,
    **given: str,
) -> None:
    """Run the candidates on a path, with competition and after the start-up, and say which one to use.

    The path is in flags, in a scenario FILE, or in a trace of real connections.

    \b
    cwnd advise --rate 2Gbps --rtt 80ms --loss 0.01% --beside cubic:4
    cwnd advise --rate 20Mbps --rtt 30ms --buffer 500ms --goal latency
    cwnd advise --from traced
    cwnd advise --from slow.pcap
    """
    with flag_errors(), progress_bar() as progress:
        advice = advise(
            path,
            trace=trace,
            ccas=list(ccas) or None,
            flows=None if flows is None else read_number(flows),
            seed=read_number(seed),
            jobs=read_number(jobs),
            progress=progress,
            **given,
        )
    click.echo(advice.to_json() if as_json else str(advice))
