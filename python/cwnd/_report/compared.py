"""Results over each other in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.lines import Line2D

from cwnd._common.errors import error, one_line
from cwnd._common.labels import scenario_label
from cwnd._report.figures import set_heading, style
from cwnd._report.looks import escape_mathematics, legend, mark, start_at_zero, wrap_panel_titles
from cwnd._report.over_time import PANELS_MAX, SERIES, label_panels, new_panels, shade, time_series
from cwnd._scenario.facts import bottleneck, bottleneck_link, shared_facts

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cwnd._common.shapes import ScenarioJson
    from cwnd._report.source import Source

#: Colours of the results in their order; the first is drawn wide, so that it shows below the others.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000")
_WIDTHS = (2.4, 1.1)


def draw(
    kind: str, results: Sequence[Source], names: Sequence[str], pairs: Sequence[Sequence[str]]
) -> Figure:
    """A panel for each pair of scenarios that both have samples of it: `kind` over time, their first runs.

    Raises `Error` if no pair has, or there are too many panels.
    """
    if kind not in SERIES:
        raise error("kind", f"{one_line(repr(kind))} is not a figure; there are {', '.join(SERIES)}")
    pairs = _sampled(kind, results, pairs) or pairs
    if len(pairs) > PANELS_MAX:
        raise error(
            "compare", f"{len(pairs)} scenarios are too many for one figure; at most {PANELS_MAX} fit"
        )
    scenarios = [next(one for one in results[0].scenarios if one["name"] == pair[0]) for pair in pairs]
    with style():
        figure, panels = new_panels(len(pairs))
        for axes, scenario, pair in zip(panels, scenarios, pairs, strict=True):
            for index, (result, name) in enumerate(zip(results, pair, strict=True)):
                _draw(axes, kind, result, name, index)
            if len(pairs) > 1:
                axes.set_title(escape_mathematics(scenario_label(scenario)))
            _, buffer, _ = bottleneck(scenario)
            if kind == "queue" and buffer is not None:
                mark(axes, buffer, "buffer", named=len(pairs) == 1)
        label_panels(panels, SERIES[kind].label_of(scenarios), scenarios)
        start_at_zero(panels)
        entries = {
            name: Line2D([], [], color=_colour(index), linewidth=_width(index))
            for index, name in enumerate(names)
        }
        legend(figure, entries)
        set_heading(figure, SERIES[kind].heading, shared_facts(scenarios))
        wrap_panel_titles(figure)
    return figure


def applicable(results: Sequence[Source], pairs: Sequence[Sequence[str]]) -> list[str]:
    """The kinds of figures that these results can have over each other."""
    return [kind for kind in SERIES if 0 < len(_sampled(kind, results, pairs)) <= PANELS_MAX]


def _sampled(kind: str, results: Sequence[Source], pairs: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    return [
        pair
        for pair in pairs
        if not any(_rows(kind, *one)[1].is_empty() for one in zip(results, pair, strict=True))
    ]


def _rows(kind: str, result: Source, name: str) -> tuple[ScenarioJson, pl.DataFrame]:
    """The scenario of this name, and its samples of a kind in its first run."""
    scenario = next(one for one in result.scenarios if one["name"] == name)
    return scenario, time_series(result, scenario, scenario["seed"]).drop_nulls(SERIES[kind].column)


def _draw(axes: Axes, kind: str, result: Source, name: str, index: int) -> None:
    column = SERIES[kind].column
    scenario, rows = _rows(kind, result, name)
    if rows.is_empty():
        raise error(one_line(name), f"no samples of the {SERIES[kind].heading.lower()}; set 'samples'")
    if kind == "queue":
        rows = rows.filter(link=bottleneck_link(scenario, 0)["name"])
    parts = [rows] if kind == "queue" else rows.partition_by("flow", maintain_order=True)
    for flow, part in enumerate(parts):
        axes.plot(
            part["time_s"].to_numpy(),
            part[column].to_numpy(),
            color=shade(_colour(index), flow, len(parts)),
            linewidth=_width(index),
            zorder=2 + index,
        )


def _colour(index: int) -> str:
    return _COLOURS[index % len(_COLOURS)]


def _width(index: int) -> float:
    return _WIDTHS[min(index, len(_WIDTHS) - 1)]
