"""Notes: what a reader of the metrics of runs should know."""

from __future__ import annotations

import bisect
import math
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from cwnd._common.rows import runs_of_rows
from cwnd._cwnd import Runs
from cwnd._results.columns import DOUBLE, WORD, values_of

if TYPE_CHECKING:
    from cwnd._common.shapes import ScenarioJson

#: Notes on runs whose path was not what the scenario asks for begin so.
INVALID = "not valid: "

#: A first slow start that takes more of the measured time than this share is worth a note.
_SLOW_START_SHARE = 0.1

#: A limit is known to be one where this share of it was used, on the average.
_LIMIT_SHARE = 0.9


class _Limit(NamedTuple):
    """Limits of a flow besides the path."""

    window_pkts: int | None
    packet_bytes: int
    app_mbps: float | None
    ends: bool
    may_be_limited: bool


def notes_of(scenario: ScenarioJson, runs: Runs) -> list[str]:
    """The notes of the runs, each once, and those on slow start."""
    of_runs = [note for notes in runs.notes for note in notes]
    return [*dict.fromkeys(of_runs), *_slow_start_notes(scenario, runs)]


def _slow_start_notes(scenario: ScenarioJson, runs: Runs) -> list[str]:
    """A first slow start that takes long, or what keeps flows in it for good, as far as it is known."""
    read = runs.slow_starts()
    numbers = (values_of(read[name], DOUBLE) for name in ("start_s", "stop_s", "slow_start_s"))
    warmup_s = scenario.get("warmup_ns", 0) / 1e9
    # The places of rows with a long one, its end, and whether the flow does not leave it.
    long = []
    for place, (start_s, stop_s, slow_start_s) in enumerate(zip(*numbers, strict=True)):
        begin_s = max(start_s, warmup_s)
        end_s = start_s + (0.0 if math.isnan(slow_start_s) else slow_start_s)
        if end_s - begin_s > _SLOW_START_SHARE * (stop_s - begin_s):
            long.append((place, end_s, end_s >= stop_s - 1e-9))
    if not long:
        return []
    flow_of = values_of(read["flow"], WORD)
    # The rows of flows are those of slow starts.
    rows = runs.flows()
    throughputs_mbps, goodputs_mbps, rtts_ms = (
        values_of(rows[name], DOUBLE) for name in ("throughput_mbps", "goodput_mbps", "mean_rtt_ms")
    )
    firsts, limits = _limits(scenario)
    by_window: dict[int, int] = {}
    by_application, starting = set(), set()
    last_s = 0.0
    for place, end_s, for_good in long:
        flow = flow_of[place]
        limit = limits[bisect.bisect_right(firsts, flow) - 1]
        # By Little's law, as many packets as this are in flight on the average.
        in_flight_pkts = throughputs_mbps[place] * rtts_ms[place] * 1e3 / 8 / limit.packet_bytes
        if for_good and limit.window_pkts is not None and _reaches(in_flight_pkts, limit.window_pkts):
            by_window[flow] = limit.window_pkts
        elif for_good and limit.app_mbps is not None and _reaches(goodputs_mbps[place], limit.app_mbps):
            by_application.add(flow)
        # A flow whose transfers end is not expected to leave slow start; an application may be the limit.
        elif not limit.ends and not (for_good and limit.may_be_limited):
            starting.add(flow)
            last_s = max(last_s, end_s)
    flows = len(scenario["flows"])
    notes = []
    if by_window:
        one = f"its receive window of {next(iter(by_window.values()))} packets"
        notes.append(_limit_note(by_window, flows, one, "their receive windows"))
    if by_application:
        notes.append(_limit_note(by_application, flows, "its application", "their applications"))
    if starting:
        notes.append(
            f"{_who(starting, flows)} in the first slow start for more than a tenth of the measured "
            f"time, until {last_s:.3g} s; 'warmup' leaves out what comes before it"
        )
    return notes


def _reaches(used: float, limit: float) -> bool:
    """Returns true if `used` comes near the limit; false if it is not known (NaN)."""
    return used >= _LIMIT_SHARE * limit


def _limits(scenario: ScenarioJson) -> tuple[list[int], list[_Limit]]:
    """The first flow of each run of flows that are alike, and what may limit these."""
    firsts, limits, first = [], [], 0
    for run in runs_of_rows(scenario["flows"]):
        flow, traffic = run.first, run.first.get("traffic") or {}
        stack = flow.get("stack") or {}
        on, off = flow.get("on_off_ns") or (1, 0)
        rate = flow.get("app_rate_bps")
        firsts.append(first)
        first += run.length
        limits.append(
            _Limit(
                window_pkts=stack.get("receive_window_pkts"),
                packet_bytes=flow["payload_bytes"] + stack.get("header_bytes", 0),
                app_mbps=rate / 1e6 * on / (on + off) if rate and not traffic else None,
                ends=bool(traffic.get("size")),
                may_be_limited=bool(rate or traffic),
            )
        )
    return firsts, limits


def _who(flows: Collection[int], of: int) -> str:
    return f"flow {next(iter(flows))} is" if len(flows) == 1 else f"{len(flows)} of {of} flows are"


def _limit_note(flows: Collection[int], of: int, its: str, their: str) -> str:
    is_one = len(flows) == 1
    stays = "it stays" if is_one else "they stay"
    return f"{_who(flows, of)} limited by {its if is_one else their}, so {stays} in the first slow start"
