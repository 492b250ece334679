"""The tables of a result, which figures and the page read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import polars as pl

    from cwnd._common.shapes import ScenarioJson, Values


class Source(Protocol):
    """The tables that `cwnd.Results` documents."""

    @property
    def scenarios(self) -> list[ScenarioJson]: ...

    @property
    def values(self) -> list[Values]: ...

    @property
    def flows(self) -> pl.DataFrame: ...

    @property
    def samples(self) -> pl.DataFrame: ...

    @property
    def transfers(self) -> pl.DataFrame: ...

    @property
    def summary(self) -> pl.DataFrame: ...
