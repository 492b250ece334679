"""Figures over time: windows, RTTs, throughput, queues."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cwnd._common.errors import error
from cwnd._common.labels import scenario_label
from cwnd._common.rows import distinct_algorithms, series_algorithms, series_count
from cwnd._report.form import columns_that_fit
from cwnd._report.looks import (
    GREY,
    Look,
    escape_mathematics,
    handle,
    legend,
    looks_of,
    mark,
    new_figure,
    note,
    start_at_zero,
)
from cwnd._scenario.facts import bdp_pkts, bottleneck, bottlenecks, is_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cwnd._common.shapes import ScenarioJson
    from cwnd._report.source import Source


#: Most panels of a figure: a panel for each algorithm and preset.
PANELS_MAX = 28
#: Most lines of a panel; of more flows or groups, some at even distances have one.
_LINES_MAX = 200
#: Least width of a panel where a form sets the figure's.
_PANEL_LEAST_IN = 1.7
#: Most algorithms in a panel that lines alone tell apart; more have markers too.
_UNMARKED_MAX = 4


class Panel(NamedTuple):
    """One scenario of a figure over time."""

    axes: Axes
    scenario: ScenarioJson
    samples: pl.DataFrame
    looks: dict[str, Look]


class SampleSeries(NamedTuple):
    heading: str
    label: str
    #: Column of the rows in `time_series`.
    column: str
    draw: Callable[[Panel], None]
    #: The columns with the least and the greatest value of a flow since the row before, if there are.
    edges: tuple[str, ...] = ()
    #: The label where a line is a group of flows, if it differs.
    group_label: str = ""

    def edges_of(self, scenario: ScenarioJson) -> tuple[str, ...]:
        """The edges of bands. A group has none: one flow of thousands would set the scale for all means."""
        return () if "sample_groups" in scenario else self.edges

    def label_of(self, scenarios: Sequence[ScenarioJson]) -> str:
        """The label of an axis that these scenarios have in common."""
        by_group = all("sample_groups" in scenario for scenario in scenarios)
        return (by_group and self.group_label) or self.label


def time_series(results: Source, scenario: ScenarioJson, seed: int) -> pl.DataFrame:
    """The samples of a run. Those of a group have the form of a flow's: its number is in `flow`."""
    rows = results.samples.filter(scenario=scenario["name"], seed=seed)
    if "sample_groups" not in scenario:
        return rows
    return rows.with_columns(flow="group", cwnd_pkts="mean_cwnd_pkts")


def draw_over_time(
    series: SampleSeries, results: Source, scenarios: list[ScenarioJson], seed: int | None
) -> Figure:
    if len(scenarios) > PANELS_MAX:
        raise error("scenarios", f"{len(scenarios)} are too many for one figure; choose at most {PANELS_MAX}")
    figure, panels = new_panels(len(scenarios))
    look = looks_of(results.scenarios)
    entries: dict[str, Line2D] = {}
    for axes, scenario in zip(panels, scenarios, strict=True):
        own = scenario["seed"] if seed is None else seed
        chosen = time_series(results, scenario, own).drop_nulls(series.column)
        if chosen.is_empty():
            raise error(scenario["name"], f"no samples of the {series.heading.lower()} with seed {own}")
        series.draw(Panel(axes, scenario, chosen, look))
        ccas = distinct_algorithms(scenario)
        if len(scenarios) > 1:
            axes.set_title(escape_mathematics(scenario_label(scenario)))
        if len(scenarios) == 1 or len(ccas) > 1 or ccas[0] not in scenario_label(scenario):
            entries |= {_lines_label(scenario, cca): _handle(look[cca], ccas) for cca in ccas}
    label_panels(panels, series.label_of(scenarios), scenarios)
    start_at_zero(panels)
    if entries and series.column != "queue_pkts":
        legend(figure, entries)
    return figure


def new_panels(count: int) -> tuple[Figure, list[Axes]]:
    """Panels with common axes: one column, two if they are more than three, four if more than eight."""
    columns = columns_that_fit(1 if count <= 3 else 2 if count <= 8 else 4, _PANEL_LEAST_IN)
    rows = math.ceil(count / columns)
    figure = new_figure(9.6 if columns == 4 else 7.2, 3.2 if rows == 1 else 0.9 + 1.75 * rows, rows)
    grid = list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, grid[:count]


def label_panels(panels: list[Axes], label: str, scenarios: list[ScenarioJson]) -> None:
    """The labels of the common axes, at the outer panels; time goes on until the last scenario ends."""
    grid = panels[0].get_gridspec()
    assert grid is not None
    panels[0].set_xlim(0, max(scenario["duration_ns"] for scenario in scenarios) / 1e9)
    for index, axes in enumerate(panels):
        if index + grid.ncols >= len(panels):
            axes.set_xlabel("time (s)")
            axes.tick_params(labelbottom=True)
        if index % grid.ncols == 0:
            axes.set_ylabel(label)


def _handle(look: Look, ccas: list[str]) -> Line2D:
    return handle(look, len(ccas) > 1, look.marker if len(ccas) > _UNMARKED_MAX else None)


