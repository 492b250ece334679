"""The common look of all figures: each algorithm has a colour, line and marker, distinct in grey too."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

from cwnd._scenario.registry import algorithms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.legend import Legend
    from matplotlib.text import Annotation
    from matplotlib.transforms import BboxBase


#: The colour of each algorithm and preset. The algorithms compared most have the colours of Okabe and Ito,
#: made for every kind of colour vision.
_COLOURS = {
    "reno": "#0072B2",
    "vegas": "#7B3294",
    "fast-start": "#8C564B",
    "highspeed": "#CC79A7",
    "scalable": "#B2182B",
    "bic": "#1B7837",
    "fast": "#9970AB",
    "htcp": "#17BECF",
    "hybla": "#A6761D",
    "westwood": "#4D4D4D",
    "adaptive-reno": "#2C3E94",
    "newvegas": "#C2A5CF",
    "africa": "#DD3497",
    "compound": "#000000",
    "fusion": "#66A61E",
    "yeah": "#01665E",
    "cubic": "#009E73",
    "illinois": "#6A3D00",
    "agile-sd": "#E69F00",
    "bbr": "#56B4E9",
    "agile": "#B58900",
    "discrete": "#6A51A3",
    "elastic": "#D55E00",
    "bbr3": "#2171B5",
    "dctcp": "#8C6D31",
    "prague": "#17A2B8",
    "tahoe": "#80B1D3",
    "newreno": "#1F4E79",
    "sack": "#8DA0CB",
    "fack": "#5F9EA0",
    "linux": "#999999",
    "veno": "#B07AA1",
    "ledbat": "#5D7A00",
    "ledbat-plus": "#9C9E00",
    "copa": "#E377C2",
}
#: The colours of the user's own algorithms.
_OTHERS = ("#FB6A4A", "#A1D76A", "#C51B7D", "#878787", "#3690C0", "#FDAE61", "#542788", "#35978F")
_LINES = ("-", (0, (6, 1.5)), (0, (2, 1)), (0, (6, 1.5, 1.5, 1.5)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
#: Characters that matplotlib's mathematics shows unchanged.
_BOLD = re.compile(r"[A-Za-z0-9 '(),./-]*")
GREY = "#666666"

STYLE: Any = {
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


class Look(NamedTuple):
    colour: str
    line: Any
    marker: str


class _Figure(Figure):
    """A figure that a notebook shows by itself."""

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.savefig(image, format="png", dpi=150)
        return image.getvalue()


def new_figure(width: float, height: float) -> Figure:
    figure = _Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def looks(names: Iterable[str]) -> dict[str, Look]:
    """The look of each algorithm, the same in every figure; other names get looks in their order."""
    registry = [algorithm["name"] for algorithm in algorithms()]
    order = dict.fromkeys([*_COLOURS, *registry, *names])
    colours = [*_COLOURS.values(), *_OTHERS]
    return {
        name: Look(
            colours[index % len(colours)], _LINES[index % len(_LINES)], _MARKERS[index % len(_MARKERS)]
        )
        for index, name in enumerate(order)
    }


def mark(axes: Axes, y: float, text: str, *, named: bool = True) -> None:
    """A thin line across, named at its right end."""
    axes.axhline(y, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    if named:
        note(axes, y, text)


def note(axes: Axes, y: float, text: str, drop: float = 0) -> None:
    """A few words right of the axes, at the height of `y`, less `drop` points."""
    axes.annotate(
        text,
        (1, y),
        xycoords=axes.get_yaxis_transform(),
        xytext=(4, -drop),
        textcoords="offset points",
        color=GREY,
        fontsize=7.5,
        va="center",
        annotation_clip=False,
    )


def escape_mathematics(text: str) -> str:
    """`text` for matplotlib, which would take a dollar sign as the start of mathematics."""
    return text.replace("$", r"\$")


def bold(text: str) -> str:
    """`text` in bold, if matplotlib's mathematics can have it."""
    return (
        text.replace(" ", r"\ ").join((r"$\bf{", "}$")) if _BOLD.fullmatch(text) else escape_mathematics(text)
    )


