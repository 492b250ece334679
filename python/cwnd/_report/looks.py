"""The common look of all figures: each algorithm has a colour, line and marker, distinct in grey too."""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from cwnd._common.rows import distinct_algorithms, runs_of_rows
from cwnd._report.colours import distinct_colours
from cwnd._report.form import current_form, size_in
from cwnd._scenario.registry import algorithms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.legend import Legend
    from matplotlib.text import Annotation
    from matplotlib.transforms import BboxBase
    from matplotlib.typing import LineStyleType, RcKeyType

    from cwnd._common.shapes import ScenarioJson


#: The colours of the user's own algorithms.
_OTHERS = ("#FB6A4A", "#A1D76A", "#C51B7D", "#878787", "#3690C0", "#FDAE61", "#542788", "#35978F")
SOLID: LineStyleType = "-"
LONG: LineStyleType = (0, (6, 1.5))
SHORT: LineStyleType = (0, (2, 1))
DASHDOT: LineStyleType = (0, (6, 1.5, 1.5, 1.5))
_LINES = (SOLID, LONG, SHORT, DASHDOT)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
#: Characters that matplotlib's mathematics shows unchanged, but for the hyphen.
_BOLD = re.compile(r"[A-Za-z0-9 '(),./-]*")
GREY = "#666666"

STYLE: dict[RcKeyType, object] = {
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
    "figure.constrained_layout.w_pad": 0.08,  # text may be wider at another resolution
    "path.simplify_threshold": 0.2,
    "svg.hashsalt": "cwnd",  # the same figure is the same bytes
    "pdf.fonttype": 42,  # TrueType: conferences refuse Type 3
    "ps.fonttype": 42,
}


class Look(NamedTuple):
    colour: str
    line: LineStyleType
    marker: str


#: The look of each algorithm and preset. No two share line and marker. Two that share one of them have
#: colours at least 11 apart by CIEDE2000, any two 6, whether with normal vision or without one kind of cone.
_LOOKS = {
    "reno": Look("#0072B2", SOLID, "o"),
    "vegas": Look("#96004B", DASHDOT, "o"),
    "fast-start": Look("#691E1E", LONG, "<"),
    "highspeed": Look("#CC79A7", LONG, "s"),
    "scalable": Look("#D21E2D", SOLID, "D"),
    "bic": Look("#2D783C", LONG, "X"),
    "fast": Look("#965A87", DASHDOT, "v"),
    "htcp": Look("#87B496", SHORT, "X"),
    "hybla": Look("#B40F00", SHORT, "^"),
    "westwood": Look("#694B5A", SOLID, "X"),
    "adaptive-reno": Look("#000096", DASHDOT, "^"),
    "newvegas": Look("#F096C3", SOLID, "^"),
    "africa": Look("#D200C3", DASHDOT, "P"),
    "compound": Look("#000000", LONG, "o"),
    "fusion": Look("#69964B", DASHDOT, "s"),
    "yeah": Look("#3C4B78", LONG, ">"),
    "cubic": Look("#009E73", LONG, "^"),
    "illinois": Look("#4B0000", DASHDOT, ">"),
    "agile-sd": Look("#E69F00", SHORT, "o"),
    "bbr": Look("#56B4E9", DASHDOT, "<"),
    "agile": Look("#786969", SHORT, "P"),
    "discrete": Look("#4B003C", SHORT, "D"),
    "elastic": Look("#D55E00", SHORT, "v"),
    "bbr3": Look("#0000FF", LONG, "D"),
    "dctcp": Look("#870000", SOLID, "P"),
    "prague": Look("#873CFF", SHORT, "s"),
    "tahoe": Look("#A569FF", LONG, "v"),
    "newreno": Look("#002D69", SOLID, "s"),
    "sack": Look("#B478C3", SHORT, ">"),
    "fack": Look("#6900C3", SHORT, "<"),
    "linux": Look("#999999", DASHDOT, "D"),
    "veno": Look("#967887", SOLID, "<"),
    "ledbat": Look("#3C2D2D", SOLID, "v"),
    "ledbat-plus": Look("#C3B478", LONG, "P"),
    "copa": Look("#F06978", SOLID, ">"),
    "dual": Look("#1E001E", DASHDOT, "X"),
}


class _Figure(Figure):
    """A figure that a notebook shows by itself."""

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.savefig(image, format="png", dpi=150)
        return image.getvalue()


