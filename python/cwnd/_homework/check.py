"""Answers beside the numbers of the runs that they are about."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import polars as pl

from cwnd._common.errors import error, one_line
from cwnd._common.text import aligned, digits
from cwnd._cwnd import __version__
from cwnd._homework.answers import Answers, BrokenError, read_answers
from cwnd._homework.assignment import Pane, Quantity, Question, normalise
from cwnd._homework.handout import scenario_toml
from cwnd._results.results import Results
from cwnd._run.run import run
from cwnd._scenario.scenario import Scenario

_PACKET_BITS = 1514 * 8
_MARKS = {True: "+", False: "-", None: "."}


@dataclasses.dataclass(frozen=True)
class Marked:
    """An answer and the number that was expected."""

    question: Question
    #: None: not answered.
    given: float | None
    expected: float

    @property
    def is_right(self) -> bool:
        if self.given is None:
            return False
        accepted = abs(self.expected) * self.question.tolerance_percent / 100
        return abs(self.given - self.expected) <= accepted + 1e-9 * abs(self.expected)

    @property
    def mark(self) -> str:
        return _MARKS[None if self.given is None else self.is_right]


@dataclasses.dataclass(frozen=True)
class Checked:
    """A file with its marks."""

    answers: Answers
    marked: Sequence[Marked]
    #: Remark for the teacher; "": none.
    remark: str

    @property
    def points(self) -> int:
        return sum(one.is_right for one in self.marked)

    def __str__(self) -> str:
        head = f"{one_line(self.answers.name)}, {self.answers.assignment.name}: {self._points}"
        rows = [("", "answer", "expected", "accepted", "question")]
        for number, one in enumerate(self.marked, 1):
            tolerance = one.question.tolerance_percent
            accepted = f"within {tolerance:g} %" if tolerance else "exactly"
            expected = f"{digits(one.expected)} {one.question.unit}".rstrip()
            given = "none" if one.given is None else digits(one.given)
            rows.append((f"{number} {one.mark}", given, expected, accepted, one.question.text))
        return "\n".join([head, *aligned(rows), *([f"Note: {self.remark}"] if self.remark else [])])

    @property
    def _points(self) -> str:
        return f"{self.points} of {len(self.marked)}"


@dataclasses.dataclass(frozen=True)
class Class:
    """The files of a class."""

    checked: Sequence[Checked]
    refused: Sequence[BrokenError]
    #: Names of the class without a file, by homework.
    missing: dict[str, list[str]]

    def to_json(self) -> str:
        """One object; numbers that were not given are null."""
        files = [
            {
                "file": str(one.answers.path),
                "homework": one.answers.assignment.name,
                "name": one.answers.name,
                "points": one.points,
                "of": len(one.marked),
                "remark": one.remark,
                "answers": [
                    {
                        "key": marked.question.key,
                        "given": marked.given,
                        "expected": marked.expected,
                        "unit": marked.question.unit,
                        "tolerance_percent": marked.question.tolerance_percent,
                        "ok": marked.is_right,
                    }
                    for marked in one.marked
                ],
            }
            for one in self.checked
        ]
        refused = [{"file": str(one.path), "line": one.line, "reason": one.reason} for one in self.refused]
        return json.dumps({"files": files, "refused": refused, "missing": self.missing})

    def to_csv(self) -> str:
        """A row for each file, for the list of marks: a column for each question with 1, 0 or nothing."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        most = max((len(one.marked) for one in self.checked), default=0)
        numbers = [str(number) for number in range(1, most + 1)]
        writer.writerow(["name", "homework", "points", "of", *numbers, "file", "remark"])
        for one in self.checked:
            marks = ["" if each.given is None else str(int(each.is_right)) for each in one.marked]
            own = [one.answers.name, one.answers.assignment.name, one.points, len(one.marked)]
            writer.writerow([*own, *marks, *[""] * (most - len(marks)), one.answers.path, one.remark])
        return text.getvalue()

    def __str__(self) -> str:
        if len(self.checked) == 1 and not self.refused and not self.missing:
            return str(self.checked[0])
        rows = [("name", "homework", "answers", "points", "")]
        for one in self.checked:
            marks = " ".join(each.mark for each in one.marked)
            name = one_line(one.answers.name)
            rows.append((name, one.answers.assignment.name, marks, one._points, one.remark))
        lines = aligned(rows) if self.checked else []
        lines += [f"refused: {one}" for one in self.refused]
        lines += [
            f"{name}: no file that can be read from {', '.join(map(one_line, of))}"
            for name, of in self.missing.items()
            if of
        ]
        files = len(self.checked) + len(self.refused)
        lines.append(
            f"{files} file{'s' * (files != 1)}, {len(self.refused)} refused; + right, - wrong, . no answer"
        )
        return "\n".join(lines)


