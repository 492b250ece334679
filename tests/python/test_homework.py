"""Homework: scenarios drawn from names, files that are handed in, and a class that is checked."""

from __future__ import annotations

import csv
import io
import json
import math
import unicodedata
from pathlib import Path

import pytest

import cwnd
from conftest import Command
from cwnd._homework.assignment import assignments, find, normalise
from cwnd._homework.handout import homework_files, scenario_toml

CLASS = 40
NAMES = [f"{first} {last}" for first in ("Ada", "Édouard", "美玲", "O'Brien", "Łukasz", "Zoë", "Ravi", "Nia")
         for last in ("Lovelace", "Müller", "van Dijk", "Иванова", "Øst")]  # fmt: skip


def hand_in(folder: Path, assignment: str, name: str, answers: list[object] = ()) -> Path:  # type: ignore[assignment]
    """A student's file with these answers, in the order of the questions."""
    (file, text), *_ = homework_files(find(assignment), name).items()
    keys = [question.key for question in find(assignment).questions]
    for key, answer in zip(keys, answers, strict=False):
        text = text.replace(f"\n{key} =\n", f"\n{key} = {answer}\n")
    path = folder / file
    path.write_text(text, encoding="utf-8")
    return path


def sawtooth_by_hand(folder: Path, name: str) -> list[float]:
    """The answers as a student finds them: by arithmetic, and in tables of a run of the file."""
    [scenario] = [
        text for file, text in homework_files(find("sawtooth"), name).items() if file.endswith(".toml")
    ]
    (folder / "mine.toml").write_text(scenario)
    results = cwnd.run(folder / "mine.toml")
    pane = find("sawtooth").panes(name)["a"]
    [flow] = results.flows.to_dicts()
    later = [row for row in results.samples.to_dicts() if row["flow"] == 0 and row["time_s"] > 50]
    return [
        pane["rate"] * 1e6 * pane["rtt"] / 1e3 / 8 / 1514,
        flow["goodput_mbps"],
        flow["mean_cwnd_pkts"],
        max(row["max_cwnd_pkts"] for row in later),
        flow["lost_pkts"],
        flow["mean_rtt_ms"] / pane["rtt"],
    ]


def test_there_are_six_assignments_whose_questions_have_units_and_tolerances() -> None:
    assert len(assignments()) == 6
    for one in assignments().values():
        keys = [question.key for question in one.questions]
        assert 4 <= len(keys) == len(set(keys))
        assert all(0 <= question.tolerance_percent <= 5 for question in one.questions)


@pytest.mark.parametrize("name", assignments())
def test_every_value_that_may_be_drawn_makes_a_scenario(name: str) -> None:
    """Each value of each draw is met by some name, and is read as it was meant."""
    students = [find(name).panes(f"student {number}") for number in range(400)]
    for key, pane in find(name).scenarios.items():
        for field, value in pane.items():
            if isinstance(value, str) and value.startswith("$"):
                drawn, _, place = value[1:].partition(".")
                meant = find(name).draw[drawn]
                expected = {one[int(place)] for one in meant} if place else set(meant)
                assert {student[key][field] for student in students} == expected
    for pane in students[0].values():
        read = cwnd.Scenario.parse(scenario_toml(pane)).to_dict()
        [link] = [one for one in read["links"] if one["name"] == "bottleneck"]
        assert link["rate_bps"] == pane["rate"] * 1e6
        assert read["seed"] == pane.get("seed", 1)


def test_a_name_is_the_same_in_any_case_spacing_and_composition_and_others_differ() -> None:
    decomposed = unicodedata.normalize("NFD", "Zoë  ØST")
    assert normalise(f" \t{decomposed}\u200f") == normalise("zoë øst") == "zoë øst"
    drawn = {json.dumps(find("random-loss").panes(name)) for name in NAMES}
    # There are 2500 to draw from.
    assert len(set(NAMES)) == CLASS and len(drawn) > 0.9 * CLASS


