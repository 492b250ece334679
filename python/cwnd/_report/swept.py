"""Figures over the points of a sweep."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypedDict, TypeVar

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from cwnd._common.errors import error
from cwnd._common.metrics import METRICS
from cwnd._common.text import exponent
from cwnd._report.form import columns_that_fit
from cwnd._report.looks import (
    Look,
    algorithms_label,
    escape_mathematics,
    handle,
    legend,
    mark,
    new_figure,
    start_at_zero,
)
from cwnd._report.point_looks import all_looks
from cwnd._report.points import Axis, Point, Points, chosen_axes, number, points_of
from cwnd._scenario.facts import bottleneck

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis as DrawnAxis

    from cwnd._common.shapes import ScenarioJson
    from cwnd._report.source import Source


#: Where a point is in a panel.
_Place = TypeVar("_Place")

_PANELS_MAX = 24
#: Least width of a panel where a form sets the figure's.
_PANEL_LEAST_IN = 1.1
_BUFFER = Axis("dumbbell.buffer", "buffer", "packets")
_PER = Axis("dumbbell.per", "packet error rate", "")


def throughput_buffer(results: Source, scenarios: list[ScenarioJson]) -> Figure:
    panels: dict[float, list[_Value]] = {}
    means = _means(results, "throughput_mbps")
    for scenario in scenarios:
        _, buffer, per = bottleneck(scenario)
        if buffer is not None:
            row = _scaled(means[scenario["name"]], "throughput_mbps")
            panels.setdefault(per, []).append(_Value(algorithms_label(scenario), buffer, row))
    if not panels:
        raise error("scenarios", "no bottleneck has a limited buffer; there is nothing to draw")
    for per, values in panels.items():
        places = ((value.label, value.x) for value in values)
        _check_distinct(places, lambda x, per=per: f"buffer {x:.0f}, PER {exponent(per)}")  # type: ignore[misc]
    look = all_looks(results, [])
    labels = list(dict.fromkeys(value.label for values in panels.values() for value in values))
    figure = new_figure(max(5.2, 0.9 + 3.1 * len(panels)), 3.6)
    grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (per, values) in zip(grid, sorted(panels.items()), strict=True):
        _draw_lines(axes, values, look)
        tick_at(axes, sorted({value.x for value in values}), "factors2")
        axes.set_xlabel("buffer (packets)")
        if len(panels) > 1:
            axes.set_title(_PER.describe(per))
    grid[0].set_ylabel("throughput (Mbit/s)")
    _mark_rate(scenarios, grid, [grid[-1]])
    start_at_zero(grid)
    legend(figure, {label: handle(look[label], True, look[label].marker) for label in labels})
    return figure


def lines(
    results: Source, scenarios: list[ScenarioJson], metric: str, over: Sequence[str] | None
) -> tuple[Figure, list[Axis]]:
    """A metric against the swept value with the most steps; panels for a second one, rows for a third."""
    swept = points_of(results, [scenario["name"] for scenario in scenarios])
    axes = _lines_axes(swept, over)
    x, *others = axes
    points = _with_all(swept.points, axes)
    columns = sorted({point.numbers[others[0].key] for point in points}) if others else [None]
    rows = sorted({point.numbers[others[1].key] for point in points}) if len(others) > 1 else [None]
    means = _means(results, metric)
    look = all_looks(results, points)
    most = columns_that_fit(3, _PANEL_LEAST_IN)
    wrapped = len(rows) == 1 and len(columns) > most
    across = math.ceil(len(columns) / math.ceil(len(columns) / most)) if wrapped else len(columns)
    down = math.ceil(len(columns) / across) if wrapped else len(rows)
    width = 5.2 if across == 1 else max(7.2, 0.9 + 2.1 * across)
    figure = new_figure(width, 3.6 if down == 1 else 0.9 + 2.1 * down, down)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    drawn: list[float] = []
    for index, (row, column) in enumerate((row, column) for row in rows for column in columns):
        panel = grid.flat[index]
        wanted = {axis.key: value for axis, value in zip(others, (column, row), strict=False)}
        here = [point for point in points if wanted.items() <= point.numbers.items()]
        values = [_Value(p.label, p.numbers[x.key], _scaled(means[p.scenario["name"]], metric)) for p in here]
        _check_distinct(((value.label, value.x) for value in values), x.describe)
        drawn += _draw_lines(panel, values, look)
        if wanted:
            panel.set_title(
                escape_mathematics(", ".join(axis.describe(wanted[axis.key] or 0) for axis in others))
            )
    if not drawn:
        raise error("metric", f"{metric} has no value here; there is nothing to draw")
    steps = sorted({point.numbers[x.key] for point in points})
    shown = list(grid.flat)[: len(rows) * len(columns)]
    for index, panel in enumerate(shown):
        tick_at(panel, steps, scale_of(steps))
        if index + across >= len(shown):
            panel.set_xlabel(escape_mathematics(x.label))
            panel.tick_params(labelbottom=True)
        if index % across == 0:
            panel.set_ylabel(METRICS[metric].label)
    for panel in grid.flat[len(shown) :]:
        panel.set_visible(False)
    if metric == "throughput_mbps":
        _mark_rate(scenarios, shown, shown[across - 1 :: across])
    if metric == "loss_ratio" and min(drawn) > 0 and max(drawn) > 30 * min(drawn):
        shown[0].set_yscale("log")
        for panel in shown:
            panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
            panel.yaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    else:
        start_at_zero(shown, METRICS[metric].most * METRICS[metric].factor)
    labels = dict.fromkeys(point.label for point in points)
    legend(figure, {label: handle(look[label], True, look[label].marker) for label in labels})
    return figure, axes


def heatmap(
    results: Source, scenarios: list[ScenarioJson], metric: str, over: Sequence[str] | None
) -> tuple[Figure, list[Axis]]:
    """A metric over the two swept values with the most steps; a panel per algorithm, rows for a third."""
    swept = points_of(results, [scenario["name"] for scenario in scenarios])
    axes = _heatmap_axes(swept, over)
    x, y, *others = axes
    points = _with_all(swept.points, axes)
    xs = sorted({point.numbers[x.key] for point in points})
    ys = sorted({point.numbers[y.key] for point in points})
    labels = list(dict.fromkeys(point.label for point in points))
    rows = sorted({point.numbers[others[0].key] for point in points}) if others else [None]
    means = _means(results, metric)
    panels: dict[tuple[float | None, str], npt.NDArray[np.float64]] = {}
    for row in rows:
        for label in labels:
            here = [
                p for p in points if p.label == label and (row is None or p.numbers[others[0].key] == row)
            ]
            _check_distinct(
                ((label, (p.numbers[x.key], p.numbers[y.key])) for p in here),
                lambda at: f"{x.describe(at[0])}, {y.describe(at[1])}",
            )
            cells = np.full((len(ys), len(xs)), np.nan)
            for p in here:
                mean = _scaled(means[p.scenario["name"]], metric)["mean"]
                if mean is not None:
                    cells[ys.index(p.numbers[y.key]), xs.index(p.numbers[x.key])] = mean
            panels[row, label] = cells
    finite = np.concatenate([cells[np.isfinite(cells)] for cells in panels.values()])
    if not finite.size:
        raise error("metric", f"{metric} has no value here; there is nothing to draw")
    low, high = float(finite.min()), float(finite.max())
    norm: Normalize = Normalize(low, high if high > low else low + 1)
    if metric == "loss_ratio" and low > 0 and high > 30 * low:
        norm = LogNorm(low, high)
    alone = len(rows) == 1
    most = columns_that_fit(2 if len(labels) <= 4 else 3, _PANEL_LEAST_IN)
    across = min(len(labels), most) if alone else len(labels)
    down = math.ceil(len(labels) / across) if alone else len(rows)
    cell_width = min(0.5, 6.0 / across / len(xs))
    width = max(4.2, 1.6 + across * max(1.5, len(xs) * cell_width + 0.2))
    figure = new_figure(width, 1.1 + down * max(0.95, 0.55 + 0.27 * len(ys)), down)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    labelled = cell_width >= 0.34 and len(xs) * len(ys) <= 120
    for index, ((row, label), cells) in enumerate(panels.items()):
        panel = grid.flat[index]
        image = panel.pcolormesh(
            cells,
            cmap="cividis",
            norm=norm,
            edgecolors="white",
            linewidth=0.8 if labelled else 0,
            rasterized=False,
        )
        panel.set_facecolor("#dddddd")
        panel.grid(False)
        panel.tick_params(length=0)
        panel.spines[:].set_visible(False)
        panel.set_title(
            escape_mathematics(label + (f", {others[0].describe(row)}" if row is not None else ""))
        )
        _cell_ticks(panel.xaxis, xs, 12)
        _cell_ticks(panel.yaxis, ys, 24)
        if len(xs) > 5:
            panel.tick_params(axis="x", rotation=45)
        if index + across >= len(panels):
            panel.set_xlabel(escape_mathematics(x.label))
            panel.tick_params(labelbottom=True)
        if index % across == 0:
            panel.set_ylabel(escape_mathematics(y.label))
        if labelled:
            _label_cells(panel, cells, norm)
    for panel in grid.flat[len(panels) :]:
        panel.set_visible(False)
    bar = figure.colorbar(image, ax=list(grid.flat), label=METRICS[metric].label, pad=0.02, aspect=12 * down)
    bar.outline.set_visible(False)
    bar.ax.grid(False)
    if isinstance(norm, LogNorm):
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        bar.ax.yaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    return figure, axes


def check_throughput_buffer(results: Source, scenarios: list[ScenarioJson]) -> None:
    """Raises an `Error` if two points are one in this figure."""
    seen = set()
    for scenario in scenarios:
        _, buffer, per = bottleneck(scenario)
        place = (algorithms_label(scenario), buffer, per)
        if buffer is not None and place in seen:
            raise error("scenarios", "twice")
        seen.add(place)


def check_lines(results: Source, scenarios: list[ScenarioJson]) -> None:
    swept = points_of(results, [scenario["name"] for scenario in scenarios])
    _check_cells(swept, _lines_axes(swept, None))


def check_heatmap(results: Source, scenarios: list[ScenarioJson]) -> None:
    swept = points_of(results, [scenario["name"] for scenario in scenarios])
    _check_cells(swept, _heatmap_axes(swept, None))


class _Mean(TypedDict):
    """A mean with its interval; None: there is none."""

    mean: float | None
    ci95_low: float | None
    ci95_high: float | None


class _Value(NamedTuple):
    """A point of a line."""

    label: str
    x: float
    row: _Mean


def _lines_axes(swept: Points, over: Sequence[str] | None) -> list[Axis]:
    axes = chosen_axes(swept, over, 1, 3)
    _check_panels(swept, axes[1:])
    return axes


def _heatmap_axes(swept: Points, over: Sequence[str] | None) -> list[Axis]:
    axes = chosen_axes(swept, over, 2, 3)
    _check_panels(swept, axes[2:], len({point.label for point in swept.points}))
    return axes


def _check_panels(swept: Points, axes: list[Axis], panels: int = 1) -> None:
    for axis in axes:
        panels *= len({point.numbers.get(axis.key) for point in swept.points})
    if panels > _PANELS_MAX:
        raise error("scenarios", f"{panels} panels are too many for one figure; choose at most {_PANELS_MAX}")


def _check_cells(swept: Points, axes: list[Axis]) -> None:
    places = [
        (point.label, *(point.numbers[axis.key] for axis in axes)) for point in _with_all(swept.points, axes)
    ]
    if len(set(places)) < max(2, len(places)):
        raise error("scenarios", "twice")


def _check_distinct(places: Iterable[tuple[str, _Place]], describe: Callable[[_Place], str]) -> None:
    """Raises an `Error` if two points with one label are at the same place."""
    seen = set()
    for label, place in places:
        if (label, place) in seen:
            raise error("scenarios", f"{label}, {describe(place)}: twice; choose one")
        seen.add((label, place))


def _with_all(points: Iterable[Point], axes: Iterable[Axis]) -> list[Point]:
    """The points that have a number on each axis; an unlimited buffer has none."""
    return [point for point in points if all(axis.key in point.numbers for axis in axes)]


def _means(results: Source, metric: str) -> dict[str, _Mean]:
    columns = ("scenario", "mean", "ci95_low", "ci95_high")
    rows = results.summary.filter(metric=metric).select(columns).iter_rows()
    means = {scenario: _Mean(mean=mean, ci95_low=low, ci95_high=high) for scenario, mean, low, high in rows}
    nothing = _Mean(mean=None, ci95_low=None, ci95_high=None)
    return {one["name"]: means.get(one["name"], nothing) for one in results.scenarios}


def _scaled(row: _Mean, metric: str) -> _Mean:
    """The values as they are shown, without the impossible part of the interval: its coverage is the same."""
    factor, most = METRICS[metric].factor, METRICS[metric].most
    mean, low, high = (
        None if one is None else min(max(one, 0.0), most) * factor
        for one in (row["mean"], row["ci95_low"], row["ci95_high"])
    )
    return {"mean": mean, "ci95_low": low, "ci95_high": high}


def _draw_lines(axes: Axes, values: list[_Value], look: dict[str, Look]) -> list[float]:
    """Draws a line per label, with intervals if all of its points have one; returns the means."""
    drawn: list[float] = []
    for label in dict.fromkeys(value.label for value in values):
        own = [
            (value.x, mean, value.row["ci95_low"], value.row["ci95_high"])
            for value in sorted(values, key=lambda value: value.x)
            if value.label == label and (mean := value.row["mean"]) is not None
        ]
        means = [mean for _, mean, *_ in own]
        ends = [
            (mean - low, high - mean) for _, mean, low, high in own if low is not None and high is not None
        ]
        bars = list(zip(*ends, strict=True)) if len(ends) == len(own) else None
        if own:
            axes.errorbar(
                [x for x, *_ in own],
                means,
                bars,
                color=look[label].colour,
                linestyle=look[label].line,
                marker=look[label].marker,
                capsize=2,
            )
        drawn += means
    return drawn


def scale_of(steps: list[float]) -> str:
    """The spacing of the steps: "linear", or "factors" when each is a multiple of the previous one."""
    positive = [step for step in steps if step > 0]
    if len(positive) < len(steps) - (0.0 in steps) or len(positive) < 2 or positive[-1] < 4 * positive[0]:
        return "linear"
    if len(positive) > 2:
        ratios = [math.log(b / a) for a, b in pairwise(positive)]
        gaps = [b - a for a, b in pairwise(positive)]
        if max(ratios) / min(ratios) > max(gaps) / min(gaps):
            return "linear"
    if 0.0 in steps:
        return "factors and 0"
    twos = all(math.isclose(math.log2(step / positive[0]) % 1, 0, abs_tol=1e-9) for step in positive)
    return "factors2" if twos else "factors"


def tick_at(axes: Axes, steps: list[float], scale: str) -> None:
    """The scale of the x axis, with a tick at each step if they are few."""
    if scale.startswith("factors"):
        if scale == "factors and 0":
            axes.set_xscale("symlog", linthresh=min(step for step in steps if step > 0), linscale=0.8)
        else:
            axes.set_xscale("log", base=2 if scale == "factors2" else 10)
    if len(steps) > 12 and scale == "linear":
        return
    shown = steps if len(steps) <= 12 else steps[:: math.ceil(len(steps) / 10)]
    axes.xaxis.set_major_locator(FixedLocator(shown))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", rotation=45 if len(shown) > 5 else 0)


def _cell_ticks(axis: DrawnAxis, steps: list[float], most: int) -> None:
    every = math.ceil(len(steps) / most)
    axis.set_ticks(
        [index + 0.5 for index in range(0, len(steps), every)],
        labels=[number(step) for step in steps[::every]],
    )


def _label_cells(axes: Axes, cells: npt.NDArray[np.float64], norm: Normalize) -> None:
    digits = 3 if np.nanmax(np.abs(cells)) >= 1 else 2
    for (row, column), value in np.ndenumerate(cells):
        if np.isfinite(value):
            axes.text(
                column + 0.5,
                row + 0.5,
                exponent(float(f"{value:.{digits}g}")),
                ha="center",
                va="center",
                fontsize=6.5,
                color="black" if norm(value) > 0.5 else "white",
            )


def _mark_rate(scenarios: list[ScenarioJson], axes: Iterable[Axes], named: Sequence[Axes]) -> None:
    rates = {bottleneck(scenario)[0] for scenario in scenarios}
    if len(rates) == 1:
        rate = rates.pop() / 1e6
        for panel in axes:
            mark(panel, rate, "link rate", named=any(panel is one for one in named))
