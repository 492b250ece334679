"""Assignments, and the scenarios that a student's name draws from them."""

from __future__ import annotations

import dataclasses
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias, TypedDict, cast

from cwnd._common.errors import error, one_line

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "assignments"

#: Characters of a name that count.
_NAME_CHARACTERS_MAX = 100

Value: TypeAlias = "int | float | str"


class Flow(TypedDict, total=False):
    """Flows of a scenario, with the keys of the lab: sizes in MB, times in s, `farther` in ms."""

    cca: str
    label: str
    count: int
    start: float
    spread: float
    size: float
    farther: float


class Pane(TypedDict, total=False):
    """A scenario, with the keys of the lab: Mbit/s, ms, BDP, %, s."""

    rate: float
    rtt: float
    buffer: float
    loss: float
    seed: int
    queue: str
    duration: float
    flows: list[Flow]


class Quantity(TypedDict, total=False):
    """A number of a run: of a path, or of a flow. A negative flow counts from the last."""

    scenario: str
    #: bdp_pkts or rtt_ms.
    path: str
    flow: int
    #: A column of the flow's row.
    column: str
    #: Subtracted: a number of the path.
    less: str
    #: The flow's share, in percent, of the sum of a column.
    share: str
    #: The largest value of a column of the time series, from `from_s` on.
    largest: str
    from_s: float


@dataclasses.dataclass(frozen=True)
class Question:
    """A question about a run. The answer is `value`, or `value` divided by `over`."""

    key: str
    text: str
    unit: str
    #: Accepted difference from the value; 0: none.
    tolerance_percent: float
    value: Quantity
    over: Quantity | None = None


@dataclasses.dataclass(frozen=True)
class Assignment:
    """Questions about scenarios whose numbers are drawn."""

    name: str
    title: str
    about: str
    #: The values that may be drawn, in the order of the draw.
    draw: Mapping[str, Sequence[Value | Sequence[Value]]]
    #: Scenarios in which "$rate" stands for what was drawn of `rate`, "$losses.1" for its second value.
    scenarios: Mapping[str, Pane]
    questions: Sequence[Question]

    def panes(self, name: str) -> dict[str, Pane]:
        """The scenarios of a student."""
        numbers = _Numbers(f"{self.name}\n{normalise(name)}")
        drawn = {key: values[next(numbers) % len(values)] for key, values in self.draw.items()}
        return {key: cast("Pane", _filled(pane, drawn)) for key, pane in self.scenarios.items()}


@cache
def assignments() -> dict[str, Assignment]:
    """All assignments, by name."""
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.toml"))}


def find(name: str) -> Assignment:
    """Raises `Error` if there is no such assignment."""
    try:
        return assignments()[name]
    except KeyError:
        known = ", ".join(assignments())
        raise error("", f"unknown assignment '{one_line(name)}'; accepted: {known}") from None


def _read(path: Path) -> Assignment:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    questions = [Question(**question) for question in table.pop("questions")]
    return Assignment(name=path.stem, questions=questions, **table)


def normalise(name: str) -> str:
    """A name as it is drawn from: without differences of case, of spaces and of how letters are composed.

    Raises `Error` if nothing is left, if it is too long or if it is no text.
    """
    shortened = collapse(unicodedata.normalize("NFKC", name).lower())
    if not shortened or len(shortened) > _NAME_CHARACTERS_MAX:
        found = f"{len(shortened)} characters" if shortened else "no name"
        raise error("", f"{found}; accepted: a name of 1 to {_NAME_CHARACTERS_MAX} characters")
    if any(unicodedata.category(c) == "Cs" for c in shortened):
        raise error("", f"'{one_line(name)}' is no text; accepted: a name in UTF-8")
    return shortened


#: Separators, controls, marks of direction.
_SPACES = {"Zs", "Zl", "Zp", "Cc", "Cf"}


def collapse(name: str) -> str:
    """A name on one line: each run of separators, controls and marks of direction is a space."""
    spaced = "".join(" " if unicodedata.category(c) in _SPACES else c for c in name)
    return " ".join(word for word in spaced.split(" ") if word)


def file_stem(assignment: str, name: str) -> str:
    """The name of a student's file, without its ending."""
    kept = "".join(c if unicodedata.category(c)[0] in "LNM" else " " for c in normalise(name))
    return "-".join([assignment, *kept.split()])


class _Numbers:
    """SplitMix64, begun with the FNV-1a hash of a text. The lab has the same, in lab/src/homework.js."""

    def __init__(self, text: str) -> None:
        self._state = 0xCBF29CE484222325
        for byte in text.encode():
            self._state = (self._state ^ byte) * 0x100000001B3 % 2**64

    def __next__(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) % 2**64
        mixed = (self._state ^ self._state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
        return mixed ^ mixed >> 31


def _filled(template: object, drawn: Mapping[str, object]) -> object:
    if isinstance(template, dict):
        return {key: _filled(value, drawn) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, drawn) for value in template]
    if not isinstance(template, str) or not template.startswith("$"):
        return template
    key, _, place = template[1:].partition(".")
    value = drawn[key]
    return value[int(place)] if isinstance(value, list) else value
