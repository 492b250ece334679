"""Paths that a search tries: a short vector each, written as a scenario."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cwnd._attack.bounds import Bounds

#: Stands for the algorithm in the text of a path; the extension module puts its name there.
SUBJECT = "@subject"

#: Longest run.
_LONGEST_US = 600e6

#: A router that holds fewer packets drops those of two flows that come together.
_BUFFER_MIN_PKTS = 4

#: Bits of a full packet on the wire.
PACKET_BITS = 1514 * 8


@dataclass(frozen=True)
class Segment:
    """A span of time in which the path differs.

    `kind` is rate or rtt, whose `value` is a factor of the path's own; or hole: packets are lost on the wire,
    and `value` is 0.
    """

    kind: str
    from_us: int
    to_us: int
    value: float


@dataclass(frozen=True)
class Path:
    """A path, its traffic and its faults. The defaults are those of a plain path with one flow."""

    rate_bps: int
    rtt_us: int
    buffer_bdp: float
    duration_us: int
    seed: int = 1
    queue: str = "droptail"
    #: Probability of a loss on the wire.
    loss: float = 0.0
    #: Half of the span of a uniform jitter; with `reorder` packets may overtake each other.
    jitter_us: int = 0
    reorder: bool = False
    #: Packets leave together: the time between two turns, and the most of them in a turn; none: one by one.
    aggregation: tuple[int, int] = (0, 0)
    #: Queue above which packets are marked instead of dropped, in BDP; 0: there are no marks.
    marks: float = 0.0
    #: Rate of the way back beside `rate_bps`; 0: a constant delay.
    reverse: float = 0.0
    ack_every: int = 2
    #: The application writes for the first time, pauses for the second; none: there are no pauses.
    on_off_us: tuple[int, int] = (0, 0)
    #: Rate of the application beside `rate_bps`; 0: all data are there at once.
    app: float = 0.0
    #: Datagrams of others: their rate beside `rate_bps`, and from when to when.
    cross: tuple[float, int, int] = (0.0, 0, 0)
    #: The neighbour's algorithm and the share of the run after which it starts; "": there is none.
    beside: str = ""
    beside_at: float = 0.0
    segments: tuple[Segment, ...] = ()
    #: First and last number of packets that the wire loses.
    losses: tuple[tuple[int, int], ...] = ()

    def parts(self) -> int:
        """Spans of time and of packets."""
        return len(self.segments) + len(self.losses)


def two_digits(number: float) -> float:
    """The number with two digits: those of texts that people read."""
    return float(f"{number:.2g}")


def whole(number: float) -> int:
    return max(1, round(two_digits(number)))


def time_text(us: int) -> str:
    for unit, of_us in (("s", 1_000_000), ("ms", 1_000)):
        if us == 0 or us % (of_us // 100 if of_us > 1_000 else of_us // 10) == 0:
            return f"{us / of_us:g} {unit}"
    return f"{us} us"


def rate_text(bps: int) -> str:
    for unit, of_bps in (("Gbps", 10**9), ("Mbps", 10**6), ("kbps", 10**3)):
        if bps >= of_bps and bps % (of_bps // 100) == 0:
            return f"{bps / of_bps:g} {unit}"
    return f"{bps} bps"


def _steps(path: Path, kind: str) -> list[tuple[int, float]]:
    """The factor of the rate or of the RTT from each time on; the last segment that lasts wins."""
    spans = [one for one in path.segments if one.kind == kind]
    times = sorted({0, *(one.from_us for one in spans), *(one.to_us for one in spans)})
    steps: list[tuple[int, float]] = []
    for time_us in times:
        if time_us >= path.duration_us:
            break
        inside = [one.value for one in spans if one.from_us <= time_us < one.to_us]
        factor = inside[-1] if inside else 1.0
        if not steps or steps[-1][1] != factor:
            steps.append((time_us, factor))
    return steps


def text(path: Path, subject: str = SUBJECT) -> str:
    """The path as a scenario, in TOML."""
    return "\n".join(_lines(path, subject)) + "\n"


def _lines(path: Path, subject: str) -> Iterator[str]:
    least_rtt_us = min(factor for _, factor in _steps(path, "rtt")) * path.rtt_us
    interval_us = whole(max(least_rtt_us, path.duration_us / 500))
    yield f'duration = "{time_text(path.duration_us)}"'
    yield f'warmup = "{time_text(whole(path.duration_us / 3))}"'
    if path.seed != 1:
        yield f"seed = {path.seed}"
    yield f'samples = "{time_text(interval_us)}"'
    yield "[dumbbell]"
    rates, rtts = _steps(path, "rate"), _steps(path, "rtt")
    if len(rates) > 1 or rates[0][1] != 1:
        listed = ((at, rate_text(_rate(path, factor)) if factor else "0 bps") for at, factor in rates)
        yield f"rate = {{ steps = {_pairs(listed)} }}"
    else:
        yield f'rate = "{rate_text(path.rate_bps)}"'
    if len(rtts) > 1 or rtts[0][1] != 1:
        delays = ((at, time_text(_delay_us(path, factor))) for at, factor in rtts)
        yield f"delay = {{ steps = {_pairs(delays)} }}"
    else:
        yield f'rtt = "{time_text(path.rtt_us)}"'
    yield f"buffer = {buffer_pkts(path)}"
    if path.marks:
        yield f'ecn_threshold = "{whole(path.marks * bdp_pkts(path))} packets"'
    if path.aggregation[0]:
        every_us, most = path.aggregation
        yield f'aggregation = {{ every = "{time_text(every_us)}", most = {most} }}'
    if path.queue != "droptail":
        yield f'queue = "{path.queue}"'
    if path.loss:
        yield f"loss = {path.loss:.7f}".rstrip("0")
    if path.jitter_us:
        order = ", reorder = true" if path.reorder else ""
        yield f'jitter = {{ uniform = "{time_text(path.jitter_us)}"{order} }}'
    holes = [
        f'["{time_text(one.from_us)}", "{time_text(one.to_us)}"]'
        for one in path.segments
        if one.kind == "hole"
    ]
    numbers = [f"[{first}, {last}]" if last > first else f"{first}" for first, last in path.losses]
    if holes or numbers:
        yield f"losses = [{', '.join(numbers + holes)}]"
    if path.reverse:
        yield f'reverse = {{ rate = "{rate_text(whole(path.rate_bps * path.reverse))}", buffer = 100 }}'
    yield from _flow_lines(path, subject)
    if path.cross[0]:
        share, from_us, to_us = path.cross
        yield "[[flows]]"
        yield 'cca = "udp"'
        yield f'app_rate = "{rate_text(whole(path.rate_bps * share))}"'
        if from_us:
            yield f'start = "{time_text(from_us)}"'
        if to_us < path.duration_us:
            yield f'stop = "{time_text(to_us)}"'


def _flow_lines(path: Path, subject: str) -> Iterator[str]:
    keys = [f"ack_every = {path.ack_every}"] if path.ack_every != 2 else []
    keys += ["ecn = true"] if path.marks else []
    stack = [f"stack = {{ {', '.join(keys)} }}"] if keys else []
    yield "[[flows]]"
    yield f'cca = "{subject}"'
    yield from stack
    if path.app:
        yield f'app_rate = "{rate_text(whole(path.rate_bps * path.app))}"'
    if path.on_off_us[0]:
        yield f'on = "{time_text(path.on_off_us[0])}"'
        yield f'off = "{time_text(path.on_off_us[1])}"'
    if path.beside:
        yield "[[flows]]"
        yield f'cca = "{subject if path.beside == SUBJECT else path.beside}"'
        if path.beside_at:
            yield f'start = "{time_text(whole(path.duration_us * path.beside_at))}"'
        yield from stack


def _pairs(pairs: Iterator[tuple[int, str]]) -> str:
    return "[" + ", ".join(f'["{time_text(at)}", "{value}"]' for at, value in pairs) + "]"


def _rate(path: Path, factor: float) -> int:
    return whole(path.rate_bps * factor)


def _delay_us(path: Path, factor: float) -> int:
    """One way, so that the RTT with a way back of half of the path's own is `factor` times as long."""
    return whole(max(path.rtt_us * (factor - 0.5), 1))


