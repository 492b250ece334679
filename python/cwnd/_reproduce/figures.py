"""Figures of papers: published values and ours together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import polars as pl
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from cwnd._common.errors import MissingError
from cwnd._report.looks import (
    GREY,
    STYLE,
    Look,
    escape_mathematics,
    handle,
    legend,
    looks,
    new_figure,
    set_title,
    start_at_zero,
    wrap_panel_titles,
)
from cwnd._report.over_time import shade
from cwnd._report.points import number
from cwnd._report.swept import scale_of, tick_at
from cwnd._reproduce.claims import Place, Series
from cwnd._reproduce.judge import Number
from cwnd._reproduce.measure import Measured
from cwnd._reproduce.paper import Figure, Item, WindowTrace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cwnd._common.shapes import Json


_PANEL_WIDTH = 3.6
_PANEL_HEIGHT = 2.7
#: Room for a title and a row of the legend.
_WIDTH_LEAST = 5.4
#: The fewest points of a figure with lines; with fewer it has bars.
_LINE_POINTS = 4

_AXES = {"buffer": "buffer (packets)", "per": "packet error rate", "delay": "one-way delay"}


def draw(measured: Measured, judged: Sequence[Number], figure: Figure) -> Drawing:
    """A figure's items, a panel for each metric: ours with lines or bars, published values with hollow marks.

    Raises `MissingError` if none of its items was run.
    """
    panels = []
    for name in figure.items:
        if name in measured.items:
            item = measured.items[name]
            panels += [(item, metric) for metric in item.metrics]
    shown = [(item, metric, part) for item, metric in panels for part in _parts(measured, item, metric)]
    if not shown:
        raise MissingError
    columns = min(len(shown), 3 if len(shown) != 4 else 2)
    rows = -(-len(shown) // columns)
    with mpl.rc_context(STYLE):
        drawing = new_figure(max(_PANEL_WIDTH * columns, _WIDTH_LEAST), _PANEL_HEIGHT * rows + 0.7)
        entries: dict[str, Line2D] = {}
        for index, (item, metric, part) in enumerate(shown):
            axes = drawing.add_subplot(rows, columns, index + 1)
            own = [one for one in judged if one.item == item.name and one.row["metric"] == metric]
            if part is None:
                entries |= _lines(axes, measured, item, metric, own)
            else:
                _bars(axes, measured, item, metric, own, part, figure.gain_of)
            axes.set_title(_panel_title(measured, item, metric, part))
        if any(one.item in figure.items for one in judged):
            entries["published"] = Line2D(
                [], [], color=GREY, linestyle="none", marker="o", markerfacecolor="none"
            )
        if entries:
            legend(drawing, entries, max(2 * columns, 3))
        set_title(drawing, figure.title)
        wrap_panel_titles(drawing)
        return drawing


def draw_trace(measured: Measured, trace: WindowTrace) -> Drawing:
    """The windows of each variant over time, a panel each on one scale."""
    many = len(trace.variants)
    columns = 1 if many == 1 else 2 if many < 7 else 3
    rows = -(-many // columns)
    with mpl.rc_context(STYLE):
        drawing = new_figure(7.2 if columns < 3 else 10.5, 2.0 * rows + 0.6)
        first: Axes | None = None
        for index, name in enumerate(trace.variants):
            axes = drawing.add_subplot(rows, columns, index + 1, sharex=first, sharey=first)
            first = first or axes
            variant = measured.paper.variants[name]
            samples = measured.trace(trace.name, name).filter(pl.col("cwnd_pkts").is_not_null())
            colour = looks([])[_algorithm(variant.change)].colour
            if trace.total:
                sums = samples.group_by("time_s", maintain_order=True).agg(pl.col("cwnd_pkts").sum())
                axes.plot(sums["time_s"], sums["cwnd_pkts"], color=colour)
            else:
                flows = samples["flow"].unique().sort().to_list()
                for flow in flows:
                    own = samples.filter(pl.col("flow") == flow)
                    axes.plot(
                        own["time_s"], own["cwnd_pkts"], color=shade(colour, flows.index(flow), len(flows))
                    )
            axes.set_title(escape_mathematics(variant.label))
            if index % columns == 0:
                axes.set_ylabel("sum of cwnd (packets)" if trace.total else "cwnd (packets)")
            if index >= many - columns:
                axes.set_xlabel("time (s)")
        if first is not None:
            start_at_zero(drawing.axes)
        set_title(drawing, trace.title)
        wrap_panel_titles(drawing)
        return drawing


def _parts(measured: Measured, item: Item, metric: str) -> list[Place | None]:
    """None for a panel of lines; for bars the values of the axis, a panel each; empty if not run."""
    points: list[Place | None] = []
    for _, series in _series(measured, item, metric):
        points += [x for x in series if x not in points]
    if len(points) >= _LINE_POINTS:
        return [None]
    return points


def _series(measured: Measured, item: Item, metric: str) -> list[tuple[str, Series]]:
    there = []
    for variant in measured.variants(item.name):
        try:
            there.append((variant, measured(item.name, variant, metric)))
        except MissingError:
            continue
    return there


def _lines(
    axes: Axes, measured: Measured, item: Item, metric: str, judged: Sequence[Number]
) -> dict[str, Line2D]:
    entries = {}
    steps: list[float] = []
    for variant, series in _series(measured, item, metric):
        its = measured.paper.variants[variant]
        look = _look(its.change)
        xs = [_place(x) for x in series]
        steps += [x for x in xs if x not in steps]
        estimates = [value.estimate for value in series.points.values()]
        axes.plot(
            xs,
            [one.mean for one in estimates],
            color=look.colour,
            linestyle=look.line,
            marker=look.marker,
            markersize=3,
        )
        axes.fill_between(
            xs,
            # Nothing that papers print can be negative.
            [one.mean if one.low is None else max(one.low, min(0.0, one.mean)) for one in estimates],
            [one.mean if one.high is None else one.high for one in estimates],
            color=look.colour,
            alpha=0.2,
            linewidth=0,
        )
        key = next(iter(next(iter(series.points.values())).of)).rpartition(".")[2]
        axes.set_xlabel(_AXES.get(key, key.replace("_", " ")) + _unit(next(iter(series))))
        own = [one for one in judged if one.row["cca"] == variant and one.ours is not None]
        column = "per" if key == "per" else "buffer_pkts"
        axes.plot(
            [float(one.row[column]) for one in own],
            [float(one.row["value"]) for one in own],
            color=look.colour,
            linestyle="none",
            marker=look.marker,
            markersize=6.5,
            markerfacecolor="none",
            zorder=4,
        )
        entries[its.label] = handle(look, dashed=True, marker=look.marker)
    tick_at(axes, sorted(steps), scale_of(sorted(steps)))
    axes.set_ylabel(measured.unit(item, metric))
    start_at_zero([axes])
    return entries


def _place(x: Place) -> float:
    """A swept value as a number: "4 ms" is 4."""
    assert not isinstance(x, tuple), x
    return float(x.partition(" ")[0]) if isinstance(x, str) else float(x)


def _unit(x: Place) -> str:
    unit = x.partition(" ")[2] if isinstance(x, str) else ""
    return f" ({unit})" if unit else ""


def _bars(
    axes: Axes,
    measured: Measured,
    item: Item,
    metric: str,
    judged: Sequence[Number],
    part: Place | None,
    gain_of: str | None,
) -> None:
    """A bar for each variant, a dot for each seed, a hollow circle for the published value."""
    there = {
        name: series.at(part) for name, series in _series(measured, item, metric) if part in series.points
    }
    published = {
        name: [
            float(one.row["value"]) for one in judged if one.row["cca"] == name and one.ours == value.estimate
        ]
        for name, value in there.items()
    }
    if gain_of is not None:
        if gain_of not in there:
            raise MissingError
        best, most = there.pop(gain_of), published.pop(gain_of)
        there = {name: (best / value - 1) * 100 for name, value in there.items()}
        published = {
            name: [(one / other - 1) * 100 for one in most[:1] for other in published[name][:1]]
            for name in there
        }
    for place, (variant, value) in enumerate(there.items()):
        look = _look(measured.paper.variants[variant].change)
        axes.bar(place, value.mean, width=0.7, color=look.colour, alpha=0.55)
        seeds = list(value.by_seed.values())
        spread = [place + 0.5 * (index / max(len(seeds) - 1, 1) - 0.5) for index in range(len(seeds))]
        if len(seeds) > 1:
            axes.plot(spread, seeds, linestyle="none", marker=".", markersize=2.5, color=look.colour)
        axes.plot(
            [place] * len(published[variant]),
            published[variant],
            linestyle="none",
            marker="o",
            markersize=6,
            markerfacecolor="none",
            color="black",
            zorder=4,
        )
    labels = [escape_mathematics(measured.paper.variants[variant].label) for variant in there]
    axes.set_xticks(range(len(labels)), labels, rotation=40, ha="right", rotation_mode="anchor")
    axes.grid(False, axis="x")
    if gain_of is None:
        axes.set_ylabel(measured.unit(item, metric))
    else:
        axes.set_ylabel(escape_mathematics(f"gain of {measured.paper.variants[gain_of].label} (%)"))


def _panel_title(measured: Measured, item: Item, metric: str, part: Place | None) -> str:
    title = item.title if len(item.metrics) == 1 else f"{item.title}: {metric.replace('_', ' ')}"
    if part is None or part == ():
        return escape_mathematics(title)
    of = next(series.at(part).of for _, series in _series(measured, item, metric) if part in series.points)
    names = {key: key.rpartition(".")[2].replace("_", " ") for key in of}
    parts = [
        f"{'PER' if names[key] == 'per' else names[key]} {number(x) if isinstance(x, int | float) else x}"
        for key, x in of.items()
    ]
    return escape_mathematics(f"{title}, {', '.join(parts)}")


def _algorithm(change: Mapping[str, Json]) -> str:
    """The first algorithm that a variant names."""
    for key, value in change.items():
        if key.endswith(".cca"):
            return str(value["name"] if isinstance(value, Mapping) else value)
    return "reno"


def _look(change: Mapping[str, Json]) -> Look:
    name = _algorithm(change)
    return looks([name])[name]
