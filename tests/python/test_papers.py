"""Papers: the rule of agreement, verdicts on numbers and claims, and `cwnd reproduce` as a user runs it."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cwnd
from conftest import Command
from cwnd._common.errors import MissingError
from cwnd._reproduce import figures as paper_figures
from cwnd._reproduce import judge, measure
from cwnd._reproduce import paper as paper_reader
from cwnd._reproduce import verdicts as verdict_texts
from cwnd._reproduce.claims import Quantity, SeedEstimate, Series, best
from cwnd._results.tables import empty_table
from test_forms import check_fonts

PAPER = """\
title = "A small paper"
citation = "Nobody, 2026"
about = "two flows on a short path"
metrics = { throughput = "throughput_mbps", sent = "highest_sent" }

[variant.reno]
label = "TCP Reno"
"flows.cca" = "reno"
[variant.cubic]
"flows.cca" = "cubic"

[experiment.pair]
scenario = "pair.toml"
quick = { "dumbbell.buffer" = [20] }

[item.fig1]
published = "Fig. 1"
title = "Without errors"
experiment = "pair"
at = { "dumbbell.per" = 0 }
[item.fig2]
published = "Fig. 2"
title = "With errors"
experiment = "pair"
at = { "dumbbell.per" = 0.01 }

[trace.fig3]
title = "Fig. 3: windows"
scenario = "pair.toml"
change = { samples = 20 }

[figure.both]
title = "Fig. 1 and 2: throughput"
items = ["fig1", "fig2"]

[reading.half]
about = "half the rate"
items = ["fig1"]
change = { "dumbbell.rate" = "5 Mbps" }

[[cause]]
text = "the rate was half of what is said"
of = { item = ["Fig. 1"] }
reading = "half"
[[cause]]
text = "one run of a wide distribution"
of = { item = ["Fig. 2"] }
within = "runs"
"""

PAIR = """\
duration = "5 s"
samples = "off"
[dumbbell]
rate = "10 Mbps"
delay = "10 ms"
buffer = 20
per = 0
[[flows]]
cca = "reno"
count = 2
[sweep]
"dumbbell.buffer" = [20, 40]
"dumbbell.per" = [0, 0.01]
"""

CLAIMS = """\
from cwnd._reproduce.claims import claim

@claim("1", "Errors cost throughput.")
def errors(m):
    return (m("fig1", "reno") - m("fig2", "reno")).above(0)

@claim("2", "Reno fills twice the link.", why="A link carries no more than its rate.")
def twice(m):
    return m("fig1", "reno").at(40).about(20)

@claim("3", "At 80 packets it is more.")
def not_there(m):
    return m("fig1", "reno").at(80).above(0)

@claim("4", "Reno has more than half of the link.")
def more_than_half(m):
    return m("fig1", "reno").above(5.01)
"""

HEAD = "item,scenario,flows,per,buffer_pkts,cca,metric,unit,value,how"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The papers, of which there is one."""
    paper = tmp_path / "papers" / "small"
    paper.mkdir(parents=True)
    (paper / "paper.toml").write_text(PAPER)
    (paper / "pair.toml").write_text(PAIR)
    (paper / "claims.py").write_text(CLAIMS)
    (paper / "published.csv").write_text(HEAD + "\n")
    monkeypatch.setattr(paper_reader, "_FOLDER", tmp_path / "papers")
    monkeypatch.chdir(tmp_path)
    return paper


def publish(folder: Path, *rows: str) -> None:
    (folder / "published.csv").write_text("\n".join([HEAD, *rows]) + "\n")


def test_a_number_agrees_within_the_interval_or_within_a_tenth_of_our_mean() -> None:
    wide = SeedEstimate(100, 70, 130, 60, 140, 5)
    assert [wide.agrees(value) for value in (69.9, 70, 130, 130.1)] == [False, True, True, False]
    exact = SeedEstimate(100, 100, 100, 100, 100, 1)
    assert [exact.agrees(value) for value in (89.9, 90, 110, 110.1)] == [False, True, True, False]
    # The bound is a tenth of our mean, not of the published value: 111.2 is less than a tenth of itself away.
    assert not exact.agrees(111.2)
    alone = SeedEstimate(100, None, None, 100, 100, 1)
    assert alone.agrees(110) and not alone.agrees(111)
    assert SeedEstimate(0, 0, 0, 0, 0, 1).agrees(0)


