"""qlog of QUIC connections (draft-ietf-quic-qlog-main-schema), as JSON or as a sequence of JSON texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cwnd._common.errors import error
from cwnd._explain.samples import FILLED, Sample, Sampled
from cwnd._explain.values import items, number, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Samples are an RTT long, or this, as the windows of a capture.
_WINDOW_MS = 100.0
#: States of a sender that are causes.
_STATES = {
    "slow_start": "slow_start",
    "application_limited": "application",
    "recovery": "recovery",
    "recovery_start": "recovery",
}
#: Frames by which a sender says that the receiver's flow control holds it.
_BLOCKED = {"data_blocked", "stream_data_blocked", "streams_blocked"}


def looks_like(document: Mapping[str, object]) -> bool:
    """Returns true for a file of qlog, or the first record of a sequence."""
    return any(key in document for key in ("qlog_version", "qlog_format", "file_schema"))


def read(records: Iterable[object]) -> tuple[list[Sampled], list[str]]:
    """The connections of a file, whose records are one object or a header with the events behind it.

    Raises an `Error` for a version whose events are arrays.
    """
    records = iter(records)
    head = table(next(records, None))
    traces = [table(one) for one in items(head, "traces")]
    found = []
    if traces:
        for trace in traces:
            if "event_fields" in trace:
                raise error("", "qlog with events as arrays (draft 01); accepted is 0.3 and later")
            found.append(_sampled(trace, map(table, items(trace, "events"))))
    else:
        found.append(_sampled(table(head, "trace"), map(table, records)))
    version = text(head, "qlog_version") or text(head, "file_schema") or "?"
    return found, [f"qlog {version}"]


@dataclass
class _Bin:
    """Events of a sample's time."""

    delivered: int = 0
    losses: int = 0
    rtts: list[float] = field(default_factory=list)
    cwnd: int | None = None
    flight: int = 0
    blocked: bool = False
    #: Milliseconds of each state of the sender.
    states: dict[str, float] = field(default_factory=lambda: defaultdict(float))


class _Reader:
    """The events of a connection, in order of time."""

    def __init__(self) -> None:
        self.bins: dict[int, _Bin] = {}
        self.least_ms: float | None = None
        self.sent = self.received = 0
        self.ends: tuple[str, str] | None = None
        self.cwnd: int | None = None
        self.flight = 0
        self.state: str | None = None
        self.state_since_ms = 0.0
        self.width_ms = _WINDOW_MS
        self.outstanding: dict[str, dict[int, int]] = defaultdict(dict)
        self.last_ms = 0.0

    def take(self, at_ms: float, name: str, data: Mapping[str, object]) -> None:
        self.last_ms = max(self.last_ms, at_ms)
        kind = name.rpartition(":")[2]
        if kind == "packet_sent":
            self._sent(at_ms, data)
        elif kind == "packet_received":
            self._received(at_ms, data)
        elif kind == "packet_lost":
            space, at = _packet(data)
            self.flight -= self.outstanding[space].pop(at, 0)
            self._bin(at_ms).losses += 1
        elif kind.endswith("metrics_updated"):
            self._metrics(at_ms, data)
        elif kind == "congestion_state_updated":
            self._credit(at_ms)
            self.state = text(data, "new")
        elif kind == "connection_started" and self.ends is None:
            source, target = (
                f"{text(data, f'{end}_ip') or '?'}:{int(number(data, f'{end}_port') or 0)}"
                for end in ("src", "dst")
            )
            self.ends = source, target

    def _bin(self, at_ms: float) -> _Bin:
        return self.bins.setdefault(int(at_ms / self.width_ms), _Bin())

    def _credit(self, now_ms: float) -> None:
        """Adds the time of the present state to the samples that it covers."""
        if self.state is not None:
            at_ms = self.state_since_ms
            while at_ms < now_ms:
                end_ms = min((int(at_ms / self.width_ms) + 1) * self.width_ms, now_ms)
                if end_ms <= at_ms:
                    break
                self._bin(at_ms).states[self.state] += end_ms - at_ms
                at_ms = end_ms
        self.state_since_ms = now_ms

    def _sent(self, at_ms: float, data: Mapping[str, object]) -> None:
        space, at = _packet(data)
        size = int(number(table(data, "raw"), "length") or number(data, "packet_size") or 0)
        frames = [table(frame) for frame in items(data, "frames")]
        kinds = {text(frame, "frame_type") for frame in frames}
        self.sent += sum(
            int(number(frame, "length") or 0) for frame in frames if text(frame, "frame_type") == "stream"
        )
        one = self._bin(at_ms)
        one.blocked |= bool(kinds & _BLOCKED)
        if not frames or kinds - {"ack", "padding", "connection_close"}:
            self.outstanding[space][at] = size
            self.flight += size
            one.flight = max(one.flight, self.flight)

    def _received(self, at_ms: float, data: Mapping[str, object]) -> None:
        space, _ = _packet(data)
        for frame in map(table, items(data, "frames")):
            kind = text(frame, "frame_type")
            if kind == "stream":
                self.received += int(number(frame, "length") or 0)
            elif kind == "ack":
                self._acked(at_ms, space, _ranges(frame))

    def _acked(self, at_ms: float, space: str, ranges: list[tuple[int, int]]) -> None:
        largest = max((high for _, high in ranges), default=-1)
        sizes = self.outstanding[space]
        done = []
        for at in sizes:
            if at > largest:
                break
            if any(low <= at <= high for low, high in ranges):
                done.append(at)
        for at in done:
            size = sizes.pop(at)
            self.flight -= size
            self._bin(at_ms).delivered += size

    def _metrics(self, at_ms: float, data: Mapping[str, object]) -> None:
        one = self._bin(at_ms)
        if (rtt := number(data, "latest_rtt", "smoothed_rtt")) is not None and rtt > 0:
            one.rtts.append(rtt)
            self.least_ms = rtt if self.least_ms is None else min(self.least_ms, rtt)
        if (cwnd := number(data, "congestion_window")) is not None:
            self.cwnd = one.cwnd = int(cwnd)
        if (flight := number(data, "bytes_in_flight")) is not None:
            self.flight = int(flight)
            one.flight = max(one.flight, self.flight)