@pytest.mark.parametrize("name", ["", " \n", "\u200b", "x" * 101])
def test_a_name_that_is_none_is_refused(name: str, cwnd_here: Command, tmp_path: Path) -> None:
    done = cwnd_here("homework", "new", "sawtooth", "--name", name, cwd=tmp_path)
    assert done.returncode == 2 and "accepted: a name of 1 to 100 characters" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_class_of_forty_is_generated_answered_and_checked(tmp_path: Path, cwnd_here: Command) -> None:
    """Half of the class has every answer right; the others have one right, one missing and the rest wrong."""
    (tmp_path / "names.txt").write_text("# a class\n" + "\n".join([*NAMES, "Absent One"]), encoding="utf-8")
    made = cwnd_here(
        *("homework", "new", "sawtooth", "--class", "names.txt", "--out", "class", "--json"), cwd=tmp_path
    )
    files = json.loads(made.stdout)["files"]
    assert len(files) == 2 * (CLASS + 1) and all((tmp_path / file).is_file() for file in files)
    for number, name in enumerate(NAMES):
        right = sawtooth_by_hand(tmp_path, name)
        wrong = [right[0], 1.06 * right[1], 0.9 * right[2], 2 * right[3], right[4] + 1, ""]
        hand_in(tmp_path / "class", "sawtooth", name, right if number % 2 == 0 else wrong)
    (tmp_path / "class" / "sawtooth-absent-one.txt").unlink()
    done = cwnd_here(
        *("homework", "check", "class", "--class", "names.txt", "--csv", "marks.csv", "--json"), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    points = {one["name"]: one["points"] for one in found["files"]}
    assert points == {name: 6 if number % 2 == 0 else 1 for number, name in enumerate(NAMES)}
    assert found["missing"] == {"sawtooth": ["Absent One"]} and found["refused"] == []
    rows = list(csv.DictReader(io.StringIO((tmp_path / "marks.csv").read_text(encoding="utf-8"))))
    assert {row["name"]: int(row["points"]) for row in rows} == points
    [half] = [row for row in rows if row["name"] == NAMES[1]]
    assert [half[str(number)] for number in range(1, 7)] == ["1", "0", "0", "0", "0", ""]
    table = cwnd_here("homework", "check", "class", "--class", "names.txt", cwd=tmp_path).stdout
    assert table.count(" 6 of 6") == table.count(" 1 of 6") == CLASS / 2
    assert "+ - - - - ." in table and "sawtooth: no file that can be read from Absent One" in table


@pytest.mark.parametrize("name", [name for name in assignments() if name != "sawtooth"])
def test_every_question_has_a_number_that_a_second_run_has_too(
    name: str, tmp_path: Path, cwnd_here: Command
) -> None:
    paths = [hand_in(tmp_path, name, student) for student in NAMES[:2]]
    done = cwnd_here("homework", "check", "--json", *map(str, paths))
    for one, student in zip(json.loads(done.stdout)["files"], sorted(NAMES[:2], key=normalise), strict=True):
        assert one["name"] == student and one["points"] == 0
        expected = {answer["key"]: answer["expected"] for answer in one["answers"]}
        assert all(math.isfinite(value) and value >= 0 for value in expected.values())
        hand_in(tmp_path, name, student, list(expected.values()))
        panes = find(name).panes(student)
        runs = {key: cwnd.run(cwnd.Scenario.parse(scenario_toml(pane))).flows for key, pane in panes.items()}
        for question in find(name).questions:
            of = question.value
            if "column" in of and "less" not in of and question.over is None:
                assert runs[of["scenario"]][of["column"]][of["flow"]] == expected[question.key]
    again = json.loads(cwnd_here("homework", "check", "--json", str(tmp_path)).stdout)
    assert all(one["points"] == one["of"] for one in again["files"])


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("goodput_mbps =", "goodput_mbps = 9,52", 17, "'9,52' is no number; accepted: one in Mbit/s"),
        ("goodput_mbps =", "goodput_mbps = nan", 17, "'nan' is no number"),
        ("goodput_mbps =", "goodput_mbps = 1e999", 17, "'1e999' is no number"),
        ("goodput_mbps =", "goodput = 9.52", 17, "unknown answer 'goodput'; accepted: bdp_pkts, "),
        ("goodput_mbps =", "It is 9.52", 17, "'It is 9.52' is no answer; accepted: KEY = NUMBER"),
        ("goodput_mbps =", "bdp_pkts = 4", 17, "'bdp_pkts' is in line 13, too"),
        ("homework = sawtooth", "homework = sawteeth", 7, "unknown assignment 'sawteeth'; accepted: bbr-"),
        ("name = Ada Lovelace", "name =", 8, "no line 'name = ...'"),
        ("homework = sawtooth", "", None, "no line 'homework = ...'; accepted: a file of 'cwnd"),
    ],
)  # fmt: skip
def test_a_broken_file_is_refused_with_its_line_and_the_others_are_checked(
    old: str, new: str, line: int | None, reason: str, tmp_path: Path, cwnd_here: Command
) -> None:
    broken = hand_in(tmp_path, "sawtooth", "Ada Lovelace")
    broken.write_text(broken.read_text().replace(old, new))
    hand_in(tmp_path, "sawtooth", "Somebody Else")
    done = cwnd_here("homework", "check", str(tmp_path))
    assert done.returncode == 1
    where = str(broken) if line is None else f"{broken}:{line}"
    [refused] = [text for text in done.stdout.splitlines() if text.startswith("refused: ")]
    assert refused.startswith(f"refused: {where}: ") and reason in refused
    assert "Somebody Else  sawtooth  . . . . . .  0 of 6" in done.stdout
    found = json.loads(cwnd_here("homework", "check", "--json", str(tmp_path)).stdout)
    assert [(one["file"], one["line"]) for one in found["refused"]] == [(str(broken), line)]