def test_an_interval_is_students_and_a_run_without_randomness_has_none() -> None:
    # Mean 3, sample deviation sqrt(2.5), t(0.975, 4) = 2.776445: half a width of 1.963.
    reported = Quantity({seed: float(seed) for seed in range(1, 6)}, fixed=False).estimate
    assert reported.mean == 3 and reported.n == 5 and (reported.least, reported.most) == (1, 5)
    assert reported.low == pytest.approx(3 - 1.96324, abs=1e-4)
    fixed = Quantity({1: 7.0}, fixed=True).estimate
    assert (fixed.low, fixed.high) == (7, 7)
    lonely = Quantity({1: 7.0}, fixed=False).estimate
    assert (lonely.low, lonely.high) == (None, None)


def test_differences_are_taken_seed_by_seed() -> None:
    a = Quantity({1: 10.0, 2: 20.0, 3: 30.0}, fixed=False)
    b = Quantity({2: 19.0, 3: 29.0, 1: 9.0}, fixed=False)
    assert (a - b).by_seed == {1: 1, 2: 1, 3: 1}
    # Paired the difference is sure, although the intervals overlap.
    assert (a - b).above(0.5).holds and not (a - b).above(1).holds
    assert (a - Quantity({1: 5.0}, fixed=True)).by_seed == {1: 5, 2: 15, 3: 25}
    assert (Quantity({1: 5.0}, fixed=True) - a).by_seed == {1: -5, 2: -15, 3: -25}


def test_a_series_holds_everywhere_or_fails() -> None:
    one = Series({50: Quantity({1: 1.0}, fixed=True), 100: Quantity({1: 3.0}, fixed=True)})
    other = Series({50: Quantity({1: 2.0}, fixed=True), 100: Quantity({1: 1.0}, fixed=True)})
    assert one.above(0).holds and not one.above(1).holds and one.below(3.5).holds
    assert [value.mean for value in best([one, other]).points.values()] == [2, 3]
    assert (one / other).max().mean == 3
    with pytest.raises(MissingError):
        one.at(200)


def test_verdicts_follow_from_the_published_values(folder: Path) -> None:
    first = cwnd.reproduce("small", seeds=4, out="first")
    throughput = first.measured("fig1", "reno", "throughput").at(20).mean
    half = first.measured("fig1", "reno", "throughput", reading="half").at(20).mean
    runs = first.measured("fig2", "reno", "throughput").at(40).estimate
    assert 5.5 < throughput < 10 and half < 5.01
    publish(
        folder,
        f"Fig. 1,,2,0,20,reno,throughput,Mbps,{1.09 * throughput},",
        f"Fig. 1,,2,0,20,cubic,throughput,Mbps,{half},",
        "Fig. 1,,2,0,40,reno,throughput,Mbps,50,",
        f"Fig. 2,,2,0.01,40,reno,throughput,Mbps,{runs.mean},",
        "Fig. 2,,2,0.01,80,reno,throughput,Mbps,3,",
    )
    again = cwnd.reproduce("small", seeds=4, out="first")
    reported = [(one.verdict, one.cause) for one in again.numbers]
    assert reported == [
        ("agrees", None),
        ("differs", "the rate was half of what is said"),
        ("differs", None),
        ("agrees", None),
        ("not run", None),
    ]
    assert [one.verdict for one in again.claims] == ["holds", "fails", "not run", "holds"]
    assert again.summary == (4, 2, 2, 1, 3, 2, 1)
    assert str(again.summary) == "4 numbers: 2 agree, 2 differ (1 explained); 3 claims: 2 hold, 1 fail"
    ((reading, counts),) = again.readings()
    # Two claims are about what the reading ran, and at half the rate neither holds.
    assert (reading.name, counts) == ("half", (3, 1, 1, 2, 1, 0))
    verdicts = (Path("first") / "small" / "verdicts.md").read_text()
    assert "**≠** a" in verdicts and "**≠** ?" in verdicts and "TCP Reno" in verdicts
    assert "A link carries no more than its rate." in verdicts
    figures = sorted(path.name for path in (Path("first") / "small" / "figures").iterdir())
    assert figures == [f"{name}.{ending}" for name in ("both", "fig3") for ending in ("pdf", "png", "svg")]
    check_fonts(Path("first"))