def bdp_pkts(path: Path) -> float:
    return path.rate_bps * path.rtt_us / 1e6 / PACKET_BITS


def buffer_pkts(path: Path) -> int:
    return max(_BUFFER_MIN_PKTS, whole(path.buffer_bdp * bdp_pkts(path)))


def longest_rtt_us(path: Path) -> float:
    return max(factor for _, factor in _steps(path, "rtt")) * path.rtt_us


def least_duration_us(path: Path) -> float:
    """The time in which a failure can be seen: some hundred RTTs."""
    rtt_us = longest_rtt_us(path) + 2e6 * PACKET_BITS / path.rate_bps
    if path.beside:  # a fair share is judged over 100 RTTs with a full queue
        return max(1e6, 250 * (rtt_us + 1e6 * buffer_pkts(path) * PACKET_BITS / path.rate_bps))
    return max(1e6, 180 * rtt_us)


def packets(path: Path) -> float:
    """Packets that the path can carry in a run."""
    steps = [*_steps(path, "rate"), (path.duration_us, 0.0)]
    us = sum(factor * (end - at) for (at, factor), (end, _) in itertools.pairwise(steps))
    return path.rate_bps * us / 1e6 / PACKET_BITS


def fit(path: Path, bounds: Bounds) -> Path:
    """The path within the bounds: shorter, or slower, where it could carry too many packets."""
    low, high = bounds.rate_mbps
    rate = min(max(path.rate_bps, low * 1e6), high * 1e6)
    rtt_us = min(max(path.rtt_us, bounds.rtt_ms[0] * 1e3), bounds.rtt_ms[1] * 1e3)
    path = replace(
        path,
        rate_bps=whole(rate),
        rtt_us=whole(rtt_us),
        buffer_bdp=two_digits(min(max(path.buffer_bdp, bounds.buffer_bdp[0]), bounds.buffer_bdp[1])),
        segments=path.segments[: bounds.segments],
        marks=path.marks if path.queue == "droptail" else 0.0,  # other disciplines have marks of their own
    )
    path = replace(path, losses=path.losses[: max(0, bounds.segments - len(path.segments))])
    path = replace(path, segments=tuple(_no_longer(one, 1e6 * bounds.outage_s) for one in path.segments))
    for _ in range(3):  # the sum changes with the duration
        duration_us = max(path.duration_us, least_duration_us(path))
        path = _scaled(path, _round_time(min(duration_us, _LONGEST_US)))
        scale = bounds.packets / max(packets(path), 1.0)
        if scale >= 1:
            break
        duration_us = max(path.duration_us * scale, least_duration_us(path))
        rate_bps = path.rate_bps * scale * path.duration_us / duration_us
        path = _scaled(
            replace(path, rate_bps=max(whole(rate_bps), round(low * 1e6))), _round_time(duration_us)
        )
    if packets(path) > bounds.packets:
        path = replace(
            path, segments=tuple(one for one in path.segments if one.kind != "rate" or one.value <= 1)
        )
    path = replace(path, aggregation=_turns(path), cross=_within_rate(path, bounds))
    least_us = min(_delay_us(path, factor) for _, factor in _steps(path, "rtt"))
    jitter_us = min(path.jitter_us, int(bounds.jitter_rtt * path.rtt_us / 2), least_us)
    return replace(path, jitter_us=_round_down(jitter_us), reorder=path.reorder and jitter_us > 0)