def test_files_of_other_editors_are_read_and_others_refused(tmp_path: Path, cwnd_here: Command) -> None:
    path = hand_in(tmp_path, "sawtooth", "Zoë Øst", ["40 packets"])
    text = path.read_text(encoding="utf-8")
    for data in (
        text.replace("\n", "\r\n").encode("utf-8-sig"),
        text.encode("utf-16"),
        text.replace("Zoë", unicodedata.normalize("NFD", "Zoë")).encode(),
    ):
        path.write_bytes(data)
        [one] = json.loads(cwnd_here("homework", "check", "--json", str(path)).stdout)["files"]
        assert normalise(one["name"]) == "zoë øst" and one["answers"][0]["given"] == 40
    for data, reason in ((b"PK\x03\x04\xff\xfe\xfd", "no text"), (b"#" * 70_000, "more than 64 KiB")):
        path.write_bytes(data)
        done = cwnd_here("homework", "check", str(path))
        assert done.returncode == 1 and f"refused: {path}: {reason}" in done.stdout


def test_remarks_name_files_that_a_teacher_should_look_at(tmp_path: Path, cwnd_here: Command) -> None:
    first = hand_in(tmp_path, "sawtooth", "Ada Lovelace")
    second = tmp_path / "second" / first.name
    second.parent.mkdir()
    second.write_text(first.read_text().replace("name = Ada", "name = ADA "))
    third = hand_in(tmp_path, "sawtooth", "Zoë Øst")
    third.write_text(third.read_text().replace(f"version = {cwnd.__version__}", "version = 0.0.1"))
    (tmp_path / "class").write_text("Ada Lovelace\n")
    found = cwnd_here("homework", "check", "--json", "--class", str(tmp_path / "class"), str(tmp_path))
    remarks = [one["remark"] for one in json.loads(found.stdout)["files"]]
    assert remarks == [
        "",
        f"the name of {first}, too",
        f"a name that the class does not have; made by version 0.0.1, checked by {cwnd.__version__}",
    ]


def test_answers_that_a_student_has_written_are_not_overwritten(tmp_path: Path, cwnd_here: Command) -> None:
    new = ("homework", "new", "sawtooth", "--name", "Ada Lovelace")
    assert cwnd_here(*new, cwd=tmp_path).returncode == cwnd_here(*new, cwd=tmp_path).returncode == 0
    path = hand_in(tmp_path, "sawtooth", "ADA LOVELACE", [40])
    before = path.read_bytes()
    done = cwnd_here(*new, cwd=tmp_path)
    assert done.returncode == 2 and "is there already and differs" in done.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("new", "sawtooth"), "give one of --name NAME and --class FILE"),
        (("new", "sawtooths", "--name", "A"), "unknown assignment 'sawtooths'; accepted: bbr-beside-cubic"),
        (("new", "sawtooth", "--class", "twice"), "twice:3: 'ADA' is in line 1, too; accepted: each once"),
        (("new", "sawtooth", "--class", "same"), "has the file name of another, sawtooth-a-b.txt"),
        (("new", "sawtooth", "--class", "none"), "none: no such file or directory"),
        (("check", "none"), "none: no such file or directory"),
        (("check", "."), "no file of answers; accepted: files in .txt"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: tuple[str, ...], reason: str, tmp_path: Path, cwnd_here: Command
) -> None:
    (tmp_path / "twice").write_text("Ada\nBob\nADA\n")
    (tmp_path / "same").write_text("A B\nA-B\n")
    done = cwnd_here("homework", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and reason in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["same", "twice"]