def test_a_metric_that_is_the_same_in_all_runs_judges_nothing(folder: Path) -> None:
    # One flow alone: Jain's index is 1 whatever happens.
    (folder / "pair.toml").write_text(PAIR.replace("count = 2", "count = 1"))
    metrics = 'metrics = { throughput = "throughput_mbps", fairness = "jain_fairness" }'
    (folder / "paper.toml").write_text(re.sub("(?m)^metrics = .*$", metrics, PAPER, count=1))
    publish(
        folder,
        "Fig. 1,,1,0,20,reno,fairness,,1,",
        "Fig. 1,,1,0,20,reno,throughput,Mbps,1000,",
    )
    again = cwnd.reproduce("small", only=["fig1"], seeds=1, out="one")
    assert [one.verdict for one in again.numbers] == ["not judged", "differs"]
    assert again.summary[:3] == (1, 0, 1)
    assert "*not judged*" in (Path("one") / "small-fig1" / "verdicts.md").read_text()


def test_a_reading_may_have_other_runs_or_count_in_another_way(folder: Path) -> None:
    (folder / "slow.toml").write_text(PAIR.replace("10 Mbps", "2 Mbps"))
    readings = """
[reading.slow]
about = "a slow link"
items = ["fig1"]
scenario = "slow.toml"
[reading.payload]
about = "payload alone"
items = ["fig1"]
metrics = { throughput = "goodput_mbps" }
"""
    (folder / "paper.toml").write_text(PAPER.replace("[reading.half]", readings + "[reading.half]"))
    measured = cwnd.reproduce("small", seeds=1).measured
    wire, slow, payload = (
        measured("fig1", "reno", "throughput", reading=reading).at(40).mean
        for reading in (None, "slow", "payload")
    )
    assert slow == pytest.approx(2, rel=0.02) and wire > 5
    # 1448 of 1500 bytes on the wire are payload, and a few are sent twice.
    assert 0.9 < payload / wire < 1448 / 1500


def test_a_value_within_the_runs_but_not_the_interval_is_explained_by_them(folder: Path) -> None:
    first = cwnd.reproduce("small", only=["fig2"], seeds=8, out="out")
    cubic = {x: first.measured("fig2", "cubic", "throughput").at(x).estimate for x in (20, 40)}
    outside = max(cubic.values(), key=lambda one: one.most - (one.high or 0))
    buffer = next(x for x, one in cubic.items() if one == outside)
    if outside.agrees(outside.most):
        pytest.skip("the extremes are within a tenth of the mean")
    publish(folder, f"Fig. 2,,2,0.01,{buffer},cubic,throughput,Mbps,{outside.most},")
    (number,) = cwnd.reproduce("small", only=["fig2"], seeds=8, out="out").numbers
    assert (number.verdict, number.cause) == ("differs", "one run of a wide distribution")


def test_quick_runs_the_points_it_names_and_randomness_decides_the_seeds(folder: Path) -> None:
    paper = paper_reader.load("small")
    full = measure.plan(measure.select(paper))
    assert [len(seeds) for point, seeds in zip(full.points, full.seeds, strict=True)] == [
        30 if point.values["dumbbell.per"] else 1 for point in full.points
    ]
    # Two variants, buffers and PERs; the reading is for the item without errors.
    assert len(full.points) == 8 + 4
    quick = measure.plan(measure.select(paper, quick=True))
    assert {point.values["dumbbell.buffer"] for point in quick.points} == {20}
    assert max(map(len, quick.seeds)) == 3
    only = measure.plan(measure.select(paper, ["fig2"]))
    assert {point.values["dumbbell.per"] for point in only.points} == {0.01}


