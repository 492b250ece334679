"""Figures of sweeps and the page that holds them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cwnd
from conftest import SMALL
from cwnd._cli import main
from cwnd._report import figures, plots, script
from cwnd._report import page as page_module

MANIFEST = {"cwnd": "0", "command": ["cwnd", "sweep"], "platform": "p", "python": "3", "host": "h"}


@pytest.fixture(scope="module")
def grid() -> cwnd.Results:
    """Two algorithms, three buffers, two error rates, three seeds."""
    return cwnd.run(
        [
            cwnd.dumbbell(
                cca,
                rate="20 Mbps",
                delay="10 ms",
                buffer=buffer,
                per=per,
                duration="2 s",
                samples="off",
                repeat=3,
                name=f"{cca}, {buffer}, {per}",
            )
            for cca, buffer, per in product(("reno", "cubic"), (10, 20, 40), (0, 1e-3))
        ]
    )


@pytest.mark.parametrize("kind", ["throughput-buffer", "lines", "heatmap", "cdf", "throughput-delay"])
def test_every_figure_of_a_sweep_is_drawn_and_has_the_same_bytes_again(
    grid: cwnd.Results, tmp_path: Path, kind: str
) -> None:
    endings = ("svg", "png", "pdf")
    for name in ("one", "two"):
        figure = grid.plot(kind)
        for ending in endings:
            figures.write_figure(figure, tmp_path / f"{name}.{ending}")
    for ending in endings:
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


def test_an_algorithm_has_one_colour_in_all_figures(grid: cwnd.Results) -> None:
    colours = {
        kind: {
            text.get_text().partition(" ")[0]: line.get_color()
            for legend in grid.plot(kind).legends
            for line, text in zip(legend.get_lines(), legend.get_texts(), strict=True)
        }
        for kind in ("throughput-buffer", "lines", "cdf", "throughput-delay")
    }
    assert len({json.dumps(reported, sort_keys=True) for reported in colours.values()}) == 1
    assert set(colours["cdf"]) == {"reno", "cubic"}


def test_lines_hold_the_means_and_intervals_of_the_summary(grid: cwnd.Results) -> None:
    (panel, _) = grid.plot("lines").axes
    reno = next(line for line in panel.get_lines() if len(line.get_xdata()) == 3)
    summary = grid.summary.filter(metric="throughput_mbps")
    expected = [summary.filter(scenario=f"reno, {buffer}, 0")["mean"].item() for buffer in (10, 20, 40)]
    assert list(reno.get_xdata()) == [10, 20, 40]
    assert list(reno.get_ydata()) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["lines", "heatmap", "throughput-buffer", "cdf"])
def test_a_single_run_has_no_figure_of_a_sweep(kind: str) -> None:
    one = cwnd.run(cwnd.dumbbell("reno", rate="10 Mbps", delay="5 ms", buffer=10, duration="1 s"))
    assert kind not in figures.applicable(one)


class Page(HTMLParser):
    """Open elements, images and texts of a page; every element must be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []
        self.rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]
        self.rows += tag == "tr"
        if tag not in ("meta", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_report_is_one_page_that_needs_nothing_from_elsewhere(grid: cwnd.Results, tmp_path: Path) -> None:
    page_module.write(grid, tmp_path / "report.html", MANIFEST)
    text = (tmp_path / "report.html").read_text()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert len(page.sources) == 1 + len(grid.plots())
    assert all(source.startswith("data:") for source in page.sources)
    assert "<script src" not in text and "@import" not in text
    assert page.rows == 1 + 12 + 1 + 36
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_names_in_a_report_are_texts(tmp_path: Path) -> None:
    hostile = '<script>alert(1)</script> & "quotes"'
    path = {"rate": "10 Mbps", "delay": "5 ms", "buffer": 10, "duration": "1 s"}
    scenarios = [cwnd.dumbbell("reno", name=name, **path) for name in (hostile, "another")]
    page_module.write(cwnd.run(scenarios), tmp_path / "report.html", {**MANIFEST, "command": [hostile]})
    text = (tmp_path / "report.html").read_text()
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text
    assert "\\u003cscript>alert" in text


def test_a_report_is_without_script_where_the_package_has_no_uplot(
    grid: cwnd.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "_LIBRARY", ("no such file",))
    page_module.write(grid, tmp_path / "report.html", MANIFEST)
    text = (tmp_path / "report.html").read_text()
    assert "<script" not in text and "<img" in text


def test_the_title_of_a_report_is_what_its_scenarios_share() -> None:
    def title(*names: str, ccas: tuple[str, ...] = ("reno", "cubic", "bbr")) -> str:
        flows = [[{"cca": {"name": cca}}] for cca in ccas]
        return page_module._title(
            [{"name": name, "flows": own} for name, own in zip(names, flows, strict=True)]
        )

    assert title("reno", ccas=("reno",)) == "reno"
    assert title("wan (a=1)", "wan (a=2)", "wan (a=3)") == "wan"
    assert title("reno", "cubic", "bbr") == "reno, cubic and bbr"
    assert title("a", "b", ccas=("reno", "reno")) == "reno in 2 scenarios"
    assert title(*"abcdefg", ccas=tuple("tuvwxyz")) == "7 algorithms"


def test_the_lines_of_a_plot_keep_the_least_and_the_greatest_value() -> None:
    """Draws 5000 values on 1000 steps: the least and the greatest of each two steps stay, in their order."""
    values = np.random.default_rng(1).uniform(0, 9, 5000).round(3)
    rows = pl.DataFrame({"time_s": np.arange(5000) / 5000, "value": values})
    shown = plots._stepped(rows, 1.0, 1000)
    for pair in range(500):
        own = values[10 * pair : 10 * pair + 10]
        assert sorted(shown[2 * pair : 2 * pair + 2]) == [own.min(), own.max()]  # type: ignore[type-var]
        assert (shown[2 * pair] == own.min()) == (own.argmin() < own.argmax())


def test_values_at_the_steps_of_a_plot_stay_where_they_are() -> None:
    rows = pl.DataFrame({"time_s": [0.0, 0.1, 0.3, 1.0], "value": [1.0, 5.0, 2.5, 123456.0]})
    assert plots._stepped(rows, 1.0, 10) == [1, 5, None, 2.5, *[None] * 6, 123460]


def test_the_edges_of_a_band_are_the_least_and_the_greatest_of_a_step() -> None:
    rows = pl.DataFrame({"time_s": [0.0, 0.1, 0.12, 0.3], "low": [5, 7, 6, 8], "high": [9, 9, 11, 10]})
    line = plots._Line("reno", None, "#000000", "-", rows)
    assert plots._of_edges(line, 0.5, 5) == [
        {"edge": "high", "values": [9, 11, None, 10, None, None]},
        {"edge": "low", "values": [5, 6, None, 8, None, None]},
    ]


@pytest.mark.slow
def test_a_report_of_many_points_stays_small(tmp_path: Path) -> None:
    results = cwnd.run(
        [
            cwnd.dumbbell(
                cca, rate="5 Mbps", delay="5 ms", buffer=buffer, per=per, duration="200 ms", samples="off",
                repeat=5, name=f"{cca} {buffer} {per}",
            )
            for cca, buffer, per in product(
                ("reno", "cubic", "compound", "elastic"), range(10, 170, 20), (0, 1e-3, 1e-2)
            )
        ]
    )  # fmt: skip
    page_module.write(results, tmp_path / "report.html", MANIFEST)
    text = (tmp_path / "report.html").read_text()
    assert len(text) < 5_000_000
    assert re.search(r"300 of 480 rows", text)


@pytest.mark.parametrize(("flows", "plotted"), [(30, True), (31, False)])
def test_the_plots_of_a_report_stay_small_whatever_the_samples(flows: int, plotted: bool) -> None:
    path = {"rate": "50 Mbps", "delay": "5 ms", "buffer": 40, "duration": "1 s", "samples": 4000}
    results = cwnd.run(cwnd.dumbbell(["reno", "cubic"], flows=flows, **path))
    kinds = ["cwnd", "rtt", "throughput", "queue"]
    data = plots._data(results, kinds, dict.fromkeys(kinds, ""))
    assert [len(one["series"]) for one in data["plots"]] == ([180, 60, 60, 1] if plotted else [])
    assert len(json.dumps(data)) < 2_000_000


def test_without_uplot_a_line_says_that_figures_cannot_be_zoomed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cwnd.run(cwnd.dumbbell("reno", samples="off", **SMALL)).save(tmp_path / "result")
    monkeypatch.setattr(script, "_LIBRARY", ("absent.js",))
    assert main._main(["report", str(tmp_path / "result")]) == 0
    printed = capsys.readouterr()
    assert printed.err == ("cwnd: its figures cannot be zoomed: uPlot is missing; in a clone: make uplot\n")
    assert (tmp_path / "result" / "report.html").stat().st_size > 0
