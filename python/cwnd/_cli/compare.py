"""`cwnd compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from cwnd import Comparison, Results, compare, run
from cwnd._analysis.compare import shown
from cwnd._analysis.paired import PAIRED_HEADS, PairedComparison, compare_algorithms, paired_cells
from cwnd._cli.options import (
    Flag,
    GroupedCommand,
    errors_about,
    flag_errors,
    latex_option,
    read_changes,
    read_number,
    read_scenarios,
    refuse_both,
    scenario_flags,
)
from cwnd._cli.progress import progress_bar
from cwnd._cli.tables import new_table, open_console
from cwnd._common.errors import error, one_line


@click.command("compare", cls=GroupedCommand)
@click.argument("paths", nargs=-1, metavar="[DIR...|FILE...]")
@scenario_flags
@click.option("--on", "world", metavar="WORLD,WORLD", help="Run the scenario in these worlds, as 'cwnd run'.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@latex_option
@click.option("--out", metavar="DIR", help="Write the table, and cwnd and queue over each other, to DIR.")
@click.option("--jobs", metavar="N", default="0", help="Number of runs at a time.  [one per core]")
@click.option("--baseline", metavar="NAME", help="Of one DIR: compare with this algorithm.  [the first]")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Of one DIR: this metric alone.")
@click.option("--fail-on-difference", "strict", is_flag=True, help="Exit with 1 if something differs.")
def compare_command(
    paths: tuple[str, ...],
    world: str | None,
    as_json: bool,
    as_latex: bool,
    out: str | None,
    jobs: str,
    baseline: str | None,
    metrics: tuple[str, ...],
    strict: bool,
    **flags: Flag,
) -> None:
    """Compare the results in DIRs, or of scenario FILEs in several worlds, metric by metric.

    The first is what the others are compared with. Rates and RTTs agree within 5 %, cwnd and completion
    times within 10 %, retransmissions, marks and queues within 20 %. Runs of the same seeds are pairs: the
    mean of their differences, its 95 % interval, the effect (over their standard deviation), and p with
    Holm's correction. Of one DIR, such as a sweep, the algorithms are compared so.

    \b
    cwnd compare sweep --baseline cubic
    cwnd compare before after
    cwnd compare scenarios/elastic-single.toml --on sim,linux --out compared
    """
    refuse_both(as_json, as_latex)
    comparison: Comparison | PairedComparison
    if world is None and len(paths) == 1 and Path(paths[0]).is_dir():
        _refuse_flags(flags)
        with flag_errors():
            comparison = compare_algorithms(Results.load(paths[0]), baseline=baseline, metrics=metrics)
        if out is not None:
            raise error("--out", "is for two results or more; --json and a redirection keep this one")
    elif baseline is not None or metrics:
        flag = "--baseline" if baseline is not None else "--metric"
        raise error(flag, "is for the algorithms of one directory of results")
    elif world is None:
        comparison = _of_directories(paths, flags)
    else:
        comparison = _of_worlds(paths, world.split(","), read_number(jobs), flags)
    if out is not None and isinstance(comparison, Comparison):
        with errors_about("--out"):
            comparison.save(Path(out))
    if as_json:
        click.echo(comparison.to_json())
    elif as_latex:
        click.echo(comparison.to_latex(), nl=False)
    else:
        if isinstance(comparison, Comparison):
            _print(comparison)
        else:
            _print_paired(comparison)
        if out is not None:
            click.echo(f"Written to {one_line(out)}")
    if isinstance(comparison, Comparison) and not comparison.valid:
        raise click.exceptions.Exit(1)
    if strict and not comparison.ok:
        raise click.exceptions.Exit(1)


def _refuse_flags(flags: dict[str, Flag]) -> None:
    if any(value not in (None, ()) for value in flags.values()):
        raise error("--on", "is needed to run a scenario: two worlds or more, such as sim,linux")


def _of_directories(paths: Sequence[str], flags: dict[str, Flag]) -> Comparison:
    _refuse_flags(flags)
    if len(paths) < 2:
        raise error("", "give two directories of results or more, or a scenario and --on sim,linux")
    results = [Results.load(path) for path in paths]
    worlds = [entry["world"] for result in results for entry in result.entries[:1]]
    names = worlds if len(set(worlds)) == len(results) else [one_line(path.rstrip("/")) for path in paths]
    with flag_errors():
        return compare(*results, names=names)


def _of_worlds(paths: tuple[str, ...], worlds: list[str], jobs: int, flags: dict[str, Flag]) -> Comparison:
    if len(worlds) < 2 or len(set(worlds)) < len(worlds):
        raise error("--on", f"'{one_line(','.join(worlds))}' are not two worlds or more, such as sim,linux")
    scenarios = read_scenarios(paths, flags)
    changes = read_changes(paths, flags)
    results = []
    for world in worlds:
        with flag_errors(), progress_bar() as progress:
            results.append(run(scenarios, world=world, jobs=jobs, progress=progress, **changes))
    with flag_errors():
        return compare(*results, names=worlds)


def _print(comparison: Comparison) -> None:
    first, *others = comparison.names
    console = open_console()
    ratios = [f">{name} / {first}" for name in others]
    table = new_table("scenario", "metric", *(f">{name}" for name in comparison.names), *ratios, "verdict")
    before = None
    for line in comparison.lines:
        table.add_row(
            "" if line.scenario == before else line.scenario,
            line.metric.name,
            *map(shown, line.sides),
            *("-" if ratio is None else f"{ratio:.3f}" for ratio in line.ratios[1:]),
            line.verdict,
        )
        before = line.scenario
    console.print(table)
    if any(line.differences for line in comparison.lines):
        pairs = new_table("scenario", "metric", "result", *(f">{head}" for head in PAIRED_HEADS))
        for line in comparison.lines:
            for name, (found, p_holm) in zip(others, line.differences, strict=False):
                cells = paired_cells(found, p_holm, 1)
                pairs.add_row(line.scenario, line.metric.name, f"{name} - {first}", *cells)
        console.print(pairs)
    for note in comparison.notes:
        console.print(f"Note: {note}", highlight=False)


def _print_paired(comparison: PairedComparison) -> None:
    console = open_console()
    place, metric, name, *numbers = comparison.heads()
    table = new_table(place, metric, name, *(f">{head}" for head in numbers))
    for row in comparison.rows():
        table.add_row(*row)
    console.print(table)
    for note in comparison.notes:
        console.print(f"Note: {note}", highlight=False)