def test_real_kernels_run_what_the_paper_ran_on_a_testbed_and_the_readings_that_explain(folder: Path) -> None:
    with pytest.raises(cwnd.Error, match="small has no testbed"):
        measure.select(paper_reader.load("small"), world="linux")
    description = folder / "paper.toml"
    description.write_text(
        PAPER.replace(
            "[item.fig2]", "[experiment.bed]\nscenario = 'pair.toml'\ntestbed = true\n[item.fig2]"
        ).replace('title = "With errors"\nexperiment = "pair"', 'title = "With errors"\nexperiment = "bed"')
        + "[reading.late]\nabout = 'later'\nitems = ['fig2']\nchange = { 'flows.start' = '1 s' }\n"
        + "[reading.slow]\nabout = 'slower'\nitems = ['fig2']\nchange = { 'dumbbell.rate' = '5 Mbps' }\n"
        + "[[cause]]\ntext = 'it was slow'\nreading = 'slow'\n"
    )
    selection = measure.select(paper_reader.load("small"), seeds=1, world="linux")
    assert ([item.name for item in selection.items], selection.traces) == (["fig2"], [])
    points = [point.values for point in measure.plan(selection).points]
    assert {(point["experiment"], point["reading"]) for point in points} == {("bed", None), ("bed", "slow")}
    # There a run takes the time of its transfers.
    points = [point.values for point in measure.plan(selection._replace(world="live")).points]
    assert {(point["experiment"], point["reading"]) for point in points} == {("bed", None)}


def test_a_wrong_paper_toml_gets_one_line(folder: Path) -> None:
    for old, new, line in (
        ('title = "Without errors"\n', "", "small/paper.toml: item fig1: title is needed"),
        ("quick =", "quicker =", "small/paper.toml: experiment pair: quicker is not a key; there are "),
        ('reading = "half"', 'reading = "third"', "small/paper.toml: reading of cause 1: 'third' is not one"),
        ('within = "runs"', 'within = "reason"', "small/paper.toml: within of cause 2: 'reason' is not one"),
        ('items = ["fig1"]', 'items = ["fig9"]', "small/paper.toml: items of half: 'fig9' is not one"),
        ("[item.fig1]", "[item.fig1", "small/paper.toml: "),
        ('scenario = "pair.toml"', 'scenario = "none.toml"', "small/none.toml: no such file"),
    ):
        assert PAPER.count(old)
        (folder / "paper.toml").write_text(PAPER.replace(old, new, 1))
        with pytest.raises(cwnd.Error) as refused:
            paper_reader.load("small")
        assert str(refused.value).startswith(line) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "give names of papers or --all; 'cwnd papers' lists them"),
        (("discrete-tcp", "--all"), "give names of papers or --all; 'cwnd papers' lists them"),
        (("nothing",), "'nothing' is not a paper; there are "),
        (("discrete-tcp", "--only", "fig99"), "--only: 'fig99' is not in discrete-tcp; there are "),
        (("discrete-tcp", "--seeds", "0"), "--seeds: "),
        (("discrete-tcp", "--seeds", "x"), "--seeds: "),
        (("discrete-tcp", "--out", "/proc/nothing"), "/proc/nothing/discrete-tcp/runs: "),
    ],
)
def test_wrong_arguments_get_one_line(cwnd_here: Command, arguments: tuple[str, ...], line: str) -> None:
    answer = cwnd_here("reproduce", *arguments)
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"cwnd: error: {line}") and answer.stderr.count("\n") == 1
    assert answer.stdout == ""