def _draw_flows(panel: Panel, kind: str) -> None:
    """A line for each flow or group, and a band between its edges if the series has them."""
    axes, scenario, samples, look = panel
    column, edges = SERIES[kind].column, SERIES[kind].edges_of(scenario)
    ccas = series_algorithms(scenario)
    distinct = list(dict.fromkeys(ccas))
    by_change = scenario["samples"] == "change"
    marked = len(distinct) > _UNMARKED_MAX
    drawn = drawn_series(scenario)
    of_cca = {cca: [flow for flow in drawn if ccas[flow] == cca] for cca in distinct}
    some = samples.filter(pl.col("flow").is_in(drawn))
    for (flow,), rows in some.group_by("flow", maintain_order=True):
        cca = ccas[int(str(flow))]
        every = max(1, rows.height // 8)
        alike = of_cca[cca]
        colour = shade(look[cca].colour, alike.index(int(str(flow))), len(alike))
        if edges and not by_change:
            low, high = (rows[edge].to_numpy() for edge in edges)
            alpha = 0.25 if len(ccas) <= 4 else 0.1
            axes.fill_between(rows["time_s"], low, high, step="pre", color=colour, alpha=alpha, linewidth=0)
        axes.plot(
            rows["time_s"].to_numpy(),
            rows[column].to_numpy(),
            color=colour,
            linestyle=look[cca].line if len(distinct) > 1 else "-",
            marker=look[cca].marker if marked else None,
            markersize=3.5,
            markevery=(every * distinct.index(cca) // len(distinct), every),
            linewidth=1.1 if len(ccas) <= 4 else 0.7,
            drawstyle="steps-post" if by_change else "default",
            zorder=3 - 0.5 * alike.index(int(str(flow))) / len(alike),
            clip_on=not marked,  # a mark at an end of the axes is whole
        )


def drawn_series(scenario: ScenarioJson) -> list[int]:
    """The flows or groups that have a line: all, or some at even distances."""
    series = series_count(scenario)
    count = min(series, _LINES_MAX)
    return [series * place // count for place in range(count)]


def _draw_cwnd(panel: Panel) -> None:
    _draw_flows(panel, "cwnd")
    if len(panel.scenario["flows"]) == 1 and not is_trace(panel.scenario):
        _, buffer, _ = bottleneck(panel.scenario)
        bdp = bdp_pkts(panel.scenario)
        mark(panel.axes, bdp, "BDP")
        if buffer is not None and buffer > 0.08 * bdp:
            mark(panel.axes, bdp + buffer, "BDP + buffer")


def _draw_rtt(panel: Panel) -> None:
    _draw_flows(panel, "rtt")


def _draw_throughput(panel: Panel) -> None:
    _draw_flows(panel, "throughput")
    if is_trace(panel.scenario):
        return
    rate, _, _ = bottleneck(panel.scenario)
    mark(panel.axes, rate / 1e6, "link rate")
    if len(panel.scenario["flows"]) > 1:
        total = panel.samples.group_by("time_s").agg(pl.col("throughput_mbps").sum()).sort("time_s")
        panel.axes.plot(
            total["time_s"].to_numpy(),
            total["throughput_mbps"].to_numpy(),
            color=GREY,
            linewidth=1,
            zorder=1,
        )
        last = float(total["throughput_mbps"].tail(max(1, total.height // 5)).mean() or 0)  # type: ignore[arg-type]
        note(panel.axes, last, "all flows", drop=9 if last > 0.9 * rate / 1e6 else 0)


def _draw_queue(panel: Panel) -> None:
    axes, scenario, samples, look = panel
    names = bottlenecks(scenario)[:_LINES_MAX]
    wanted = set(names)
    links = {link["name"]: link for link in scenario["links"] if link["name"] in wanted}
    ccas = distinct_algorithms(scenario)
    colour = look[ccas[0]].colour if len(ccas) == 1 else "#333333"
    for index, name in enumerate(names):
        link, rows = links[name], samples.filter(link=name)
        time, queue = rows["time_s"].to_numpy(), rows["queue_pkts"].to_numpy()
        own = shade(colour, index, len(links))
        axes.plot(time, queue, color=own, linewidth=1)
        axes.fill_between(time, queue, color=own, alpha=0.15, linewidth=0)
        if link["buffer_pkts"] is not None:
            mark(axes, link["buffer_pkts"], "buffer")


SERIES = {
    "cwnd": SampleSeries(
        "Congestion window",
        "cwnd (packets)",
        "cwnd_pkts",
        _draw_cwnd,
        ("min_cwnd_pkts", "max_cwnd_pkts"),
        "mean cwnd (packets)",
    ),
    "rtt": SampleSeries(
        "Smoothed round-trip time", "RTT (ms)", "rtt_ms", _draw_rtt, group_label="mean RTT (ms)"
    ),
    "throughput": SampleSeries("Throughput", "throughput (Mbit/s)", "throughput_mbps", _draw_throughput),
    "queue": SampleSeries("Queue at the bottleneck", "queue (packets)", "queue_pkts", _draw_queue),
}


def _lines_label(scenario: ScenarioJson, cca: str) -> str:
    ccas = series_algorithms(scenario)
    lines = "groups" if "sample_groups" in scenario else "flows"
    count, drawn = ccas.count(cca), sum(ccas[place] == cca for place in drawn_series(scenario))
    shown = f"{count} {lines}" if drawn == count else f"{drawn} of {count:,} {lines}"
    return cca if count == 1 else f"{cca} ({shown})"


def shade(colour: str, index: int, count: int) -> tuple[float, float, float]:
    """The colour, lighter for each later flow."""
    white = 0.6 * index / count
    red, green, blue = (part + (1 - part) * white for part in to_rgb(colour))
    return red, green, blue
