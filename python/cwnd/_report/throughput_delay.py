"""Throughput against delay: the flows as points, an ellipse around each group of them."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from cwnd._common.errors import error
from cwnd._report.looks import (
    GREY,
    Look,
    handle,
    legend,
    mark,
    name_directly,
    name_points,
    new_figure,
    note_above,
)
from cwnd._report.over_time import shade
from cwnd._report.point_looks import all_looks
from cwnd._report.points import Point, flow_labels, flows_by_label, number, points_of
from cwnd._scenario.facts import base_rtts_ms, bottleneck

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from cwnd._common.shapes import ScenarioJson
    from cwnd._report.source import Source


#: Most flows of a group that are shown as dots.
_DOTS_MAX = 300
#: Fewest flows that have an ellipse: two always lie on a line.
_ELLIPSE_MIN = 3
#: Most labels that are written beside their points.
_NAMED_MAX = 5


class Group(NamedTuple):
    """The flows of one algorithm in one scenario, over its seeds."""

    #: Name of the algorithm and its variant; with the number of flows where the scenarios differ in it.
    label: str
    delay: npt.NDArray[np.float64]
    throughput: npt.NDArray[np.float64]
    #: The swept values of its scenario; empty where the label is that of one scenario alone.
    point: str = ""

    @property
    def mean(self) -> tuple[float, float]:
        return float(self.delay.mean()), float(self.throughput.mean())


def throughput_delay(results: Source, scenarios: list[ScenarioJson]) -> Figure:
    """Each group's mean, an ellipse of one standard deviation, and its flows as dots."""
    rates = {bottleneck(scenario)[0] for scenario in scenarios}
    bases = {round(base, 6) for one in scenarios for base in np.unique(base_rtts_ms(one)).tolist()}
    groups = _groups(results, scenarios, queueing=len(bases) > 1, share=len(rates) > 1)
    if not groups:
        raise error("scenarios", "no flow measured an RTT; there is nothing to draw")
    look = _group_looks(results, scenarios)
    figure = new_figure(5.2, 3.9)
    (axes,) = figure.subplots(1, 1, squeeze=False).flat
    for group in groups:
        colour = look[group.label].colour
        step = math.ceil(len(group.delay) / _DOTS_MAX)
        axes.plot(
            group.delay[::step],
            group.throughput[::step],
            linestyle="none",
            marker=".",
            markersize=3,
            markeredgewidth=0,
            color=colour,
            alpha=0.35,
            zorder=2,
            clip_on=False,
        )
        around = ellipse(group, look[group.label])
        if around is not None:
            axes.add_patch(around)
        axes.plot(
            *([value] for value in group.mean),
            linestyle="none",
            marker=look[group.label].marker,
            markersize=6 if group.point else 8,
            color=colour,
            markeredgecolor="white",
            markeredgewidth=0.8,
            zorder=4,
            clip_on=False,  # a mark at an end of the axes is whole
        )
    if len(rates) == 1 and all(len(scenario["flows"]) == 1 for scenario in scenarios):
        mark(axes, rates.pop() / 1e6, "link rate")
    axes.autoscale_view()
    axes.set_ylim(0, 1.05 * max(axes.get_ylim()[1], 1e-9))
    if len(bases) > 1:
        axes.set_xlim(left=0)
    axes.invert_xaxis()
    axes.set_xlabel("mean queueing delay (ms)" if len(bases) > 1 else "mean RTT (ms)")
    axes.set_ylabel("share of the link rate (%)" if len(rates) > 1 else "throughput of a flow (Mbit/s)")
    _point_to_better(figure, axes, [group.mean for group in groups])
    means = {group.label: group.mean for group in groups}
    few = len(groups) == len(means) <= _NAMED_MAX
    if not (few and name_directly(axes, means, look)):
        legend(
            figure, {label: handle(look[label], False, look[label].marker, joined=False) for label in means}
        )
    named = [(group.point, group.mean, look[group.label].colour) for group in groups if group.point]
    if named:
        note_above(axes, f"at the marks: {_axes_words(results, scenarios)}")
        name_points(axes, named)
    return figure


def _point_to_better(figure: Figure, axes: Axes, means: list[tuple[float, float]]) -> None:
    """Says which corner is better, at the place on the left that is farthest from the marks."""
    across = max(0.16, 0.9 / figure.get_figwidth())
    marks = axes.transAxes.inverted().transform(axes.transData.transform(means)) - (across - 0.06, 0.0)
    height = max((0.11, 0.5, 0.9), key=lambda height: min(0.25, np.hypot(*(marks - (0.0, height)).T).min()))
    axes.annotate(
        "better",
        (across, height),
        xytext=(-16, -10),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=7.5,
        color=GREY,
        arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 0.8},
        zorder=1,
    )


