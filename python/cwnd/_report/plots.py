"""The plots of a report's page: the time series as JSON, and the script that draws them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from matplotlib.colors import to_hex

from cwnd._common.labels import scenario_label
from cwnd._common.rows import series_algorithms, series_count
from cwnd._report.labelled import Labelled
from cwnd._report.looks import Look, looks_of
from cwnd._report.over_time import SERIES, shade, time_series
from cwnd._report.script import can_plot, embed
from cwnd._scenario.facts import bottlenecks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.typing import LineStyleType

    from cwnd._common.shapes import ScenarioJson
    from cwnd._report.source import Source


#: Most lines of a plot: a report of more flows or groups keeps its figures.
_LINES_MAX = 60
#: Most steps of the time axis.
_STEPS_MAX = 1000
#: Digits of a value.
_DIGITS = 5
#: Pixels for a unit of a line's dashes.
_DASH_PX = 1.5


class _Line(NamedTuple):
    name: str
    #: Lines switched on and off as one: an algorithm, or one in a scenario of several; None: never off.
    group: str | None
    colour: str
    dashes: LineStyleType
    #: With the columns time_s, value, and low and high if the plot has bands.
    rows: pl.DataFrame


def scripts(results: Source, kinds: Sequence[str], titles: dict[str, str]) -> tuple[str, str]:
    """The scripts and the style that a page needs for plots of the `kinds` over time; empty without uPlot."""
    return embed(_data(results, kinds, titles)) if can_plot() else ("", "")


def _data(results: Source, kinds: Sequence[str], titles: dict[str, str]) -> dict[str, object]:
    """The time of all plots, and each plot with its lines."""
    results = Labelled(results)
    scenarios = results.scenarios
    shown = [kind for kind in kinds if kind in SERIES]
    if not shown or sum(map(series_count, scenarios)) > _LINES_MAX:
        return {"plots": [], "steps": 0, "duration_s": 0}
    rows = {one["name"]: time_series(results, one, one["seed"]) for one in scenarios}
    duration_s = max(one["duration_ns"] for one in scenarios) / 1e9
    most = max((len(part) for own in rows.values() for part in own.partition_by("flow", "link")), default=1)
    steps = min(_STEPS_MAX, max(most - 1, 1))
    look = looks_of(scenarios)
    plots = []
    for kind in shown:
        lines = [
            line
            for scenario in scenarios
            for line in _lines(kind, scenario, rows[scenario["name"]], look, len(scenarios) > 1)
        ]
        plots.append(
            {
                "kind": kind,
                "title": titles[kind],
                "label": SERIES[kind].label_of(scenarios),
                "by_change": any(scenario["samples"] == "change" for scenario in scenarios),
                # Bands lie behind the lines.
                "series": [
                    {"group": line.group, "colour": line.colour, **own}
                    for part in (_of_edges, _of_line)
                    for line in lines
                    for own in part(line, duration_s, steps)
                ],
            }
        )
    return {"plots": plots, "steps": steps, "duration_s": duration_s}


def _lines(
    kind: str, scenario: ScenarioJson, rows: pl.DataFrame, look: dict[str, Look], several: bool
) -> list[_Line]:
    """The lines of one scenario: a line for each flow or group, of queues for each bottleneck."""
    ccas = series_algorithms(scenario)
    mixed = len(set(ccas)) > 1
    rows = rows.drop_nulls(SERIES[kind].column).select(
        "flow",
        "link",
        "time_s",
        value=pl.col(SERIES[kind].column).cast(pl.Float64),
        **dict(zip(("low", "high"), SERIES[kind].edges_of(scenario), strict=False)),
    )
    name = scenario_label(scenario) if several else ccas[0]
    lines = []
    if kind == "queue":
        for link in bottlenecks(scenario):
            colour = "#333333" if mixed else look[ccas[0]].colour
            shown = f"{name}: {link}" if several else link
            group = None if mixed else name
            lines.append(_Line(shown, group, colour, look[ccas[0]].line, rows.filter(link=link)))
        return lines
    for flow, cca in enumerate(ccas):
        place, count = ccas[:flow].count(cca), ccas.count(cca)
        group = f"{name}: {cca}" if several and mixed else name if several else cca
        shown = f"{group} {place + 1}" if count > 1 else group
        colour = to_hex(shade(look[cca].colour, place, count))
        lines.append(_Line(shown, group, colour, look[cca].line, rows.filter(flow=flow)))
    return lines


def _of_line(line: _Line, duration_s: float, steps: int) -> list[dict[str, object]]:
    values = _stepped(line.rows, duration_s, steps)
    return [{"name": line.name, "dash": _dash(line.dashes), "values": values}]


def _of_edges(line: _Line, duration_s: float, steps: int) -> list[dict[str, object]]:
    """The upper and the lower edge of a line's band, at the steps that have rows."""
    if "low" not in line.rows.columns:
        return []
    rows = line.rows.with_columns(step=_steps(line.rows, duration_s, steps))
    edges = rows.group_by("step").agg(pl.col("high").max(), pl.col("low").min())
    whole = pl.DataFrame({"step": range(steps + 1)}).join(edges, on="step", how="left", maintain_order="left")
    return [{"edge": edge, "values": whole[edge].to_list()} for edge in ("high", "low")]


def _dash(line: LineStyleType) -> list[float]:
    return [] if isinstance(line, str) else [_DASH_PX * part for part in line[1]]


def _stepped(rows: pl.DataFrame, duration_s: float, steps: int) -> list[float | None]:
    """The values on an even time axis; a step without a value has None.

    Where two neighbouring steps have more than two values, they show the least and the greatest of them, in
    the order in which they came.
    """
    values = rows["value"].to_numpy()
    step = _steps(rows, duration_s, steps)
    shown: list[float | None] = [None] * (steps + 2)
    firsts = [*np.flatnonzero(np.diff(step // 2, prepend=-1)).tolist(), len(step)]
    for first, end in pairwise(firsts):
        if end - first == 1 or (end - first == 2 and step[first] < step[first + 1]):
            for index in range(first, end):
                shown[step[index]] = _rounded(values[index])
        else:
            own = values[first:end]
            low, high = sorted((int(own.argmin()), int(own.argmax())))
            at = step[first] // 2 * 2
            shown[at], shown[at + 1] = _rounded(own[low]), _rounded(own[high])
    return shown[: steps + 1]


def _steps(rows: pl.DataFrame, duration_s: float, steps: int) -> npt.NDArray[np.int64]:
    """The step of each row."""
    return np.floor(rows["time_s"].to_numpy() / duration_s * steps + 1e-6).astype(int).clip(max=steps)


def _rounded(value: float) -> float | None:
    if not np.isfinite(value):
        return None
    short = float(f"{value:.{_DIGITS}g}")
    return int(short) if short.is_integer() else short
