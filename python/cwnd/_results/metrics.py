"""Metrics of runs and statistics over them, computed by the crate `cwnd-results` from and to tables."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cwnd import _cwnd
from cwnd._results.columns import DOUBLE, Columns, bytes_of, values_of

if TYPE_CHECKING:
    import polars as pl

    from cwnd._common.shapes import Estimate


def estimate(values: Iterable[float]) -> Estimate:
    """The mean of `values`, one per run, with its interval."""
    numbers = list(values)
    mean, low, high, n = _cwnd.estimate(struct.pack(f"<{len(numbers)}d", *numbers))
    return {"mean": mean, "ci95_low": low, "ci95_high": high, "n": n}


def metrics_by_run(scenario: str, flows: Columns, links: Columns) -> dict[str, Sequence[float]]:
    """The metrics of each run of `scenario` (JSON), from the rows of its runs; NaN: it has none."""
    numbers = (
        {name: data for name, data in rows.items() if isinstance(data, bytes)} for rows in (flows, links)
    )
    columns = _cwnd.metrics(scenario, *numbers)
    return {name: values_of(data, DOUBLE) for name, data in columns.items()}


def metrics_of(scenario: str, flows: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """`seed` and the metrics of each run of `scenario` (JSON), from tables of its runs."""
    import polars as pl

    seeds = flows["seed"].unique(maintain_order=True)
    places = pl.DataFrame({"seed": seeds}).with_row_index("run")
    metrics = metrics_by_run(scenario, _bytes_of(flows, places), _bytes_of(links, places))
    return pl.DataFrame([seeds, *(pl.Series(name, values, pl.Float64) for name, values in metrics.items())])


def _bytes_of(rows: pl.DataFrame, places: pl.DataFrame) -> dict[str, bytes]:
    """Numbers of the rows by column, the runs in the order of `places`."""
    import polars as pl

    own = rows.drop("run", strict=False).join(places, on="seed", how="left", maintain_order="left")
    numbers = own.sort("run", maintain_order=True).select(pl.selectors.numeric())
    no_gaps = numbers.with_columns(
        pl.selectors.float().fill_null(float("nan")), pl.selectors.integer().fill_null(0)
    )
    return {column.name: bytes_of(column) for column in no_gaps}


def summarize(metrics: Mapping[str, Iterable[float]]) -> dict[str, Estimate]:
    """The statistics of each metric over the runs that have it, from `metrics_by_run`."""
    known = {name: [one for one in values if not math.isnan(one)] for name, values in metrics.items()}
    return {name: estimate(values) for name, values in known.items() if values}
