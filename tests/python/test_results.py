"""Results on disk and as figures."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import pytest

import cwnd
from conftest import SMALL
from cwnd._report import figures as figures_module
from cwnd._report.looks import looks
from cwnd._results.directory import _PLOTS

TABLES = ["flows.parquet", "links.parquet", "manifest.json", "samples.parquet", "summary.parquet"]


@pytest.fixture(scope="module")
def results() -> cwnd.Results:
    return cwnd.run(cwnd.dumbbell(["cubic", "reno"], flows=2, per=1e-3, repeat=2, **SMALL))


@pytest.fixture(scope="module")
def sweep() -> cwnd.Results:
    return cwnd.run(
        [
            cwnd.dumbbell(
                cca,
                per=per,
                repeat=3,
                samples="off",
                name=f"{cca} {buffer} {per}",
                **{**SMALL, "buffer": buffer},
            )
            for cca in ("cubic", "elastic")
            for buffer in (10, 20, 40)
            for per in (0.0, 1e-3)
        ]
    )


@pytest.fixture(scope="module")
def saved(results: cwnd.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "out"
    results.save(folder, command=["cwnd", "run", "x.toml"])
    return folder


@pytest.fixture(scope="module")
def without_figures() -> cwnd.Results:
    return cwnd.run(cwnd.dumbbell("cubic", samples="off", **SMALL))


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def test_what_is_saved_is_loaded(results: cwnd.Results, saved: Path) -> None:
    loaded = cwnd.Results.load(saved)
    assert loaded.to_json() == results.to_json()
    for table in ("flows", "links", "samples", "summary"):
        assert getattr(loaded, table).equals(getattr(results, table)), table
        assert getattr(loaded, table).schema == getattr(results, table).schema


def test_several_scenarios_are_saved_and_loaded(sweep: cwnd.Results, tmp_path: Path) -> None:
    sweep.save(tmp_path / "out")
    assert cwnd.Results.load(tmp_path / "out").to_json() == sweep.to_json()
    kinds = ("throughput-buffer", "heatmap", "cdf", "throughput-delay")
    figures = [f"{kind}.{ending}" for kind in kinds for ending in ("png", "svg", "pdf")]
    assert names(tmp_path / "out") == sorted([*TABLES, *figures])


def test_a_saved_result_tells_where_it_comes_from(results: cwnd.Results, saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    assert manifest["cwnd"] == cwnd.__version__
    assert manifest["command"] == ["cwnd", "run", "x.toml"]
    assert manifest["results"][0]["seeds"] == [1, 2]
    assert manifest["results"][0]["scenario"] == results.scenarios[0]
    assert manifest["python"] and manifest["platform"]


def test_figures_are_saved_as_png_svg_and_pdf(results: cwnd.Results, saved: Path) -> None:
    figures = [f"{kind}.{ending}" for kind in results.plots() for ending in ("png", "svg", "pdf")]
    assert results.plots() == [
        *("cwnd", "rtt", "throughput", "queue", "queue-delay"),
        *("throughput-delay", "rtt-cdf", "queue-delay-cdf"),
    ]
    assert names(saved) == sorted([*TABLES, *figures])
    for png in saved.glob("*.png"):
        data = png.read_bytes()
        assert data.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", data[16:24])
        assert width > 1000 and height > 500


def test_saving_twice_gives_the_same_bytes(results: cwnd.Results, saved: Path, tmp_path: Path) -> None:
    results.save(tmp_path / "again", command=["cwnd", "run", "x.toml"])
    assert names(tmp_path / "again") == names(saved)
    for name in names(saved):
        assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes(), name


def test_an_earlier_result_is_replaced(saved: Path, without_figures: cwnd.Results, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "out")
    without_figures.save(tmp_path / "out")
    assert cwnd.Results.load(tmp_path / "out").to_json() == without_figures.to_json()
    assert names(tmp_path / "out") == TABLES
    assert names(tmp_path) == ["out"]


def test_a_directory_with_something_else_is_refused_and_kept(results: cwnd.Results, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("...")
    with pytest.raises(cwnd.Error, match=r"holds a file that is not part of a result \(thesis\.tex\)"):
        results.save(tmp_path / "out")
    assert names(tmp_path / "out") == ["thesis.tex"]


def test_an_empty_directory_is_filled(without_figures: cwnd.Results, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    without_figures.save(tmp_path / "out")
    assert "manifest.json" in names(tmp_path / "out")


def test_nothing_stays_behind_when_saving_fails(
    results: cwnd.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figures_module, "write_file", full)
    with pytest.raises(cwnd.Error, match="no space left on device"):
        results.save(tmp_path / "out")
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "manifest.json: no such file"),
        ("{", "damaged, or not a manifest of this version of cwnd"),
        ('{"cwnd": "0.1.0", "format": 1, "results": []}', "damaged, or not a manifest of this version"),
    ],
)
def test_a_directory_that_is_no_result_is_not_loaded(tmp_path: Path, content: str | None, words: str) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(cwnd.Error, match=words):
        cwnd.Results.load(tmp_path)


@pytest.mark.parametrize("kind", ["cwnd", "rtt", "throughput", "queue"])
def test_a_figure_over_time_names_its_axes_with_units(results: cwnd.Results, kind: str) -> None:
    (axes,) = results.plot(kind).axes
    assert axes.get_xlabel() == "time (s)"
    assert axes.get_ylabel() in ("cwnd (packets)", "RTT (ms)", "throughput (Mbit/s)", "queue (packets)")
    assert axes.get_ylim()[0] == 0


def test_a_figure_of_windows_reaches_the_peaks_between_samples() -> None:
    results = cwnd.run(cwnd.dumbbell("reno", **{**SMALL, "samples": 4}))
    windows = results.samples.drop_nulls("cwnd_pkts")
    assert windows["max_cwnd_pkts"].max() > windows["cwnd_pkts"].max()  # type: ignore[operator]
    (axes,) = results.plot("cwnd").axes
    (band,) = axes.collections
    assert band.get_datalim(axes.transData).y1 == windows["max_cwnd_pkts"].max()
    assert axes.get_ylim()[1] >= windows["max_cwnd_pkts"].max()  # type: ignore[operator]


def test_panels_over_time_share_an_axis_that_holds_them_all() -> None:
    small, large = (
        cwnd.dumbbell("reno", name=str(buffer), **{**SMALL, "buffer": buffer}) for buffer in (5, 80)
    )
    results = cwnd.run([small, large])
    for axes in results.plot("cwnd").axes:
        low, high = axes.get_ylim()
        assert low == 0 and high > results.samples["cwnd_pkts"].max()  # type: ignore[operator]


def test_throughput_against_buffer_has_a_panel_per_error_rate_and_a_line_per_algorithm(
    sweep: cwnd.Results, tmp_path: Path
) -> None:
    figure = sweep.plot("throughput-buffer", tmp_path / "figure.svg")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["no random loss", "PER 0.001"]
    assert [axes.get_xscale() for axes in figure.axes] == ["log", "log"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["cubic", "elastic"]
    assert (tmp_path / "figure.svg").stat().st_size > 10_000


def test_an_algorithm_looks_the_same_in_every_figure() -> None:
    alone, together = looks(["mine"]), looks(["cubic", "mine", "other"])
    assert alone["cubic"] == together["cubic"]
    assert len(set(together.values())) == len(together)


def test_no_two_algorithms_of_the_registry_share_a_colour() -> None:
    look = looks([])
    names = {algorithm["name"] for algorithm in cwnd.algorithms()}
    assert names <= look.keys()
    assert len({one.colour for one in look.values()}) == len(look)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "cwmd"}, "kind: 'cwmd' is not a figure; there are cwnd, "),
        ({"kind": "cwnd", "scenarios": ["no"]}, "scenarios: no 'no' here"),
        ({"kind": "cwnd", "scenarios": []}, "scenarios: an empty list"),
        ({"kind": "cwnd", "seed": 99}, "no samples of the congestion window with seed 99"),
        ({"kind": "cwnd", "path": "figure.docx"}, "figure.docx: "),
        ({"kind": "cwnd", "path": "nowhere/figure.png"}, "nowhere/figure.png: no such file or directory"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_refused(
    results: cwnd.Results,
    arguments: dict[str, str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(cwnd.Error, match=words):
        results.plot(**arguments)  # type: ignore[arg-type]


def test_too_many_panels_are_refused(sweep: cwnd.Results) -> None:
    names = [scenario["name"] for scenario in sweep.scenarios]
    with pytest.raises(cwnd.Error, match="36 are too many for one figure; choose at most 28"):
        sweep.plot("queue", scenarios=3 * names)


def test_a_result_may_hold_every_kind_of_figure() -> None:
    assert set(figures_module.KINDS) == set(_PLOTS)


def test_a_notebook_shows_results_and_figures(results: cwnd.Results) -> None:
    assert "<table" in results._repr_html_()
    assert results.plot("cwnd")._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


LONG_PATH = "samples = 'off'\n[dumbbell]\nrate = '1 Gbps'\nrtt = '70 ms'\nbuffer = '1 BDP'\n[[flows]]\n"
LIMITED = {
    "the receive window": (
        f"duration = '20 s'\nwarmup = '5 s'\n{LONG_PATH}cca = 'cubic'\nstack = {{ receive_window = 200 }}",
        ["flow 0 is limited by its receive window of 200 packets, so it stays in the first slow start"],
    ),
    "receive windows and an application": (
        f"duration = '20 s'\n{LONG_PATH}cca = 'cubic'\ncount = 3\nstack = {{ receive_window = 20 }}\n"
        "[[flows]]\ncca = 'reno'\napp_rate = '1 Mbps'",
        [
            "3 of 4 flows are limited by their receive windows, so they stay in the first slow start",
            "flow 3 is limited by its application, so it stays in the first slow start",
        ],
    ),
    "slow start": (
        f"duration = '1 s'\n{LONG_PATH}cca = {{ name = 'reno', slow_start = 'standard' }}",
        [
            "flow 0 is in the first slow start for more than a tenth of the measured time, until 0.926 s; "
            "'warmup' leaves out what comes before it"
        ],
    ),
    "a window that is not reached": (
        f"duration = '400 ms'\n{LONG_PATH}cca = 'cubic'\nstack = {{ receive_window = 100000 }}",
        [
            "flow 0 is in the first slow start for more than a tenth of the measured time, until 0.4 s; "
            "'warmup' leaves out what comes before it"
        ],
    ),
    "what is not known": (
        f"duration = '20 s'\n{LONG_PATH}cca = 'cubic'\napp_rate = '2 Mbps'\non = {{ mean = '100 ms' }}\n"
        "off = { mean = '1 s' }",
        [],
    ),
}


@pytest.mark.parametrize("limit", LIMITED)
def test_a_note_names_what_keeps_a_flow_in_slow_start_or_says_nothing(limit: str) -> None:
    text, notes = LIMITED[limit]
    assert [note for _, note in cwnd.run(cwnd.Scenario.parse(text)).notes] == notes