def _axes_words(results: Source, scenarios: list[ScenarioJson]) -> str:
    return ", ".join(axis.label for axis in points_of(results, [one["name"] for one in scenarios]).axes)


def check_throughput_delay(results: Source, scenarios: list[ScenarioJson]) -> None:
    groups = _groups(results, scenarios, queueing=False, share=False)
    if sum(len(group.delay) for group in groups) < 2:
        raise error("scenarios", "fewer than two RTTs")


def flow_table(points: list[Point]) -> pl.DataFrame:
    schema = {
        "scenario": pl.String(),
        "flow": pl.UInt32(),
        "label": pl.String(),
        "base_ms": pl.Float64(),
        "rate_mbps": pl.Float64(),
    }
    tables = [pl.DataFrame(schema=schema)]
    for point in points:
        rows = pl.DataFrame({"label": flow_labels(point), "base_ms": base_rtts_ms(point.scenario)})
        of_all = {
            "scenario": pl.lit(point.scenario["name"]),
            "flow": pl.int_range(pl.len(), dtype=pl.UInt32),
            "rate_mbps": pl.lit(bottleneck(point.scenario)[0] / 1e6),
        }
        tables.append(rows.with_columns(**of_all).select(schema.keys()))
    return pl.concat(tables)


def _groups(results: Source, scenarios: list[ScenarioJson], *, queueing: bool, share: bool) -> list[Group]:
    points, axes = points_of(results, [scenario["name"] for scenario in scenarios])
    delay = pl.col("mean_rtt_ms") - pl.col("base_ms") if queueing else pl.col("mean_rtt_ms")
    rate = pl.col("rate_mbps") / 100 if share else 1.0
    flows = (
        results.flows.join(flow_table(points), ["scenario", "flow"])
        .drop_nulls("mean_rtt_ms")
        .select("scenario", "label", delay=delay, throughput=pl.col("throughput_mbps") / rate)
    )
    order = [(point.scenario["name"], label) for point in points for label in flows_by_label(point)]
    by_group = flows.partition_by("scenario", "label", as_dict=True)
    shown = _shown_labels(points)
    several = Counter(shown[key] for key in order)
    places = {
        point.scenario["name"]: ", ".join(
            number(value) for axis in axes if (value := point.numbers.get(axis.key)) is not None
        )
        for point in points
    }
    return [
        Group(
            shown[scenario, label],
            own["delay"].to_numpy(),
            own["throughput"].to_numpy(),
            places[scenario] if several[shown[scenario, label]] > 1 else "",
        )
        for scenario, label in order
        if (own := by_group.get((scenario, label))) is not None
    ]


def _shown_labels(points: list[Point]) -> dict[tuple[str, str], str]:
    """By scenario and label: the label, with the number of flows where scenarios differ in it."""
    counts = {
        (point.scenario["name"], label): count
        for point in points
        for label, count in flows_by_label(point).items()
    }
    of_label: dict[str, set[int]] = {}
    for (_, label), count in counts.items():
        of_label.setdefault(label, set()).add(count)
    return {
        (scenario, label): f"{label}, {count} flow{'s' * (count != 1)}" if len(of_label[label]) > 1 else label
        for (scenario, label), count in counts.items()
    }


def _group_looks(results: Source, scenarios: list[ScenarioJson]) -> dict[str, Look]:
    """Groups of one label have its look, in shades where they differ in the number of flows."""
    points = points_of(results, [one["name"] for one in scenarios]).points
    look = all_looks(results, points)
    shown: dict[str, list[str]] = {}
    for (_, label), name in _shown_labels(points).items():
        shown.setdefault(label, []).append(name)
    shades = {}
    for label, names in shown.items():
        distinct = list(dict.fromkeys(names))
        for index, name in enumerate(distinct[1:], 1):
            colour = to_hex(shade(look[label].colour, index, len(distinct)))
            shades[name] = look[label]._replace(colour=colour)
        shades[distinct[0]] = look[label]
    return look | shades


def ellipse(group: Group, look: Look) -> Ellipse | None:
    """One standard deviation around the mean, along the main axes of the group's own scatter."""
    if len(group.delay) < _ELLIPSE_MIN:
        return None
    variances, directions = np.linalg.eigh(np.cov(group.delay, group.throughput))
    if variances[-1] <= 0:
        return None
    small, large = np.sqrt(np.maximum(variances, 0))
    return Ellipse(
        group.mean,
        2 * float(large),
        2 * float(small),
        angle=math.degrees(math.atan2(directions[1, 1], directions[0, 1])),
        facecolor=(look.colour, 0.12),
        edgecolor=look.colour,
        linestyle=look.line,
        linewidth=1.0,
        zorder=3,
    )
