"""`cwnd gate`."""

from __future__ import annotations

from pathlib import Path

import click

from cwnd import Gate, KnownCases, Results, gate, gate_attacks
from cwnd._analysis.gate import read_share, read_thresholds
from cwnd._cli.options import errors_about, flag_errors, read_cca
from cwnd._common.errors import one_line, os_error
from cwnd._common.files import write_file
from cwnd._common.metrics import read_metric


@click.command("gate")
@click.argument("baseline", metavar="BASELINE")
@click.argument("candidate", metavar="CANDIDATE")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME[=SHARE]",
    help="Metric to compare, and the largest accepted change for the worse; repeatable.  [throughput_mbps]",
)
@click.option("--margin", metavar="SHARE", default="2%", help="That change for a --metric without one.  [2%]")
@click.option("--thresholds", metavar="FILE", help="TOML with a table [margins] of metrics and shares.")
@click.option(
    "--attacks",
    metavar="DIR",
    help="Judge two algorithms on the worst cases that 'cwnd attack' wrote there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the lines.")
@click.option("--junit", metavar="FILE", help="Also write JUnit's XML, which CI services show.")
@click.option("--markdown", metavar="FILE", help="Also write a summary in Markdown.")
def gate_command(
    baseline: str,
    candidate: str,
    metrics: tuple[str, ...],
    margin: str,
    thresholds: str | None,
    attacks: str | None,
    as_json: bool,
    junit: str | None,
    markdown: str | None,
) -> None:
    """Compare two results point by point on the same seeds: one line each; exit 1 unless all are ok.

    A --metric replaces that of --thresholds.
    With --attacks both are algorithms: a NAME, FILE.h or FILE.py:CLASS.

    \b
    cwnd gate before after --metric goodput_mbps=2% --metric p95_rtt_ms=5%
    cwnd gate --attacks found cubic mine.h
    cwnd gate before after --thresholds gate.toml --junit gate.xml --markdown gate.md
    """
    if attacks is not None:
        _gate_attacks(attacks, baseline, candidate, as_json)
        return
    margins: dict[str, float] = {}
    if thresholds is not None:
        with errors_about("--thresholds"):
            margins.update(read_thresholds(thresholds))
    default = read_share("--margin", margin)
    for written in metrics if metrics or margins else ("throughput_mbps",):
        given, equals, share = written.partition("=")
        name = read_metric("--metric", given)
        margins[name] = read_share(f"--metric {one_line(given)}", share) if equals else default
    with flag_errors():
        outcome = gate(Results.load(baseline), Results.load(candidate), margins)
    for file, text in ((junit, outcome.to_junit), (markdown, outcome.to_markdown)):
        if file is not None:
            try:
                write_file(Path(file), text().encode())
            except OSError as failed:
                raise os_error(one_line(file), failed) from None
    _show(outcome, as_json)


def _gate_attacks(found: str, baseline: str, candidate: str, as_json: bool) -> None:
    with flag_errors():
        outcome = gate_attacks(found, read_cca(baseline, "BASELINE"), read_cca(candidate, "CANDIDATE"))
    _show(outcome, as_json)


def _show(outcome: Gate | KnownCases, as_json: bool) -> None:
    """Prints the verdicts; exit 1 if one of them is a failure."""
    if as_json:
        click.echo(outcome.to_json())
    else:
        for line in outcome.lines:
            click.echo(line)
    if not outcome.ok:
        raise click.exceptions.Exit(1)
