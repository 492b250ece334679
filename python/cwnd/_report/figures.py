"""Every kind of figure of a result: drawn by name, written to a file."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from cwnd._common.checks import whole
from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import write_file
from cwnd._common.metrics import METRICS, read_metric
from cwnd._cwnd import Error
from cwnd._report import swept
from cwnd._report.distributions import DISTRIBUTIONS, check_distribution, draw_distribution
from cwnd._report.form import current_form, form_of_figures, read_form
from cwnd._report.labelled import Labelled
from cwnd._report.looks import STYLE, bold, escape_mathematics, renderer_of, set_title, wrap_panel_titles
from cwnd._report.over_time import PANELS_MAX, SERIES, draw_over_time, time_series
from cwnd._report.queue_delay import check_queue_delay, queue_delay
from cwnd._report.throughput_delay import check_throughput_delay, throughput_delay
from cwnd._report.transfers import check_fct_size, fct_size
from cwnd._scenario.facts import bottleneck, is_trace, shared_facts

if TYPE_CHECKING:
    import polars as pl

    from cwnd._common.shapes import ScenarioJson
    from cwnd._report.source import Source


#: The files of a figure.
ENDINGS = ("png", "svg", "pdf")


def draw(
    kind: str,
    results: Source,
    names: Sequence[str] | None,
    seed: int | None,
    title: str | None,
    *,
    metric: str | None = None,
    over: Sequence[str] | None = None,
    width: str | float | None = None,
) -> Figure:
    """One of `KINDS`. `metric` and `over`, swept keys, are for "lines" and "heatmap"; `width` is a form."""
    form = read_form(width)
    if kind not in KINDS:
        raise error("kind", f"{kind!r} is not a figure; there are {', '.join(KINDS)}")
    if kind not in ("lines", "heatmap") and (metric is not None or over is not None):
        raise error("metric" if metric is not None else "over", f"not for {kind!r}")
    if metric is not None:
        metric = read_metric("metric", metric)
    if title is not None and not _is_text(title):
        raise error("title", f"{one_line(repr(title))} is not a text")
    if seed is not None:
        seed = whole("seed", seed, 0, (1 << 64) - 1)
    results = Labelled(results)
    scenarios = _chosen(results, names)
    if kind in SERIES and names is None:
        scenarios = _sampled(results, scenarios, kind, seed) or scenarios
    if kind not in SERIES and any(map(is_trace, scenarios)):
        raise error("kind", f"{kind!r} is not for traces of live connections; {', '.join(SERIES)}")
    with form_of_figures(form), style():
        figure, heading = _drawn(kind, results, scenarios, seed, metric or "throughput_mbps", over)
        if title is None and form is not None and not form.titled:
            pass  # a caption has it
        elif title is None:
            set_heading(figure, heading, shared_facts(scenarios))
        elif title:
            set_title(figure, title)
        wrap_panel_titles(figure)
        return figure


def _is_text(title: object) -> bool:
    """Half of a surrogate pair is no character."""
    return isinstance(title, str) and not any("\ud800" <= character <= "\udfff" for character in title)


def set_heading(figure: Figure, heading: str, facts: list[str]) -> None:
    """The heading, and below it the facts in as few lines as the figure's width allows."""
    for lines in range(1, max(len(facts), 1) + 1):
        per_line = max(1, math.ceil(len(facts) / lines))
        rows = [", ".join(facts[first : first + per_line]) for first in range(0, len(facts), per_line)]
        title = figure.suptitle("\n".join([bold(heading), *map(escape_mathematics, rows)]))
        if title.get_window_extent(renderer_of(figure)).width <= 0.98 * figure.bbox.width:
            return


def applicable(results: Source) -> list[str]:
    """The kinds of figures that this result can have."""
    kinds = []
    results = Labelled(results)
    scenarios = results.scenarios
    if results.samples.height:
        kinds = [kind for kind in SERIES if 0 < len(_sampled(results, scenarios, kind, None)) <= PANELS_MAX]
    if not scenarios or any(map(is_trace, scenarios)):
        return kinds
    if len({buffer for _, buffer, _ in map(bottleneck, scenarios)}) > 1 and _refuses_not(
        lambda: swept.check_throughput_buffer(results, scenarios)
    ):
        kinds.append("throughput-buffer")
    for kind, check in _CHECKS.items():
        if kind == "lines" and "throughput-buffer" in kinds:
            continue  # the same figure
        if _refuses_not(lambda check=check: check(results, scenarios)):  # type: ignore[misc]
            kinds.append(kind)
    return kinds


def write_figure(figure: Figure, path: Path, width: str | float | None = None) -> None:
    """Writes the figure, in the form of this width, without a date in it; PNG if the name has no ending.

    Raises an `Error` of one line where it fails.
    """
    _write(figure, [path], width)


def write_figures(figure: Figure, folder: Path, name: str, width: str | float | None = None) -> None:
    """`write_figure` as each of `ENDINGS`."""
    _write(figure, [folder / f"{name}.{ending}" for ending in ENDINGS], width)


def write_svg(figure: Figure, file: IO[bytes]) -> None:
    """The figure as SVG, without a date in it."""
    with _laid_out(figure):
        _save(figure, file, "svg")


