"""Events of a flow as its samples show them: in worlds whose algorithms are not watched call by call."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cwnd._expect.record import SSTHRESH_INFINITE

if TYPE_CHECKING:
    import polars as pl

#: The events that samples show.
SHOWN = ("cut", "recovered", "slow-start-exit")

#: Share of the window before it, below which a new ssthresh is a cut; the end of slow start by delay sets the
#: window itself.
_SSTHRESH_SHARE = 0.95
#: Share of the largest window, below which a window was cut.
_WINDOW_SHARE = 0.9


class Sighting(NamedTuple):
    """An event between two samples."""

    kind: str
    #: Half-way between the last sample before it and the next one.
    time_s: float
    #: The smoothed RTT before it; 0: there was none.
    round_s: float


def sightings(rows: pl.DataFrame) -> list[Sighting]:
    """The events of one flow's samples, in the order of time.

    A cut is a new ssthresh below 0.95 of the window, or a window below 0.9 of its largest value since the
    last one. A recovery ends with the first growth from ssthresh on, or with the first growth where none is
    reported.
    """
    rows = rows.drop_nulls("cwnd_pkts")
    times = rows["time_s"].to_list()
    windows = rows["cwnd_pkts"].to_list()
    thresholds = [SSTHRESH_INFINITE if one is None else one for one in rows["ssthresh_pkts"].to_list()]
    rtts = rows["rtt_ms"].to_list()
    seen: list[Sighting] = []
    is_cut = False
    peak = 0
    for row in range(1, len(times)):
        before, window = windows[row - 1], windows[row]
        was, threshold = thresholds[row - 1], thresholds[row]
        if windows[peak] <= before:
            peak = row - 1

        def add(kind: str, after: int) -> None:
            moment = (times[after] + times[after + 1]) / 2
            seen.append(Sighting(kind, moment, (rtts[after] or 0.0) / 1e3))

        is_lowered = threshold != was and threshold < _SSTHRESH_SHARE * before
        if is_lowered and (not is_cut or threshold < _SSTHRESH_SHARE * was):
            add("cut", row - 1)
            is_cut = True
        elif not is_cut and window < _WINDOW_SHARE * windows[peak]:
            add("cut", peak)
            is_cut = True
        elif is_cut and window > before and (threshold >= SSTHRESH_INFINITE or before >= threshold):
            add("recovered", row - 1)
            is_cut = False
            peak = row
        if before < was and window >= threshold:
            add("slow-start-exit", row - 1)
    return sorted(seen, key=lambda one: one.time_s)
