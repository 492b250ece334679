"""A capture explained."""

from __future__ import annotations

import ipaddress
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cwnd import _cwnd
from cwnd._common.errors import error, one_line, os_error
from cwnd._common.text import aligned, digits, rate
from cwnd._explain.conclude import NAMES, advise_on, conclude, size

if TYPE_CHECKING:
    from collections.abc import Callable

    from cwnd._explain.shapes import Connection, Explanation, Numbers, Share


@dataclass(frozen=True)
class Explained:
    """Result of `cwnd.explain`; printed, it is the answer in words.

    `data` is the answer as plain values: `data["connections"][0]["causes"]` are the causes of the connection
    with the most bytes, the largest share first.
    """

    data: Explanation

    def to_json(self, number: int | None = None) -> str:
        """One JSON object: `data`, and for each connection its conclusion and the advice.

        `number`: of the connection with this number alone.
        """
        chosen = self.data["connections"] if number is None else [self.connection(number)]
        connections = [
            {
                **connection,
                "conclusion": conclude(connection),
                "advice": [advice.to_dict() for advice in advise_on(connection)],
            }
            for connection in chosen
        ]
        return json.dumps({**self.data, "connections": connections})

    def connection(self, number: int) -> Connection:
        """The connection with this number, as the table of connections has it."""
        for connection in self.data["connections"]:
            if connection["number"] == number:
                return connection
        reported = sorted(connection["number"] for connection in self.data["connections"])
        limits = f"1 to {reported[-1]}" if reported else "none"
        raise error("connection", f"there is no {number} (the capture has {limits})")

    def describe(self, number: int) -> str:
        """The answer about one connection in words: conclusion, causes, advice, what cannot be known."""
        connection = self.connection(number)
        lines = [*conclude(connection), ""]
        heads = ("cause", "share", "seconds", "rate", "least RTT", "queue", "flight", "window", "losses")
        lines += aligned([heads, *(_row(share) for share in connection["causes"])], right=True)
        lines += ["", *_facts(connection)]
        for advice in advise_on(connection):
            lines += ["", advice.text]
            lines += [f"  {advice.command}"] if advice.command else []
            lines += [f"  back: {advice.rollback}"] if advice.rollback else []
        lines += [f"Not known: {line}." for line in connection["cannot"]]
        return "\n".join(lines)

    def __str__(self) -> str:
        connections, count = self.data["connections"], self.data["connection_count"]
        notes = [f"Note: {note}." for note in self.data["notes"]]
        if not connections:
            return "\n".join(["The capture has no TCP connection.", *notes])
        parts = [self.describe(connections[0]["number"])]
        if count > 1:
            shown = connections[:20]
            heads = ("number", "sender", "receiver", "bytes", "seconds", "goodput", "main cause")
            table = aligned([heads, *(_connection(connection) for connection in shown)], right=True)
            intro = f"{count} connections, by bytes; above is the first, --connection N shows another:"
            left = [f"and {count - len(shown)} more"] if count > len(shown) else []
            parts.append("\n".join([intro, "", *table, *left]))
        if notes:
            parts.append("\n".join(notes))
        return "\n\n".join(parts)


def explain(source: str | os.PathLike[str] | bytes, *, anonymous: bool = False) -> Explained:
    """Finds what limited each connection of a packet capture.

    `source` is a file, "-" for standard input, or the bytes of a capture: pcap or pcapng, as it is or in
    gzip, xz or zstd. `anonymous` replaces the addresses by 10.0.0.1, 10.0.0.2, … in order of appearance.
    """
    data: Explanation = json.loads(read_capture(source, _cwnd.explain))
    if anonymous:
        _hide_addresses(data["connections"])
    return Explained(data)


def read_capture(
    source: str | os.PathLike[str] | bytes, ask: Callable[[str | None, bytes | None], str]
) -> str:
    """The core's answer `ask` about a capture, as JSON; an error of one line if there is none."""
    shown = "capture" if isinstance(source, bytes) else one_line(os.fspath(source))
    if not isinstance(source, bytes) and Path(source).is_dir():
        raise error(shown, "a directory; accepted is a packet capture")
    try:
        if isinstance(source, bytes):
            return ask(None, source)
        return ask(None if shown == "-" else os.fspath(source), None)
    except OSError as failed:
        plain = failed if failed.errno is None else OSError(failed.errno, os.strerror(failed.errno))
        raise os_error(shown, plain) from None
    except _cwnd.Error as refused:
        raise error(shown, str(refused)) from None


def _hide_addresses(connections: list[Connection]) -> None:
    given: dict[str, str] = {}
    first = int(ipaddress.IPv4Address("10.0.0.0"))
    for connection in sorted(connections, key=lambda connection: connection["number"]):
        for end in ("sender", "receiver"):
            address, _, port = connection[end].rpartition(":")
            new = given.setdefault(address, str(ipaddress.IPv4Address(first + len(given) + 1)))
            connection[end] = f"{new}:{port}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{digits(value)} ms"


def _row(share: Share) -> tuple[str, ...]:
    numbers: Numbers = share["numbers"]
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


def _connection(connection: Connection) -> tuple[str, ...]:
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


def _facts(connection: Connection) -> list[str]:
    again, handshake = connection["retransmissions"], connection["handshake"]
    where = {
        "sender": "at the sender",
        "receiver": "at the receiver",
        "middle": "between the ends",
        "unknown": "at an unknown place",
    }[connection["place"]]
    return [
        f"{connection['sender']} to {connection['receiver']}: {size(connection['bytes'])} in "
        f"{connection['duration_s']:.2f} s, {rate(connection['goodput_bps'])}; captured {where}.",
        f"Least RTT {_ms(connection['rtt_min_ms'])}, segments of {handshake['segment_bytes']} bytes, "
        f"window scale {handshake['window_scale']}{'' if handshake['seen'] else ' (inferred)'}.",
        f"Sent again: {again['fast']} fast, {again['timeouts']} by timeouts, {again['probes']} probes; "
        f"{again['spurious']} of these for nothing, {again['reordered']} segments only reordered.",
    ]
