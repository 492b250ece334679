"""Shapes of the answer's JSON; `crates/evidence/src/report.rs` describes each field.

What evidence other than a capture does not have is None: handshake, retransmissions by class, flight, window.
"""

from __future__ import annotations

from typing import TypedDict


class Numbers(TypedDict):
    """The numbers behind a cause."""

    rate_bps: float
    flight_bytes: int | None
    window_bytes: int | None
    rtt_min_ms: float | None
    rtt_mean_ms: float | None
    queue_ms: float | None
    losses: int
    marks: int


class Share(TypedDict):
    """A cause's share of a connection's time."""

    cause: str
    share: float
    seconds: float
    after: str | None
    numbers: Numbers


class Span(TypedDict):
    """A span of one cause."""

    start_s: float
    end_s: float
    cause: str
    after: str | None
    numbers: Numbers


class Handshake(TypedDict):
    """The handshake, as far as it was seen."""

    seen: bool
    segment_bytes: int
    window_scale: int
    sack: bool | None
    timestamps: bool
    rtt_ms: float | None


class Retransmissions(TypedDict):
    """Retransmissions by class."""

    bytes: int
    fast: int
    timeouts: int
    probes: int
    spurious: int
    reordered: int


class LossAt(TypedDict):
    """A loss, with the RTT of the segments beside it."""

    at_s: float
    rtt_ms: float | None


class Range(TypedDict):
    """A value with its 95 % interval; `at_least`: only the lower end is known."""

    value: float
    low: float
    high: float | None
    at_least: bool


class Other(TypedDict):
    """An algorithm in the place of the present one."""

    cca: str
    goodput_mbps: Range
    mean_rtt_ms: Range


class Counterfactual(TypedDict):
    """Results of other algorithms on a transfer's path; `refused` is the reason where there are none."""

    present: str
    seen_mbps: float | None
    simulated_mbps: float | None
    others: list[Other]
    refused: str | None


class WithWindow(TypedDict, total=False):
    """The sender's congestion window, which a capture does not show."""

    cwnd_bytes: list[int | None]


class Series(WithWindow):
    """Values of a connection at even steps."""

    step_s: float
    rate_bps: list[float]
    sent_bps: list[float] | None
    flight_bytes: list[int | None]
    window_bytes: list[int | None]
    rtt_ms: list[float | None]
    losses: list[LossAt]


class WithSeries(TypedDict, total=False):
    """Values over time, where they were asked for, and the algorithm that the evidence names."""

    series: Series
    cca: str
    counterfactual: Counterfactual


class Connection(WithSeries):
    """A connection explained by the core."""

    number: int
    sender: str
    receiver: str
    start_s: float
    duration_s: float
    bytes: int
    bytes_back: int
    goodput_bps: float
    place: str
    handshake: Handshake | None
    rtt_min_ms: float | None
    rtt_samples: int
    retransmissions: Retransmissions | None
    zero_windows: int
    policer_bps: float | None
    queue_bytes: int | None
    causes: list[Share]
    spans: list[Span]
    cannot: list[str]


class Capture(TypedDict):
    """Counts of a capture."""

    format: str
    packets: int
    segments: int
    bytes: int
    duration_s: float
    dropped: int


class Explanation(TypedDict):
    """A capture explained by the core."""

    capture: Capture
    notes: list[str]
    connection_count: int
    connections: list[Connection]
