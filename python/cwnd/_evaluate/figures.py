"""The figure of a criterion: the candidate's values beside the baseline's, with intervals and bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cwnd._analysis.harm import Estimate
from cwnd._evaluate.criteria.alone import FAIR_SHARE
from cwnd._evaluate.evidence import Finding
from cwnd._evaluate.judge import Judged
from cwnd._report.looks import GREY, STYLE, escape_mathematics, legend, looks, new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import LineStyleType


_WIDTH = 7.2
_ROW_HEIGHT = 0.2
#: Values that span more than this factor are shown on a logarithmic axis.
_LOG_FROM = 50


def draw(judged: Judged, candidate: str, baseline: str) -> Figure | None:
    """None if there is nothing to draw."""
    if not judged.findings:
        return None
    with mpl.rc_context(STYLE):
        kinds = {"dots": _dots, "matrix": _matrix, "shares": _shares}
        figure = kinds[judged.criterion.figure](judged.findings, candidate, baseline)
        set_title(figure, judged.criterion.title)
        return figure


def _colours(candidate: str, baseline: str) -> tuple[str, str]:
    """Returns the colours of the candidate and of the baseline, grey if it is the same algorithm."""
    names = [label.partition(" (")[0] for label in (candidate, baseline)]
    found = looks(names)
    return found[names[0]].colour, GREY if names[0] == names[1] else found[names[1]].colour


def _dots(findings: Sequence[Finding], candidate: str, baseline: str) -> Figure:
    """A panel for each metric, a row for each case."""
    metrics = list(dict.fromkeys((one.metric, one.unit) for one in findings))
    panels = [[one for one in findings if (one.metric, one.unit) == metric] for metric in metrics]
    heights = [_ROW_HEIGHT * len(panel) + 0.75 for panel in panels]
    figure = new_figure(_WIDTH, sum(heights) + 0.5)
    grid = figure.add_gridspec(len(panels), 1, height_ratios=heights)
    colours = _colours(candidate, baseline)
    for index, ((metric, unit), panel) in enumerate(zip(metrics, panels, strict=True)):
        axes = figure.add_subplot(grid[index])
        _scale(axes, panel)
        for row, one in enumerate(panel):
            _dot(axes, one.baseline, row + 0.18, colours[1], hollow=True)
            _dot(axes, one.value, row - 0.18, colours[0], hollow=False)
            if one.bound is not None:
                axes.plot([one.bound] * 2, [row - 0.42, row + 0.42], color="black", linewidth=1.2)
        axes.set_yticks(range(len(panel)), [escape_mathematics(one.case) for one in panel], fontsize=8)
        axes.set_ylim(len(panel) - 0.5, -0.5)
        axes.grid(False, axis="y")
        axes.set_xlabel(escape_mathematics(f"{metric} ({unit})" if unit else metric))
    entries = {
        escape_mathematics(candidate): _mark(colours[0], filled=True),
        escape_mathematics(f"{baseline}, the baseline"): _mark(colours[1], filled=False),
    }
    if any(one.bound is not None for one in findings):
        entries["bound"] = Line2D([], [], color="black", linestyle="none", marker="|", markersize=9)
    legend(figure, entries)
    return figure


def _mark(colour: str, *, filled: bool) -> Line2D:
    face = colour if filled else "white"
    return Line2D([], [], color=colour, linestyle="none", marker="o", markerfacecolor=face)


def _dot(axes: Axes, value: Estimate | None, row: float, colour: str, *, hollow: bool) -> None:
    if value is None:
        return
    if math.isfinite(value.high):
        axes.plot([value.low, value.high], [row, row], color=colour, linewidth=1.4, zorder=2)
    axes.plot(
        [value.mean],
        [row],
        color=colour,
        linestyle="none",
        marker="o",
        markerfacecolor="white" if hollow else colour,
        zorder=3,
    )


def _scale(axes: Axes, panel: Sequence[Finding]) -> None:
    """A linear axis from 0, or a logarithmic one with a place for 0."""
    values = [one for finding in panel for one in (finding.value, finding.baseline) if one is not None]
    points = [*(one.mean for one in values), *(one.bound for one in panel if one.bound is not None)]
    if not points:
        return
    # An interval may leave the axes where it is much wider than the values.
    ends = [end for one in values for end in (one.low, one.high) if abs(end) <= 2 * max(map(abs, points))]
    low, high = min(0, *points, *ends), max(*points, *ends)
    positive = [x for x in points if x > 0]
    if positive and max(positive) > _LOG_FROM * min(positive):
        axes.set_xscale("symlog", linthresh=max(min(positive), max(positive) / 1000))
        axes.set_xlim(low, 1.4 * high)
    elif high > low:
        axes.set_xlim(low, high + 0.04 * (high - low))


def _matrix(findings: Sequence[Finding], candidate: str, baseline: str) -> Figure:
    """A panel for each metric: incumbents across, settings and newcomers down, harm by colour and number."""
    metrics = list(dict.fromkeys(one.metric for one in findings))
    split = [one.case.partition(", ") for one in findings]
    incumbents = list(dict.fromkeys(incumbent for incumbent, _, _ in split))
    settings = list(dict.fromkeys(setting for _, _, setting in split))
    rows = [(setting, who) for setting in settings for who in (candidate, baseline)]
    figure = new_figure(_WIDTH, 0.24 * len(rows) * len(metrics) + 0.85 * len(metrics) + 0.5)
    of = {(one.metric, one.case): one for one in findings}
    for index, metric in enumerate(metrics):
        axes = figure.add_subplot(len(metrics), 1, index + 1)
        values = []
        for number, (setting, _) in enumerate(rows):
            both = [of[metric, f"{incumbent}, {setting}"] for incumbent in incumbents]
            values.append([_mean(one.value if number % 2 == 0 else one.baseline) for one in both])
        axes.imshow(values, cmap="Reds", vmin=0, vmax=1, aspect="auto")
        for row, cells in enumerate(values):
            for column, value in enumerate(cells):
                axes.text(
                    column,
                    row,
                    f"{value:.2f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if value > 0.6 else "black",
                )
        axes.set_xticks(range(len(incumbents)), incumbents)
        axes.set_yticks(
            range(len(rows)),
            [escape_mathematics(f"{setting}: by {who}") for setting, who in rows],
            fontsize=8,
        )
        axes.tick_params(length=0)
        axes.grid(False)
        axes.set_title(f"{metric[0].upper()}{metric[1:]} to")
    return figure


def _mean(value: Estimate | None) -> float:
    return math.nan if value is None else value.mean


def _shares(findings: Sequence[Finding], candidate: str, baseline: str) -> Figure:
    """A panel for each case: the share of the second flow over time."""
    timed = [one for one in findings if one.at_s is not None]
    cases = list(dict.fromkeys(one.case for one in timed))
    figure = new_figure(_WIDTH, 1.9 * len(cases) + 1.0)
    colours = _colours(candidate, baseline)
    lines: list[LineStyleType] = ["-", (0, (6, 1.5))]
    for index, case in enumerate(cases):
        axes = figure.add_subplot(len(cases), 1, index + 1)
        own = [one for one in timed if one.case == case]
        for colour, line, values in (
            (colours[0], lines[0], [one.value for one in own]),
            (colours[1], lines[1], [one.baseline for one in own]),
        ):
            known = [
                (one.at_s or 0.0, value) for one, value in zip(own, values, strict=True) if value is not None
            ]
            times = [at_s for at_s, _ in known]
            axes.plot(times, [value.mean for _, value in known], color=colour, linestyle=line, marker=".")
            if all(math.isfinite(value.high) for _, value in known):
                axes.fill_between(
                    times,
                    [max(value.low, 0.0) for _, value in known],
                    [min(value.high, 1.0) for _, value in known],
                    color=colour,
                    alpha=0.18,
                    linewidth=0,
                )
        axes.axhline(FAIR_SHARE, color="black", linewidth=0.8, linestyle=(0, (1, 2)))
        axes.set_ylim(0, 1)
        axes.set_ylabel("share of the\nsecond flow")
        axes.set_title(escape_mathematics(case))
        if index == len(cases) - 1:
            axes.set_xlabel("time since the second flow's start (s)")
    legend(
        figure,
        {
            escape_mathematics(candidate): Line2D([], [], color=colours[0], linestyle=lines[0]),
            escape_mathematics(f"{baseline}, the baseline"): Line2D(
                [], [], color=colours[1], linestyle=lines[1]
            ),
            "a fair share": Line2D([], [], color="black", linewidth=0.8, linestyle=(0, (1, 2))),
        },
    )
    return figure
