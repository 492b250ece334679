"""A path estimated from a capture or other evidence of one transfer, by the estimator of `cwnd explain`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cwnd._advise.from_trace import Estimated
from cwnd._common.errors import about, error, one_line
from cwnd._common.text import digits, rate
from cwnd._cwnd import Error
from cwnd._explain.explain import read_evidence
from cwnd._explain.replay import replay

if TYPE_CHECKING:
    from cwnd._explain.shapes import Connection

#: A connection beside the first with this part of its bytes took a part of the rate.
_BESIDE = 0.1


def estimate_path_of(source: str | os.PathLike[str]) -> Estimated:
    """Estimates the path of the connection with the most bytes in a file of evidence.

    Raises an `Error` if the file is no evidence, or shows no rate, RTT or data.
    """
    shown = one_line(os.fspath(source))
    data = read_evidence(source, shown, 0)
    if not data["connections"]:
        raise error(shown, "no TCP connection in it")
    first, *others = data["connections"]
    try:
        found = replay(first)
        if found.policer is not None:
            limit = rate(found.policer[0])
            raise error("", f"a policer of {limit} limits it: write its [dumbbell] and ask about that file")
        if not found.rate_shown:
            raise error(
                "", f"the path was never full: it carries {rate(found.rate_bps)} or more; --rate says it"
            )
    except Error as failed:
        raise error(shown, about(failed)[1]) from None
    beside = [one for one in others if one["bytes"] >= _BESIDE * first["bytes"] and _overlap(first, one)]
    unknown = []
    if beside:
        unknown.append(
            f"{len(beside)} other connection{'s' * (len(beside) != 1)} in it at the same time: "
            "the rate is what the largest one got"
        )
    if len(found.rates_bps) > 1:
        unknown.append(
            f"the rate changed {len(found.rates_bps) - 1} times: the one that held longest is taken"
        )
    if not found.buffer_shown:
        unknown.append("nothing overflowed, so the buffer is unknown: 1 BDP is assumed")
    if not found.random_losses:
        unknown.append("no loss without a queue was seen: no random loss is assumed")
    unknown.append("who shares the path, and how its queue is managed: unknown; droptail is assumed")
    return Estimated(
        remote=first["receiver"].rpartition(":")[0],
        rate_bps=found.rate_bps,
        rtt_ms=found.rtt_ms,
        loss=found.loss,
        buffer_ms=float(digits(8e3 * found.buffer_bytes / found.rate_bps)) if found.buffer_shown else None,
        flows=1 + len(beside),
        unknown=unknown,
    )


def _overlap(one: Connection, two: Connection) -> bool:
    ends = one["start_s"] + one["duration_s"], two["start_s"] + two["duration_s"]
    return max(one["start_s"], two["start_s"]) < min(ends)