def _write(figure: Figure, paths: Sequence[Path], width: str | float | None) -> None:
    form = read_form(width)
    with form_of_figures(form), _laid_out(figure):
        for path in paths:
            try:
                image, name = io.BytesIO(), path.name if path.suffix else f"{path.name.rstrip('.')}.png"
                _save(figure, image, name.rpartition(".")[2].lower(), form.dpi if form else 200)
                write_file(path.with_name(name), image.getbuffer())
            except OSError as failed:
                raise os_error(one_line(str(path)), failed) from None
            except ValueError as failed:  # an ending that matplotlib does not know
                raise error(one_line(str(path)), one_line(str(failed))) from None


def _save(figure: Figure, to: IO[bytes], form: str, dpi: int = 200) -> None:
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with _lean_fonts() if form == "pdf" else nullcontext():
        figure.savefig(to, dpi=dpi, metadata=undated.get(form), format=form)


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """The figure has its layout, and no engine, with which matplotlib draws everything once for nothing.

    Places of axes are rounded, whose last digits the solver leaves open.
    """
    engine = figure.get_layout_engine()
    with style(), mpl.rc_context({"figure.constrained_layout.use": False}):
        if engine is not None:
            engine.execute(figure)
        figure.set_layout_engine("none")
        for axes in figure.axes:
            axes.set_position(Bbox.from_bounds(*(round(part, 6) for part in axes.get_position().bounds)))
        placed = figure.get_layout_engine()
        figure.set_layout_engine(None)
        try:
            yield
        finally:
            figure.set_layout_engine(placed)


@contextmanager
def _lean_fonts() -> Iterator[None]:
    """Fonts in a PDF lack tables of layout, which take half of its time: each glyph has its place."""
    from fontTools import subset  # type: ignore[import-untyped]

    options = subset.Options
    subset.Options = partial(options, drop_tables=[*options().drop_tables, "GDEF", "GPOS", "GSUB"])
    try:
        yield
    finally:
        subset.Options = options


@contextmanager
def style() -> Iterator[None]:
    form = current_form()
    with mpl.rc_context(STYLE | (form.style if form else {})), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ ")  # a name in a script that the font lacks
        yield


def _refuses_not(check: Callable[[], object]) -> bool:
    try:
        check()
    except Error:
        return False
    return True


def _chosen(results: Source, names: Sequence[str] | None) -> list[ScenarioJson]:
    by_name = {scenario["name"]: scenario for scenario in results.scenarios}
    for name in names or ():
        if name not in by_name:
            raise error("scenarios", f"no {name!r} here; there are {', '.join(by_name)}")
    chosen = list(by_name.values()) if names is None else [by_name[name] for name in names]
    if not chosen:
        raise error("scenarios", "an empty list; there is nothing to draw")
    return chosen


def _sampled(
    results: Source, scenarios: list[ScenarioJson], kind: str, seed: int | None
) -> list[ScenarioJson]:
    """Those with samples of a kind over time: with `samples = "change"` there are none of an interval."""

    def rows(one: ScenarioJson) -> pl.DataFrame:
        return time_series(results, one, one["seed"] if seed is None else seed)

    return [one for one in scenarios if not rows(one).drop_nulls(SERIES[kind].column).is_empty()]


def _drawn(
    kind: str,
    results: Source,
    scenarios: list[ScenarioJson],
    seed: int | None,
    metric: str,
    over: Sequence[str] | None,
) -> tuple[Figure, str]:
    """The figure and its heading."""
    of = METRICS[metric].words
    of = of[0].upper() + of[1:]
    if kind in SERIES:
        return draw_over_time(SERIES[kind], results, scenarios, seed), SERIES[kind].heading
    if kind == "queue-delay":
        return queue_delay(results, scenarios, seed), "Queueing delay"
    if kind == "throughput-buffer":
        return swept.throughput_buffer(results, scenarios), "Throughput against buffer"
    if kind == "lines":
        figure, axes = swept.lines(results, scenarios, metric, over)
        return figure, f"{of} against {axes[0].name}"
    if kind == "heatmap":
        figure, axes = swept.heatmap(results, scenarios, metric, over)
        return figure, f"{of} over {axes[0].name} and {axes[1].name}"
    if kind == "throughput-delay":
        return throughput_delay(results, scenarios), "Throughput against delay"
    if kind == "fct-size":
        return fct_size(results, scenarios), "Flow completion time by size"
    return draw_distribution(DISTRIBUTIONS[kind], results, scenarios), DISTRIBUTIONS[kind].heading


#: Figures except those over time and "throughput-buffer", each with the check that raises an `Error` where it
#: cannot be drawn.
_CHECKS: dict[str, Callable[[Source, list[ScenarioJson]], None]] = {
    "queue-delay": check_queue_delay,
    "lines": swept.check_lines,
    "heatmap": swept.check_heatmap,
    "throughput-delay": check_throughput_delay,
    "fct-size": check_fct_size,
    **{kind: partial(check_distribution, distribution) for kind, distribution in DISTRIBUTIONS.items()},
}
#: Every kind of figure.
KINDS = (*SERIES, "throughput-buffer", *_CHECKS)
