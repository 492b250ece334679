"""Queueing delay over time, with the drops and marks of the queue as ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from cwnd._common.errors import error
from cwnd._common.labels import scenario_label
from cwnd._common.rows import distinct_algorithms
from cwnd._report.looks import escape_mathematics, legend, looks_of
from cwnd._report.over_time import PANELS_MAX, label_panels, new_panels
from cwnd._scenario.facts import bottlenecks, flows_by_link

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cwnd._common.shapes import ScenarioJson
    from cwnd._report.source import Source


class _Ticks(NamedTuple):
    """How the packets of a column are shown: the name, the colour, the marker, the height in the axes."""

    name: str
    colour: str
    marker: str
    height: float


_TICKS = {
    "dropped_pkts": _Ticks("drops", "#D55E00", "v", 0.96),
    "marked_pkts": _Ticks("marks", "#0072B2", "|", 0.04),
}
#: Most ticks across a panel; closer ones could not be told apart.
_TICKS_ACROSS = 500


def queue_delay(results: Source, scenarios: list[ScenarioJson], seed: int | None) -> Figure:
    """A panel for each shared link, each scenario's bottleneck first."""
    panels = _panels(results, scenarios, seed)
    if not panels:
        raise error("scenarios", "no samples of a queueing delay; there is nothing to draw")
    if len(panels) > PANELS_MAX:
        raise error("scenarios", f"{len(panels)} are too many for one figure; choose at most {PANELS_MAX}")
    figure, grid = new_panels(len(panels))
    look = looks_of(results.scenarios)
    entries: dict[str, Line2D] = {}
    for axes, (scenario, link, samples) in zip(grid, panels, strict=True):
        ccas = distinct_algorithms(scenario)
        colour = look[ccas[0]].colour if len(ccas) == 1 else "#333333"
        time, delay = samples["time_s"].to_numpy(), samples["queue_ms"].to_numpy()
        axes.plot(time, delay, color=colour, linewidth=1)
        axes.fill_between(time, delay, color=colour, alpha=0.15, linewidth=0)
        for column, ticks in _TICKS.items():
            entries |= _draw_ticks(axes, samples, column, ticks, scenario["duration_ns"] / 1e9)
        names = [scenario_label(scenario)] * (len(scenarios) > 1) + [link] * (len(panels) > len(scenarios))
        axes.set_title(escape_mathematics(", ".join(names)))
    label_panels(grid, "queueing delay (ms)", scenarios)
    longest = max(float(panel.samples["queue_ms"].max() or 0) for panel in panels)  # type: ignore[arg-type]
    top = longest or 1.0
    below = 0.12 * top * ("marks" in entries)
    grid[0].set_ylim(-below, top * (1.15 if "drops" in entries else 1.08))
    if entries:
        legend(figure, entries)
    return figure


def check_queue_delay(results: Source, scenarios: list[ScenarioJson]) -> None:
    if not 0 < len(_panels(results, scenarios, None)) <= PANELS_MAX:
        raise error("scenarios", "no queueing delay, or too many links")


class _Panel(NamedTuple):
    scenario: ScenarioJson
    link: str
    samples: pl.DataFrame


def _panels(results: Source, scenarios: list[ScenarioJson], seed: int | None) -> list[_Panel]:
    """The panels; if they are too many for a figure, those of the bottlenecks."""
    samples = results.samples.drop_nulls(["link", "queue_ms"])
    panels, first = [], []
    for scenario in scenarios:
        own = samples.filter(scenario=scenario["name"], seed=scenario["seed"] if seed is None else seed)
        if own.is_empty():
            continue
        by_link = own.partition_by("link", as_dict=True)
        links = [
            _Panel(scenario, link, by_link[link,]) for link in _shared_links(scenario) if (link,) in by_link
        ]
        panels += links
        first += links[:1]
    return panels if len(panels) <= PANELS_MAX else first


def _shared_links(scenario: ScenarioJson) -> list[str]:
    """The flows' bottlenecks, then the other links that several flows cross."""
    shared: list[int] = np.flatnonzero(flows_by_link(scenario) > 1).tolist()
    return list(dict.fromkeys(bottlenecks(scenario) + [scenario["links"][link]["name"] for link in shared]))


def _draw_ticks(
    axes: Axes, samples: pl.DataFrame, column: str, ticks: _Ticks, duration_s: float
) -> dict[str, Line2D]:
    """A tick at each sample that counts drops or marks since the one before, and its entry of the legend."""
    place = (pl.col("time_s") * (_TICKS_ACROSS / duration_s)).floor()
    at = samples.filter(pl.col(column) > 0).group_by(place.alias("place"), maintain_order=True).first()
    if at.is_empty():
        return {}
    axes.plot(
        at["time_s"].to_numpy(),
        [ticks.height] * at.height,
        transform=axes.get_xaxis_transform(),
        linestyle="none",
        marker=ticks.marker,
        color=ticks.colour,
        markersize=4,
        zorder=4,
        label=ticks.name,
        clip_on=False,
    )
    shown = Line2D([], [], linestyle="none", marker=ticks.marker, color=ticks.colour, markersize=5)
    return {ticks.name: shown}
