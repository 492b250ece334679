"""Scenarios that replay a connection: its path as it was seen, and what its ends allowed.

Least RTT, rate, buffer and random loss are read off the connection's values over time. What the connection
never reached is a lower bound, which the scenario says: a path that was never full may carry more.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from cwnd._common.errors import error
from cwnd._common.text import digits, rate
from cwnd._explain.conclude import NAMES, size
from cwnd._scenario.scenario import toml_text

if TYPE_CHECKING:
    from cwnd._explain.shapes import Connection, Series

#: A window of the rate, which is also the least time that a classifier looks at.
_WINDOW_S = 0.1
#: A path counts as full where it was so for this many windows.
_FULL_WINDOWS = 3
#: A queue: the RTT above its least by this part, or by a millisecond; as `crates/evidence/src/classify.rs`.
_QUEUED, _QUEUED_MS = 0.02, 1.0
#: A loss below this part of the largest queue at a loss is random: droptail drops where the queue is full.
_LOW = 0.25
#: Bytes of Ethernet, IP and TCP with timestamps, as the simulator's.
HEADER = 66
#: Bytes of a full segment where the evidence does not say.
_SEGMENT = 1448
#: A cause below this share is no part of the replay, as of the conclusion.
_SHARE = 0.2
#: A rate that differs by this part for `_FULL_WINDOWS` windows is another one: the path's rate changed.
_CHANGED = 0.25
#: Time in which an application of bursts writes one.
_WRITE_S = 0.01
#: An application that pauses shows this many pauses; fewer are a beginning or an end.
_PAUSES = 3
#: A rate or a buffer that is a lower bound is this many times as much in a replay, where it must not limit.
ROOM = 4
#: The algorithm of a replay where the evidence does not name it.
PRESENT = "cubic"


@dataclass(frozen=True)
class Replay:
    """The path of a connection and the limits of its ends; None: not seen.

    Rates are on the wire, headers included.
    """

    rtt_ms: float
    #: Rates with the seconds from which they hold; more than one where the path's rate changed.
    rates_bps: tuple[tuple[float, float], ...]
    #: The path was full at this rate, or a policer held it there: it is the path's, not a lower bound.
    rate_shown: bool
    buffer_bytes: int
    #: A queue of this length overflowed: it is the buffer, not a lower bound.
    buffer_shown: bool
    loss: float
    #: Losses behind `loss`.
    random_losses: int
    policer: tuple[float, int] | None
    segment_bytes: int
    duration_s: float
    #: Segments that the receiver's window or the sender's buffer allowed in flight.
    window_pkts: int | None
    #: The limit behind `window_pkts`, as a cause.
    window_cause: str
    app_rate_bps: float | None
    #: Bytes that the application wrote at once, and the seconds from one time to the next.
    bursts: tuple[float, float] | None
    cca: str | None
    goodput_bps: float

    @property
    def rate_bps(self) -> float:
        """The rate, of several the one that held longest."""
        ends = [start_s for start_s, _ in self.rates_bps[1:]] + [self.duration_s]
        held = [(end_s - start_s, bps) for (start_s, bps), end_s in zip(self.rates_bps, ends, strict=True)]
        return max(held)[1]

    def path_toml(self, name: str) -> str:
        """The scenario of the path alone, with a flow that nothing else limits.

        Raises an `Error` if the rate of the path was never seen.
        """
        if not self.rate_shown:
            at_least = rate(self.rate_bps)
            raise error("rate", f"the path was never full: it carries {at_least} or more, no rate is known")
        document = self.document(f"{name} (path)", limited=False, room=1.0)
        return _commented(self._comments(limited=False), document)

    def app_toml(self, name: str) -> str:
        """The scenario of the transfer: the path, or one that does not limit, and the limits of the ends."""
        return _commented(self._comments(limited=True), self.document(f"{name} (transfer)"))

    def document(
        self, name: str, *, cca: str | None = None, limited: bool = True, room: float = ROOM
    ) -> dict[str, object]:
        """A scenario as a document: with the limits of the ends, unless it is not `limited`.

        A rate or a buffer that is a lower bound is multiplied by `room`.
        """
        flow: dict[str, object] = {
            "cca": cca or self.cca or PRESENT,
            "packet": f"{self.segment_bytes} bytes",
        }
        stack: dict[str, object] = {"profile": "linux"}
        if limited and self.bursts is not None:
            written, period_s = self.bursts
            flow["app_rate"] = f"{round(written * 8 / _WRITE_S)} bps"
            flow["on"] = f"{round(_WRITE_S * 1e3)} ms"
            flow["off"] = f"{max(round((period_s - _WRITE_S) * 1e3), 1)} ms"
        elif limited and self.app_rate_bps is not None:
            flow["app_rate"] = f"{round(self.app_rate_bps)} bps"
        if limited and self.window_pkts is not None:
            stack["receive_window"] = self.window_pkts
        factor = 1.0 if self.rate_shown else room
        steps = [
            [f"{round(start_s * 1e3)} ms", f"{round(bps * factor)} bps"] for start_s, bps in self.rates_bps
        ]
        dumbbell: dict[str, object] = {
            "rate": {"steps": steps} if len(steps) > 1 else steps[0][1],
            "rtt": f"{round(self.rtt_ms * 1e6)} ns",
            "buffer": f"{round(self.buffer_bytes * (1.0 if self.buffer_shown else room))} bytes",
        }
        if self.loss:
            dumbbell["loss"] = float(f"{self.loss:.3g}")
        if self.policer is not None:
            limit_bps, burst = self.policer
            dumbbell["policer"] = {"rate": f"{round(limit_bps)} bps", "burst": f"{burst} bytes"}
        return {
            "name": name,
            "duration": f"{max(round(self.duration_s * 1e3), 1)} ms",
            "stack": stack,
            "dumbbell": dumbbell,
            "flows": [flow],
        }

    def _comments(self, *, limited: bool) -> list[str]:
        keeps = f"; {ROOM} times that keeps it from being the limit" if limited else ""
        lines = [
            f"rtt: the least RTT that was seen, {digits(self.rtt_ms)} ms.",
            f"rate: of the plateau, with headers of {HEADER} bytes."
            if self.rate_shown
            else f"rate: not known, since the path was never full. {rate(self.rate_bps)} is a lower "
            f"bound{keeps}.",
            "buffer: the queue at overflows."
            if self.buffer_shown
            else f"buffer: not known, since nothing overflowed. {size(self.buffer_bytes)}, the largest queue "
            f"or flight, is a lower bound{keeps}.",
        ]
        if self.loss:
            lines.append("loss: losses without a queue, for each segment sent.")
        if self.policer is not None:
            lines.append(
                "policer: its rate is inferred from losses, its burst from what went before the first."
            )
        if limited and self.window_pkts is not None:
            lines.append(f"receive_window: stands for the {NAMES[self.window_cause]}, as it was seen.")
        if limited and (self.app_rate_bps is not None or self.bursts is not None):
            lines.append("application: the mean of its rate, or of its bursts and their distance.")
        if self.cca is None:
            lines.append(f"cca: the evidence does not name the algorithm; {PRESENT} stands for it.")
        return lines


def _commented(comments: list[str], document: dict[str, object]) -> str:
    return "".join(f"# {line}\n" for line in comments) + "\n" + toml_text(document)


def replay(connection: Connection, present: str | None = None) -> Replay:
    """Reads the path and the limits off a connection with time series; `present` is its algorithm, if known.

    Raises an `Error` with the reason where the evidence does not show enough.
    """
    series, least_ms = connection.get("series"), connection["rtt_min_ms"]
    if series is None or connection["bytes"] == 0:
        raise error("replay", "no data of the connection over time")
    if least_ms is None or least_ms <= 0:
        raise error("replay", "no RTT was seen, and a path needs one")
    shares = {share["cause"]: share for share in connection["causes"]}
    main = connection["causes"][0]["cause"]
    if main in ("ack_path", "unknown"):
        raise error("replay", f"most of the time's cause is {NAMES[main]}, which a scenario cannot repeat")
    segment = connection["handshake"]["segment_bytes"] if connection["handshake"] else _SEGMENT
    full = [span for span in connection["spans"] if span["cause"] == "full_path"]
    window_s = max(_WINDOW_S, least_ms / 1e3)
    plateau = _window_rates(series, [(one["start_s"], one["end_s"]) for one in full], window_s)
    whole = (0.0, len(series["rate_bps"]) * series["step_s"])
    most = max((bps for _, bps in _window_rates(series, [whole], window_s)), default=0.0)
    policer_bps = connection["policer_bps"] if "policer" in shares else None
    rates = _steps(plateau)
    # The path carries more than the mean: a slower plateau is a pause of it.
    shown = len(plateau) >= _FULL_WINDOWS and max(bps for _, bps in rates) >= connection["goodput_bps"]
    if not shown:
        rates = [(0.0, most)]
    if most <= 0:
        raise error("replay", "nothing was delivered while it was watched")
    wire = (segment + HEADER) / segment
    policed = policer_bps is not None
    buffer_bytes, buffer_shown, random = _queue(series, least_ms, rates, policed)
    packets = max(connection["bytes"] / segment, 1.0)
    limit = next(
        (
            cause
            for cause in ("receiver", "sender_buffer")
            if cause in shares and shares[cause]["share"] >= _SHARE
        ),
        "",
    )
    window = None
    if limit:
        numbers = shares[limit]["numbers"]
        # A buffer is refilled in pieces: what it allows without a queue is the rate times the RTT.
        average = numbers["rate_bps"] * least_ms / 8e3
        held = numbers["window_bytes"] if limit == "receiver" else round(average)
        window = None if not held else max(round(held / segment), 1)
    app_rate_bps, bursts = _application(connection)
    return Replay(
        rtt_ms=least_ms,
        rates_bps=tuple((start_s, bps * wire) for start_s, bps in rates),
        rate_shown=shown or policed,
        buffer_bytes=max(round(buffer_bytes * wire), 2 * (segment + HEADER)),
        buffer_shown=buffer_shown,
        loss=random / packets,
        random_losses=random,
        policer=None if policer_bps is None else (policer_bps * wire, _burst(series, policer_bps, segment)),
        segment_bytes=segment,
        duration_s=max(connection["duration_s"], 1e-3),
        window_pkts=window,
        window_cause=limit,
        app_rate_bps=app_rate_bps,
        bursts=bursts,
        cca=present or connection.get("cca"),
        goodput_bps=connection["goodput_bps"],
    )


def describe(found: Replay) -> str:
    """The path as one line."""
    at_least = "" if found.rate_shown else "at least "
    deep = "" if found.buffer_shown else "at least "
    loss = f"random loss {digits(100 * found.loss)} %" if found.loss else "no random loss"
    changes = f" most of the time, of {len(found.rates_bps)} rates" if len(found.rates_bps) > 1 else ""
    return (
        f"{at_least}{rate(found.rate_bps)}{changes}, RTT {digits(found.rtt_ms)} ms, {loss}, "
        f"buffer {deep}{size(found.buffer_bytes)}"
    )


def _window_rates(
    series: Series, spans: list[tuple[float, float]], window_s: float
) -> list[tuple[float, float]]:
    """The windows that lie within the spans: their beginnings, and delivered bits a second."""
    step_s, values = series["step_s"], series["rate_bps"]
    count = max(round(window_s / step_s), 1)
    found = []
    for start_s, end_s in spans:
        first, last = round(start_s / step_s), min(round(end_s / step_s), len(values))
        for at in range(first, last - count + 1, count):
            found.append((at * step_s, sum(values[at : at + count]) / count))
    return found


def _steps(windows: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The rates of windows as steps: a step is the median until several windows in a row differ from it."""
    steps: list[tuple[float, list[float]]] = []
    apart: list[tuple[float, float]] = []
    for start_s, bps in windows:
        if not steps:
            steps.append((0.0, [bps]))
            continue
        level = median(steps[-1][1])
        if abs(bps - level) <= _CHANGED * level:
            # Windows that differed for a moment are of nothing.
            apart = []
            steps[-1][1].append(bps)
            continue
        apart.append((start_s, bps))
        if len(apart) >= _FULL_WINDOWS:
            steps.append((apart[0][0], [value for _, value in apart]))
            apart = []
    kept = [(start_s, median(values)) for start_s, values in steps if len(values) >= _FULL_WINDOWS]
    return [(0.0 if at == 0 else start_s, bps) for at, (start_s, bps) in enumerate(kept)] or [(0.0, 0.0)]


