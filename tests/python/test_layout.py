"""Nothing of a figure leaves it or covers something else: by the extents that matplotlib itself has."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import matplotlib.image
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import BboxBase

import cwnd
from cwnd._report import figures

if TYPE_CHECKING:
    from matplotlib.text import Text


pytestmark = pytest.mark.slow

NAMES = [one["name"] for one in cwnd.algorithms()]
PATH: dict[str, Any] = {"rate": "20 Mbps", "delay": "10 ms", "duration": "500 ms"}
#: A pixel is not exact.
SLACK = 0.5


@pytest.fixture(scope="module")
def swept() -> Callable[[int], tuple[cwnd.Results, list[str]]]:
    """So many algorithms over two buffers and two error rates, and the names of their scenarios."""
    runs = [
        cwnd.dumbbell(
            cca, buffer=buffer, per=per, repeat=2, samples="off", name=f"{cca} {buffer} {per}", **PATH
        )
        for cca in NAMES
        for buffer in (10, 40)
        for per in (0, 1e-3)
    ]
    results = cwnd.run(runs)
    names = [one["name"] for one in results.scenarios]
    return lambda count: (results, names[: 4 * count])


@pytest.fixture(scope="module")
def single() -> Callable[[int], tuple[cwnd.Results, list[str]]]:
    """So many algorithms, each alone on one path."""
    results = cwnd.run(
        [cwnd.dumbbell(cca, buffer=40, name=f"a flow of {cca} on this path", **PATH) for cca in NAMES]
    )
    names = [one["name"] for one in results.scenarios]
    return lambda count: (results, names[:count])


@pytest.fixture(scope="module")
def mixed() -> Callable[[int], tuple[cwnd.Results, None]]:
    """So many algorithms beside each other, a transfer each."""

    def run(count: int) -> tuple[cwnd.Results, None]:
        flows = cwnd.dumbbell(NAMES[:count], flows=1, size="30 KB", repeat=3, buffer=40, **PATH)
        return cwnd.run(flows), None

    return run


def shown_texts(axes: Axes) -> list[Text]:
    titles = [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]  # type: ignore[attr-defined]
    return [text for text in (*titles, *axes.texts) if text.get_visible() and text.get_text().strip()]


def holds(outer: BboxBase, inner: BboxBase) -> bool:
    return bool(
        outer.x0 - SLACK <= inner.x0
        and inner.x1 <= outer.x1 + SLACK
        and outer.y0 - SLACK <= inner.y0
        and inner.y1 <= outer.y1 + SLACK
    )


def check(figure: Figure) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # constrained layout warns where it finds no room
        figure.draw_without_rendering()
    panels = [axes for axes in figure.axes if axes.get_visible()]
    for axes in panels:
        box = axes.get_window_extent()
        assert box.height > 40 and (box.width > 40 or axes.get_label() == "<colorbar>")
        for text in shown_texts(axes):
            assert holds(figure.bbox, text.get_window_extent()), text.get_text()
        check_marks(axes, box)
    titles = [axes._left_title.get_window_extent() for axes in panels if axes._left_title.get_text()]  # type: ignore[attr-defined]
    assert all(box.count_overlaps(titles[:index]) == 0 for index, box in enumerate(titles))
    for text in figure.texts:
        assert holds(figure.bbox, text.get_window_extent()), text.get_text()
    for legend in figure.legends:
        box = legend.get_window_extent()
        assert holds(figure.bbox, box)
        for axes in panels:
            around = axes.get_tightbbox()
            assert around is not None and box.y1 <= around.y0 + SLACK
        entries = [text.get_window_extent() for text in legend.get_texts()]
        assert all(entry.count_overlaps(entries[:index]) == 0 for index, entry in enumerate(entries))
    check_edge(figure)


def check_marks(axes: Axes, box: BboxBase) -> None:
    """A mark is whole: inside the axes by its radius, or not clipped to them."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    for line in axes.get_lines():
        if line.get_marker() in (None, "None", "none", "", "_") or not line.get_clip_on():
            continue
        radius = line.get_markersize() * figure.dpi / 144
        at = line.get_transform().transform(line.get_xydata())
        for x, y in at[np.isfinite(at).all(axis=1)]:
            assert box.x0 - SLACK <= x - radius and x + radius <= box.x1 + SLACK, line.get_marker()
            assert box.y0 - SLACK <= y - radius and y + radius <= box.y1 + SLACK, line.get_marker()


