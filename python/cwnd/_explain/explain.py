"""A capture explained."""

from __future__ import annotations

import ipaddress
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cwnd import _cwnd
from cwnd._common.errors import error, one_line
from cwnd._common.text import aligned
from cwnd._explain import evidence
from cwnd._explain.conclude import advise_on, conclude
from cwnd._explain.connections import numbered, overview
from cwnd._explain.words import (
    CONNECTION_HEADS,
    SHARE_HEADS,
    connection_row,
    counterfactual_lines,
    facts,
    share_row,
)
from cwnd._scenario.registry import algorithm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwnd._explain.shapes import Connection, Explanation


@dataclass(frozen=True)
class Explained:
    """Result of `cwnd.explain`; printed, it is the answer in words.

    `data` is the answer as plain values: `data["connections"][0]["causes"]` are the causes of the connection
    with the most bytes, the largest share first.
    """

    data: Explanation
    #: Lines about the files that were written.
    written: Sequence[str] = ()

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
        return numbered(self.data["connections"], number, "accepted is")

    def describe(self, number: int) -> str:
        """The answer about one connection in words: conclusion, causes, advice, what cannot be known."""
        connection = self.connection(number)
        lines = [*conclude(connection), ""]
        rows = [share_row(share) for share in connection["causes"]]
        lines += aligned([SHARE_HEADS, *rows], right=True)
        lines += ["", *facts(connection)]
        for advice in advise_on(connection):
            lines += ["", advice.text]
            lines += [f"  {advice.command}"] if advice.command else []
            lines += [f"  back: {advice.rollback}"] if advice.rollback else []
        lines += [f"Not known: {line}." for line in connection["cannot"]]
        if "counterfactual" in connection:
            lines += ["", *counterfactual_lines(connection["counterfactual"])]
        return "\n".join(lines)

    def __str__(self) -> str:
        connections, count = self.data["connections"], self.data["connection_count"]
        notes = [f"Note: {note}." for note in self.data["notes"]]
        if not connections:
            kind = "trace" if self.data["capture"]["format"] == "trace" else "evidence"
            what = "capture" if self.data["capture"]["packets"] else kind
            return "\n".join([f"The {what} has no TCP connection.", *notes])
        return overview(self.describe(connections[0]["number"]), connections, count, _table, notes)


def _table(connections: Sequence[Connection]) -> list[str]:
    return aligned([CONNECTION_HEADS, *map(connection_row, connections)], right=True)


def explain(
    source: str | os.PathLike[str] | bytes,
    *,
    anonymous: bool = False,
    connection: int | None = None,
    out: str | os.PathLike[str] | None = None,
    present: str | None = None,
    ccas: Sequence[str] = (),
    jobs: int = 0,
) -> Explained:
    """Finds what limited each connection of a packet capture, or of other evidence.

    `source` is a file, "-" for standard input, or the bytes of one: a capture (pcap or pcapng, as it is or in
    gzip, xz or zstd), text of `ss -ti`, JSON of iperf3, flent or qlog; or the directory of a trace.
    `anonymous` replaces the addresses by 10.0.0.1, 10.0.0.2, … in order of appearance.
    `out` is an HTML page to write about the connection with the number `connection`, else about that with the
    most bytes, whose `data` then have time series under "series". A name without `.html` is a directory: of
    the page, the JSON, and scenarios that replay the transfer; `present` is the sender's algorithm in these,
    where the evidence does not name it.

    `ccas` are algorithms whose goodput and RTT on that path are simulated, `jobs` runs at a time (0: one per
    core); the answer is the connection's "counterfactual".
    """
    for name in (*ccas, *([] if present is None else [present])):
        algorithm(name)
    shown = "capture" if isinstance(source, bytes) else one_line(os.fspath(source))
    series = None if out is None and not ccas else connection or 0
    data = read_evidence(source, shown, series)
    if anonymous:
        _hide_addresses(data["connections"])
    explained = Explained(data)
    if series is None:
        return explained
    if connection is None and not data["connections"]:
        raise error(shown, "no TCP connection in it, so there is nothing to write or to simulate")
    one = data["connections"][0] if connection is None else explained.connection(connection)
    if ccas:
        from cwnd._explain.counterfactual import counterfactual

        one["counterfactual"] = counterfactual(one, list(dict.fromkeys(ccas)), present, jobs=jobs)
        if out is None:
            one.pop("series", None)
    if out is not None:
        from cwnd._explain.output import write

        answer = explained.to_json(connection)
        return Explained(data, write(Path(out), data, one, answer, Path(shown).name, present))
    return explained


def read_evidence(source: str | os.PathLike[str] | bytes, shown: str, series: int | None) -> Explanation:
    """The answer about evidence of any kind, which errors call `shown`.

    `series` is the number of the connection that has time series, 0 that with the most bytes.
    """
    try:
        if isinstance(source, bytes):
            return evidence.read_bytes(source, series)
        if shown == "-":
            return evidence.read_stdin(series)
        return evidence.read_file(os.fspath(source), series)
    except (OSError, _cwnd.Error) as failed:
        raise evidence.refused(failed, shown) from None


def _hide_addresses(connections: list[Connection]) -> None:
    given: dict[str, str] = {}
    first = int(ipaddress.IPv4Address("10.0.0.0"))
    for connection in sorted(connections, key=lambda connection: connection["number"]):
        for end in ("sender", "receiver"):
            address, _, port = connection[end].rpartition(":")
            new = given.setdefault(address, str(ipaddress.IPv4Address(first + len(given) + 1)))
            connection[end] = f"{new}:{port}"
