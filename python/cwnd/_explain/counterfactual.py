"""Goodput and RTT that other algorithms would have had, by simulation of the transfer's replay.

The simulation of the present algorithm is the check: where it does not have the goodput that was seen,
nothing is said about others. The path's queue is droptail.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from cwnd._common.errors import about, error
from cwnd._common.text import digits
from cwnd._cwnd import Error
from cwnd._explain.replay import HEADER, PRESENT, ROOM, Replay, replay
from cwnd._run.run import run
from cwnd._scenario.scenario import Scenario, toml_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwnd._explain.shapes import Connection, Counterfactual, Other, Range

#: Paths near the one that was read off: as many runs of each algorithm.
_RUNS = 12
#: Inaccuracy of what was read off: rate and RTT are of many samples, a buffer is a median of few.
_RATE, _RTT, _BUFFER = 0.05, 0.02, 0.2
#: The present algorithm's goodput has to be that of the transfer within this part.
_WITHIN = 0.1
#: Error of a flow's goodput and RTT in the simulator beside Linux, of docs/validation/random-paths.md.
_MODEL = 0.05
#: Quantile of Student's t for 95 % of predictions, with `_RUNS` - 1 degrees of freedom.
_T = 2.201
#: Packets of a run at most; a longer transfer is compared over its beginning.
_PACKETS = 400_000


def counterfactual(
    connection: Connection, ccas: Sequence[str], present: str | None = None, *, jobs: int = 0, seed: int = 1
) -> Counterfactual:
    """Simulates the transfer with the present algorithm and with others.

    `present` is the sender's algorithm where the evidence does not name it; without both cubic stands for it.
    """
    name = present or connection.get("cca") or PRESENT
    seen: float | None = None
    simulated: float | None = None
    try:
        found = replay(connection, name)
        found, seen = _shortened(found, connection)
        own = _simulate(found, [name], jobs, seed)[name]
        simulated = fmean(goodput for goodput, _ in own)
        if abs(simulated / seen - 1) > _WITHIN:
            wrong = (
                f"the simulation of {name} has {digits(simulated)} Mbit/s where the transfer had "
                f"{digits(seen)}, more than {100 * _WITHIN:.0f} % off"
            )
            unnamed = " (--cca names the sender's algorithm)" if name == PRESENT and present is None else ""
            raise error("", wrong + (unnamed if "cca" not in connection else ""))
    except Error as failed:
        return _answer(name, seen, simulated, [], about(failed)[1] or str(failed))
    ratio = seen / simulated
    seen_rtt_ms = _mean_rtt_ms(connection)
    rtt_ratio = 1.0 if seen_rtt_ms is None else seen_rtt_ms / fmean(rtt_ms for _, rtt_ms in own)
    # No correction takes a flow above what the path carries.
    most = math.inf
    if found.rate_shown:
        most = (
            max(bps for _, bps in found.rates_bps)
            * found.segment_bytes
            / (found.segment_bytes + HEADER)
            / 1e6
        )
    runs = _simulate(found, ccas, jobs, seed)
    # A rate or a buffer that is a lower bound: does the answer depend on it?
    bounds = runs
    if not (found.rate_shown and found.buffer_shown):
        bounds = _simulate(found, ccas, jobs, seed, room=1.0)
    others: list[Other] = []
    for cca in ccas:
        rates, least = ([goodput for goodput, _ in of[cca]] for of in (runs, bounds))
        rtts, shortest = ([rtt_ms for _, rtt_ms in of[cca]] for of in (runs, bounds))
        others.append(
            {
                "cca": cca,
                "goodput_mbps": _range(rates, least, ratio, most),
                "mean_rtt_ms": _range(rtts, shortest, rtt_ratio, math.inf),
            }
        )
    return _answer(name, seen, simulated, others, None)


def _answer(
    present: str, seen: float | None, simulated: float | None, others: list[Other], refused: str | None
) -> Counterfactual:
    return {
        "present": present,
        "seen_mbps": seen,
        "simulated_mbps": simulated,
        "others": others,
        "refused": refused,
    }


def _shortened(found: Replay, connection: Connection) -> tuple[Replay, float]:
    """The replay, of a long transfer its beginning; and the goodput of that, in Mbit/s."""
    series = connection.get("series")
    if series is None:
        raise error("", "no values over time")
    per_s = found.rate_bps / 8 / found.segment_bytes
    duration_s = min(found.duration_s, max(_PACKETS / per_s, 200 * found.rtt_ms / 1e3, 1.0))
    if duration_s < found.duration_s:
        count = max(round(duration_s / series["step_s"]), 1)
        duration_s = count * series["step_s"]
        bits = sum(series["rate_bps"][:count]) * series["step_s"]
    else:
        bits = connection["goodput_bps"] * connection["duration_s"]
        duration_s = found.duration_s
    if bits <= 0:
        raise error("", "nothing was delivered in the time that a simulation takes")
    return replace(found, duration_s=duration_s), bits / duration_s / 1e6


def _simulate(
    found: Replay, ccas: Sequence[str], jobs: int, seed: int, room: float = ROOM
) -> dict[str, list[tuple[float, float]]]:
    """Goodput in Mbit/s and mean RTT of each algorithm on paths near the one that was read off."""
    paths = [_near(found, seed, number) for number in range(_RUNS)]
    scenarios = []
    for cca in ccas:
        for number, path in enumerate(paths):
            document = path.document(f"{cca}/{number}", cca=cca, room=room)
            document |= {"seed": seed + number, "samples": "off"}
            scenarios.append(Scenario.parse(toml_text(document), "replay"))
    flows = run(scenarios, jobs=jobs).flows
    rows = {row["scenario"]: row for row in flows.iter_rows(named=True)}
    made: dict[str, list[tuple[float, float]]] = {}
    longest_ms = found.duration_s * 1e3
    for cca in ccas:
        own = [rows[f"{cca}/{number}"] for number in range(_RUNS)]
        # Without an RTT in all that time, the RTT is at least that time.
        made[cca] = [(float(row["goodput_mbps"]), float(row["mean_rtt_ms"] or longest_ms)) for row in own]
    return made


def _near(found: Replay, seed: int, number: int) -> Replay:
    """A path that would have been read off as this one; number 0 is itself."""
    if number == 0:
        return found
    draws = random.Random(f"{seed}-{number}")
    rate = draws.uniform(1 - _RATE, 1 + _RATE)
    delay = draws.uniform(1 - _RTT, 1 + _RTT)
    buffer = draws.uniform(1 - _BUFFER, 1 + _BUFFER)
    # A count of k losses is of a Poisson distribution whose mean is near k.
    losses = draws.gammavariate(found.random_losses, 1) / found.random_losses if found.random_losses else 1.0
    return replace(
        found,
        rates_bps=tuple((start_s, bps * rate) for start_s, bps in found.rates_bps),
        rtt_ms=found.rtt_ms * delay,
        buffer_bytes=max(round(found.buffer_bytes * buffer), 1),
        loss=min(found.loss * losses, 0.5),
    )


def _mean_rtt_ms(connection: Connection) -> float | None:
    """Mean RTT over the time in which there was one."""
    known = [
        (share["seconds"], share["numbers"]["rtt_mean_ms"])
        for share in connection["causes"]
        if share["numbers"]["rtt_mean_ms"] is not None
    ]
    seconds = sum(length for length, _ in known)
    return sum(length * (rtt_ms or 0.0) for length, rtt_ms in known) / seconds if seconds > 0 else None


def _range(values: list[float], bounds: list[float], ratio: float, most: float) -> Range:
    """The prediction from runs, corrected by what the present algorithm's own simulation was off.

    `bounds` has the runs with no more rate and buffer than was seen: where these differ, the answer depends
    on what is not known, and is a lower bound.
    """
    value, low, high = _interval(values, ratio, most)
    least, least_low, _ = _interval(bounds, ratio, most)
    if not low <= least <= high:
        return {"value": min(value, least), "low": min(low, least_low), "high": None, "at_least": True}
    return {"value": value, "low": low, "high": high if math.isfinite(high) else None, "at_least": False}


def _interval(values: list[float], ratio: float, most: float) -> tuple[float, float, float]:
    """The mean and its 95 % interval of predictions."""
    mean = min(fmean(values) * ratio, most)
    spread = _T * stdev(values) * ratio * math.sqrt(1 + 1 / len(values))
    # Twice the median error holds nearly all cases.
    off = math.hypot(spread, mean * (2 * _MODEL + abs(1 - ratio)))
    return mean, max(mean - off, 0.0), min(mean + off, most)
