"""The runs of a sweep, and what a place to run them must offer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from cwnd import _cwnd

if TYPE_CHECKING:
    import polars as pl


class Point(NamedTuple):
    """One combination of swept values, and its scenario, which keeps no time series."""

    values: dict[str, Any]
    scenario: _cwnd.Scenario

    @property
    def description(self) -> dict[str, Any]:
        """The scenario as results describe it."""
        described: dict[str, Any] = json.loads(self.scenario.json())
        return described


class Job(NamedTuple):
    """One run: a point and a seed, under a key that covers everything it depends on."""

    point: int
    seed: int
    key: str


#: The tables "flows" and "links" of some runs, each row with `run`, the place of its run.
Rows: TypeAlias = "dict[str, pl.DataFrame]"
#: Takes finished runs: the places of their jobs in the list, and their rows in that order.
Take: TypeAlias = Callable[[list[int], Rows], object]
#: Takes the place of a job that cannot be done, and why.
Failed: TypeAlias = Callable[[int, str], object]
#: Runs jobs somewhere.
Runner: TypeAlias = Callable[[Sequence[Point], Sequence[Job], Take, Failed], None]
