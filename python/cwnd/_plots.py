"""Figures."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import polars as pl
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cwnd import _plots_swept
from cwnd._cwnd import Error
from cwnd._errors import error, one_line
from cwnd._facts import bdp_pkts, bottleneck, bottleneck_link, is_trace, shared_facts
from cwnd._files import write_file
from cwnd._looks import (
    GREY,
    STYLE,
    Look,
    algorithm_names,
    bold,
    handle,
    legend,
    looks,
    mark,
    new_figure,
    note,
    plain,
)
from cwnd._points import METRICS, metric_of
from cwnd._scenario import _whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cwnd._results import Results

_PANELS_MAX = 8


def draw(
    kind: str,
    results: Results,
    names: Sequence[str] | None,
    seed: int | None,
    title: str | None,
    *,
    metric: str | None = None,
    over: Sequence[str] | None = None,
) -> Figure:
    """One of `KINDS`. `metric` and `over`, swept keys, are for "lines" and "heatmap"."""
    if kind not in KINDS:
        raise error("kind", f"{kind!r} is not a figure; there are {', '.join(KINDS)}")
    if kind not in ("lines", "heatmap") and (metric is not None or over is not None):
        raise error("metric" if metric is not None else "over", f"not for {kind!r}")
    if metric is not None and metric not in METRICS:
        raise error("metric", f"{metric!r} is not in the summary; there are {', '.join(METRICS)}")
    if title is not None and not isinstance(title, str):
        raise error("title", f"{one_line(repr(title))} is not a text")
    if seed is not None:
        seed = _whole("seed", seed, 0, (1 << 64) - 1)
    scenarios = _chosen(results, names)
    if kind not in _SERIES and any(map(is_trace, scenarios)):
        raise error("kind", f"{kind!r} is not for traces of live connections; {', '.join(_SERIES)}")
    with _style():
        figure, heading = _drawn(kind, results, scenarios, seed, metric or "throughput_mbps", over)
        shared = plain(", ".join(shared_facts(scenarios)))
        if title is None:
            figure.suptitle(bold(heading) + (f"\n{shared}" if shared else ""))
        elif title:
            figure.suptitle(plain(title))
        return figure


def applicable(results: Results) -> list[str]:
    """The kinds that this result has something for."""
    kinds = []
    scenarios = results.scenarios
    if 0 < len(scenarios) <= _PANELS_MAX and results.samples.height:
        by_interval = results.samples["throughput_mbps"].null_count() < results.samples.height
        queues = results.samples["queue_pkts"].null_count() < results.samples.height
        kinds = ["cwnd", "rtt"] + ["throughput"] * by_interval + ["queue"] * queues
    if len(scenarios) < 2 or any(map(is_trace, scenarios)):
        return kinds
    if len({buffer for _, buffer, _ in map(bottleneck, scenarios)}) > 1 and _refuses_not(
        lambda: _plots_swept.check_throughput_buffer(results, scenarios)
    ):
        kinds.append("throughput-buffer")
    for kind, check in _plots_swept.CHECKS.items():
        if kind == "lines" and "throughput-buffer" in kinds:
            continue  # the same figure
        if _refuses_not(lambda check=check: check(results, scenarios)):  # type: ignore[misc]
            kinds.append(kind)
    return kinds


def write(figure: Figure, path: Path) -> None:
    """Writes the figure without a date in it; PNG if the name has no ending."""
    name = path.name if path.suffix else f"{path.name.rstrip('.')}.png"
    image = io.BytesIO()
    _save(figure, image, name.rpartition(".")[2].lower())
    write_file(path.with_name(name), image.getbuffer())


def write_svg(figure: Figure, file: IO[bytes]) -> None:
    """The figure as SVG, without a date in it."""
    _save(figure, file, "svg")


def _save(figure: Figure, to: IO[bytes], form: str) -> None:
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with _style():
        figure.savefig(to, dpi=200, metadata=undated.get(form), format=form)


@contextmanager
def _style() -> Iterator[None]:
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ ")  # a name in a script that the font lacks
        yield


def _refuses_not(check: Callable[[], object]) -> bool:
    try:
        check()
    except Error:
        return False
    return True


def _chosen(results: Results, names: Sequence[str] | None) -> list[dict[str, Any]]:
    by_name = {scenario["name"]: scenario for scenario in results.scenarios}
    for name in names or ():
        if name not in by_name:
            raise error("scenarios", f"no {name!r} here; there are {', '.join(by_name)}")
    chosen = list(by_name.values()) if names is None else [by_name[name] for name in names]
    if not chosen:
        raise error("scenarios", "an empty list; there is nothing to draw")
    return chosen


def _drawn(
    kind: str,
    results: Results,
    scenarios: list[dict[str, Any]],
    seed: int | None,
    metric: str,
    over: Sequence[str] | None,
) -> tuple[Figure, str]:
    """The figure and its heading."""
    of = metric_of(metric).name
    of = of[0].upper() + of[1:]
    if kind in _SERIES:
        return _over_time(_SERIES[kind], results, scenarios, seed), _SERIES[kind].heading
    if kind == "throughput-buffer":
        return _plots_swept.throughput_buffer(results, scenarios), "Throughput against buffer"
    if kind == "lines":
        figure, axes = _plots_swept.lines(results, scenarios, metric, over)
        return figure, f"{of} against {axes[0].name}"
    if kind == "heatmap":
        figure, axes = _plots_swept.heatmap(results, scenarios, metric, over)
        return figure, f"{of} over {axes[0].name} and {axes[1].name}"
    if kind == "cdf":
        return _plots_swept.cdf(results, scenarios), "Throughput of the flows"
    return _plots_swept.throughput_delay(results, scenarios), "Throughput against delay"


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
    figure = new_figure(7.2, height)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    look = looks(algorithm_names(results.scenarios))
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
            axes.set_title(plain(scenario["name"]))
        if len(scenarios) == 1 or len(ccas) > 1 or ccas[0] not in scenario["name"]:
            entries |= {_flows_label(scenario, cca): handle(look[cca], len(ccas) > 1) for cca in ccas}
        axes.set_xlim(0, max(one["duration_ns"] for one in scenarios) / 1e9)
        axes.margins(y=0.08)
        if index // columns == rows - 1 or index + columns >= len(scenarios):
            axes.set_xlabel("time (s)")
            axes.tick_params(labelbottom=True)
        if index % columns == 0:
            axes.set_ylabel(series.label)
    grid.flat[0].set_ylim(bottom=0)
    for axes in grid.flat[len(scenarios) :]:
        axes.set_visible(False)
    if entries and series.column != "queue_pkts":
        legend(figure, entries)
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
            color=shade(look[cca].colour, alike.index(int(str(flow))), len(alike)),
            linestyle=look[cca].line if len(distinct) > 1 else "-",
            linewidth=1.1 if len(ccas) <= 4 else 0.7,
            drawstyle="steps-post" if by_change else "default",
            zorder=3 - 0.5 * alike.index(int(str(flow))) / len(alike),
        )


def _draw_cwnd(panel: Panel) -> None:
    _draw_flows(panel, "cwnd_pkts")
    if len(panel.scenario["flows"]) == 1 and not is_trace(panel.scenario):
        _, buffer, _ = bottleneck(panel.scenario)
        bdp = bdp_pkts(panel.scenario)
        mark(panel.axes, bdp, "BDP")
        if buffer is not None and buffer > 0.08 * bdp:
            mark(panel.axes, bdp + buffer, "BDP + buffer")


def _draw_rtt(panel: Panel) -> None:
    _draw_flows(panel, "rtt_ms")


def _draw_throughput(panel: Panel) -> None:
    _draw_flows(panel, "throughput_mbps")
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
    slowest = [bottleneck_link(scenario, flow) for flow in range(len(scenario["flows"]))]
    links = {link["name"]: link for link in slowest}
    ccas = {flow["cca"]["name"] for flow in scenario["flows"]}
    colour = look[ccas.pop()].colour if len(ccas) == 1 else "#333333"
    for index, (name, told) in enumerate(links.items()):
        rows = samples.filter(link=name)
        time, queue = rows["time_s"].to_numpy(), rows["queue_pkts"].to_numpy()
        own = shade(colour, index, len(links))
        axes.plot(time, queue, color=own, linewidth=1)
        axes.fill_between(time, queue, color=own, alpha=0.15, linewidth=0)
        if told["buffer_pkts"] is not None:
            mark(axes, told["buffer_pkts"], "buffer")


_SERIES = {
    "cwnd": Series("Congestion window", "cwnd (packets)", "cwnd_pkts", _draw_cwnd),
    "rtt": Series("Smoothed round-trip time", "RTT (ms)", "rtt_ms", _draw_rtt),
    "throughput": Series("Throughput", "throughput (Mbit/s)", "throughput_mbps", _draw_throughput),
    "queue": Series("Queue at the bottleneck", "queue (packets)", "queue_pkts", _draw_queue),
}
#: Every kind of figure: over time, then over the points of a sweep.
KINDS = (*_SERIES, "throughput-buffer", *_plots_swept.CHECKS)


def _flows_label(scenario: dict[str, Any], cca: str) -> str:
    count = sum(flow["cca"]["name"] == cca for flow in scenario["flows"])
    return cca if count == 1 else f"{cca} ({count} flows)"


def shade(colour: str, index: int, count: int) -> tuple[float, float, float]:
    """The colour, lighter for the later of several."""
    white = 0.6 * index / count
    red, green, blue = (part + (1 - part) * white for part in to_rgb(colour))
    return red, green, blue