def new_figure(width: float, height: float, rows: int = 1) -> Figure:
    """A figure of this size in inches, or of that which the current form has for it."""
    figure = _Figure(figsize=size_in(width, height, rows))
    FigureCanvasAgg(figure)
    return figure


def looks(names: Iterable[str], written: Mapping[str, str] | None = None) -> dict[str, Look]:
    """The look of each algorithm, the same in every figure.

    Other names get colours, lines and markers apart from those of `names` and of each other, in their order.
    `written` has the algorithm of a label whose look is its own.
    """
    registry = [algorithm["name"] for algorithm in algorithms()]
    own = {label: _LOOKS[name] for label, name in (written or {}).items() if name in _LOOKS}
    known = _LOOKS | own
    names = list(dict.fromkeys(names))
    others = [name for name in dict.fromkeys([*registry, *names]) if name not in known]
    if not others:
        return known
    beside = [known[name] for name in names if name in known]
    colours = distinct_colours(_OTHERS, len(others), (look.colour for look in beside))
    taken = {(str(look.line), look.marker) for look in beside}
    added = {}
    for index, (name, colour) in enumerate(zip(others, colours, strict=True)):
        shapes = [
            (_LINES[at % len(_LINES)], _MARKERS[at % len(_MARKERS)])
            for at in range(index, index + len(_LINES) * len(_MARKERS))
        ]
        line, marker = next((one for one in shapes if (str(one[0]), one[1]) not in taken), shapes[0])
        taken.add((str(line), marker))
        added[name] = Look(colour, line, marker)
    return known | added


def looks_of(scenarios: Sequence[ScenarioJson], labels: Iterable[str] = ()) -> dict[str, Look]:
    """The looks of the flows' algorithms, the same in all figures of these scenarios, and of labels."""
    shown: dict[str, list[str]] = {}
    for scenario in scenarios:
        for run in runs_of_rows(scenario["flows"]):
            cca = run.first["cca"]
            names = shown.setdefault(cca.get("written", cca["name"]), [])
            if cca["name"] not in names:
                names.append(cca["name"])
    written = {names[0]: name for name, names in shown.items() if len(names) == 1}
    return looks([*algorithm_names(scenarios), *labels], written)


