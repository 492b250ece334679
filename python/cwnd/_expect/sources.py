"""Sources of what expectations ask for: the tables of one run, and its record where the simulator made it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from cwnd._expect.record import SSTHRESH_INFINITE, Record, events_of
from cwnd._expect.sampled import SHOWN, sightings

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from cwnd._common.shapes import ExpectationJson

    Doubles = NDArray[np.float64]
    Numbers = NDArray[np.int64]


class UnseenError(Exception):
    """The world does not show the quantity: the reason, as a clause."""


class Series(NamedTuple):
    """Values over time. Between two rows the value is that of the earlier one."""

    time_s: Doubles
    values: Doubles
    #: Rows of the record that these are; None: they are samples.
    rows: Numbers | None


class Moment(NamedTuple):
    """An event of a flow."""

    time_s: float
    #: The smoothed RTT then.
    round_s: float
    #: The row of the record at which it is seen; 0 where samples show it.
    row: int


class Source:
    """One run: its metrics, its tables of one scenario and seed, and its records by flow."""

    def __init__(
        self,
        metrics: dict[str, float],
        read: Callable[[str], pl.DataFrame],
        record: Callable[[], dict[int, Record]],
    ) -> None:
        """`record` raises `UnseenError` where there is none."""
        self.metrics = metrics
        self._read = read
        self._record = record
        self._records: dict[int, Record] | None = None

    def metric(self, expectation: ExpectationJson) -> float:
        """The metric of the run, or the column of a flow's or a link's row."""
        name = expectation["name"]
        if "flow" in expectation:
            rows = self._read("flows").filter(flow=expectation["flow"])
        elif "link" in expectation:
            rows = self._read("links").filter(link=expectation["link"])
        else:
            value = self.metrics.get(name)
            if value is None or value != value:
                raise UnseenError(f"the run has no {name}")
            return value
        found = rows[name].to_list() if name in rows.columns else []
        if not found or found[0] is None:
            raise UnseenError(f"the run has no {name} there")
        return float(found[0])

    def record(self, flow: int) -> Record:
        """The record of a flow."""
        if self._records is None:
            self._records = self._record()
        if flow not in self._records:
            raise UnseenError(f"flow {flow} calls no algorithm")
        return self._records[flow]

    def events(self, flow: int, kind: str) -> list[Moment]:
        """The events of that kind in their order: of the record where there is one, otherwise of the samples.

        Raises `UnseenError` where neither shows them.
        """
        try:
            record = self.record(flow)
        except UnseenError as unseen:
            if kind not in SHOWN:
                raise UnseenError(f"{unseen}, and samples show no event '{kind}'") from None
            rows = self._read("samples")
            rows = rows.filter(flow=flow) if "cwnd_pkts" in rows.columns else rows.clear()
            if not len(rows):
                raise UnseenError(f"{unseen}, and there are no samples of flow {flow}") from None
            return [Moment(one.time_s, one.round_s, 0) for one in sightings(rows) if one.kind == kind]
        srtt_us = record["srtt_us"]
        return [Moment(one.time_s, int(srtt_us[one.row]) / 1e6, one.row) for one in events_of(record, kind)]

    def series(self, expectation: ExpectationJson) -> Series:
        """The time series: of a link from the samples, of a flow from its record where there is one."""
        name = expectation["name"]
        if "link" in expectation:
            return self._sampled(name, "link", expectation["link"])
        flow = expectation["flow"]
        if name != "throughput_mbps":
            try:
                return _recorded(name, self.record(flow))
            except UnseenError:
                pass
        return self._sampled(name, "flow", flow)

    def _sampled(self, name: str, of: str, which: str | int) -> Series:
        rows = self._read("samples")
        if name not in rows.columns or of not in rows.columns:
            raise UnseenError(f"the samples have no {name}")
        rows = rows.filter(**{of: which}).select("time_s", name).drop_nulls()
        if not len(rows):
            raise UnseenError(f"the samples have no {name} of {of} {which}")
        times, values = rows["time_s"].to_numpy(), rows[name].to_numpy().astype(float)
        return Series(times, values, None)


_COLUMNS = {
    "cwnd_pkts": ("cwnd", 1.0),
    "ssthresh_pkts": ("ssthresh", 1.0),
    "in_flight_pkts": ("in_flight", 1.0),
    "rtt_ms": ("rtt_us", 1e-3),
    "pacing_mbps": ("pacing_rate", 8e-6),
}


def _recorded(name: str, record: Record) -> Series:
    column, scale = _COLUMNS[name]
    known = record[column] > 0
    if column == "ssthresh":
        known &= record[column] < SSTHRESH_INFINITE
    if column in ("in_flight", "cwnd"):
        known |= True
    if not known.any():
        raise UnseenError(f"no call of the algorithm has a {name}")
    times: Doubles = record["time_us"][known] / 1e6
    values: Doubles = record[column][known].astype(float) * scale
    return Series(times, values, known.nonzero()[0])