def _within_rate(path: Path, bounds: Bounds) -> tuple[float, int, int]:
    """The datagrams of others, which leave room at the least rate, too."""
    share, from_us, to_us = path.cross
    least = min([1.0, *(one.value for one in path.segments if one.kind == "rate" and one.value)])
    return two_digits(min(share, bounds.cross * least)), from_us, to_us


def _turns(path: Path) -> tuple[int, int]:
    """The turns at which packets leave together: as many as arrive between two, so that the rate stays.

    What arrives between two fills at most half of the buffer.
    """
    packet_us = 1e6 * PACKET_BITS / path.rate_bps
    longest_us = min(path.aggregation[0], buffer_pkts(path) / 2 * packet_us, path.rtt_us)
    most = int(longest_us / packet_us)
    rates_differ = any(one.kind == "rate" and one.value for one in path.segments)
    if most < 3 or rates_differ:
        return (0, 0)
    return math.ceil(most * packet_us), most


def _round_down(us: int) -> int:
    """Two digits, downwards."""
    grid: int = 10 ** max(0, len(str(us)) - 2)
    return us // grid * grid


def _no_longer(one: Segment, outage_us: float) -> Segment:
    """The segment; an outage is no longer than the bounds allow."""
    return one if one.value else replace(one, to_us=min(one.to_us, one.from_us + round(outage_us)))


def _round_time(us: float) -> int:
    """Two digits, upwards."""
    grid = int(10 ** max(0, math.floor(math.log10(us)) - 1))
    return math.ceil(us / grid) * grid


def _scaled(path: Path, duration_us: int) -> Path:
    """The path with another duration, and its segments within it; an outage ends before the run does."""
    segments = []
    for one in path.segments:
        last_us = duration_us if one.value else round(0.9 * duration_us)
        to_us = duration_us if one.to_us >= path.duration_us and one.value else one.to_us
        from_us = min(one.from_us, round(0.8 * duration_us))
        to_us = min(to_us if one.value else from_us + one.to_us - one.from_us, last_us)
        if to_us > from_us:
            segments.append(replace(one, from_us=from_us, to_us=to_us))
    share, from_us, to_us = path.cross
    from_us = min(from_us, round(0.8 * duration_us))
    to_us = duration_us if to_us >= path.duration_us else min(to_us, duration_us)
    cross = (share, from_us, to_us) if share and from_us < to_us else (0.0, 0, 0)
    return replace(path, duration_us=duration_us, segments=tuple(segments), cross=cross)


def ingredients(path: Path) -> tuple[str, ...]:
    """Names of what makes the path differ from a plain one, in order."""
    found = {
        "deep buffer" if path.buffer_bdp > 2 else "shallow buffer" if path.buffer_bdp < 0.5 else "",
        path.queue if path.queue != "droptail" else "",
        "loss" if path.loss else "",
        ("reordering" if path.reorder else "jitter") if path.jitter_us else "",
        "aggregation" if path.aggregation[0] else "",
        "marks" if path.marks else "",
        "slow way back" if path.reverse else "",
        "stretched ACKs" if path.ack_every > 2 else "",
        "pauses" if path.on_off_us[0] else "",
        "limited application" if path.app else "",
        "datagrams of others" if path.cross[0] else "",
        "lost packets" if path.losses else "",
        *(_of_segment(one) for one in path.segments),
    }
    return tuple(sorted(found - {""}))


def _of_segment(one: Segment) -> str:
    if one.kind == "hole":
        return "black hole"
    if one.kind == "rate" and not one.value:
        return "outage"
    return (
        f"{'longer RTT' if one.value > 1 else 'shorter RTT'}"
        if one.kind == "rtt"
        else f"{'higher rate' if one.value > 1 else 'lower rate'}"
    )
