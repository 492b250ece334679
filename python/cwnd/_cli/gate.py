"""`cwnd gate`."""

from __future__ import annotations

import re

import click

from cwnd import Results
from cwnd._analysis.gate import gate
from cwnd._cli.options import flag_errors
from cwnd._common.errors import error, one_line


@click.command("gate", short_help="Check that a result is no worse than another; exit 1 if it is.")
@click.argument("baseline", metavar="BASELINE")
@click.argument("candidate", metavar="CANDIDATE")
@click.option("--metric", metavar="NAME", default="throughput", help="Metric to compare.  [throughput]")
@click.option("--margin", metavar="SHARE", default="2%", help="Largest accepted change for the worse.  [2%]")
def gate_command(baseline: str, candidate: str, metric: str, margin: str) -> None:
    """Compare two results point by point on the same seeds: one line each; exit 1 unless all are ok."""
    written = re.fullmatch(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(%?)\s*", margin)
    try:
        share = float(written[1]) / (100 if written[2] else 1) if written else None
    except ValueError:
        share = None
    if share is None:
        raise error("--margin", f"'{one_line(margin)}' is not a share, such as 2% or 0.02")

    with flag_errors():
        verdicts = gate(Results.load(baseline), Results.load(candidate), metric, share)
    for verdict in verdicts:
        click.echo(verdict.line)
    if not all(verdict.ok for verdict in verdicts):
        raise click.exceptions.Exit(1)
