"""Events of a flow as its samples show them: in worlds whose algorithms are not watched call by call."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cwnd import _cwnd

if TYPE_CHECKING:
    import polars as pl

#: The events that samples show.
SHOWN = tuple(_cwnd.sampled_events())


class Sighting(NamedTuple):
    """An event between two samples."""

    kind: str
    #: Half-way between the last sample before it and the next one.
    time_s: float
    #: The smoothed RTT before it; 0: there was none.
    round_s: float


def sightings(rows: pl.DataFrame) -> list[Sighting]:
    """The events of one flow's samples in the order of time, as `crates/results/src/expect` finds them."""
    rows = rows.drop_nulls("cwnd_pkts")
    columns = (rows[name].to_list() for name in ("time_s", "cwnd_pkts", "ssthresh_pkts", "rtt_ms"))
    return [Sighting(*one) for one in _cwnd.sightings(*columns)]
