"""Distributions over flows, transfers and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from cwnd._common.errors import error
from cwnd._report.looks import handle, legend, new_figure
from cwnd._report.point_looks import all_looks
from cwnd._report.points import flows_by_label, number, points_of
from cwnd._report.throughput_delay import flow_table
from cwnd._report.transfers import labelled_transfers
from cwnd._scenario.facts import bottlenecks

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from cwnd._common.shapes import ScenarioJson
    from cwnd._report.source import Source

    Numbers = npt.NDArray[np.float64]


#: Fewest throughputs of one algorithm that make a distribution.
_CDF_MIN = 5
#: Most steps of a line; a longer one is thinned out evenly.
_CDF_STEPS = 1000
#: Values further apart than this factor are shown by their logarithms.
_LINEAR_MAX = 30


class Spread(NamedTuple):
    """The values of one algorithm, ascending, and the share of everything that is at most each of them."""

    values: Numbers
    shares: Numbers
    #: Text behind the name in the legend.
    counted: str = ""


class Distribution(NamedTuple):
    """A kind of figure: what it distributes, by label."""

    heading: str
    x_label: str
    y_label: str
    read: Callable[[Source, list[ScenarioJson]], dict[str, Spread]]
    #: Fewest values of one algorithm that make a figure worth drawing unasked.
    at_least: int = 2


def draw_distribution(kind: Distribution, results: Source, scenarios: list[ScenarioJson]) -> Figure:
    read = kind.read(results, scenarios)
    if all(len(spread.values) < 2 for spread in read.values()):
        raise error("scenarios", f"fewer than two values of {kind.x_label}; a distribution needs more")
    points = points_of(results, [one["name"] for one in scenarios]).points
    look = all_looks(results, points)
    order = [label for point in points for label in (*flows_by_label(point), point.label)]
    by_label = {label: read[label] for label in dict.fromkeys(order) if label in read}
    figure = new_figure(5.2, 3.6)
    (axes,) = figure.subplots(1, 1, squeeze=False).flat
    entries = {}
    for place, (label, (values, shares, counted)) in enumerate(by_label.items()):
        entries[f"{label} {counted}".rstrip()] = handle(look[label], True, look[label].marker)
        if not len(values):
            continue
        if len(values) > _CDF_STEPS:
            kept = np.linspace(0, len(values) - 1, _CDF_STEPS).round().astype(int)
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
            clip_on=False,  # a mark at an end of the axes is whole
        )
    ends = [spread.values[[0, -1]] for spread in by_label.values() if len(spread.values)]
    low, high = float(np.min(ends)), float(np.max(ends))
    if low > 0 and high > _LINEAR_MAX * low:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0)
    axes.set_ylim(0, 1.03)
    axes.set_xlabel(kind.x_label)
    axes.set_ylabel(kind.y_label)
    legend(figure, entries)
    return figure


def check_distribution(kind: Distribution, results: Source, scenarios: list[ScenarioJson]) -> None:
    if all(len(spread.values) < kind.at_least for spread in kind.read(results, scenarios).values()):
        raise error("scenarios", "too few values")


def _throughputs(results: Source, scenarios: list[ScenarioJson]) -> dict[str, Spread]:
    """The throughputs of all flows, over points and seeds."""
    points = points_of(results, [scenario["name"] for scenario in scenarios]).points
    flows = results.flows.select("scenario", "flow", "throughput_mbps")
    return {
        label: _counted(rows["throughput_mbps"])
        for label, rows in _by_label(flows.join(flow_table(points), ["scenario", "flow"]))
    }


def _transfers(column: str) -> Callable[[Source, list[ScenarioJson]], dict[str, Spread]]:
    def read(results: Source, scenarios: list[ScenarioJson]) -> dict[str, Spread]:
        return {
            label: _counted(rows[column])
            for label, rows in _by_label(labelled_transfers(results, scenarios))
            if rows[column].count()
        }

    return read


def _rtts(results: Source, scenarios: list[ScenarioJson]) -> dict[str, Spread]:
    """The smoothed RTTs of all flows, over the time measured."""
    if any("sample_groups" in scenario for scenario in scenarios):
        raise error("scenarios", "their samples are by group; the RTTs of flows are in samples by flow")
    points = points_of(results, [scenario["name"] for scenario in scenarios]).points
    table = flow_table(points).select("scenario", "flow", "label")
    samples = results.samples.drop_nulls(["flow", "rtt_ms"]).join(table, ["scenario", "flow"])
    return _weighed_by_time(samples, "flow", "rtt_ms", scenarios)


def _queue_delays(results: Source, scenarios: list[ScenarioJson]) -> dict[str, Spread]:
    """The queueing delays of the flows' bottlenecks, over the time measured."""
    rows = [
        (point.scenario["name"], link, point.label)
        for point in points_of(results, [scenario["name"] for scenario in scenarios]).points
        for link in bottlenecks(point.scenario)
    ]
    table = pl.DataFrame(rows, dict.fromkeys(("scenario", "link", "label"), pl.String()), orient="row")
    samples = results.samples.drop_nulls(["link", "queue_ms"]).join(
        table, ["scenario", "link"], maintain_order="left"
    )
    return _weighed_by_time(samples, "link", "queue_ms", scenarios)


def _weighed_by_time(
    samples: pl.DataFrame, of: str, column: str, scenarios: list[ScenarioJson]
) -> dict[str, Spread]:
    """Each sample counts for the time until the next one, from the end of the scenario's warm-up on."""
    warmups = [(one["name"], one.get("warmup_ns", 0) / 1e9) for one in scenarios]
    table = pl.DataFrame(warmups, {"scenario": pl.String(), "warmup_s": pl.Float64()}, orient="row")
    held = pl.col("time_s").shift(-1).over("scenario", "seed", of) - pl.col("time_s")
    timed = (
        samples.sort("scenario", "seed", of, "time_s")
        .with_columns(held_s=held)
        .join(table, "scenario")
        .filter(pl.col("time_s") >= pl.col("warmup_s"), pl.col("held_s") > 0)
        .sort(column)
    )
    return {
        label: Spread(rows[column].to_numpy(), rows["held_s"].cum_sum().to_numpy() / rows["held_s"].sum())
        for label, rows in _by_label(timed)
    }


def _by_label(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(str(label), own) for (label,), own in rows.group_by("label", maintain_order=True)]


def _counted(column: pl.Series) -> Spread:
    """Every value counts the same; a null, of a transfer that did not end, is beyond every value."""
    values = column.drop_nulls().sort().to_numpy()
    ended = f"{len(values):,} of " if column.null_count() else ""
    return Spread(values, np.arange(1, len(values) + 1) / max(len(column), 1), f"({ended}{len(column):,})")


DISTRIBUTIONS = {
    "cdf": Distribution(
        "Throughput of the flows",
        "throughput of a flow (Mbit/s)",
        "share of the flows",
        _throughputs,
        _CDF_MIN,
    ),
    "rtt-cdf": Distribution("Smoothed round-trip times", "RTT (ms)", "share of the time", _rtts),
    "queue-delay-cdf": Distribution(
        "Queueing delay at the bottleneck", "queueing delay (ms)", "share of the time", _queue_delays
    ),
    "fct-cdf": Distribution(
        "Flow completion times", "flow completion time (ms)", "share of the transfers", _transfers("fct_ms")
    ),
    "slowdown-cdf": Distribution(
        "Slowdown of the transfers", "slowdown", "share of the transfers", _transfers("slowdown")
    ),
}
