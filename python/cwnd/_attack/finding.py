"""Findings: a path on which an algorithm fails, small, with one sentence of what happens."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from cwnd._attack.bounds import NAMED, Bounds, read_bounds
from cwnd._attack.judge import FIXED_WINDOW, SHARED, Measures
from cwnd._attack.path import SUBJECT, Path, Segment, bdp_pkts, ingredients, packets, rate_text, time_text
from cwnd._common.text import digits


@dataclass(frozen=True)
class Finding:
    """A path on which the subject fails by a goal and the reference does not."""

    name: str
    goal: str
    #: Margin of the failure, as the logarithm of a ratio.
    score: float
    reference: str
    sentence: str
    #: Names of what makes the path differ from a plain one.
    ingredients: list[str]
    #: Seeds of 1 to 5 with which it fails.
    seeds: list[int]
    #: Bounds that come with the package and that the path is within.
    within: list[str]
    path: Path
    measures: Measures
    beside: Measures

    @property
    def kind(self) -> tuple[str, ...]:
        """Its signature: the goal, the ingredients, and timeouts if there are some."""
        return (self.goal, *self.ingredients, "timeouts" if self.measures["timeouts"] else "")

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def from_dict(read: dict[str, object]) -> Finding:
    """Reads what `Finding.to_dict` wrote."""
    values = dict(read)
    values["path"] = path_of(read["path"])
    return Finding(**values)  # type: ignore[arg-type]


def path_of(read: object) -> Path:
    """A path from the JSON of one."""
    assert isinstance(read, dict)
    return Path(
        **{
            **read,
            "segments": tuple(Segment(**one) for one in read["segments"]),
            "losses": tuple((first, last) for first, last in read["losses"]),
            "on_off_us": tuple(read["on_off_us"]),
            "aggregation": tuple(read["aggregation"]),
            "cross": tuple(read["cross"]),
        }
    )


def named_bounds(path: Path) -> list[str]:
    """The bounds that come with the package and that the path is within."""
    return [name for name in NAMED if not beyond(path, read_bounds(name))]


def beyond(path: Path, bounds: Bounds) -> list[str]:
    """The keys of the bounds that the path goes beyond."""

    def outside(value: float, ends: tuple[float, float]) -> bool:
        return not 0.99 * ends[0] <= value <= 1.01 * ends[1]

    rates = [one.value for one in path.segments if one.kind == "rate" and one.value]
    rtts = [one.value for one in path.segments if one.kind == "rtt"]
    outages = [(one.to_us - one.from_us) / 1e6 for one in path.segments if not one.value]
    pattern = "on-off" if path.on_off_us[0] else "limited" if path.app else "bulk"
    checks = {
        "rate_mbps": outside(path.rate_bps / 1e6, bounds.rate_mbps),
        "rtt_ms": outside(path.rtt_us / 1e3, bounds.rtt_ms),
        "buffer_bdp": outside(path.buffer_bdp, bounds.buffer_bdp),
        "loss": path.loss > 1.01 * bounds.loss[1],
        "jitter_rtt": 2 * path.jitter_us > 1.01 * bounds.jitter_rtt * path.rtt_us,
        "queues": path.queue not in bounds.queues,
        "segments": path.parts() > bounds.segments,
        "rate_factor": any(outside(factor, bounds.rate_factor) for factor in rates),
        "rtt_factor": any(outside(factor, bounds.rtt_factor) for factor in rtts),
        "outage_s": any(lasts > 1.01 * bounds.outage_s for lasts in outages),
        "reverse_rate": bool(path.reverse) and outside(path.reverse, bounds.reverse_rate),
        "ack_every": path.ack_every > bounds.ack_every,
        "patterns": pattern not in bounds.patterns,
        "cross": path.cross[0] > bounds.cross,
        "reorder": path.reorder and not bounds.reorder,
        "aggregation_ms": path.aggregation[0] > 1_010 * bounds.aggregation_ms,
        "marks": bool(path.marks) and not bounds.marks,
        "packets": packets(path) > 1.05 * bounds.packets,
    }
    return [key for key, is_beyond in checks.items() if is_beyond]


def sentence(subject: str, goal: str, path: Path, of: Measures, beside: Measures, reference: str) -> str:
    """One sentence: what the subject does on the path, beside the reference."""
    other = "a window fixed at the BDP" if reference == FIXED_WINDOW else reference
    return f"{_what(subject, goal, path, of, beside, other)} {_where(path)}."


def _what(subject: str, goal: str, path: Path, of: Measures, beside: Measures, other: str) -> str:
    neighbour = f"another {subject}" if path.beside == SUBJECT else path.beside
    if goal == "stall":
        rtts = f"{of['stall_rtts']:.0f} RTTs from {of['stall_from_s']:.3g} s on"
        return f"{subject} delivers nothing for {rtts}, {other} pauses for {beside['stall_rtts']:.0f} at most"
    if goal == "pinned":
        rtts = f"{of['pinned_rtts']:.0f} RTTs from {of['pinned_from_s']:.3g} s on"
        return (
            f"{subject} keeps a window of at most 4 packets for {rtts} without a loss, where "
            f"{bdp_pkts(path):.0f} fit, {other} for {beside['pinned_rtts']:.0f}"
        )
    if goal == "underuse":
        rates = (digits(of["goodput_mbps"]), digits(beside["goodput_mbps"]))
        return f"{subject} gets {rates[0]} Mbps where {other} gets {rates[1]} Mbps"
    if goal == "bloat":
        waits = (digits(of["queue_p95_ms"]), digits(beside["queue_p95_ms"]))
        return f"{subject} makes packets wait {waits[0]} ms (p95) where {other} makes them wait {waits[1]} ms"
    if goal == "loss":
        shares = (digits(100 * of["avoidable_share"]), digits(100 * beside["avoidable_share"]))
        return (
            f"{subject} sends {shares[0]} % of its segments again that the wire did not lose, "
            f"{other} {shares[1]} %"
        )
    if goal == "oscillate":
        swings = (digits(of["swing"]), digits(beside["swing"]))
        return (
            f"{subject}'s goodput varies by a factor of {swings[0]} from second to second, "
            f"{other}'s by {swings[1]}"
        )
    if goal == "starve":
        shares = (_percent(of["least_share"]), _percent(beside["least_share"]))
        begin = f"{of['least_share_from_s']:.3g} s"
        return (
            f"{subject} beside {neighbour} has a flow with {shares[0]} % of its fair share for 100 RTTs "
            f"from {begin} on, {other} in its place no less than {shares[1]} %"
        )
    rates = (digits(of["neighbour_mbps"]), digits(beside["neighbour_mbps"]))
    return f"{subject} leaves {neighbour} {rates[0]} Mbps, {other} in its place leaves {rates[1]} Mbps"


def _percent(share: float | None) -> str:
    return digits(None if share is None else 100 * share)


def _where(path: Path) -> str:
    parts = [f"over {rate_text(path.rate_bps)}, {time_text(path.rtt_us)}, {path.buffer_bdp:g} BDP"]
    if path.queue != "droptail":
        parts.append(f"of {path.queue}")
    extra = [
        f"{100 * path.loss:.2g} % of loss" if path.loss else "",
        f"a jitter of ±{time_text(path.jitter_us)}{' that reorders' * path.reorder}"
        if path.jitter_us
        else "",
        f"a way back of {rate_text(round(path.rate_bps * path.reverse))}" if path.reverse else "",
        f"up to {path.aggregation[1]} packets together every {time_text(path.aggregation[0])}"
        if path.aggregation[0]
        else "",
        f"marks from {path.marks:g} BDP on" if path.marks else "",
        f"an ACK for {path.ack_every} segments" if path.ack_every != 2 else "",
        f"an application that writes for {time_text(path.on_off_us[0])}, then pauses "
        f"for {time_text(path.on_off_us[1])}"
        if path.on_off_us[0]
        else "",
        f"an application of {rate_text(round(path.rate_bps * path.app))}" if path.app else "",
        f"datagrams of others at {100 * path.cross[0]:.2g} % of the rate {_span_text(path, *path.cross[1:])}"
        if path.cross[0]
        else "",
        *(_segment_text(path, one) for one in path.segments),
        *(
            f"packets {first} to {last} lost" if last > first else f"packet {first} lost"
            for first, last in path.losses
        ),
    ]
    listed = [one for one in extra if one]
    return " ".join(parts) + (f", with {', '.join(listed)}" if listed else "")


def _segment_text(path: Path, one: Segment) -> str:
    span = _span_text(path, one.from_us, one.to_us)
    if not one.value:
        return f"{'all packets lost' if one.kind == 'hole' else 'no rate'} {span}"
    return f"{one.value:g} times the {'RTT' if one.kind == 'rtt' else 'rate'} {span}"


def _span_text(path: Path, from_us: int, to_us: int) -> str:
    end = "on" if to_us >= path.duration_us else f"to {time_text(to_us)}"
    return f"from {time_text(from_us)} {end}" if from_us or end != "on" else "all the time"


def is_shared(goal: str) -> bool:
    return goal in SHARED


def kinds_of(path: Path) -> list[str]:
    return list(ingredients(path))