@pytest.mark.slow
def test_a_killed_reproduction_goes_on_and_ends_with_the_same_bytes(
    cwnd_command: Command, tmp_path: Path
) -> None:
    arguments = ["reproduce", "discrete-tcp", "--seeds", "12", "--only", "table2,table4", "--out"]
    answer = cwnd_command(*arguments, str(tmp_path / "whole"), "--json")
    assert answer.returncode == 0, answer.stderr
    for number, kill in enumerate((signal.SIGKILL, signal.SIGINT)):
        out = tmp_path / f"killed-{number}"
        with subprocess.Popen(
            [sys.executable, "-m", "cwnd", *arguments, str(out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            shards = out / "discrete-tcp-table2-table4" / "runs" / "shards"
            while not list(shards.glob("*.parquet")) and process.poll() is None:
                time.sleep(0.005)
            os.kill(process.pid, kill)
            _, said = process.communicate(timeout=30)
        if kill == signal.SIGINT and process.returncode:
            assert process.returncode == 130
            assert "repeat the command to continue" in said and said.count("\n") == 1
        resumed = cwnd_command(*arguments, str(out), "--json")
        assert resumed.returncode == 0, resumed.stderr
        assert resumed.stdout == answer.stdout
        assert tree(out) == tree(tmp_path / "whole")


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below but the manifest, which names the machine."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }


def test_json_has_the_promised_names(cwnd_here: Command, tmp_path: Path) -> None:
    answer = cwnd_here("reproduce", "discrete-tcp", "--only", "table3", "--quick", "--json", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    reported = json.loads(answer.stdout)
    assert list(reported) == ["summary", "papers"]
    keys = ["numbers", "agree", "differ", "explained", "claims", "hold", "fail"]
    assert list(reported["summary"]) == keys
    (paper,) = reported["papers"]
    assert paper["name"] == "discrete-tcp" and list(paper["summary"]) == keys
    for number in paper["numbers"]:
        assert number["verdict"] in ("agrees", "differs")
        assert number["ci95_low"] <= number["mean"] <= number["ci95_high"]
    with (tmp_path / "reproduced" / "discrete-tcp-table3-quick" / "numbers.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(paper["numbers"])


NAMES = [paper.name for paper in paper_reader.papers()]


def test_the_papers_are_listed(cwnd_here: Command) -> None:
    answer = cwnd_here("papers")
    assert answer.returncode == 0 and all(name in answer.stdout for name in NAMES)
    reported = json.loads(cwnd_here("papers", "--json").stdout)
    assert [paper["name"] for paper in reported["papers"]] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_published_row_is_measured(name: str) -> None:
    paper = paper_reader.load(name)
    selection = measure.select(paper)
    runs = measure.plan(selection)
    points: dict[tuple[str, str], list[dict[str, float]]] = {}
    for point in runs.points:
        if point.values["reading"] is None:
            key = (point.values["experiment"], point.values["variant"])
            points.setdefault(key, []).append(point.values)
    item_of: dict[tuple[str | None, str], paper_reader.Item] = {}
    for item in paper.items.values():
        for metric in item.metrics:
            item_of.setdefault((item.published, metric), item)
    for row in paper.published:
        item = item_of[row["item"], row["metric"]]
        wanted = {key: float(row[column]) for column, key in judge._COLUMNS.items() if row.get(column)}

        def here(values: dict[str, float], wanted: dict[str, float] = wanted) -> bool:
            swept = {key.rpartition(".")[2]: value for key, value in values.items()}
            return all(swept.get(key, value) == value for key, value in wanted.items())

        own = [values for values in points[item.experiment, row["cca"]] if here(values)]
        assert own, row


@pytest.mark.parametrize("name", NAMES)
def test_every_paper_is_told_to_a_reader(name: str) -> None:
    paper = paper_reader.load(name)
    assert (paper.folder / "README.md").is_file() and (paper.folder / "verdicts.md").is_file()
    drawn = {item for figure in paper.figures.values() for item in figure.items}
    printed = {item.name for item in paper.items.values() if item.published}
    assert printed <= drawn, "every item with published numbers is in a figure"
    claims = [claim.name for claim in paper.claims]
    assert claims and len(claims) == len(set(claims))
    used = {cause.reading for cause in paper.causes} - {None}
    assert used <= set(paper.readings)


def test_figures_and_tables_of_verdicts_need_no_published_values(folder: Path) -> None:
    reproduction = cwnd.reproduce("small", only=["fig1"], quick=True, out="out")
    assert reproduction.summary[:4] == (0, 0, 0, 0)
    left = {path.name for path in (Path("out") / "small-fig1-quick").iterdir()}
    assert left == {"runs", "figures", "verdicts.json", "verdicts.md"}
    figure = paper_figures.draw(reproduction.measured, [], reproduction.paper.figures["both"])
    assert len(figure.axes) >= 1
    assert verdict_texts.total([reproduction, reproduction]).claims == 2 * reproduction.summary.claims


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_about_what_was_not_run_is_not_run(name: str) -> None:
    paper = paper_reader.load(name)
    nothing = cwnd.Results([], empty_table)
    for item in paper.items:
        measured = measure.Measured(measure.select(paper, [item]), nothing, {})
        assert {one.verdict for one in judge.judge(measured)} == {"not run"}
