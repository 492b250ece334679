"""Causes from samples of a sender's state, where there are no packets.

The sender's kernel counts the time in which the receiver's window or its own buffer held it (`busy_time`,
`rwnd_limited`, `sndbuf_limited` of TCP_INFO): where a sample has these counters they divide its time. What is
left is divided by the same signs as a capture's, with the RTT and the window of the sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cwnd._explain.shapes import Connection, Explanation, LossAt, Numbers, Series, Share, Span

#: A queue: the RTT above its least by this part, and by a millisecond. Smoothed RTTs hide what is less.
_QUEUED, _QUEUED_MS = 0.1, 1.0
#: A window is full where this part of it is in flight on average.
FILLED = 0.75
#: Steps of a series at most, as the core's.
_STEPS = 4096
#: Losses that decide what held the window down: those of the last samples with a loss.
_RECENT = 3


@dataclass(frozen=True)
class Sample:
    """Knowledge of a sender from `start_s` to `end_s`; None: not in the evidence."""

    start_s: float
    end_s: float
    delivered_bytes: float = 0.0
    rtt_ms: float | None = None
    cwnd_bytes: int | None = None
    flight_bytes: int | None = None
    window_bytes: int | None = None
    losses: int = 0
    marks: int = 0
    #: Seconds with data in flight or waiting; of these, with the window or the buffer as the limit.
    busy_s: float | None = None
    receiver_s: float = 0.0
    buffer_s: float = 0.0
    #: The cause that the sender itself names.
    cause: str | None = None
    slow_start: bool | None = None

    @property
    def seconds(self) -> float:
        return max(self.end_s - self.start_s, 0.0)


class Sampled(NamedTuple):
    """A connection in samples."""

    sender: str
    receiver: str
    samples: Sequence[Sample]
    least_ms: float | None
    cannot: list[str]
    cca: str | None = None


class _Part(NamedTuple):
    sample: Sample
    cause: str
    after: str | None


def explanation(kind: str, connections: Sequence[Sampled], notes: Iterable[str] = ()) -> Explanation:
    """The answer about connections in samples, the most bytes first; numbers are by their order."""
    made = [_connection(number, one) for number, one in enumerate(connections, 1)]
    made.sort(key=lambda one: (-one["bytes"], one["number"]))
    starts = [one["start_s"] for one in made]
    ends = [one["start_s"] + one["duration_s"] for one in made]
    return {
        "capture": {
            "format": kind,
            "packets": 0,
            "segments": 0,
            "bytes": sum(one["bytes"] for one in made),
            "duration_s": max(ends, default=0.0) - min(starts, default=0.0),
            "dropped": 0,
        },
        "notes": list(notes),
        "connection_count": len(made),
        "connections": made,
    }


def _connection(number: int, one: Sampled) -> Connection:
    begin_s = one.samples[0].start_s if one.samples else 0.0
    samples = [
        replace(sample, start_s=sample.start_s - begin_s, end_s=sample.end_s - begin_s)
        for sample in one.samples
    ]
    spans = _spans(_parts(samples, one.least_ms), one.least_ms)
    delivered = sum(sample.delivered_bytes for sample in samples)
    seconds = sum(sample.seconds for sample in samples)
    made: Connection = {
        "number": number,
        "sender": one.sender,
        "receiver": one.receiver,
        "start_s": begin_s,
        "duration_s": seconds,
        "bytes": round(delivered),
        "bytes_back": 0,
        "goodput_bps": delivered * 8 / seconds if seconds > 0 else 0.0,
        "place": "sender",
        "handshake": None,
        "rtt_min_ms": one.least_ms,
        "rtt_samples": sum(sample.rtt_ms is not None for sample in samples),
        "retransmissions": None,
        "zero_windows": 0,
        "policer_bps": None,
        "queue_bytes": None,
        "causes": _shares(spans, seconds),
        "spans": [span for span, _ in spans],
        "cannot": one.cannot,
        "series": _series(samples),
    }
    if one.cca is not None:
        made["cca"] = one.cca
    return made


def _parts(samples: Sequence[Sample], least_ms: float | None) -> list[_Part]:
    """The time of the samples, each part with its cause; the order within a sample is not known."""
    parts: list[_Part] = []
    # Queues at the last losses, by the RTT of the sample before and that of the loss.
    at_losses: list[bool] = []
    before: float | None = None
    for sample in samples:
        if sample.losses:
            seen = [rtt for rtt in (before, sample.rtt_ms) if rtt is not None]
            at_losses.append(any(queued(rtt, least_ms) for rtt in seen))
        before = sample.rtt_ms if sample.rtt_ms is not None else before
        for cause, seconds in _counted(sample):
            part = seconds / sample.seconds if sample.seconds > 0 else 0.0
            own = _cut(sample, parts[-1].sample.end_s if parts else sample.start_s, part)
            after = None
            if not cause:
                cause, after = _network(sample, least_ms, at_losses)
            parts.append(_Part(own, cause, after))
    return parts


def _counted(sample: Sample) -> list[tuple[str, float]]:
    """The sample's time by the kernel's counters; what is left for the network has no name yet."""
    if sample.busy_s is None:
        return [("", sample.seconds)]
    busy_s = min(sample.busy_s, sample.seconds)
    receiver_s = min(sample.receiver_s, busy_s)
    buffer_s = min(sample.buffer_s, busy_s - receiver_s)
    left_s = busy_s - receiver_s - buffer_s
    found = [
        ("receiver", receiver_s),
        ("sender_buffer", buffer_s),
        ("", left_s),
        ("application", sample.seconds - busy_s),
    ]
    # The counters have the grain of a kernel's tick, 4 ms with 250 Hz.
    return [(cause, seconds) for cause, seconds in found if seconds > 1e-9]


def _cut(sample: Sample, start_s: float, part: float) -> Sample:
    """A part of a sample, with its part of what is counted."""
    return replace(
        sample,
        start_s=start_s,
        end_s=start_s + sample.seconds * part,
        delivered_bytes=sample.delivered_bytes * part,
        losses=round(sample.losses * part),
        marks=round(sample.marks * part),
    )


def _network(sample: Sample, least_ms: float | None, at_losses: Sequence[bool]) -> tuple[str, str | None]:
    if sample.cause is not None:
        return sample.cause, None
    if sample.delivered_bytes <= 0 and not sample.losses and not sample.flight_bytes:
        return "application", None
    if sample.rtt_ms is not None and queued(sample.rtt_ms, least_ms):
        return "full_path", None
    if sample.slow_start:
        return "slow_start", None
    if sample.rtt_ms is None or least_ms is None:
        return "unknown", None
    recent = at_losses[-_RECENT:]
    if not recent:
        return "cwnd", None
    return ("cwnd", "overflow") if 2 * sum(recent) > len(recent) else ("random_loss", "loss")


def queued(rtt_ms: float, least_ms: float | None) -> bool:
    """Returns true if an RTT shows a queue."""
    return least_ms is not None and rtt_ms - least_ms > max(_QUEUED * least_ms, _QUEUED_MS)


def _spans(parts: Sequence[_Part], least_ms: float | None) -> list[tuple[Span, list[Sample]]]:
    merged: list[tuple[str, str | None, list[Sample]]] = []
    for part in parts:
        if merged and merged[-1][:2] == (part.cause, part.after):
            merged[-1][2].append(part.sample)
        else:
            merged.append((part.cause, part.after, [part.sample]))
    return [
        (
            {
                "start_s": samples[0].start_s,
                "end_s": samples[-1].end_s,
                "cause": cause,
                "after": after,
                "numbers": _numbers(samples, least_ms),
            },
            samples,
        )
        for cause, after, samples in merged
    ]


def _shares(spans: Sequence[tuple[Span, list[Sample]]], seconds: float) -> list[Share]:
    by_cause: dict[str, tuple[str | None, list[Sample], float | None]] = {}
    for span, samples in spans:
        after, all_samples, _ = by_cause.setdefault(span["cause"], (span["after"], [], None))
        numbers = span["numbers"]
        least = None
        if numbers["rtt_mean_ms"] is not None and numbers["queue_ms"] is not None:
            least = numbers["rtt_mean_ms"] - numbers["queue_ms"]
        by_cause[span["cause"]] = (span["after"] or after, [*all_samples, *samples], least)
    shares: list[Share] = [
        {
            "cause": cause,
            "share": sum(one.seconds for one in samples) / seconds if seconds > 0 else 1 / len(by_cause),
            "seconds": sum(one.seconds for one in samples),
            "after": after,
            "numbers": _numbers(samples, least),
        }
        for cause, (after, samples, least) in by_cause.items()
    ]
    return sorted(shares, key=lambda share: (-share["share"], share["cause"]))


def _numbers(samples: Sequence[Sample], least_ms: float | None) -> Numbers:
    seconds = sum(sample.seconds for sample in samples)
    rtts = [(sample.rtt_ms, sample.seconds or 1e-9) for sample in samples if sample.rtt_ms is not None]
    mean = sum(rtt * s for rtt, s in rtts) / sum(s for _, s in rtts) if rtts else None
    flights = [sample.flight_bytes for sample in samples if sample.flight_bytes is not None]
    windows = [sample.window_bytes for sample in samples if sample.window_bytes is not None]
    return {
        "rate_bps": sum(sample.delivered_bytes for sample in samples) * 8 / seconds if seconds > 0 else 0.0,
        "flight_bytes": max(flights, default=None),
        "window_bytes": max(windows, default=None),
        "rtt_min_ms": min((rtt for rtt, _ in rtts), default=None),
        "rtt_mean_ms": mean,
        "queue_ms": None if mean is None or least_ms is None else max(mean - least_ms, 0.0),
        "losses": sum(sample.losses for sample in samples),
        "marks": sum(sample.marks for sample in samples),
    }


def _series(samples: Sequence[Sample]) -> Series:
    """Values at even steps of the usual length of a sample, each of the sample that holds its middle."""
    timed = [sample for sample in samples if sample.seconds > 0]
    end_s = timed[-1].end_s if timed else 0.0
    step_s = max(median(sample.seconds for sample in timed), end_s / _STEPS) if timed else 1.0
    held: list[Sample] = []
    at = 0
    for step in range(math.ceil(end_s / step_s - 1e-6)):
        while at + 1 < len(timed) and timed[at].end_s <= (step + 0.5) * step_s:
            at += 1
        held.append(timed[at])
    losses: list[LossAt] = [
        {"at_s": sample.end_s, "rtt_ms": sample.rtt_ms} for sample in timed if sample.losses
    ]
    return {
        "step_s": step_s,
        "rate_bps": [one.delivered_bytes * 8 / one.seconds for one in held],
        "sent_bps": None,
        "flight_bytes": [one.flight_bytes for one in held],
        "window_bytes": [one.window_bytes for one in held],
        "cwnd_bytes": [one.cwnd_bytes for one in held],
        "rtt_ms": [one.rtt_ms for one in held],
        "losses": losses,
    }
