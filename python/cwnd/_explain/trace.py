"""Directories of `cwnd kernel trace`: samples of live connections."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from cwnd._common.errors import error
from cwnd._explain.samples import FILLED, Sample, Sampled
from cwnd._explain.values import table, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: States of Linux's sender that are causes.
_STATES = {"recovery": "recovery", "loss": "timeout"}


def read(directory: str) -> tuple[list[Sampled], list[str]]:
    """The connections of a trace, and notes.

    Raises an `Error` if the directory holds no trace.
    """
    from cwnd._results.results import Results

    results = Results.load(directory)
    if len(results.scenarios) != 1 or results.scenarios[0]["links"]:
        raise error("", "the directory of a simulated run; accepted is one of 'cwnd kernel trace --out'")
    connections = results.scenarios[0]["flows"]
    sizes = {row["flow"]: _packet_bytes(row) for row in results.flows.iter_rows(named=True)}
    columns = (
        "flow",
        "time_s",
        "cwnd_pkts",
        "ssthresh_pkts",
        "in_flight_pkts",
        "rtt_ms",
        "throughput_mbps",
        "state",
    )
    rows = results.samples.sort("flow", "time_s").select(columns).iter_rows(named=True)
    found = []
    for flow, own in groupby(rows, lambda row: row["flow"]):
        found.append(_sampled(connections[flow], list(own), sizes[flow]))
    return found, ["a trace of live connections"]


def _sampled(connection: Mapping[str, object], rows: Sequence[Mapping[str, object]], size: float) -> Sampled:
    samples: list[Sample] = []
    in_recovery = False
    for before, row in pairwise(rows):
        start_s, end_s = _number(before["time_s"]), _number(row["time_s"])
        cwnd, flight = _number(row["cwnd_pkts"]), _number(row["in_flight_pkts"])
        ssthresh, rtt_ms = row["ssthresh_pkts"], row["rtt_ms"]
        cause = _STATES.get(str(row["state"]))
        began = cause is not None and not in_recovery
        in_recovery = cause is not None
        if cause is None and flight < FILLED * cwnd:
            cause = "unknown"
        samples.append(
            Sample(
                start_s=start_s,
                end_s=end_s,
                delivered_bytes=_number(row["throughput_mbps"]) * 1e6 / 8 * (end_s - start_s),
                rtt_ms=None if rtt_ms is None else _number(rtt_ms),
                cwnd_bytes=int(cwnd * size),
                flight_bytes=int(flight * size),
                losses=int(began),
                cause=cause,
                slow_start=ssthresh is None or cwnd < _number(ssthresh),
            )
        )
    least = connection.get("min_rtt_ms")
    rtts = [sample.rtt_ms for sample in samples if sample.rtt_ms is not None]
    cannot = [
        "a trace has no windows of the receiver, buffers and writes: where the "
        "congestion window is not filled, the "
        "cause is not known; 'ss -ti' shows it",
        "losses are episodes of repair, not segments",
    ]
    return Sampled(
        sender=str(connection.get("local", "?")),
        receiver=str(connection.get("remote", "?")),
        samples=samples or [Sample(0.0, 0.0, cause="unknown")],
        least_ms=_number(least) if least is not None else min(rtts, default=None),
        cannot=cannot,
        cca=text(table(connection, "cca"), "name"),
    )


def _packet_bytes(flow: Mapping[str, object]) -> float:
    """Mean bytes of a packet, by the counters of a flow."""
    seconds = _number(flow["stop_s"]) - _number(flow["start_s"])
    delivered = _number(flow["throughput_mbps"]) * 1e6 / 8 * seconds
    count = _number(flow["delivered_pkts"])
    return delivered / count if count > 0 else 0.0


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and value == value else 0.0
