"""`cwnd results` and `cwnd report`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cwnd import Results
from cwnd._cli.options import figure_width_option, flag_errors, latex_option, refuse_both
from cwnd._cli.tables import flow_table, new_table, open_console, print_json
from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import write_file
from cwnd._common.labels import scenario_label
from cwnd._common.metrics import TABLE_COLUMNS
from cwnd._common.text import estimate, exponent
from cwnd._results.manifest import read_manifest
from cwnd._scenario.facts import is_trace, shared_facts

if TYPE_CHECKING:
    import polars as pl

    from cwnd._common.shapes import Json


@click.command("results")
@click.argument("directory", metavar="DIR")
@click.option("--csv", metavar="FILE|-", help="Write a table as CSV and nothing else.")
@click.option(
    "--table", metavar="NAME", default="summary", help="For --csv: summary, flows or links.  [summary]"
)
@click.option("--figure", "figures", multiple=True, metavar="NAME", help="Redraw this figure alone.  [all]")
@click.option("--scenario", "names", multiple=True, metavar="NAME", help="Panels of this scenario.  [all]")
@figure_width_option
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@latex_option
def results_command(
    directory: str,
    csv: str | None,
    table: str,
    figures: tuple[str, ...],
    names: tuple[str, ...],
    figure_width: str | None,
    as_json: bool,
    as_latex: bool,
) -> None:
    """Summarise the result in DIR and redraw its figures, without a run."""
    if table not in ("summary", "flows", "links"):
        raise error("--table", f"'{one_line(table)}' is not a table; summary, flows or links")
    refuse_both(as_json, as_latex)
    if csv is not None and as_latex:
        raise error("--csv", "cannot be combined with --latex")
    if csv is not None and as_json:
        raise error("--csv", "cannot be combined with --json")
    results = Results.load(directory)
    if as_json:
        print_json(results)
        return
    if as_latex:
        click.echo(results.to_latex(), nl=False)
        return
    if csv is not None:
        _export(results, table, csv)
        return
    from cwnd._report.figures import write_figures

    kinds = results.plots()
    for kind in figures:
        if kind not in kinds:
            raise error(
                "--figure", f"'{one_line(kind)}' is not one of this result's; there are {', '.join(kinds)}"
            )
    for name in names:
        if name not in (there := [one["name"] for one in results.scenarios]):
            raise error("--scenario", f"no '{one_line(name)}' here; there are {', '.join(there)}")
    kinds = list(figures) or kinds
    with flag_errors():
        drawn = {
            kind: results.plot(kind, scenarios=names or None, figure_width=figure_width) for kind in kinds
        }
    print_swept(results)
    for kind, figure in drawn.items():
        write_figures(figure, Path(directory), kind, figure_width)
    if kinds:
        click.echo(f"Figures in {one_line(directory)}: {', '.join(kinds)} (PNG, SVG, PDF)")


@click.command("report")
@click.argument("directory", metavar="DIR")
@click.option("--out", metavar="FILE", help="The page.  [DIR/report.html]")
@click.option("--json", "as_json", is_flag=True, help="Print the page's path as one JSON object.")
def report_command(directory: str, out: str | None, as_json: bool) -> None:
    """Write one self-contained HTML page: figures, tables, scenario and origin."""
    from cwnd._report import page, script

    results = Results.load(directory)
    path = Path(directory) / "report.html" if out is None else Path(out)
    try:
        page.write(results, path, read_manifest(Path(directory)))
    except OSError as failed:
        raise os_error(one_line(str(path)), failed) from None
    if not script.can_plot():
        print("cwnd: its figures cannot be zoomed: uPlot is missing; in a clone: make uplot", file=sys.stderr)
    click.echo(json.dumps({"page": str(path)}) if as_json else f"Written to {one_line(str(path))}")


def _export(results: Results, table: str, csv: str) -> None:
    """A table as CSV."""
    frame: pl.DataFrame = getattr(results, table)
    if csv == "-":
        click.echo(frame.write_csv(), nl=False)
        return
    try:
        write_file(Path(csv), frame.write_csv().encode())
    except OSError as failed:
        raise os_error(one_line(csv), failed) from None


def print_swept(results: Results) -> None:
    """A row per point: the swept values, or the name, and the summary."""
    columns = {metric: shown for metric, shown in TABLE_COLUMNS.items() if metric != "p95_rtt_ms"}
    if len(results.scenarios) == 1 and is_trace(results.scenarios[0]):
        open_console().print(flow_table(results, results.scenarios[0]["name"]))
        return
    keys = list(dict.fromkeys(key for values in results.values for key in values))
    table = new_table(
        *(keys or ["scenario"]),
        ">runs",
        *(f">{heading}" for heading, _ in columns.values()),
        title=", ".join(shared_facts(results.scenarios)),
    )
    for entry in results.entries:
        summary = entry["summary"]
        cells = [_swept_value(entry["values"].get(key)) for key in keys] or [
            scenario_label(entry["scenario"])
        ]
        numbers = [estimate(summary.get(metric), scale) for metric, (_, scale) in columns.items()]
        table.add_row(*cells, str(len(entry["seeds"])), *numbers)
    console = open_console()
    console.print(table)
    for note in results.comparison_notes:
        console.print(f"Note: {note}", highlight=False)


def _swept_value(value: Json) -> str:
    if isinstance(value, float):
        return exponent(value)
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
