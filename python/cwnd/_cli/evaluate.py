"""`cwnd evaluate`."""

from __future__ import annotations

import sys

import click

from cwnd import Error, Evaluation, evaluate
from cwnd._cli.options import read_cca, read_number, read_params
from cwnd._cli.progress import show_progress
from cwnd._cli.tables import new_table, open_console
from cwnd._common.errors import about, error, one_line
from cwnd._evaluate.report import summary, tally
from cwnd._scenario.scenario import cca_name


@click.command("evaluate")
@click.argument("cca", metavar="CCA")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter of the algorithm.")
@click.option("--baseline", metavar="CCA", default="cubic", help="Algorithm to compare with.  [cubic]")
@click.option("--only", metavar="IDS", help="Only these criteria, such as harm,starvation.")
@click.option("--quick", is_flag=True, help="Fewer scenarios: under a minute instead of many.")
@click.option("--seeds", metavar="N", default="10", help="Seeds of each scenario.  [10]")
@click.option("--jobs", metavar="N", default="0", help="Number of runs at a time.  [one per core]")
@click.option("--on", "world", default="sim", metavar="WORLD", help="Where to run, as for 'cwnd run'.  [sim]")
@click.option("--attacks", metavar="DIR", help="Show the worst cases that 'cwnd attack CCA' wrote there.")
@click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://127.0.0.1:8786.")
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    help="Directory of runs and reports; repeat the command to continue.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def evaluate_command(
    cca: str,
    params: tuple[str, ...],
    baseline: str,
    only: str | None,
    quick: bool,
    seeds: str,
    jobs: str,
    world: str,
    attacks: str | None,
    dask: str | None,
    out: str,
    as_json: bool,
) -> None:
    """Judge an algorithm, a NAME, FILE.h or FILE.py:CLASS, by every criterion of RFC 9743 that can be run.

    \b
    cwnd evaluate elastic --quick --out evaluation
    cwnd evaluate mine.py:Mine --only harm,starvation --out evaluation
    """
    candidate, other = read_cca(cca, "CCA"), read_cca(baseline, "--baseline")
    name = cca_name(candidate)
    try:
        with show_progress(out, "evaluating") as seen:
            evaluation = evaluate(
                candidate,
                params=read_params([name], params)[name],
                baseline=other,
                only=[] if only is None else [part.strip() for part in only.split(",") if part.strip()],
                quick=quick,
                seeds=read_number(seeds),
                jobs=read_number(jobs),
                attacks=attacks,
                dask=dask,
                world=world,
                out=out,
                progress=seen,
                command=["cwnd", *sys.argv[1:]],
            )
    except Error as refused:
        key, reason = about(refused)
        if key == "--cca":  # here it is no flag
            raise error("CCA", reason) from None
        raise
    for failure in evaluation.failures:
        print(f"cwnd: failed: {failure}", file=sys.stderr)
    if as_json:
        click.echo(evaluation.to_json(), nl=False)
    else:
        _print_evaluation(evaluation, out)
    if evaluation.failures:
        raise click.exceptions.Exit(1)


def _print_evaluation(evaluation: Evaluation, out: str) -> None:
    table = new_table("criterion", "verdict", "level", "because of", "section")
    for one in evaluation.judged:
        table.add_row(
            one.criterion.id, one.verdict, one.criterion.level, one_line(tally(one)), one.criterion.section
        )
    open_console().print(table)
    click.echo(f"{evaluation.algorithm}: {summary(evaluation.judged)}; see {one_line(out)}/report.html")
