"""Figures for papers and slides, labels, and colours of the user's own algorithms."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import cwnd
from conftest import Command
from cwnd._report.looks import looks
from test_looks import APART_SHARING, VISIONS, ciede2000, seen

CLASS = """
import cwnd

class Rubic(cwnd.CongestionControl):
    def cong_avoid(self, window, ack):
        window.cwnd += 1

    def ssthresh(self, window, ack):
        return max(2, window.cwnd // 2)
"""
LABELLED = """
label = "A branch office"
duration = "1 s"
[dumbbell]
rate = "10 Mbps"
delay = "10 ms"
buffer = 20
[[flows]]
cca = "rubic.py:Rubic"
[[flows]]
cca = "cubic"
label = "CUBIC of 2021"
"""


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labelled")
    (folder / "rubic.py").write_text(CLASS)
    (folder / "branch.toml").write_text(LABELLED)
    return folder / "branch.toml"


def width_in(pdf: Path) -> float:
    found = re.search(rb"/MediaBox \[ 0 0 ([0-9.]+)", pdf.read_bytes())
    assert found is not None
    return float(found[1]) / 72


def check_fonts(folder: Path) -> None:
    """All fonts are TrueType and embedded, as poppler reads them where it is installed."""
    for pdf in sorted(folder.rglob("*.pdf")) if shutil.which("pdffonts") else []:
        done = subprocess.run(["pdffonts", pdf], capture_output=True, text=True, check=True, timeout=20)
        rows = done.stdout.splitlines()[2:]
        assert rows, pdf
        for row in rows:
            embedded, *_ = row.split()[-5:]
            assert "TrueType" in row and embedded == "yes", (pdf, row)


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_pdf_has_the_width_of_the_column_truetype_and_no_title(labelled: Path, tmp_path: Path) -> None:
    results = cwnd.run(labelled)
    for width, inches in (("ieee", 3.486), ("acm", 3.33), ("slides", 6.67), (4.25, 4.25)):
        figure = results.plot("cwnd", tmp_path / f"{width}.pdf", figure_width=width)  # type: ignore[arg-type]
        data = (tmp_path / f"{width}.pdf").read_bytes()
        assert b"/Type3" not in data and b"/FontFile2" in data  # Type 42 is TrueType
        assert width_in(tmp_path / f"{width}.pdf") == pytest.approx(inches, abs=0.01)
        titled = figure._suptitle is not None and bool(figure._suptitle.get_text())  # type: ignore[attr-defined]
        assert titled == (width == "slides")
    given = results.plot("cwnd", figure_width="ieee", title="Mine")
    assert given.get_suptitle() == "Mine"


def test_every_figure_of_a_paper_is_as_wide_as_its_column(tmp_path: Path) -> None:
    path: dict[str, Any] = {"rate": "10 Mbps", "delay": "10 ms", "duration": "1 s", "repeat": 2}
    names = ("cubic", "reno", "bbr", "elastic", "agile-sd")
    grid = [
        cwnd.dumbbell(cca, buffer=buffer, name=f"{cca} {buffer}", **path)
        for cca in names
        for buffer in (10, 40)
    ]
    results = cwnd.run(grid)
    for kind in ("cwnd", "lines", "throughput-delay"):
        results.plot(kind, tmp_path / f"{kind}.pdf", figure_width="acm")
        assert width_in(tmp_path / f"{kind}.pdf") == pytest.approx(3.33, abs=0.01), kind
    check_fonts(tmp_path)


def test_a_run_for_a_paper_has_its_figures_as_pdf(labelled: Path, tmp_path: Path, cwnd_here: Command) -> None:
    short = (
        "run",
        "--cca",
        "reno",
        "--rate",
        "10Mbps",
        "--delay",
        "5ms",
        "--duration",
        "1s",
        "--samples",
        "off",
    )
    flags = ("--repeat", "2", "--out", str(tmp_path / "out"))
    assert cwnd_here(*short, *flags, "--figure-width", "ieee").returncode == 0
    written = {path.suffix for path in (tmp_path / "out").iterdir()}
    assert {".png", ".svg", ".pdf"} <= written
    assert all(width_in(pdf) == pytest.approx(3.486, abs=0.01) for pdf in (tmp_path / "out").glob("*.pdf"))
    check_fonts(tmp_path)


@pytest.mark.parametrize("width", ["wide", "1", "inf", "nan", ""])
def test_a_width_that_is_none_is_refused_before_the_run(width: str, cwnd_here: Command) -> None:
    done = cwnd_here("run", "--cca", "reno", "--duration", "100 min", "--out", "out", "--figure-width", width)
    assert done.returncode == 2
    assert done.stderr.startswith("cwnd: error: --figure-width: ") and "2 to 20 inches" in done.stderr


def test_labels_and_classes_are_shown_in_legends_and_tables(labelled: Path, cwnd_here: Command) -> None:
    results = cwnd.run(labelled)
    assert legend_of(results.plot("cwnd")) == ["Rubic", "CUBIC of 2021"]
    scenario = results.scenarios[0]
    assert scenario["label"] == "A branch office" and scenario["flows"][1]["label"] == "CUBIC of 2021"
    assert results.flows["cca"].to_list() == ["rubic.py:Rubic", "cubic"]
    done = cwnd_here("run", str(labelled))
    assert "A branch office" in done.stdout and "CUBIC of 2021" in done.stdout
    assert "Rubic" in done.stdout and "rubic.py" not in done.stdout


def test_a_labelled_algorithm_keeps_its_look(labelled: Path) -> None:
    lines = cwnd.run(labelled).plot("cwnd").legends[0].get_lines()
    assert lines[1].get_color() == looks([])["cubic"].colour


def test_two_classes_of_one_name_keep_the_names_of_their_files(labelled: Path) -> None:
    text = LABELLED.replace('cca = "cubic"\nlabel = "CUBIC of 2021"', 'cca = "old/rubic.py:Rubic"')
    (labelled.parent / "old").mkdir(exist_ok=True)
    (labelled.parent / "old" / "rubic.py").write_text(CLASS)
    (labelled.parent / "two.toml").write_text(text)
    shown = legend_of(cwnd.run(labelled.parent / "two.toml").plot("cwnd"))
    assert shown == ["rubic.py:Rubic", "old/rubic.py:Rubic"]


def test_labels_change_no_key_of_a_sweep(tmp_path: Path, cwnd_here: Command) -> None:
    text = '[dumbbell]\nrate = "10 Mbps"\ndelay = "10 ms"\nbuffer = 9\n[[flows]]\ncca = "reno"\n'
    sweep = '[sweep]\n"dumbbell.buffer" = [9, 10]\n'
    (tmp_path / "sweep.toml").write_text(f'duration = "1 s"\n{text}{sweep}')
    first = json.loads(cwnd_here("sweep", "sweep.toml", "--out", "out", "--json", cwd=tmp_path).stdout)
    (tmp_path / "sweep.toml").write_text(f'label = "Two"\nduration = "1 s"\n{text}label = "Reno"\n{sweep}')
    again = json.loads(cwnd_here("sweep", "sweep.toml", "--out", "out", "--json", cwd=tmp_path).stdout)
    assert (first["ran"], again["ran"]) == (2, 0)
    assert cwnd.Results.load(tmp_path / "out").scenarios[0]["flows"][0]["label"] == "Reno"


@pytest.mark.parametrize("vision", VISIONS)
def test_own_algorithms_are_apart_from_all_others_of_the_figure(vision: str) -> None:
    for beside in (["elastic", "cubic", "bbr"], ["reno", "agile", "htcp", "prague"], ["scalable", "veno"]):
        names = [*beside, "Rubic", "Mine", "Another"]
        look = looks(names)
        for one, two in combinations(names, 2):
            if {one, two} <= set(beside):
                continue
            apart = ciede2000(seen(look[one].colour, vision), seen(look[two].colour, vision))  # type: ignore[arg-type]
            assert apart >= APART_SHARING, f"{one} and {two} with {vision}: {apart:.1f}"
        assert len({(str(look[name].line), look[name].marker) for name in names}) == len(names)


def test_a_sawtooth_and_bbrs_dips_are_in_the_samples_of_a_default_scenario() -> None:
    results = cwnd.run(cwnd.dumbbell("bbr", rate="20 Mbps", delay="20 ms", duration="100 s"))
    rows = results.samples.drop_nulls("cwnd_pkts")
    assert rows.height == 1001
    low = [time for time, cwnd_pkts in rows["time_s", "cwnd_pkts"].rows() if cwnd_pkts <= 4]
    dips = [time for before, time in zip([-9.0, *low], low, strict=False) if time - before > 1]
    # PROBE_RTT comes after 10 s without a smaller RTT.
    assert len(dips) == 9 and all(9.5 < two - one < 11 for one, two in pairwise(dips))


def test_samples_of_many_flows_are_bounded() -> None:
    few, many = (cwnd.dumbbell("reno", flows=flows, duration="10 s").to_dict() for flows in (2, 5000))
    assert few["samples"] == {"interval": {"interval_ns": 10_000_000}}
    assert many["samples"] == {"interval": {"interval_ns": 100_000_000}}


def test_intervals_and_axes_end_where_values_are_possible() -> None:
    path: dict[str, Any] = {"rate": "5 Mbps", "delay": "10 ms", "buffer": 20, "duration": "1 s"}
    runs = [cwnd.dumbbell("cubic", flows=2, per=per, repeat=3, name=f"{per}", **path) for per in (0.01, 0.1)]
    results = cwnd.run(runs)
    jain = results.summary.filter(metric="jain_fairness")
    assert jain["ci95_high"].max() > 1  # type: ignore[operator]
    (axes,) = results.plot("lines", metric="jain_fairness").axes
    ends = [y for bars in axes.collections for path in bars.get_segments() for _, y in path]  # type: ignore[attr-defined]
    assert ends and max(ends) <= 1 and axes.get_ylim()[1] <= 1.02


def test_every_mark_of_a_sweep_says_its_point() -> None:
    path: dict[str, Any] = {"rate": "10 Mbps", "delay": "10 ms", "duration": "2 s", "repeat": 2}
    runs = [
        cwnd.dumbbell(cca, buffer=buffer, name=f"{cca} {buffer}", **path)
        for cca in ("cubic", "reno")
        for buffer in (10, 20, 40)
    ]
    (axes,) = cwnd.run(runs).plot("throughput-delay").axes
    named = [text.get_text() for text in axes.texts]
    assert sorted(text for text in named if text.isdigit()) == ["10", "10", "20", "20", "40", "40"]
    assert axes.get_title("right") == "at the marks: buffer (packets)"
