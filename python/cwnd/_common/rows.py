"""The flows and links of a scenario in JSON, where a long run of rows that follow by a rule is one entry.

`{"count": 100000, "first": {...}, "step": {"path": [1, 0]}}`: row k, from 0, is `first` with k times `step`
added to these numbers, to each of a list, and to the number at the end of a text.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, cast, overload

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from cwnd._common.shapes import FoldedRun, ScenarioJson, Step

Row = TypeVar("Row", bound=Mapping[str, object])


class Run(Generic[Row]):
    """Neighbouring rows that differ by a step."""

    __slots__ = ("first", "length", "step")

    def __init__(self, first: Row, length: int, step: Mapping[str, Step]) -> None:
        self.first = first
        self.length = length
        self.step = step

    def row(self, number: int) -> Row:
        """The row that many steps after the first."""
        moved = {key: _add(self.first[key], by, number) for key, by in self.step.items()}
        return cast("Row", {**self.first, **moved})


class Rows(Sequence[Row]):
    """Rows that are made when they are asked for. `json.dumps(..., default=list)` writes all of them."""

    def __init__(self, entries: Sequence[Row | FoldedRun]) -> None:
        #: As JSON has them.
        self.entries = entries
        self._runs: list[Run[Row]] = [_read(entry) for entry in entries]
        self._ends = list(itertools.accumulate(run.length for run in self._runs))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        index = bisect.bisect_right(self._ends, place)
        run = self._runs[index]
        return run.row(place - self._ends[index] + run.length)

    def __iter__(self) -> Iterator[Row]:
        return (run.row(number) for run in self._runs for number in range(run.length))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Rows):
            return self.entries == other.entries
        if isinstance(other, list):
            return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} rows>"


def unfold(scenario: ScenarioJson) -> ScenarioJson:
    """The scenario of some JSON, with long runs as `Rows`."""
    unfolded = scenario.copy()
    if any(map(_is_run, scenario["flows"])):
        unfolded["flows"] = Rows(scenario["flows"])
    if any(map(_is_run, scenario["links"])):
        unfolded["links"] = Rows(scenario["links"])
    return unfolded


def fold(value: object) -> object:
    """For `json.dumps(..., default=fold)`: `Rows` as they were read."""
    if isinstance(value, Rows):
        return value.entries
    raise TypeError(f"{type(value).__name__} is not for JSON")


def runs_of_rows(rows: Iterable[Row]) -> Iterator[Run[Row]]:
    """The runs of rows, most of a single row where they are a list."""
    return iter(rows._runs) if isinstance(rows, Rows) else (Run(row, 1, {}) for row in rows)


def flow_algorithms(scenario: ScenarioJson) -> list[str]:
    """The algorithm of each flow."""
    runs = runs_of_rows(scenario["flows"])
    return [name for run in runs for name in [run.first["cca"]["name"]] * run.length]


def series_count(scenario: ScenarioJson) -> int:
    """How many time series a sample has rows of: one for each flow, or for each group of flows."""
    return len(scenario.get("sample_groups") or scenario["flows"])


def series_algorithms(scenario: ScenarioJson) -> list[str]:
    """The algorithm of each flow, or of each group if samples are by group."""
    groups = scenario.get("sample_groups")
    if not groups:
        return flow_algorithms(scenario)
    firsts = itertools.accumulate(groups[:-1], initial=0)
    return [scenario["flows"][first]["cca"]["name"] for first in firsts]


def distinct_algorithms(scenario: ScenarioJson) -> list[str]:
    """The algorithms of the flows, each once."""
    return list(dict.fromkeys(run.first["cca"]["name"] for run in runs_of_rows(scenario["flows"])))


def _is_run(entry: Row | FoldedRun) -> TypeIs[FoldedRun]:
    return entry.keys() == {"count", "first", "step"}


def _read(entry: Row | FoldedRun) -> Run[Row]:
    if _is_run(entry):
        return Run(cast("Row", entry["first"]), entry["count"], entry["step"])
    return Run(entry, 1, {})


def _add(value: object, step: Step, number: int) -> object:
    """The value of a row that many steps later: a number, numbers, or a text that ends in a number."""
    if isinstance(value, list) and isinstance(step, list):
        return [one + by * number for one, by in zip(value, step, strict=True)]
    assert isinstance(step, int), step
    if isinstance(value, str):
        text = value.rstrip("0123456789")
        return f"{text}{int(value[len(text) :]) + step * number}"
    assert isinstance(value, int), value
    return value + step * number
