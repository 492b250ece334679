"""Snapshots of `ss -ti`, as iproute2 prints them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import pairwise

from cwnd._explain.samples import Sample, Sampled

#: Seconds since 1970, with or without a fraction, as `date +%s.%N` prints them; or a date and a time of day.
_EPOCH = re.compile(r"(?<![\d.:])(1\d{9}(?:\.\d+)?)(?![\d.:])")
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")
#: Queues and ends of a socket; the state is missing where ss was asked for one state.
_SOCKET = re.compile(
    r"^(?:(?:tcp|mptcp)\s+)?(?:([A-Z][A-Z0-9-]+)\s+)?(\d+)\s+(\d+)\s+(\S+:\S+)\s+(\S+:\S+)(.*)$"
)
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_INITIAL_SSTHRESH = 0x7FFFFFFF


@dataclass
class _Socket:
    state: str
    local: str
    peer: str
    info: str


@dataclass
class _Snapshot:
    time_s: float | None
    sockets: dict[tuple[str, str], _Socket] = field(default_factory=dict)


@dataclass(frozen=True)
class _Info:
    """Numbers of a socket; None where ss did not print them."""

    cca: str | None
    mss: int
    rtt_ms: float | None
    least_ms: float | None
    cwnd: int | None
    ssthresh: int | None
    acked: int
    received: int
    unacked: int
    retransmitted: int
    busy_s: float | None
    receiver_s: float
    buffer_s: float
    window: int | None
    app_limited: bool


def looks_like(head: str) -> bool:
    """Returns true if the text begins like what `ss -ti` prints."""
    lines = head.splitlines()
    return any(_SOCKET.match(line) for line in lines) or any(
        line.startswith(("State ", "Netid ", "Recv-Q ")) and "Local Address" in line for line in lines
    )


def read(text: str) -> tuple[list[Sampled], list[str]]:
    """The connections of the snapshots, and notes."""
    snapshots = _snapshots(text)
    keys = dict.fromkeys(key for snapshot in snapshots for key in snapshot.sockets)
    timed = len(snapshots) > 1 and all(snapshot.time_s is not None for snapshot in snapshots)
    found = [one for key in keys if (one := _sampled(key, snapshots, timed)) is not None]
    notes = [f"{len(snapshots)} snapshot{'s' * (len(snapshots) != 1)} of ss"]
    if len(snapshots) > 1 and not timed:
        notes.append(
            "the snapshots have no times: idle time between them is not known; print 'date "
            "+%s.%N' before each"
        )
    if keys and not found:
        notes.append("ss printed no TCP information: it takes 'ss -ti'")
    return found, notes


def _snapshots(text: str) -> list[_Snapshot]:
    """The snapshots: a heading, a time or a blank line stands between them, or a connection comes again."""
    snapshots: list[_Snapshot] = []
    time_s: float | None = None
    now: _Snapshot | None = None
    current: _Socket | None = None
    for line in text.splitlines():
        if line[:1].isspace():
            if current is not None:
                current.info += " " + line.strip()
            continue
        match = _SOCKET.match(line)
        if match is None:
            now = current = None
            said = _time(line)
            time_s = said if said is not None else time_s
            continue
        state, _, _, local, peer, rest = match.groups()
        if now is None or (local, peer) in now.sockets:
            now = _Snapshot(time_s)
            snapshots.append(now)
            time_s = None
        current = _Socket(state or "ESTAB", local, peer, rest)
        now.sockets[local, peer] = current
    return snapshots


def _time(line: str) -> float | None:
    if found := _EPOCH.search(line):
        return float(found[1])
    if found := _ISO.search(line):
        text = found[0].replace(",", ".").replace("Z", "+00:00")
        whole, dot, rest = text.partition(".")
        digits = re.match(r"\d+", rest)
        fraction = digits[0] if dot and digits else ""
        try:
            moment = datetime.fromisoformat(whole + rest[len(fraction) :])
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return moment.timestamp() + (float(f"0.{fraction}") if fraction else 0.0)
    return None


def _info(text: str) -> _Info | None:
    def found(key: str, pattern: str = r"(\d+)") -> str | None:
        match = re.search(rf"(?:^|\s){key}:{pattern}", text)
        return match[1] if match else None

    def whole(key: str) -> int | None:
        value = found(key)
        return int(value) if value is not None else None

    def seconds(key: str) -> float | None:
        value = found(key, r"(\d+(?:\.\d+)?)ms")
        return float(value) / 1e3 if value is not None else None

    mss = whole("mss")
    if mss is None or mss == 0:
        return None
    rtt, least = found("rtt", r"(\d+(?:\.\d+)?)/"), found("minrtt", r"(\d+(?:\.\d+)?)")
    cca = re.search(r"(?:^|\s)([a-z][\w-]*) (?:wscale:\S+ )?rto:", text)
    ssthresh = whole("ssthresh")
    delivered = whole("delivered")
    acked = whole("bytes_acked")
    return _Info(
        cca=cca[1] if cca else None,
        mss=mss,
        rtt_ms=float(rtt) if rtt is not None else None,
        least_ms=float(least) if least is not None else None,
        cwnd=whole("cwnd"),
        ssthresh=None if ssthresh == _INITIAL_SSTHRESH else ssthresh,
        acked=acked if acked is not None else (delivered or 0) * mss,
        received=whole("bytes_received") or 0,
        unacked=whole("unacked") or 0,
        retransmitted=int(found("retrans", r"\d+/(\d+)") or 0),
        busy_s=seconds("busy"),
        receiver_s=seconds("rwnd_limited") or 0.0,
        buffer_s=seconds("sndbuf_limited") or 0.0,
        window=whole("snd_wnd"),
        app_limited=re.search(r"(?:^|\s)app_limited(?:\s|$)", text) is not None,
    )


def _sampled(key: tuple[str, str], snapshots: list[_Snapshot], timed: bool) -> Sampled | None:
    seen = [
        (snapshot.time_s, info)
        for snapshot in snapshots
        if (socket := snapshot.sockets.get(key)) is not None and (info := _info(socket.info)) is not None
    ]
    # A connection that ended and another one with the same ends: its counters begin anew. The last is meant.
    for at in range(len(seen) - 1, 0, -1):
        if seen[at][1].acked < seen[at - 1][1].acked:
            seen = seen[at:]
            break
    if not seen:
        return None
    last = seen[-1][1]
    first_s, first = seen[0]
    # Before the first snapshot only the time with data in flight is known.
    begin_s = (first_s or 0.0) - (first.busy_s or 0.0)
    samples = [_sample(begin_s, begin_s + (first.busy_s or 0.0), None, first)]
    for (_, one), (two_s, two) in pairwise(seen):
        start_s = samples[-1].end_s
        busy_s = (two.busy_s or 0.0) - (one.busy_s or 0.0)
        end_s = two_s if timed and two_s is not None else start_s + max(busy_s, 0.0)
        samples.append(_sample(start_s, max(end_s, start_s), one, two))
    least = [info.least_ms for _, info in seen if info.least_ms is not None]
    rtts = [info.rtt_ms for _, info in seen if info.rtt_ms is not None]
    cannot = _cannot(last, len(seen), timed)
    samples = [sample for sample in samples if sample.seconds > 0]
    if not samples:
        samples = [Sample(begin_s, begin_s, cause="unknown")]
    return Sampled(
        sender=key[0],
        receiver=key[1],
        samples=samples,
        least_ms=min(least or rtts, default=None),
        cannot=cannot,
        cca=last.cca,
    )


def _sample(start_s: float, end_s: float, before: _Info | None, now: _Info) -> Sample:
    """The time between two snapshots; without one before, the time with data in flight so far."""
    flight = now.unacked * now.mss
    limited = now.app_limited and now.cwnd is not None and now.unacked < now.cwnd
    paced_by_model = now.cca is not None and now.cca.startswith("bbr")
    slow_start = (
        None if paced_by_model or now.cwnd is None else now.ssthresh is None or now.cwnd < now.ssthresh
    )
    return Sample(
        start_s=start_s,
        end_s=end_s,
        delivered_bytes=max(now.acked - (before.acked if before else 0), 0),
        rtt_ms=now.rtt_ms,
        cwnd_bytes=None if now.cwnd is None else now.cwnd * now.mss,
        flight_bytes=flight,
        window_bytes=now.window,
        losses=max(now.retransmitted - (before.retransmitted if before else 0), 0),
        busy_s=None
        if now.busy_s is None
        else max(now.busy_s - (before.busy_s or 0.0 if before else 0.0), 0.0),
        receiver_s=max(now.receiver_s - (before.receiver_s if before else 0.0), 0.0),
        buffer_s=max(now.buffer_s - (before.buffer_s if before else 0.0), 0.0),
        cause="application" if limited else None,
        slow_start=slow_start,
    )


def _cannot(last: _Info, count: int, timed: bool) -> list[str]:
    said = []
    if last.received > last.acked:
        said.append(
            "most of its data arrive here: the causes of these are known at the other end, "
            "where 'ss -ti' shows them"
        )
    if last.busy_s is None:
        said.append("ss printed no 'busy': idle time and the shares of window and buffer are not known")
    if count == 1:
        said.append(
            "one snapshot has no age: its shares are of the time with data in flight, and "
            "idle time is not known"
        )
    elif not timed:
        said.append("the snapshots have no times: idle time is not known")
    if last.least_ms is None:
        said.append("ss printed no 'minrtt': the least RTT is that of the snapshots")
    said.append(
        "recovery, timeouts, a policer and the way of the ACKs cannot be told from ss: "
        "it has counters, not packets"
    )
    return said
