"""Cases: files of data beside the code, a folder for each suite."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cwnd._common.errors import error, one_line, os_error

FOLDER = Path(__file__).parent / "cases"

MUST, SHOULD = "MUST", "SHOULD"

#: Quantities of a window that a step may expect; `grown` and `ratio` are those of cwnd over the step.
QUANTITIES = ("cwnd", "ssthresh", "grown", "ratio")

#: Events of a step, one of which it has, and the number that belongs to each, if any.
EVENTS = ("rounds", "acks", "seconds", "loss", "mark", "timeout", "undo", "idle_s", "grow_to")

#: Circumstances of the ACKs of a step.
CIRCUMSTANCES = ("rtt_ms", "acked", "gap_ms", "in_flight", "queue_ms", "marked")

#: A case for every algorithm whose window the stack lowers.
ANY_WINDOW = "any-window"


class Step(NamedTuple):
    """Some events for an algorithm, and what its window has to be then."""

    event: str
    amount: float
    circumstances: Mapping[str, float]
    expect: Mapping[str, tuple[float, float]]


class Hooks(NamedTuple):
    """Events that are handed to the hooks, without a network."""

    cwnd: int
    ssthresh: int | None
    steps: list[Step]


class Case(NamedTuple):
    """A clause of a text, how it is tried, and what has to come of it."""

    suite: str
    name: str
    #: The text and the section, such as "RFC 9438, section 4.6".
    clause: str
    #: The requirement in one sentence.
    requires: str
    level: str
    #: The window is read from the hooks; otherwise packets alone are seen.
    is_white_box: bool
    #: Algorithms that the clause is about.
    algorithms: list[str]
    #: Bounds of what is expected, and why they are not closer.
    tolerance: str
    #: Parameters that switch the mechanism on.
    params: Mapping[str, str]
    #: By algorithm: why it does not do this, and means not to.
    deviations: Mapping[str, str]
    hooks: Hooks | None
    #: TOML with `[[expect]]`, in which CCA stands for the algorithm.
    scenario: str | None

    def concerns(self, algorithm: str, controls_window: bool) -> bool:
        """The clause is about that algorithm."""
        return algorithm in self.algorithms or (ANY_WINDOW in self.algorithms and not controls_window)


@cache
def suites() -> tuple[str, ...]:
    """The names of the suites."""
    return tuple(sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir()))


@cache
def cases() -> tuple[Case, ...]:
    """All cases, by suite and name."""
    return tuple(read_case(path) for path in sorted(FOLDER.glob("*/*.toml")))


def read_case(path: Path) -> Case:
    """Reads one file. Raises `Error` with one line if it is no case."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    shown = one_line(f"{path.parent.name}/{path.name}")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as failed:
        raise os_error(shown, failed) from None
    try:
        return _case(path, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, _RefusedError) as refused:
        raise error(shown, one_line(refused)) from None


class _RefusedError(Exception):
    """A file is no case: what is wrong, and what would be accepted."""


_KEYS = (
    *("clause", "requires", "level", "seen", "algorithms", "tolerance"),
    *("params", "deviations", "hooks", "scenario"),
)


def _case(path: Path, table: Mapping[str, object]) -> Case:
    for key in table:
        if key not in _KEYS:
            raise _RefusedError(f"unknown key '{key}'; there are {', '.join(_KEYS)}")
    level, seen = _text(table, "level"), _text(table, "seen")
    if level not in (MUST, SHOULD):
        raise _RefusedError(f"level '{level}' is neither MUST nor SHOULD")
    if seen not in ("white", "black"):
        raise _RefusedError(f"seen '{seen}' is neither white nor black")
    algorithms = table.get("algorithms")
    if not isinstance(algorithms, list) or not algorithms:
        raise _RefusedError("no 'algorithms'; give a list of names")
    if ("hooks" in table) == ("scenario" in table):
        raise _RefusedError("give one of 'hooks' and 'scenario'")
    return Case(
        suite=path.parent.name,
        name=path.stem,
        clause=_text(table, "clause"),
        requires=_text(table, "requires"),
        level=level,
        is_white_box=seen == "white",
        algorithms=[str(name) for name in algorithms],
        tolerance=_text(table, "tolerance"),
        params=_texts(table, "params"),
        deviations=_texts(table, "deviations"),
        hooks=_hooks(table["hooks"]) if "hooks" in table else None,
        scenario=_text(table, "scenario") if "scenario" in table else None,
    )


def _text(table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _RefusedError(f"no '{key}'; give it as a text")
    return value


def _texts(table: Mapping[str, object], key: str) -> dict[str, str]:
    value = table.get(key, {})
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise _RefusedError(f"'{key}' is not a table of texts")
    return dict(value)


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _RefusedError(f"{what} is not a number")
    return value


def _hooks(value: object) -> Hooks:
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list) or not value["steps"]:
        raise _RefusedError("'hooks' has no steps; give [[hooks.steps]]")
    ssthresh = value.get("ssthresh")
    return Hooks(
        int(_number(value.get("cwnd"), "hooks.cwnd")),
        None if ssthresh is None else int(_number(ssthresh, "hooks.ssthresh")),
        [_step(number, step) for number, step in enumerate(value["steps"], 1)],
    )


def _step(number: int, table: object) -> Step:
    where = f"step {number}"
    if not isinstance(table, dict):
        raise _RefusedError(f"{where} is not a table")
    events = [key for key in EVENTS if key in table]
    if len(events) != 1:
        raise _RefusedError(f"{where} has {len(events)} events; give one of {', '.join(EVENTS)}")
    for key in table:
        if key not in (*events, *CIRCUMSTANCES, "expect"):
            raise _RefusedError(f"{where}: unknown key '{key}'; there are {', '.join(CIRCUMSTANCES)}")
    amount = table[events[0]]
    return Step(
        events[0],
        1.0 if amount is True else _number(amount, f"{where}, {events[0]}"),
        {key: _number(table[key], f"{where}, {key}") for key in CIRCUMSTANCES if key in table},
        {key: _range(f"{where}, {key}", key, value) for key, value in table.get("expect", {}).items()},
    )


def _range(where: str, key: str, value: object) -> tuple[float, float]:
    if key not in QUANTITIES:
        raise _RefusedError(f"{where} cannot be expected; there are {', '.join(QUANTITIES)}")
    if not isinstance(value, list) or len(value) != 2:
        raise _RefusedError(f"{where} is not a range [least, most]")
    low, high = (_number(one, where) for one in value)
    if low > high:
        raise _RefusedError(f"{where}: nothing is at least {low:g} and at most {high:g}")
    return low, high
