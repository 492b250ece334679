"""What all figures share: one look per algorithm, colour, line and marker, told apart in grey too."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cwnd._scenario import algorithms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe and Ito's colours, made for every kind of colour vision, without the yellow.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES = ("-", (0, (6, 1.5)), (0, (2, 1)), (0, (6, 1.5, 1.5, 1.5)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
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
    """A figure that a notebook shows without further ado."""

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
    """The look of each algorithm: by its place in the registry, for others in the order of `names`."""
    known = [algorithm["name"] for algorithm in algorithms()]
    others = [name for name in dict.fromkeys(names) if name not in known]

    def look(index: int) -> Look:
        return Look(
            _COLOURS[index % len(_COLOURS)], _LINES[index % len(_LINES)], _MARKERS[index % len(_MARKERS)]
        )

    return {name: look(index) for index, name in enumerate(known + others)}


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


def plain(text: str) -> str:
    """`text` for matplotlib, to which a dollar sign would be the start of mathematics."""
    return text.replace("$", r"\$")


def legend(figure: Figure, entries: dict[str, Line2D], columns: int = 6) -> None:
    names = [plain(name) for name in entries]
    shown = figure.legend(
        list(entries.values()),
        [name.lstrip("_") or "-" for name in names],  # matplotlib leaves out what begins with _
        loc="outside lower center",
        ncols=min(len(entries), columns),
    )
    for text, name in zip(shown.get_texts(), names, strict=True):
        text.set_text(name)


def handle(look: Look, dashed: bool, marker: str | None = None, joined: bool = True) -> Line2D:
    line: Any = (look.line if dashed else "-") if joined else "none"
    return Line2D([], [], color=look.colour, linestyle=line, marker=marker)


def algorithms_label(scenario: dict[str, Any]) -> str:
    return "+".join(algorithm_names([scenario]))


def algorithm_names(scenarios: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(flow["cca"]["name"] for scenario in scenarios for flow in scenario["flows"]))
