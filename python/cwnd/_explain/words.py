"""Rows of tables and lines of facts about a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwnd._common.text import aligned, digits, rate
from cwnd._explain.conclude import NAMES, size

if TYPE_CHECKING:
    from cwnd._explain.shapes import Connection, Counterfactual, Range, Share

#: Headings of the rows of causes.
SHARE_HEADS = ("cause", "share", "seconds", "rate", "least RTT", "queue", "flight", "window", "losses")
#: Headings of the rows of connections.
CONNECTION_HEADS = ("number", "sender", "receiver", "bytes", "seconds", "goodput", "main cause")
_PLACES = {
    "sender": "at the sender",
    "receiver": "at the receiver",
    "middle": "between the ends",
    "unknown": "at an unknown place",
}


def share_row(share: Share) -> tuple[str, ...]:
    """The row of a cause."""
    numbers = share["numbers"]
    return (
        NAMES[share["cause"]],
        f"{share['share']:.1%}",
        f"{share['seconds']:.2f}",
        rate(numbers["rate_bps"]),
        _ms(numbers["rtt_min_ms"]),
        _ms(numbers["queue_ms"]),
        size(numbers["flight_bytes"]),
        size(numbers["window_bytes"]),
        str(numbers["losses"]),
    )


def connection_row(connection: Connection) -> tuple[str, ...]:
    """The row of a connection."""
    causes = connection["causes"]
    main = f"{NAMES[causes[0]['cause']]} {causes[0]['share']:.0%}" if causes else "-"
    return (
        str(connection["number"]),
        connection["sender"],
        connection["receiver"],
        size(connection["bytes"]),
        f"{connection['duration_s']:.2f}",
        rate(connection["goodput_bps"]),
        main,
    )


def facts(connection: Connection) -> list[str]:
    """Lines about the connection and the place of the capture."""
    again, handshake = connection["retransmissions"], connection["handshake"]
    seen = f"captured {_PLACES[connection['place']]}" if handshake else "as its sender reports"
    lines = [
        f"{connection['sender']} to {connection['receiver']}: {size(connection['bytes'])} in "
        f"{connection['duration_s']:.2f} s, {rate(connection['goodput_bps'])}; {seen}."
    ]
    least = f"Least RTT {_ms(connection['rtt_min_ms'])}"
    if handshake is None:
        algorithm = f", algorithm {connection['cca']}" if "cca" in connection else ""
        lines.append(f"{least}{algorithm}.")
    else:
        lines.append(
            f"{least}, segments of {handshake['segment_bytes']} bytes, "
            f"window scale {handshake['window_scale']}{'' if handshake['seen'] else ' (inferred)'}."
        )
    if again is not None:
        lines.append(
            f"Sent again: {again['fast']} fast, {again['timeouts']} by timeouts, {again['probes']} probes; "
            f"{again['spurious']} of these for nothing, {again['reordered']} segments only reordered."
        )
    return lines


def counterfactual_lines(found: Counterfactual) -> list[str]:
    """Lines about other algorithms, or why there are none."""
    if found["refused"] is not None:
        return [f"No counterfactual: {found['refused']}."]
    intro = (
        f"With another algorithm, by simulation with a droptail queue; that of {found['present']} has "
        f"{digits(found['simulated_mbps'])} Mbit/s, the transfer had {digits(found['seen_mbps'])}:"
    )
    heads = ("", "Mbit/s [95 %]", "mean RTT ms [95 %]")
    rows = [(one["cca"], _range(one["goodput_mbps"]), _range(one["mean_rtt_ms"])) for one in found["others"]]
    return [intro, "", *aligned([heads, *rows], right=True)]


def _range(found: Range) -> str:
    if found["at_least"]:
        return f"at least {digits(found['low'])}"
    return f"{digits(found['value'])} [{digits(found['low'])}, {digits(found['high'])}]"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{digits(value)} ms"
