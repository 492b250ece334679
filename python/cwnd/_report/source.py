"""The tables of a result, which figures and the page read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import polars as pl


class Source(Protocol):
    """The tables that `cwnd.Results` documents."""

    @property
    def scenarios(self) -> list[dict[str, Any]]: ...

    @property
    def values(self) -> list[dict[str, Any]]: ...

    @property
    def flows(self) -> pl.DataFrame: ...

    @property
    def samples(self) -> pl.DataFrame: ...

    @property
    def summary(self) -> pl.DataFrame: ...