def check(
    paths: Iterable[Path],
    *,
    names: Sequence[str] = (),
    progress: Callable[[float], object] | None = None,
) -> Class:
    """Runs the scenarios of the files, and marks their answers.

    Args:
        paths: Files, or directories whose files in `.txt` are checked, at any depth.
        names: The class; who has no file of a homework that others have is missing.
        progress: Called with the share of the runs that is done.

    Raises:
        Error: there is no file to check.
    """
    read: list[Answers] = []
    refused: list[BrokenError] = []
    for path in _files(paths):
        try:
            read.append(read_answers(path))
        except BrokenError as broken:
            refused.append(broken)
    read.sort(key=lambda one: (one.assignment.name, normalise(one.name)))
    expected = _Expected(read, progress)
    earlier: dict[tuple[str, str], Path] = {}
    checked = []
    for one in read:
        marked = [
            Marked(each, one.given.get(each.key), expected.of(one, each)) for each in one.assignment.questions
        ]
        key = (one.assignment.name, normalise(one.name))
        checked.append(Checked(one, marked, _remark(one, names, earlier.get(key))))
        earlier.setdefault(key, one.path)
    homework = dict.fromkeys(name for name, _ in earlier)
    missing = {
        each: [name for name in names if (each, normalise(name)) not in earlier] for each in homework if names
    }
    return Class(checked, refused, missing)


def _remark(answers: Answers, names: Sequence[str], earlier: Path | None) -> str:
    remarks = []
    if names and normalise(answers.name) not in map(normalise, names):
        remarks.append("a name that the class does not have")
    if earlier is not None:
        remarks.append(f"the name of {one_line(earlier)}, too")
    if answers.version not in ("", __version__):
        remarks.append(f"made by version {one_line(answers.version)}, checked by {__version__}")
    return "; ".join(remarks)


def _files(paths: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*") if each.suffix.lower() == ".txt")
            if not inside:
                raise error(
                    "", f"{one_line(path)}: no file of answers; accepted: files in .txt of 'homework new'"
                )
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise error("", f"{one_line(path)}: no such file or directory")
    return list(dict.fromkeys(found))


class _Expected:
    """The numbers of the runs of several students. Equal scenarios are run once."""

    def __init__(self, answers: Sequence[Answers], progress: Callable[[float], object] | None) -> None:
        self._panes = {id(one): one.assignment.panes(one.name) for one in answers}
        texts = dict.fromkeys(
            scenario_toml(pane) for panes in self._panes.values() for pane in panes.values()
        )
        self._names = {text: f"scenario {number}" for number, text in enumerate(texts)}
        scenarios = [Scenario.parse(f'name = "{name}"\n{text}') for text, name in self._names.items()]
        if not scenarios:
            return
        results: Results = run(scenarios, progress=progress)
        self._flows = results.flows.partition_by("scenario", as_dict=True)
        self._samples = results.samples.partition_by("scenario", as_dict=True)

    def of(self, answers: Answers, question: Question) -> float:
        value = self._quantity(answers, question.value)
        return value if question.over is None else value / self._quantity(answers, question.over)

    def _quantity(self, answers: Answers, of: Quantity) -> float:
        pane = self._panes[id(answers)][of["scenario"]]
        if "path" in of:
            return _path_number(pane, of["path"])
        scenario = (self._names[scenario_toml(pane)],)
        flows = self._flows[scenario]
        flow = of["flow"] % len(flows)
        if "largest" in of:
            samples = self._samples[scenario]
            later = samples.filter(pl.col("flow") == flow, pl.col("time_s") > of["from_s"])
            return float(later[of["largest"]].max())  # type: ignore[arg-type]
        if "share" in of:
            column = flows[of["share"]]
            return 100 * float(column[flow]) / float(column.sum())
        less = _path_number(pane, of["less"]) if "less" in of else 0
        return float(flows[of["column"]][flow]) - less


def _path_number(pane: Pane, name: str) -> float:
    bdp_pkts = pane["rate"] * 1e3 * pane["rtt"] / _PACKET_BITS
    return {"bdp_pkts": bdp_pkts, "rtt_ms": pane["rtt"]}[name]
