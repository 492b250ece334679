"""The limit of a connection today, by arithmetic alone: a policer, a window, losses or the rate."""

from __future__ import annotations

import math
from typing import NamedTuple

from cwnd._advise.path import Facts
from cwnd._common.text import digits, rate

#: Windows that Linux offers and fills unless it is set otherwise: half of the greatest tcp_rmem and tcp_wmem,
#: as the other half is for its own overhead (tcp_adv_win_scale = 1).
RECEIVE_WINDOW_BYTES, SEND_WINDOW_BYTES = (6 << 20) / 2, (4 << 20) / 2
#: A rate this near to a limit has reached it.
_REACHED = 0.9
#: A connection under random losses may have more than the square-root law says by this factor.
_LOSS_SLACK = 2.0
#: A shaper before a policer sends this share of its rate, so that its bucket never empties.
SHAPED = 0.95


class Today(NamedTuple):
    """The limit of today, before anything is simulated.

    `limit`: "policer", "window", "loss", "rate", or "path", where nothing else is known to limit: `sentence`
    is empty then.
    """

    limit: str
    sentence: str
    #: Connections at once that would fill the path, and the window of today, if one limits.
    connections: int = 1
    window_bytes: float | None = None


def limit_today(facts: Facts, flows: int, now_bps: float | None) -> Today:
    """The limit of `flows` connections, each of which has `now_bps` today; None: that is not known."""
    share_bps = facts.rate_bps / flows
    if facts.policer is not None:
        return Today("policer", _policer(facts))
    if now_bps is None:
        window = min(RECEIVE_WINDOW_BYTES, SEND_WINDOW_BYTES)
        most_bps = window * 8e3 / facts.rtt_ms
        if most_bps >= _REACHED * share_bps:
            return Today("path", "")
        return Today("window", _default(facts, flows), _connections(facts, most_bps), window)
    if now_bps >= _REACHED * share_bps:
        each = "" if flows == 1 else f" for each of {flows} connections"
        sentence = f"The rate limits: {rate(now_bps)} of {rate(share_bps)}{each} is the path's own."
        return Today("rate", sentence)
    if facts.loss and now_bps <= _LOSS_SLACK * _under_losses_bps(facts):
        return Today("loss", _loss(facts, now_bps), _connections(facts, now_bps))
    window = now_bps * facts.rtt_ms / 8e3
    return Today("window", _window(facts, flows, now_bps), _connections(facts, now_bps), window)


def _connections(facts: Facts, each_bps: float) -> int:
    return math.ceil(facts.rate_bps / each_bps)


def _policer(facts: Facts) -> str:
    assert facts.policer is not None
    rate_bps, burst_bytes = facts.policer
    return (
        f"A policer of {rate(rate_bps)} with a burst of {digits(burst_bytes / 1e3)} kB limits: it drops what "
        f"is beyond, whatever the algorithm. Shape to {rate(SHAPED * rate_bps)} before it."
    )


def _loss(facts: Facts, now_bps: float) -> str:
    return (
        f"Random losses of {digits(100 * facts.loss)} % limit: at {digits(facts.rtt_ms)} ms an algorithm "
        f"that halves on each has some {rate(_under_losses_bps(facts))}, and there are {rate(now_bps)}."
    )


def _window(facts: Facts, flows: int, now_bps: float) -> str:
    window_mb = now_bps * facts.rtt_ms / 8e9
    needed_mb = facts.bdp_bytes / flows / 1e6
    return (
        f"The receive window limits, or the send buffer: {rate(now_bps)} at {digits(facts.rtt_ms)} ms are "
        f"{window_mb:.3g} MB in flight, and the path takes {needed_mb:.4g} MB a connection. No algorithm "
        "changes that: raise tcp_rmem of the receivers and tcp_wmem of the sender, or use "
        f"{_connections(facts, now_bps)} connections at once."
    )


def _default(facts: Facts, flows: int) -> str:
    received, sent = (window * 8e3 / facts.rtt_ms for window in (RECEIVE_WINDOW_BYTES, SEND_WINDOW_BYTES))
    return (
        "The windows limit unless they are raised: with Linux's defaults a receiver lets a connection have "
        f"{rate(received)} at {digits(facts.rtt_ms)} ms and a sender {rate(sent)}, of "
        f"{rate(facts.rate_bps / flows)}. No algorithm changes that: raise tcp_rmem and tcp_wmem as below, "
        f"or use {_connections(facts, min(received, sent))} connections at once."
    )


def _under_losses_bps(facts: Facts) -> float:
    """The square-root law (Mathis et al. 1997) for full segments: MSS / RTT · sqrt(3/2 / p)."""
    return 1448 * 8e3 / facts.rtt_ms * math.sqrt(1.5 / facts.loss)