def _queue(
    series: Series, least_ms: float, rates: list[tuple[float, float]], policed: bool
) -> tuple[float, bool, int]:
    """The buffer in bytes, true if it overflowed; and how many losses came without a queue."""

    def held(queue_ms: float, at_s: float) -> float:
        return queue_ms * [bps for start_s, bps in rates if start_s <= at_s or start_s == 0][-1] / 8e3

    threshold = max(_QUEUED * least_ms, _QUEUED_MS)
    losses = [
        (max(loss["rtt_ms"] - least_ms, 0.0), loss["at_s"])
        for loss in series["losses"]
        if loss["rtt_ms"] is not None and not policed
    ]
    low = max(threshold, _LOW * max((queue for queue, _ in losses), default=0.0))
    overflows = [held(queue, at_s) for queue, at_s in losses if queue > low]
    if overflows:
        return median(overflows), True, len(losses) - len(overflows)
    seen = [
        held(rtt - least_ms, at * series["step_s"])
        for at, rtt in enumerate(series["rtt_ms"])
        if rtt is not None
    ]
    # The largest flight found room, on a path that may be as slow as this one.
    flight = max((value for value in series["flight_bytes"] if value is not None), default=0)
    return max([*seen, flight]), False, len(losses)


def _burst(series: Series, policer_bps: float, segment: int) -> int:
    """Bytes above the policer's rate before the first loss: what its bucket held."""
    until_s = series["losses"][0]["at_s"] if series["losses"] else 0.0
    held = most = 0.0
    for at, value in enumerate(series["rate_bps"]):
        if at * series["step_s"] > until_s:
            break
        held = max(held + (value - policer_bps) * series["step_s"] / 8, 0.0)
        most = max(most, held)
    return max(round(most), 10 * segment)


def _application(connection: Connection) -> tuple[float | None, tuple[float, float] | None]:
    """The rate of an application that writes steadily, or the bytes of a burst and the time between two."""
    share = next((one for one in connection["causes"] if one["cause"] == "application"), None)
    if share is None or share["share"] < _SHARE:
        return None, None
    pauses = [span for span in connection["spans"] if span["cause"] == "application"]
    busy = [span for span in connection["spans"] if span["cause"] not in ("application", "handshake")]
    if len(pauses) >= _PAUSES and len(busy) >= _PAUSES:
        begin_s = min(span["start_s"] for span in (*pauses, *busy))
        period_s = (connection["duration_s"] - begin_s) / len(pauses)
        return None, (connection["bytes"] / len(pauses), max(period_s, 2 * _WRITE_S))
    return share["numbers"]["rate_bps"], None
