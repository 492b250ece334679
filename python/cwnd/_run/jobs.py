"""The runs of a sweep, and the interface of a place that runs them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cwnd import _cwnd
from cwnd._common.rows import unfold

if TYPE_CHECKING:
    import polars as pl

    from cwnd._common.shapes import ScenarioJson, Values


class SweepPoint(NamedTuple):
    """One combination of swept values, and its scenario, which keeps no time series."""

    values: Values
    scenario: _cwnd.Scenario

    @property
    def description(self) -> ScenarioJson:
        """The scenario in the form of the results."""
        return unfold(json.loads(self.scenario.json()))


class Job(NamedTuple):
    """One run: a point and a seed, under a key that covers everything it depends on."""

    point: int
    seed: int
    key: str


#: The tables "flows" and "links" of some runs, each row with `run`, the index of its run.
Rows: TypeAlias = "dict[str, pl.DataFrame]"
#: Takes finished runs: the indices of their jobs, and their rows in that order.
Take: TypeAlias = Callable[[list[int], Rows], object]
#: Takes the index of a job that cannot be done, and the reason.
Failed: TypeAlias = Callable[[int, str], object]
#: Runs jobs somewhere.
Runner: TypeAlias = Callable[[Sequence[SweepPoint], Sequence[Job], Take, Failed], None]
