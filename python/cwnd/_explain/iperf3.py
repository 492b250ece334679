"""JSON of `iperf3 -J` and of `iperf3 --json-stream`, of the client or the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwnd._common.errors import error
from cwnd._explain.samples import FILLED, Sample, Sampled
from cwnd._explain.values import items, number, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

#: A test that reaches this part of the rate of its own option -b has what it asked for.
_TARGET = 0.9


def looks_like(document: Mapping[str, object]) -> bool:
    """Returns true for a document of iperf3."""
    return {"start", "intervals"} <= document.keys()


def join(lines: list[object]) -> dict[str, object] | None:
    """The document of a stream of events; None if it is another kind of lines."""
    made: dict[str, object] = {}
    intervals: list[object] = []
    for line in lines:
        of = table(line)
        event = text(of, "event")
        if event is None or "data" not in of:
            return None
        if event == "interval":
            intervals.append(of["data"])
        elif event in ("start", "end"):
            made[event] = of["data"]
    return {"start": {}, **made, "intervals": intervals}


def read(document: Mapping[str, object]) -> tuple[list[Sampled], list[str]]:
    """The connections of a test, and notes.

    Raises an `Error` for a test without TCP, or one that failed before its first interval.
    """
    start = table(document, "start")
    protocol = text(table(start, "test_start"), "protocol")
    if protocol is not None and protocol != "TCP":
        raise error("", f"an iperf3 test of {protocol}; accepted is one of TCP")
    failed = text(document, "error")
    intervals = [table(one) for one in items(document, "intervals")]
    if not intervals:
        raise error("", f"an iperf3 test without intervals{f' ({failed})' if failed else ''}")
    ends = {_socket(one): table(one) for one in items(start, "connected")}
    streams: dict[int, list[Mapping[str, object]]] = {}
    for interval in intervals:
        for stream in items(interval, "streams"):
            streams.setdefault(_socket(stream), []).append(table(stream))
    found = [_sampled(document, ends.get(socket, {}), rows) for socket, rows in streams.items()]
    version = text(start, "version") or "iperf3"
    notes = [f"a test of {version}"]
    if failed:
        notes.append(f"iperf3 reported an error: {failed}")
    return found, notes


def _socket(stream: object) -> int:
    return int(number(table(stream), "socket") or 0)


def _sampled(
    document: Mapping[str, object], ends: Mapping[str, object], rows: list[Mapping[str, object]]
) -> Sampled:
    local = f"{ends.get('local_host', '?')}:{ends.get('local_port', '?')}"
    remote = f"{ends.get('remote_host', '?')}:{ends.get('remote_port', '?')}"
    sends = any(number(row, "snd_cwnd") is not None for row in rows)
    end = table(document, "end")
    cca = text(end, "sender_tcp_congestion") or text(
        table(document, "start", "test_start"), "congestion_used"
    )
    rtts = [rtt / 1e3 for row in rows if (rtt := number(row, "rtt"))]
    least_ms = min(rtts, default=None)
    reached = _reaches_target(document, rows)
    buffer = number(table(document, "start"), "sock_bufsize") or 0.0
    samples = [_sample(row, sends, reached, buffer) for row in rows]
    cannot = []
    if not sends:
        cannot.append(
            "this end received: iperf3 reports window, RTT and retransmissions at the sender alone; take the "
            "JSON of that end"
        )
    else:
        cannot.append(
            "the least RTT is that of iperf3's intervals: a queue that stood through the whole test is not "
            "seen"
        )
        if any(sample.cause == "unknown" for sample in samples):
            cannot.append(
                "where the congestion window is not filled, iperf3 does not say whether its own "
                "processor time, the "
                "socket's buffer or the receiver holds it: 'ss -ti' during the test does"
            )
        if not any(sample.window_bytes for sample in samples):
            cannot.append("this iperf3 does not report the receiver's window (3.11 and later do)")
    return Sampled(
        sender=local if sends else remote,
        receiver=remote if sends else local,
        samples=samples,
        least_ms=least_ms,
        cannot=cannot,
        cca=cca,
    )


def _reaches_target(document: Mapping[str, object], rows: list[Mapping[str, object]]) -> bool:
    start = table(document, "start")
    target = number(start, "target_bitrate") or number(table(start, "test_start"), "target_bitrate")
    sent = sum(number(row, "bytes") or 0.0 for row in rows)
    seconds = sum(number(row, "seconds") or 0.0 for row in rows)
    return bool(target and seconds > 0 and sent * 8 / seconds >= _TARGET * target)


def _sample(row: Mapping[str, object], sends: bool, reached: bool, buffer: float) -> Sample:
    start_s, seconds = number(row, "start") or 0.0, max(number(row, "seconds") or 0.0, 0.0)
    delivered = number(row, "bytes") or 0.0
    rtt_us, cwnd, window = number(row, "rtt"), number(row, "snd_cwnd"), number(row, "snd_wnd")
    retransmits = number(row, "retransmits") or 0.0
    # The flight is the rate times the RTT (Little's law); a sum over an interval has no other.
    flight = delivered / seconds * rtt_us / 1e6 if seconds > 0 and rtt_us else None
    cause = None
    if not sends:
        cause = "unknown"
    elif reached:
        cause = "application"
    elif flight is not None and cwnd:
        if window and window <= cwnd and flight >= FILLED * window:
            cause = "receiver"
        elif flight < FILLED * cwnd:
            # Linux doubles what an option asks for, and gives half of it to overhead.
            held = buffer > 0 and flight >= FILLED * buffer
            # A cut within the interval takes the mean down to half of its largest window.
            cut = retransmits > 0 and flight >= cwnd / 2
            cause = "sender_buffer" if held else None if cut else "unknown"
    return Sample(
        start_s=start_s,
        end_s=start_s + seconds,
        delivered_bytes=delivered,
        rtt_ms=rtt_us / 1e3 if rtt_us else None,
        cwnd_bytes=int(cwnd) if cwnd else None,
        flight_bytes=None if flight is None else int(flight),
        window_bytes=int(window) if window else None,
        losses=int(retransmits),
        cause=cause,
    )