def legend(figure: Figure, entries: dict[str, Line2D], columns: int = 6) -> None:
    """A legend below the axes, in at most `columns` columns; the figure grows by what it needs."""
    most = min(len(entries), columns)
    shown = _legend(figure, entries, most)
    while most > 1 and _size(figure, shown)[0] > figure.get_figwidth():
        shown.remove()
        most -= 1
        shown = _legend(figure, entries, most)
    rows = math.ceil(len(entries) / most)
    if (balanced := math.ceil(len(entries) / rows)) < most:
        shown.remove()
        shown = _legend(figure, entries, balanced)
    width, height = _size(figure, shown)
    figure.set_size_inches(
        max(figure.get_figwidth(), width), figure.get_figheight() + height * (1 - 1 / max(rows, 1))
    )


def _legend(figure: Figure, entries: dict[str, Line2D], columns: int) -> Legend:
    names = [escape_mathematics(name) for name in entries]
    shown = figure.legend(
        list(entries.values()),
        [name.lstrip("_") or "-" for name in names],  # matplotlib hides labels that begin with _
        loc="outside lower center",
        ncols=columns,
    )
    for text, name in zip(shown.get_texts(), names, strict=True):
        text.set_text(name)
    return shown


def _size(figure: Figure, shown: Legend) -> tuple[float, float]:
    """Width and height in inches, with some air at the sides."""
    box = shown.get_window_extent(renderer_of(figure))
    return box.width / figure.dpi + 0.1, box.height / figure.dpi


def renderer_of(figure: Figure) -> RendererBase:
    renderer: RendererBase = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    return renderer


def name_directly(axes: Axes, points: dict[str, tuple[float, float]], look: dict[str, Look]) -> bool:
    """Writes each name beside its point; writes none, and returns False, where it would be unclear."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.suptitle("\n\n")  # room for the title, which comes later
    figure.draw_without_rendering()
    renderer = renderer_of(figure)
    inside = axes.get_window_extent(renderer)
    radius = 5 * figure.dpi / 72
    taken = [
        Bbox.from_extents(x - radius, y - radius, x + radius, y + radius)
        for x, y in axes.transData.transform(list(points.values()))
    ]
    if any(box.count_overlaps(taken[:index]) for index, box in enumerate(taken)):
        figure.suptitle("")
        return False
    taken += [text.get_window_extent(renderer) for text in axes.texts]
    texts: list[Annotation] = []
    for name, point in points.items():
        for right, up in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
            text = axes.annotate(
                escape_mathematics(name),
                point,
                xytext=(7 * right, 7 * up),
                textcoords="offset points",
                ha="left" if right > 0 else "right",
                va="center",
                color=look[name].colour,
                path_effects=[withStroke(linewidth=2, foreground="white")],
                zorder=5,
            )
            box = text.get_window_extent(renderer).padded(2)
            if box.count_overlaps(taken) == 0 and _holds(inside, box):
                break
            text.remove()
        else:
            for earlier in texts:
                earlier.remove()
            figure.suptitle("")
            return False
        taken.append(box)
        texts.append(text)
    figure.suptitle("")
    return True


def _holds(outer: BboxBase, inner: BboxBase) -> bool:
    return bool(
        outer.x0 <= inner.x0 and inner.x1 <= outer.x1 and outer.y0 <= inner.y0 and inner.y1 <= outer.y1
    )


def handle(look: Look, dashed: bool, marker: str | None = None, joined: bool = True) -> Line2D:
    line: Any = (look.line if dashed else "-") if joined else "none"
    return Line2D([], [], color=look.colour, linestyle=line, marker=marker)


def algorithms_label(scenario: dict[str, Any]) -> str:
    return "+".join(algorithm_names([scenario]))


def algorithm_names(scenarios: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(flow["cca"]["name"] for scenario in scenarios for flow in scenario["flows"]))
