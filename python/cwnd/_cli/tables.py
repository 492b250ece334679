"""Tables on a terminal or in a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from cwnd._common.labels import flow_names
from cwnd._common.metrics import TABLE_COLUMNS
from cwnd._common.text import digits
from cwnd._results.metrics import estimate

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from cwnd import Results
    from cwnd._common.shapes import Cell


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


#: The columns of a table of flows: headings, and what their values are multiplied by.
_FLOW_COLUMNS = {
    "start_s": ("from s", 1),
    "stop_s": ("to s", 1),
    **{
        metric: TABLE_COLUMNS[metric]
        for metric in ("throughput_mbps", "goodput_mbps", "loss_ratio", "mean_rtt_ms", "p95_rtt_ms")
    },
    "mean_cwnd_pkts": ("mean cwnd packets", 1),
    "timeouts": TABLE_COLUMNS["timeouts"],
}


def flow_table(results: Results, scenario: str) -> Table:
    """The flows of one scenario, means over its runs."""
    flows, *columns = results._values("flows", scenario, ["flow", *_FLOW_COLUMNS])
    names = flow_names(next(one for one in results.scenarios if one["name"] == scenario))
    places: dict[Cell, list[int]] = {}
    for place, flow in enumerate(flows):
        places.setdefault(flow, []).append(place)
    table = new_table(">flow", "cca", *(f">{heading}" for heading, _ in _FLOW_COLUMNS.values()))
    for flow, own in places.items():
        cells = [
            mean_digits((values[place] for place in own), scale)
            for values, (_, scale) in zip(columns, _FLOW_COLUMNS.values(), strict=True)
        ]
        table.add_row(str(flow), names[int(str(flow))], *cells)
    return table


def mean_digits(values: Iterable[Cell], scale: float = 1) -> str:
    """The mean of the values that there are, one per run."""
    known = [value for value in values if isinstance(value, int | float)]
    return digits(scale * estimate(known)["mean"] if known else None)
