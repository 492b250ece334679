"""Figures of how flows and runs are distributed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from cwnd._common.errors import error
from cwnd._report.looks import GREY, Look, handle, legend, mark, new_figure
from cwnd._report.point_looks import all_looks
from cwnd._report.points import Point, flow_labels, points_of
from cwnd._scenario.facts import bottleneck

if TYPE_CHECKING:
    from cwnd._report.source import Source


#: Fewest throughputs of one algorithm that make a distribution.
_CDF_MIN = 5
#: Most steps of a line; a longer one is thinned out evenly.
_CDF_STEPS = 1000
#: Most runs of an algorithm that are shown as dots.
_DOTS_MAX = 300


def cdf(results: Source, scenarios: list[dict[str, Any]]) -> Figure:
    """The distribution of the throughputs of all flows, over points and seeds."""
    by_label = _throughputs(results, scenarios)
    if all(len(values) < 2 for values in by_label.values()):
        raise error("scenarios", "one flow and one run; a distribution needs more")
    look = all_looks(results, points_of(results, [one["name"] for one in scenarios]).points)
    figure = new_figure(5.2, 3.6)
    (axes,) = figure.subplots(1, 1, squeeze=False).flat
    entries = {}
    for place, (label, values) in enumerate(by_label.items()):
        count = len(values)
        shares = np.arange(1, count + 1) / count
        if count > _CDF_STEPS:
            kept = np.linspace(0, count - 1, _CDF_STEPS).round().astype(int)
            values, shares = values[kept], shares[kept]
        every = max(1, len(values) // 8)
        axes.plot(
            np.concatenate([values[:1], values]),
            np.concatenate([[0.0], shares]),
            color=look[label].colour,
            linestyle=look[label].line,
            marker=look[label].marker,
            markevery=(every * (place + 1) // (len(by_label) + 1), every),
            drawstyle="steps-post",
        )
        entries[f"{label} ({count})"] = handle(look[label], True, look[label].marker)
    axes.set_ylim(0, 1.03)
    axes.set_xlim(left=0)
    axes.set_xlabel("throughput of a flow (Mbit/s)")
    axes.set_ylabel("share of the flows")
    legend(figure, entries, columns=3)
    return figure


def throughput_delay(results: Source, scenarios: list[dict[str, Any]]) -> Figure:
    """Each algorithm's mean over the runs, an ellipse of one standard deviation, and the runs as dots."""
    rates = {bottleneck(scenario)[0] for scenario in scenarios}
    bases = {round(base, 6) for scenario in scenarios for base in _base_rtts(scenario)}
    runs = _runs(results, scenarios, queueing=len(bases) > 1, share=len(rates) > 1)
    if not runs:
        raise error("scenarios", "no flow measured an RTT; there is nothing to draw")
    look = all_looks(results, points_of(results, [one["name"] for one in scenarios]).points)
    figure = new_figure(5.2, 3.9)
    (axes,) = figure.subplots(1, 1, squeeze=False).flat
    for label, both in runs.items():
        colour = look[label].colour
        delay, throughput = both
        step = math.ceil(len(delay) / _DOTS_MAX)
        axes.plot(
            delay[::step],
            throughput[::step],
            linestyle="none",
            marker=".",
            markersize=3,
            markeredgewidth=0,
            color=colour,
            alpha=0.35,
            zorder=2,
        )
        ellipse = _ellipse(both, look[label])
        if ellipse is not None:
            axes.add_patch(ellipse)
        axes.plot(
            [delay.mean()],
            [throughput.mean()],
            linestyle="none",
            marker=look[label].marker,
            markersize=8,
            color=colour,
            markeredgecolor="white",
            markeredgewidth=0.8,
            zorder=4,
        )
    if len(rates) == 1:
        mark(axes, rates.pop() / 1e6, "link rate")
    axes.autoscale_view()
    axes.set_ylim(bottom=0)
    if len(bases) > 1:
        axes.set_xlim(left=0)
    axes.invert_xaxis()
    axes.set_xlabel("mean queueing delay (ms)" if len(bases) > 1 else "mean RTT (ms)")
    axes.set_ylabel("share of the link rate (%)" if len(rates) > 1 else "throughput (Mbit/s)")
    axes.annotate(
        "better",
        (0.99, 0.98),
        xytext=(-26, -14),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=7.5,
        color=GREY,
        arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 0.8},
        zorder=1,
    )
    legend(figure, {label: handle(look[label], False, look[label].marker, joined=False) for label in runs})
    return figure