def check_edge(figure: Figure) -> None:
    """No ink on the outermost pixels of the file."""
    file = io.BytesIO()
    with figures._laid_out(figure):
        figures._save(figure, file, "png")  # what `write_figure` writes
    file.seek(0)
    pixels = matplotlib.image.imread(file)[..., :3]
    assert min(edge.min() for edge in (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1])) > 0.99


#: Each kind of figure, the results that it is drawn of, and the most algorithms that it has room for.
KINDS = [
    *((kind, "swept", 30) for kind in ("throughput-buffer", "lines", "throughput-delay", "cdf")),
    ("heatmap", "swept", 24),
    *((kind, "single", 28) for kind in ("cwnd", "rtt", "throughput", "queue", "queue-delay")),
    *((kind, "single", 30) for kind in ("rtt-cdf", "queue-delay-cdf")),
    *((kind, "mixed", 30) for kind in ("cwnd", "rtt", "throughput", "queue", "fct-cdf", "slowdown-cdf")),
    *((kind, "mixed", 30) for kind in ("fct-size", "throughput-delay", "queue-delay")),
]


def cases(*counts: int) -> list[tuple[str, str, int]]:
    return sorted({(kind, of, min(count, most)) for kind, of, most in KINDS for count in counts})


#: A few cases: one of the slow figures, those of many panels, stands for all.
FEW = [case for case in cases(1, 7, 30) if case[1] != "single" or case[2] < 28 or case[0] == "cwnd"]


#: Up to eight algorithms each kind of figure, of more a third of them in turn, so that every number occurs.
MANY = [case for place, case in enumerate(cases(*range(1, 31))) if case[2] <= 8 or place % 3 == 0]


def draw(kind: str, of: str, count: int, request: pytest.FixtureRequest) -> Figure:
    results, names = request.getfixturevalue(of)(count)
    return results.plot(kind, scenarios=names)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("kind", "of", "count"), FEW)
def test_nothing_leaves_a_figure_and_its_legend_covers_nothing(
    kind: str, of: str, count: int, request: pytest.FixtureRequest
) -> None:
    check(draw(kind, of, count, request))


@pytest.mark.parametrize(("kind", "of", "count"), MANY)
def test_nothing_leaves_a_figure_of_any_number_of_algorithms(
    kind: str, of: str, count: int, request: pytest.FixtureRequest
) -> None:
    check(draw(kind, of, count, request))


def test_every_kind_of_figure_and_every_number_is_measured() -> None:
    assert {kind for kind, _, _ in KINDS} == set(figures.KINDS)
    assert {count for _, _, count in MANY} == set(range(1, 31))


@pytest.mark.parametrize("title", ["a-b " * 60, "x" * 200, "costs $5 and $6, " * 12])
def test_a_title_of_any_length_is_inside_its_figure(title: str, request: pytest.FixtureRequest) -> None:
    results, names = request.getfixturevalue("single")(2)
    check(results.plot("cwnd", scenarios=names, title=title))


def test_the_mark_of_the_link_rate_is_inside_the_axes(request: pytest.FixtureRequest) -> None:
    for kind in ("lines", "throughput-buffer"):
        axes = draw(kind, "swept", 2, request).axes[0]
        assert axes.get_ylim()[0] == 0 and axes.get_ylim()[1] > 20


def test_a_hyphen_in_a_heading_is_a_hyphen(request: pytest.FixtureRequest) -> None:
    """matplotlib's mathematics shows a hyphen-minus as a minus."""
    heading = draw("rtt", "single", 2, request).get_suptitle()
    assert "round\N{HYPHEN}trip" in heading and "-" not in heading.partition("\n")[0]


def test_groups_of_other_numbers_of_flows_have_other_names(request: pytest.FixtureRequest) -> None:
    runs = [cwnd.dumbbell("reno", flows=flows, buffer=40, name=str(flows), **PATH) for flows in (1, 8)]
    figure = cwnd.run(runs).plot("throughput-delay")
    texts = {text.get_text() for axes in figure.axes for text in axes.texts}
    texts |= {text.get_text() for legend in figure.legends for text in legend.get_texts()}
    assert {"reno, 1 flow", "reno, 8 flows"} <= texts
