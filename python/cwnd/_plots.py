"""Figures. One look per algorithm in all of them: colour, line and marker, told apart in grey too."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from cwnd._errors import error
from cwnd._facts import bdp_pkts, bottleneck, bottleneck_link, exponent, shared_facts
from cwnd._scenario import algorithms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cwnd._results import Results

#: Okabe and Ito's colours, made for every kind of colour vision, without the yellow.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES = ("-", (0, (6, 1.5)), (0, (2, 1)), (0, (6, 1.5, 1.5, 1.5)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_GREY = "#666666"

_STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.1,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "figure.titlesize": 10,
    "figure.constrained_layout.use": True,
    "path.simplify_threshold": 0.2,
    "svg.hashsalt": "cwnd",  # the same figure is the same bytes
}

_PANELS_MAX = 8


class Look(NamedTuple):
    colour: str
    line: Any
    marker: str


class _Figure(Figure):
    """A figure that a notebook shows without further ado."""

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        with mpl.rc_context(_STYLE):
            self.savefig(image, format="png", dpi=150)
        return image.getvalue()


def looks(names: Iterable[str]) -> dict[str, Look]:
    """The look of each algorithm: by its place in the registry, for others in the order of `names`."""
    known = [algorithm["name"] for algorithm in algorithms()]
    others = [name for name in dict.fromkeys(names) if name not in known]

    def look(index: int) -> Look:
        return Look(
            _COLOURS[index % len(_COLOURS)], _LINES[index % len(_LINES)], _MARKERS[index % len(_MARKERS)]
        )

    return {name: look(index) for index, name in enumerate(known + others)}


def draw(
    kind: str, results: Results, names: Sequence[str] | None, seed: int | None, title: str | None
) -> Figure:
    scenarios = _chosen(results, names)
    with mpl.rc_context(_STYLE):
        if kind == "throughput-buffer":
            figure = _throughput_buffer(results, scenarios)
            heading = r"$\bf{Throughput\ against\ buffer}$"
        else:
            figure = _over_time(_SERIES[kind], results, scenarios, seed)
            heading = _SERIES[kind].heading.replace(" ", r"\ ").join((r"$\bf{", "}$"))
        shared = ", ".join(shared_facts(scenarios, with_buffer=kind != "throughput-buffer"))
        figure.suptitle(title if title is not None else heading + (f"\n{shared}" if shared else ""))
        return figure


def write(figure: Figure, path: Path) -> None:
    """Writes the figure without a date in it."""
    ending = path.suffix.lower()
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with mpl.rc_context(_STYLE):
        figure.savefig(path, dpi=200, metadata=undated.get(ending))


def _chosen(results: Results, names: Sequence[str] | None) -> list[dict[str, Any]]:
    by_name = {scenario["name"]: scenario for scenario in results.scenarios}
    for name in names or ():
        if name not in by_name:
            raise error("scenarios", f"no {name!r} here; there are {', '.join(by_name)}")
    chosen = list(by_name.values()) if names is None else [by_name[name] for name in names]
    if not chosen:
        raise error("scenarios", "an empty list; there is nothing to draw")
    return chosen


class Panel(NamedTuple):
    """One scenario of a figure over time."""

    axes: Axes
    scenario: dict[str, Any]
    samples: pl.DataFrame
    looks: dict[str, Look]


class Series(NamedTuple):
    heading: str
    label: str
    column: str
    draw: Callable[[Panel], None]


def _over_time(series: Series, results: Results, scenarios: list[dict[str, Any]], seed: int | None) -> Figure:
    if len(scenarios) > _PANELS_MAX:
        raise error(
            "scenarios", f"{len(scenarios)} are too many for one figure; choose at most {_PANELS_MAX}"
        )
    columns = 1 if len(scenarios) <= 3 else 2
    rows = math.ceil(len(scenarios) / columns)
    height = 3.2 if rows == 1 else 0.9 + 1.75 * rows
    figure = _Figure(figsize=(7.2, height))
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    look = looks(flow["cca"]["name"] for scenario in scenarios for flow in scenario["flows"])
    entries: dict[str, Line2D] = {}
    for index, scenario in enumerate(scenarios):
        axes = grid[index // columns][index % columns]
        own = scenario["seed"] if seed is None else seed
        chosen = results.samples.filter(scenario=scenario["name"], seed=own).drop_nulls(series.column)
        if chosen.is_empty():
            raise error(scenario["name"], f"no samples of the {series.heading.lower()} with seed {own}")
        series.draw(Panel(axes, scenario, chosen, look))
        ccas = list(dict.fromkeys(flow["cca"]["name"] for flow in scenario["flows"]))
        if len(scenarios) > 1:
            axes.set_title(scenario["name"])
        if len(scenarios) == 1 or len(ccas) > 1 or ccas[0] not in scenario["name"]:
            entries |= {_flows_label(scenario, cca): _handle(look[cca], len(ccas) > 1) for cca in ccas}
        axes.set_xlim(0, max(one["duration_ns"] for one in scenarios) / 1e9)
        axes.set_ylim(bottom=0)
        axes.margins(y=0.08)
        if index // columns == rows - 1 or index + columns >= len(scenarios):
            axes.set_xlabel("time (s)")
            axes.tick_params(labelbottom=True)
        if index % columns == 0:
            axes.set_ylabel(series.label)
    for axes in grid.flat[len(scenarios) :]:
        axes.set_visible(False)
    if entries and series.column != "queue_pkts":
        _legend(figure, entries)
    return figure


def _draw_flows(panel: Panel, column: str) -> None:
    axes, scenario, samples, look = panel
    ccas = [flow["cca"]["name"] for flow in scenario["flows"]]
    distinct = list(dict.fromkeys(ccas))
    by_change = scenario["samples"] == "change"
    for (flow,), rows in samples.group_by("flow", maintain_order=True):
        cca = ccas[int(str(flow))]
        alike = [index for index, name in enumerate(ccas) if name == cca]
        axes.plot(
            rows["time_s"].to_numpy(),
            rows[column].to_numpy(),
            color=_shade(look[cca].colour, alike.index(int(str(flow))), len(alike)),
            linestyle=look[cca].line if len(distinct) > 1 else "-",
            linewidth=1.1 if len(ccas) <= 4 else 0.7,
            drawstyle="steps-post" if by_change else "default",
            zorder=3 - 0.5 * alike.index(int(str(flow))) / len(alike),
        )


def _draw_cwnd(panel: Panel) -> None:
    _draw_flows(panel, "cwnd_pkts")
    if len(panel.scenario["flows"]) == 1:
        _, buffer, _ = bottleneck(panel.scenario)
        bdp = bdp_pkts(panel.scenario)
        _mark(panel.axes, bdp, "BDP")
        if buffer is not None and buffer > 0.08 * bdp:
            _mark(panel.axes, bdp + buffer, "BDP + buffer")


def _draw_throughput(panel: Panel) -> None:
    _draw_flows(panel, "throughput_mbps")
    rate, _, _ = bottleneck(panel.scenario)
    _mark(panel.axes, rate / 1e6, "link rate")
    if len(panel.scenario["flows"]) > 1:
        total = panel.samples.group_by("time_s").agg(pl.col("throughput_mbps").sum()).sort("time_s")
        panel.axes.plot(
            total["time_s"].to_numpy(),
            total["throughput_mbps"].to_numpy(),
            color=_GREY,
            linewidth=1,
            zorder=1,
        )
        last = float(total["throughput_mbps"].tail(max(1, total.height // 5)).mean() or 0)  # type: ignore[arg-type]
        panel.axes.annotate(
            "all flows",
            (1, last),
            xycoords=panel.axes.get_yaxis_transform(),
            xytext=(4, -9 if last > 0.9 * rate / 1e6 else 0),
            textcoords="offset points",
            color=_GREY,
            fontsize=7.5,
            va="center",
            annotation_clip=False,
        )


def _draw_queue(panel: Panel) -> None:
    axes, scenario, samples, look = panel
    slowest = [bottleneck_link(scenario, flow) for flow in range(len(scenario["flows"]))]
    links = {link["name"]: link for link in slowest}
    ccas = {flow["cca"]["name"] for flow in scenario["flows"]}
    colour = look[ccas.pop()].colour if len(ccas) == 1 else "#333333"
    for index, (name, told) in enumerate(links.items()):
        rows = samples.filter(link=name)
        time, queue = rows["time_s"].to_numpy(), rows["queue_pkts"].to_numpy()
        shade = _shade(colour, index, len(links))
        axes.plot(time, queue, color=shade, linewidth=1)
        axes.fill_between(time, queue, color=shade, alpha=0.15, linewidth=0)
        if told["buffer_pkts"] is not None:
            _mark(axes, told["buffer_pkts"], "buffer")


_SERIES = {
    "cwnd": Series("Congestion window", "cwnd (packets)", "cwnd_pkts", _draw_cwnd),
    "throughput": Series("Throughput", "throughput (Mbit/s)", "throughput_mbps", _draw_throughput),
    "queue": Series("Queue at the bottleneck", "queue (packets)", "queue_pkts", _draw_queue),
}


def _throughput_buffer(results: Results, scenarios: list[dict[str, Any]]) -> Figure:
    means = {
        row["scenario"]: row for row in results.summary.filter(metric="throughput_mbps").iter_rows(named=True)
    }
    lines: dict[float, dict[str, dict[int, dict[str, Any]]]] = {}
    for scenario in scenarios:
        _, buffer, per = bottleneck(scenario)
        if buffer is None:
            continue
        points = lines.setdefault(per, {}).setdefault(_algorithms_label(scenario), {})
        if buffer in points:
            raise error(
                "scenarios",
                f"{_algorithms_label(scenario)}, buffer {buffer}, PER {exponent(per)}: twice; choose one",
            )
        points[buffer] = means[scenario["name"]]
    if not lines:
        raise error("scenarios", "no bottleneck has a limited buffer; there is nothing to draw")
    labels = list(dict.fromkeys(label for of in lines.values() for label in of))
    look = looks(labels)
    figure = _Figure(figsize=(max(5.2, 0.9 + 3.1 * len(lines)), 3.6))
    FigureCanvasAgg(figure)
    grid = figure.subplots(1, len(lines), sharey=True, squeeze=False)[0]
    for axes, (per, of) in zip(grid, sorted(lines.items()), strict=True):
        for label, points in of.items():
            _draw_points(axes, dict(sorted(points.items())), look[label])
        buffers = sorted({buffer for points in of.values() for buffer in points})
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(buffers))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.tick_params(axis="x", rotation=45 if len(buffers) > 5 else 0)
        axes.set_xlabel("buffer (packets)")
        if len(lines) > 1:
            axes.set_title("no random loss" if per == 0 else f"PER {exponent(per)}")
    grid[0].set_ylim(bottom=0)
    grid[0].set_ylabel("throughput (Mbit/s)")
    rates = {bottleneck(scenario)[0] for scenario in scenarios}
    if len(rates) == 1:
        rate = rates.pop() / 1e6
        for axes in grid:
            axes.axhline(rate, color=_GREY, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
        grid[-1].annotate(
            "link rate",
            (1, rate),
            xycoords=grid[-1].get_yaxis_transform(),
            xytext=(4, 0),
            textcoords="offset points",
            color=_GREY,
            fontsize=7.5,
            va="center",
            annotation_clip=False,
        )
    handles = {label: _handle(look[label], True, look[label].marker) for label in labels}
    _legend(figure, handles)
    return figure


def _draw_points(axes: Axes, points: dict[int, dict[str, Any]], look: Look) -> None:
    means = [row["mean"] for row in points.values()]
    bars = None
    if all(row["ci95_low"] is not None for row in points.values()):
        bars = [
            [row["mean"] - row["ci95_low"] for row in points.values()],
            [row["ci95_high"] - row["mean"] for row in points.values()],
        ]
    axes.errorbar(
        list(points), means, bars, color=look.colour, linestyle=look.line, marker=look.marker, capsize=2
    )


def _mark(axes: Axes, y: float, text: str) -> None:
    """A thin line across, named at its right end."""
    axes.axhline(y, color=_GREY, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    axes.annotate(
        text,
        (1, y),
        xycoords=axes.get_yaxis_transform(),
        xytext=(4, 0),
        textcoords="offset points",
        color=_GREY,
        fontsize=7.5,
        va="center",
        annotation_clip=False,
    )


def _legend(figure: Figure, entries: dict[str, Line2D]) -> None:
    figure.legend(
        list(entries.values()), list(entries), loc="outside lower center", ncols=min(len(entries), 6)
    )


def _handle(look: Look, dashed: bool, marker: str | None = None) -> Line2D:
    return Line2D([], [], color=look.colour, linestyle=look.line if dashed else "-", marker=marker)


def _flows_label(scenario: dict[str, Any], cca: str) -> str:
    count = sum(flow["cca"]["name"] == cca for flow in scenario["flows"])
    return cca if count == 1 else f"{cca} ({count} flows)"


def _algorithms_label(scenario: dict[str, Any]) -> str:
    return "+".join(dict.fromkeys(flow["cca"]["name"] for flow in scenario["flows"]))


def _shade(colour: str, index: int, count: int) -> tuple[float, float, float]:
    """The colour, lighter for the later of several."""
    white = 0.6 * index / count
    red, green, blue = (part + (1 - part) * white for part in to_rgb(colour))
    return red, green, blue