def check_cdf(results: Source, scenarios: list[dict[str, Any]]) -> None:
    if all(len(values) < _CDF_MIN for values in _throughputs(results, scenarios).values()):
        raise error("scenarios", "too few flows")


def check_throughput_delay(results: Source, scenarios: list[dict[str, Any]]) -> None:
    if not _runs(results, scenarios, queueing=False, share=False):
        raise error("scenarios", "no RTT")


def _throughputs(
    results: Source, scenarios: list[dict[str, Any]]
) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """The flows' throughputs by label, ascending."""
    points = points_of(results, [scenario["name"] for scenario in scenarios]).points
    flows = results.flows.select("scenario", "flow", "throughput_mbps").join(
        _flow_table(points), ["scenario", "flow"]
    )
    labels = dict.fromkeys(label for point in points for label in flow_labels(point))
    return {label: flows.filter(label=label)["throughput_mbps"].sort().to_numpy() for label in labels}


def _flow_table(points: list[Point]) -> pl.DataFrame:
    rows = [
        (point.scenario["name"], flow, label, base, bottleneck(point.scenario)[0] / 1e6)
        for point in points
        for flow, (label, base) in enumerate(zip(flow_labels(point), _base_rtts(point.scenario), strict=True))
    ]
    schema = {
        "scenario": pl.String(),
        "flow": pl.UInt32(),
        "label": pl.String(),
        "base_ms": pl.Float64(),
        "rate_mbps": pl.Float64(),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _base_rtts(scenario: dict[str, Any]) -> list[float]:
    """Each flow's RTT over empty queues, with the time that a full packet takes on the links."""
    links = scenario["links"]
    rtts = []
    for flow in scenario["flows"]:
        bits = 8 * (flow["payload_bytes"] + flow["stack"]["header_bytes"])
        there = sum(links[link]["delay_ns"] + 1e9 * bits / links[link]["rate_bps"] for link in flow["path"])
        rtts.append((there + flow["return_delay_ns"]) / 1e6)
    return rtts


def _runs(
    results: Source, scenarios: list[dict[str, Any]], *, queueing: bool, share: bool
) -> dict[str, tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]]:
    """Delay and throughput of each run by label; the delay weighs the flows by their throughput."""
    points = points_of(results, [scenario["name"] for scenario in scenarios]).points
    delay = pl.col("mean_rtt_ms") - pl.col("base_ms") if queueing else pl.col("mean_rtt_ms")
    throughput = pl.col("throughput_mbps")
    rate = pl.col("rate_mbps").first() / 100 if share else 1.0
    flows = (
        results.flows.join(_flow_table(points), ["scenario", "flow"])
        .drop_nulls("mean_rtt_ms")
        .group_by("scenario", "seed", "label", maintain_order=True)
        .agg(
            delay=(delay * throughput).sum() / throughput.sum(),
            throughput=throughput.sum() / rate,
        )
        .filter(pl.col("delay").is_finite())
    )
    labels = [label for point in points for label in flow_labels(point)]
    return {
        label: (own["delay"].to_numpy(), own["throughput"].to_numpy())
        for label in dict.fromkeys(labels)
        if (own := flows.filter(label=label)).height
    }


def _ellipse(
    runs: tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]], look: Look
) -> Ellipse | None:
    """One standard deviation around the mean, along the main axes of the scatter."""
    if len(runs[0]) < 2:
        return None
    variances, directions = np.linalg.eigh(np.cov(*runs))
    if variances[-1] <= 0:
        return None
    small, large = np.sqrt(np.maximum(variances, 0))
    return Ellipse(
        (float(runs[0].mean()), float(runs[1].mean())),
        2 * float(large),
        2 * float(small),
        angle=math.degrees(math.atan2(directions[1, 1], directions[0, 1])),
        facecolor=(look.colour, 0.12),
        edgecolor=look.colour,
        linestyle=look.line,
        linewidth=1.0,
        zorder=3,
    )
