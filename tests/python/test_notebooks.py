"""Notebooks: the three of the project, rich HTML, bars and sliders."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import cwnd
from cwnd._common import notebook

FOLDER = Path(__file__).parents[2] / "notebooks"
PATH = {"rate": "10 Mbps", "delay": "10 ms", "buffer": "1 BDP", "duration": "5 s"}


def read(name: str) -> Any:
    import nbformat

    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def execute(name: str) -> list[str]:
    """The notebook's outputs as text, cell by cell."""
    from nbclient import NotebookClient

    book = read(name)
    NotebookClient(book, timeout=120, resources={"metadata": {"path": str(FOLDER)}}).execute()
    return ["\n".join(map(str, cell.outputs)) for cell in book.cells if cell.cell_type == "code"]


def test_notebooks_are_kept_without_outputs() -> None:
    books = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    assert books == ["first-run", "own-algorithm", "paper-figure"]
    for name in books:
        for cell in read(name).cells:
            assert cell.cell_type == "markdown" or (not cell.outputs and cell.execution_count is None)


@pytest.mark.slow
def test_the_first_run_shows_tables_and_pictures() -> None:
    outputs = execute("first-run")
    assert "bottleneck" in outputs[0] and "goodput Mbit/s" in outputs[1]
    assert "image/png" in outputs[2] and "8 BDP" in outputs[4] and "image/png" in outputs[5]


@pytest.mark.slow
def test_the_paper_figure_has_published_numbers_beside_simulated_ones() -> None:
    outputs = execute("paper-figure")
    assert "Fig. 10a" in outputs[0] and "agile-sd" in outputs[2]
    assert "published" in outputs[3] and "null" not in outputs[3] and "bbr3" in outputs[4]


@pytest.mark.slow
def test_an_own_algorithm_goes_from_a_class_to_a_header_that_compiles() -> None:
    outputs = execute("own-algorithm")
    assert "gentle" in outputs[0] and "Gentle" in outputs[2]
    assert "gentle.h compiles." in outputs[4] and "kernel" in outputs[5]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)


def test_results_and_scenarios_show_themselves_and_escape_names() -> None:
    scenario = cwnd.dumbbell("cubic", name="<script>alert(1)</script>", **PATH)
    for shown in (scenario._repr_html_(), cwnd.run(scenario)._repr_html_()):
        tags = Tags()
        tags.feed(shown)
        assert "table" in tags.names and "script" not in tags.names and "&lt;script&gt;" in shown


def test_a_scenario_shows_its_rtt_and_bdp() -> None:
    # 10 Mbit/s for 21.5 ms, of packets of 1514 bytes: 17.8; without queueing 16.5 at 20 ms.
    shown = cwnd.dumbbell("cubic", **PATH)._repr_html_()
    assert "<td>10 Mbps</td>" in shown and "<td>16.51</td>" in shown


class Shown:
    """Record of what a notebook displays."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, content: object, display_id: bool) -> Shown:
        self.update(content)
        return self

    def update(self, content: object) -> None:
        self.texts.append(content.data)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    import IPython
    import IPython.display

    display = Shown()
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr(IPython.display, "display", display)
    return display


def test_a_run_in_a_notebook_shows_a_bar_that_goes_away(shown: Shown) -> None:
    cwnd.run(cwnd.dumbbell("cubic", **PATH))
    assert 'value="0.000"' in shown.texts[0] and shown.texts[-1] == "" and len(shown.texts) > 2


def test_the_bar_goes_away_when_a_run_is_interrupted(shown: Shown) -> None:
    def interrupt(share: float) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        notebook.shows_progress(interrupt)(lambda progress=None: progress(0.5))()
    assert shown.texts[-1] == ""


def test_a_callback_of_ones_own_replaces_the_bar(shown: Shown) -> None:
    shares: list[float] = []
    cwnd.run(cwnd.dumbbell("cubic", **PATH), progress=shares.append)
    assert shares[-1] == 1 and not shown.texts


def test_a_sweep_in_a_notebook_shows_its_share(shown: Shown, tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(
        'duration = "1 s"\n[dumbbell]\nrate = "5 Mbps"\ndelay = "5 ms"\nbuffer = 10\n'
        '[[flows]]\ncca = "reno"\n'
        "[sweep]\n'dumbbell.buffer' = [10, 20]\n"
    )
    cwnd.sweep(file, out=tmp_path / "out")
    assert any('value="1.000"' in text for text in shown.texts) and shown.texts[-1] == ""


def test_scripts_have_no_bar() -> None:
    assert not notebook.is_notebook()


def test_sliders_run_the_scenario_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[object] = []
    monkeypatch.setattr("IPython.display.display", drawn.append)
    asked: list[cwnd.Scenario] = []
    monkeypatch.setattr(
        "cwnd._analysis.explore.run", lambda scenario: asked.append(scenario) or cwnd.run(scenario)
    )
    box = cwnd.explore(
        "cubic",
        rate=(1, 9, "Mbps"),
        queue=["droptail", "codel"],
        delay="10 ms",
        buffer="1 BDP",
        duration="2 s",
    )
    rate, queue, _ = box.children
    rate.value = 7.0
    queue.value = "codel"
    rates = [scenario.to_dict()["links"][1]["rate_bps"] for scenario in asked]
    assert rates == [5_000_000, 7_000_000, 7_000_000] and "codel" in str(asked[-1].to_dict()["links"][1])


def test_a_slider_without_a_unit_is_refused_in_one_line() -> None:
    with pytest.raises(cwnd.Error, match=r"rate: \(1, 9\) is not a slider; a tuple like"):
        cwnd.explore("cubic", rate=(1, 9), delay="10 ms", buffer=10)
