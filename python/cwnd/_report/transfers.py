"""Flow completion times by size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, NullFormatter

from cwnd._common.errors import error
from cwnd._report.looks import handle, legend, new_figure
from cwnd._report.point_looks import all_looks
from cwnd._report.points import number, points_of
from cwnd._report.throughput_delay import flow_table

if TYPE_CHECKING:
    import numpy.typing as npt

    from cwnd._common.shapes import ScenarioJson
    from cwnd._report.source import Source

    Numbers = npt.NDArray[np.float64]


#: Bins of sizes in a factor of ten.
_BINS_PER_DECADE = 3
#: The share of the transfers that a line stands for, its name, and the fewest transfers of a bin for it.
_QUANTILES = ((0.5, "median", 1), (0.95, "95 %", 20), (0.99, "99 %", 100))


class Bin(NamedTuple):
    """The transfers of one range of sizes: where it is drawn, and its quantiles (nan: too few transfers)."""

    size_bytes: float
    fct_ms: list[float]


def fct_size(results: Source, scenarios: list[ScenarioJson]) -> Figure:
    """A panel for each quantile, a line for each algorithm."""
    lines = _lines(results, scenarios)
    shown = _shown(lines)
    if not shown:
        raise error("scenarios", "too few transfers have ended; there is nothing to draw")
    look = all_looks(results, points_of(results, [one["name"] for one in scenarios]).points)
    figure = new_figure(max(5.2, 0.9 + 2.6 * len(shown)), 3.6)
    grid = figure.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
    for axes, index in zip(grid, shown, strict=True):
        for label, bins in lines.items():
            drawn = [(one.size_bytes, one.fct_ms[index]) for one in bins if math.isfinite(one.fct_ms[index])]
            axes.plot(
                [size for size, _ in drawn],
                [fct for _, fct in drawn],
                color=look[label].colour,
                linestyle=look[label].line,
                marker=look[label].marker,
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(EngFormatter("B"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_title(_QUANTILES[index][1])
        axes.set_xlabel("size of a transfer")
    grid[0].set_ylabel("flow completion time (ms)")
    legend(figure, {label: handle(look[label], True, look[label].marker) for label in lines})
    return figure


def check_fct_size(results: Source, scenarios: list[ScenarioJson]) -> None:
    if not _shown(_lines(results, scenarios)):
        raise error("scenarios", "too few transfers have ended")


def _lines(results: Source, scenarios: list[ScenarioJson]) -> dict[str, list[Bin]]:
    transfers = labelled_transfers(results, scenarios)
    return {
        str(label): bins_of(rows["size_bytes"].to_numpy(), rows["fct_ms"].fill_null(math.inf).to_numpy())
        for (label,), rows in transfers.group_by("label", maintain_order=True)
    }


def _shown(lines: dict[str, list[Bin]]) -> list[int]:
    """The quantiles that some bin has: no more than their share of its transfers have not ended."""
    return [
        index
        for index in range(len(_QUANTILES))
        if any(math.isfinite(one.fct_ms[index]) for bins in lines.values() for one in bins)
    ]


def bins_of(size_bytes: Numbers, fct_ms: Numbers) -> list[Bin]:
    """Bins between the powers of 10^(1/3), at the geometric mean of their sizes.

    An infinite time is that of a transfer that did not end.
    """
    place = np.floor(np.log10(size_bytes) * _BINS_PER_DECADE + 1e-9).astype(int)
    bins = []
    for index in np.unique(place):
        here = place == index
        bins.append(
            Bin(
                float(np.exp(np.log(size_bytes[here]).mean())),
                [
                    float(np.quantile(fct_ms[here], share, method="inverted_cdf"))
                    if here.sum() >= fewest
                    else math.nan
                    for share, _, fewest in _QUANTILES
                ],
            )
        )
    return bins


def labelled_transfers(results: Source, scenarios: list[ScenarioJson]) -> pl.DataFrame:
    """The transfers with the labels of their flows."""
    table = flow_table(points_of(results, [scenario["name"] for scenario in scenarios]).points)
    return results.transfers.join(
        table.select("scenario", "flow", "label"), ["scenario", "flow"], maintain_order="left"
    )