def mark(axes: Axes, y: float, text: str, *, named: bool = True) -> None:
    """A thin line across, named at its right end."""
    axes.axhline(y, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    if named:
        note(axes, y, text)


def set_title(figure: Figure, text: str) -> None:
    """The title of the figure, in as many lines as its width needs."""
    _wrap(figure.suptitle(escape_mathematics(text)), 0.9 * figure.bbox.width, 6)


def wrap_panel_titles(figure: Figure) -> None:
    """Breaks a title that would reach into the next panel, and shortens it after its second line."""
    for axes in figure.axes:
        place = axes.get_subplotspec()
        if place is not None and (title := axes._left_title).get_text():  # type: ignore[attr-defined]
            _wrap(title, 0.88 * figure.bbox.width / place.get_gridspec().ncols, 2)


def _wrap(shown: Text, width: float, lines_max: int) -> None:
    figure = shown.get_figure(root=True)
    assert figure is not None
    text = shown.get_text().replace(r"\$", "$")
    characters = len(text)
    while (drawn := shown.get_window_extent(renderer_of(figure)).width) > width and characters > 8:
        characters = min(characters - 1, int(characters * width / drawn))
        rows = textwrap.wrap(text, max(characters, 8), max_lines=lines_max, placeholder=" …")
        shown.set_text(escape_mathematics("\n".join(rows)))
        characters = max(map(len, rows))


def start_at_zero(panels: Sequence[Axes], most: float = math.inf) -> None:
    """The common y axis of the panels from 0, with some air above the highest of all that they show.

    Above `most`, which is the greatest possible value, there is room for half a marker and no tick.
    """
    top = max(float(axes.dataLim.y1) for axes in panels)
    panels[0].set_ylim(0, min(1.05 * top if 0 < top < math.inf else 1, 1.02 * most))


def note(axes: Axes, y: float, text: str, drop: float = 0) -> None:
    """A few words right of the axes, at the height of `y`, less `drop` points."""
    axes.annotate(
        text,
        (1, y),
        xycoords=axes.get_yaxis_transform(),
        xytext=(4, -drop),
        textcoords="offset points",
        color=GREY,
        fontsize=mpl.rcParams["font.size"] - 1.5,
        va="center",
        annotation_clip=False,
    )


def escape_mathematics(text: str) -> str:
    """`text` for matplotlib, which would take a dollar sign as the start of mathematics."""
    return text.replace("$", r"\$")


def bold(text: str) -> str:
    """`text` in bold, if matplotlib's mathematics can have it."""
    if not _BOLD.fullmatch(text):
        return escape_mathematics(text)
    hyphen = "\N{HYPHEN}"  # a hyphen-minus would be a minus
    return text.replace(" ", r"\ ").replace("-", hyphen).join((r"$\bf{", "}$"))


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
    most_in = figure.get_figwidth()
    if current_form() is not None and width > most_in:
        for text in shown.get_texts():
            text.set_fontsize(float(text.get_fontsize()) * (most_in - 0.6) / (width - 0.6))
        width = most_in
    figure.set_size_inches(max(most_in, width), figure.get_figheight() + height * (1 - 1 / max(rows, 1)))


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


#: Directions of a text from its mark, the best first, and its distances in points.
_DIRECTIONS = [
    (1, 1),
    (-1, 1),
    (1, -1),
    (-1, -1),
    (0, 1.4),
    (0, -1.4),
    (0.6, -1.3),
    (-0.6, -1.3),
    (-1.4, -0.5),
]
_DISTANCES = (4, 10, 18, 28, 40, 54, 70)


def name_points(axes: Axes, points: Sequence[tuple[str, tuple[float, float], str]]) -> None:
    """Writes a small text beside each mark, where it covers least; a thin line leads to one that is away."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    form = current_form()
    figure.suptitle("" if form is not None and not form.titled else "\n\n")  # room for the title
    figure.draw_without_rendering()
    renderer = renderer_of(figure)
    inside = axes.get_window_extent(renderer)
    radius = 4 * figure.dpi / 72
    taken = [
        Bbox.from_extents(x - radius, y - radius, x + radius, y + radius)
        for x, y in axes.transData.transform([point for _, point, _ in points])
    ]
    taken += [text.get_window_extent(renderer) for text in axes.texts]
    for name, point, colour in points:
        best: tuple[int, Annotation, Bbox] | None = None
        for away, (right, up) in ((away, place) for away in _DISTANCES for place in _DIRECTIONS):
            text = axes.annotate(
                escape_mathematics(name),
                point,
                xytext=(right * away, up * away),
                textcoords="offset points",
                ha="left" if right > 0 else "right" if right < 0 else "center",
                va="bottom" if up > 0 else "top" if up < 0 else "center",
                fontsize=mpl.rcParams["font.size"] - 2.5,
                color=colour,
                path_effects=[withStroke(linewidth=1.5, foreground="white")],
                arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.4}
                if away > _DISTANCES[1]
                else None,
                zorder=5,
            )
            text.set_in_layout(False)
            text.update_positions(renderer)
            box = Text.get_window_extent(text, renderer).padded(1)  # without the line
            covers = box.count_overlaps(taken) + 4 * (not _holds(inside, box))
            if best is None or covers < best[0]:
                if best is not None:
                    best[1].remove()
                best = (covers, text, box)
            else:
                text.remove()
            if best[0] == 0:
                break
        if best is not None:
            taken.append(best[2])
    figure.suptitle("")


def note_above(axes: Axes, text: str) -> None:
    """A line above the axes, at their right end."""
    axes.set_title(
        escape_mathematics(text), loc="right", fontsize=mpl.rcParams["font.size"] - 1.5, color=GREY
    )


def _holds(outer: BboxBase, inner: BboxBase) -> bool:
    return bool(
        outer.x0 <= inner.x0 and inner.x1 <= outer.x1 and outer.y0 <= inner.y0 and inner.y1 <= outer.y1
    )


def handle(look: Look, dashed: bool, marker: str | None = None, joined: bool = True) -> Line2D:
    line = (look.line if dashed else "-") if joined else "none"
    return Line2D([], [], color=look.colour, linestyle=line, marker=marker)


def algorithms_label(scenario: ScenarioJson) -> str:
    return "+".join(algorithm_names([scenario]))


def algorithm_names(scenarios: Sequence[ScenarioJson]) -> list[str]:
    return list(dict.fromkeys(name for scenario in scenarios for name in distinct_algorithms(scenario)))
