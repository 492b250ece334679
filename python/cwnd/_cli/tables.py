"""Tables on a terminal or in a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cwnd._common.text import digits

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

    from cwnd import Results


def open_console() -> Console:
    from rich.console import Console

    # A table in a file or a pipe is not wrapped to the width of a terminal. Names of scenarios may look like
    # markup of rich.
    return Console(width=None if sys.stdout.isatty() else 250, markup=False, emoji=False)


def print_json(results: Results) -> None:
    """Everything as one JSON object, in parts: it may be longer than what fits in memory twice."""
    for part in results.json_parts():
        click.echo(part, nl=False)
    click.echo()


def new_table(*headings: str, title: str | None = None, caption: str | None = None) -> Table:
    """A table with these headings; a '>' before one marks a column of numbers."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        pad_edge=False,
    )
    for heading in headings:
        number = heading.startswith(">")
        table.add_column(heading.removeprefix(">"), justify="right" if number else "left", overflow="fold")
    return table


def flow_table(flows: pl.DataFrame) -> Table:
    """The flows of one scenario, means over its runs."""
    import polars as pl

    means = flows.group_by("flow", "cca", maintain_order=True).agg(
        pl.selectors.numeric().exclude("seed").mean()
    )
    table = new_table(
        ">flow",
        "cca",
        ">from s",
        ">to s",
        ">throughput Mbit/s",
        ">goodput Mbit/s",
        ">loss %",
        ">mean RTT ms",
        ">p95 RTT ms",
        ">mean cwnd packets",
        ">timeouts",
    )
    for row in means.iter_rows(named=True):
        cells = [
            row["start_s"],
            row["stop_s"],
            row["throughput_mbps"],
            row["goodput_mbps"],
            100 * row["loss_ratio"],
            row["mean_rtt_ms"],
            row["p95_rtt_ms"],
            row["mean_cwnd_pkts"],
            row["timeouts"],
        ]
        table.add_row(str(row["flow"]), row["cca"], *map(digits, cells))
    return table
