"""Metrics of runs and statistics over them, computed by the crate `cwnd-results` from and to tables."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict

from cwnd import _cwnd
from cwnd._results.columns import bytes_of, column_of

if TYPE_CHECKING:
    import polars as pl


class Estimate(TypedDict):
    """A mean, the ends of its 95 % interval (Student's t; None for one value) and the number of values."""

    mean: float
    ci95_low: float | None
    ci95_high: float | None
    n: int


def estimate(values: Iterable[float]) -> Estimate:
    """The mean of `values`, one per run, with its interval."""
    numbers = list(values)
    mean, low, high, n = _cwnd.estimate(struct.pack(f"<{len(numbers)}d", *numbers))
    return {"mean": mean, "ci95_low": low, "ci95_high": high, "n": n}


def metrics_of(scenario: str, flows: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """`seed` and the metrics of each run of `scenario` (JSON), from the rows of its runs."""
    import polars as pl

    seeds = flows["seed"].unique(maintain_order=True)
    places = pl.DataFrame({"seed": seeds}).with_row_index("run")
    columns = _cwnd.metrics(scenario, _bytes_of(flows, places), _bytes_of(links, places))
    return pl.DataFrame([seeds, *(column_of(name, data, pl.Float64()) for name, data in columns.items())])


def _bytes_of(rows: pl.DataFrame, places: pl.DataFrame) -> dict[str, bytes]:
    """Numbers of the rows by column, the runs in the order of `places`."""
    import polars as pl

    own = rows.drop("run", strict=False).join(places, on="seed", how="left", maintain_order="left")
    numbers = own.sort("run", maintain_order=True).select(pl.selectors.numeric())
    no_gaps = numbers.with_columns(
        pl.selectors.float().fill_null(float("nan")), pl.selectors.integer().fill_null(0)
    )
    return {column.name: bytes_of(column) for column in no_gaps}


def summarize(runs: pl.DataFrame) -> dict[str, Estimate]:
    """The statistics of each metric over the runs that have it, from `metrics_of`; nothing without runs."""
    if not runs.height:
        return {}
    values = {column.name: column.drop_nans() for column in runs.drop("seed")}
    return {name: estimate(numbers) for name, numbers in values.items() if len(numbers)}
