"""The tables of a result as figures show them: labels are the names of algorithms."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from cwnd._common.labels import labelled

if TYPE_CHECKING:
    import polars as pl

    from cwnd._common.shapes import ScenarioJson, Values
    from cwnd._report.source import Source


class Labelled:
    """A `Source` whose flows have their labels as the names of their algorithms."""

    def __init__(self, results: Source) -> None:
        self._results = results

    @cached_property
    def scenarios(self) -> list[ScenarioJson]:
        return labelled(self._results.scenarios)

    @property
    def values(self) -> list[Values]:
        return self._results.values

    @property
    def flows(self) -> pl.DataFrame:
        return self._results.flows

    @property
    def samples(self) -> pl.DataFrame:
        return self._results.samples

    @property
    def transfers(self) -> pl.DataFrame:
        return self._results.transfers

    @property
    def summary(self) -> pl.DataFrame:
        return self._results.summary