def _packet(data: Mapping[str, object]) -> tuple[str, int]:
    """The number space and the number of a packet."""
    header = table(data, "header")
    kind = text(header, "packet_type") or text(data, "packet_type") or "1RTT"
    space = kind if kind in ("initial", "handshake") else "data"
    at = number(header, "packet_number")
    at = number(data, "packet_number") if at is None else at
    return space, -1 if at is None else int(at)


def _ranges(frame: Mapping[str, object]) -> list[tuple[int, int]]:
    found = []
    for one in items(frame, "acked_ranges"):
        values = [number({"": value}, "") for value in one] if isinstance(one, list) else []
        known = [int(value) for value in values if value is not None]
        if known:
            found.append((known[0], known[-1]))
    return found


def _timed(
    trace: Mapping[str, object], events: Iterable[Mapping[str, object]]
) -> Iterator[tuple[float, Mapping[str, object]]]:
    """The events with their milliseconds since the first one."""
    common = table(trace, "common_fields")
    deltas = text(common, "time_format") in ("delta", "relative_to_previous_event")
    first: float | None = None
    now = 0.0
    for event in events:
        time = number(event, "time")
        if time is None:
            continue
        now = now + time if deltas else time
        first = now if first is None else first
        yield max(now - first, 0.0), event


def _sampled(trace: Mapping[str, object], events: Iterable[Mapping[str, object]]) -> Sampled:
    reader = _Reader()
    for at_ms, event in _timed(trace, events):
        reader.take(at_ms, text(event, "name") or "", table(event, "data"))
    reader._credit(reader.last_ms)
    point = text(table(trace, "vantage_point"), "type") or "this end"
    own, other = reader.ends or (point, "server" if point == "client" else "client")
    sends = reader.sent >= reader.received
    named = any(one.states for one in reader.bins.values())
    samples = _samples(reader, sends, named)
    cannot = []
    if not sends:
        cannot.append(
            "most data arrived at this end: the sender's qlog has its congestion window and "
            "states, this one does not"
        )
    if sends and not named:
        cannot.append(
            "there are no events of congestion_state_updated: slow start and recovery are not distinguished"
        )
    if reader.least_ms is None:
        cannot.append("there is no RTT in it (recovery:metrics_updated): a queue is not seen")
    cannot.append("the receiver's limit is seen only where the sender logs frames of the type data_blocked")
    sender, receiver = (own, other) if sends else (other, own)
    return Sampled(sender, receiver, samples, reader.least_ms, cannot)


def _samples(reader: _Reader, sends: bool, named: bool) -> list[Sample]:
    width_s = reader.width_ms / 1e3
    end_s = reader.last_ms / 1e3
    samples = []
    cwnd: int | None = None
    for at in range(int(end_s / width_s) + 1):
        one = reader.bins.get(at, _Bin())
        cwnd = one.cwnd if one.cwnd is not None else cwnd
        start_s, stop_s = at * width_s, min((at + 1) * width_s, end_s)
        if stop_s <= start_s:
            continue
        state = max(one.states, key=lambda name: one.states[name], default=None)
        cause = None if state is None else _STATES.get(state)
        if not sends:
            cause = "unknown"
        elif one.blocked:
            cause = "receiver"
        elif cause is None and not named and cwnd and one.flight < FILLED * cwnd and not one.losses:
            cause = "application"
        samples.append(
            Sample(
                start_s=start_s,
                end_s=stop_s,
                delivered_bytes=one.delivered,
                rtt_ms=min(one.rtts, default=None),
                cwnd_bytes=cwnd,
                flight_bytes=one.flight,
                losses=one.losses,
                # Slow start that fills the path shows a queue first, as in a capture.
                cause=None if cause == "slow_start" else cause,
                slow_start=cause == "slow_start",
            )
        )
    return samples or [Sample(0.0, 0.0, cause="unknown")]
