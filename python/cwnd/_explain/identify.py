"""The algorithms of a capture's connections."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from cwnd import _cwnd
from cwnd._common.text import aligned
from cwnd._explain.conclude import size
from cwnd._explain.connections import numbered, overview
from cwnd._explain.evidence import read_capture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwnd._explain.shapes import Capture


class Candidacy(TypedDict):
    """An algorithm with its error; `crates/identify/src/report.rs` describes each field."""

    name: str
    params: list[list[str]]
    error: float


class Connection(TypedDict):
    """A connection's algorithm."""

    number: int
    sender: str
    receiver: str
    bytes: int
    duration_s: float
    place: str
    candidates: list[Candidacy]
    confidence: float
    why: str | None
    nearest: list[Candidacy]
    rounds: int
    compared: int
    epochs: int


class Identification(TypedDict):
    """A capture's connections with their algorithms."""

    capture: Capture
    notes: list[str]
    connection_count: int
    connections: list[Connection]


@dataclass(frozen=True)
class Identified:
    """Result of `cwnd.identify`; printed, it is the answer in words.

    `data` is the answer as plain values: `data["connections"][0]["candidates"]` are the algorithms that the
    connection with the most bytes may have, the best fit first; empty if it is unknown.
    """

    data: Identification

    def to_json(self, number: int | None = None) -> str:
        """One JSON object: `data`, or of it the connection with this number alone."""
        if number is None:
            return json.dumps(self.data)
        return json.dumps({**self.data, "connections": [self.connection(number)]})

    def connection(self, number: int) -> Connection:
        """The connection with this number."""
        return numbered(self.data["connections"], number, "the capture has")

    def describe(self, number: int) -> str:
        """The answer about one connection in words, with the nearest algorithms."""
        connection = self.connection(number)
        lines = [
            _conclusion(connection),
            "",
            f"{connection['sender']} to {connection['receiver']}: {size(connection['bytes'])} in "
            f"{connection['duration_s']:.2f} s. The congestion window shows in {connection['compared']} of "
            f"{connection['rounds']} round trips, in {connection['epochs']} epochs between losses.",
        ]
        if connection["nearest"]:
            heads = ("algorithm", "parameters", "window off by")
            rows = [
                (one["name"], _params(one) or "-", f"{one['error']:.2%}") for one in connection["nearest"]
            ]
            lines += ["", *aligned([heads, *rows])]
        return "\n".join(lines)

    def __str__(self) -> str:
        connections, count = self.data["connections"], self.data["connection_count"]
        notes = [f"Note: {note}." for note in self.data["notes"]]
        if not connections:
            return "\n".join(["The capture has no TCP connection.", *notes])
        return overview(self.describe(connections[0]["number"]), connections, count, _table, notes)


def _table(connections: Sequence[Connection]) -> list[str]:
    heads = ("number", "sender", "receiver", "bytes", "algorithm")
    return aligned([heads, *map(_row, connections)])


def identify(source: str | os.PathLike[str] | bytes) -> Identified:
    """Finds the congestion control algorithm of each connection of a packet capture.

    `source` is a file, "-" for standard input, or the bytes of a capture: pcap or pcapng, as it is or in
    gzip, xz or zstd.
    """
    data: Identification = json.loads(read_capture(source, _cwnd.identify))
    return Identified(data)


def _params(one: Candidacy) -> str:
    return ", ".join(f"{name} {value}" for name, value in one["params"])


def _names(connection: Connection) -> str:
    return " or ".join(one["name"] for one in connection["candidates"]) or "unknown"


def _conclusion(connection: Connection) -> str:
    names = _names(connection)
    if connection["candidates"]:
        alike = " (cannot be told apart here)" if len(connection["candidates"]) > 1 else ""
        return f"{names}{alike}, with a confidence of {connection['confidence']:.0%}."
    return f"unknown: {connection['why']}."


def _row(connection: Connection) -> tuple[str, ...]:
    return (
        str(connection["number"]),
        connection["sender"],
        connection["receiver"],
        size(connection["bytes"]),
        _names(connection),
    )
