"""Random paths within bounds, and paths that differ a little from others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from cwnd._attack.bounds import Bounds
from cwnd._attack.path import SUBJECT, Path, Segment, fit, two_digits, whole

#: Numbers that are drawn from strata: rate, RTT, buffer, duration.
_STRATA = 4


def pick(rng: Random, items: Sequence[str]) -> str:
    return items[int(rng.random() * len(items))]


def log_between(ends: tuple[float, float], share: float) -> float:
    low, high = ends
    return two_digits(math.exp(math.log(low) + share * (math.log(high) - math.log(low))))


def first_paths(rng: Random, bounds: Bounds, count: int, beside: str) -> list[Path]:
    """Stratified: each of the strata of rate, RTT, buffer and duration has one path."""
    orders = [
        sorted(range(count), key=[rng.random() for _ in range(count)].__getitem__) for _ in range(_STRATA)
    ]
    return [
        _draw(rng, bounds, beside, [(order[at] + rng.random()) / count for order in orders])
        for at in range(count)
    ]


def _draw(rng: Random, bounds: Bounds, beside: str, strata: list[float]) -> Path:
    rtt_ms = log_between(bounds.rtt_ms, strata[1])
    shortest_s = max(1.0, 0.2 * rtt_ms)
    duration_us = whole(1e6 * log_between((shortest_s, max(12.0, 2.5 * shortest_s)), strata[3]))
    fastest_mbps = max(bounds.packets * 0.012 / (duration_us / 1e6), 1.001 * bounds.rate_mbps[0])
    rate_mbps = log_between((bounds.rate_mbps[0], min(bounds.rate_mbps[1], fastest_mbps)), strata[0])
    path = Path(
        rate_bps=whole(rate_mbps * 1e6),
        rtt_us=whole(rtt_ms * 1e3),
        buffer_bdp=log_between(bounds.buffer_bdp, strata[2]),
        duration_us=duration_us,
        beside=beside,
    )
    for change, likely in _CHANGES:
        if rng.random() < likely:
            path = change(rng, bounds, path)
    return fit(path, bounds)


def child(rng: Random, bounds: Bounds, parent: Path, other: Path) -> Path:
    """The parent with some changes, or with some of another path's parts."""
    path = parent
    if rng.random() < 0.25:
        path = replace(
            path,
            segments=_merged(rng, path.segments, other.segments, bounds, path.duration_us),
            queue=other.queue if rng.random() < 0.5 else path.queue,
            jitter_us=other.jitter_us if rng.random() < 0.5 else path.jitter_us,
            reverse=other.reverse if rng.random() < 0.5 else path.reverse,
            loss=other.loss if rng.random() < 0.5 else path.loss,
        )
    for _ in range(1 + int(rng.random() * 3)):
        change = _CHANGES[int(rng.random() * len(_CHANGES))][0] if rng.random() < 0.6 else _scale
        path = change(rng, bounds, path)
    return fit(path, bounds)


def _merged(
    rng: Random, one: tuple[Segment, ...], other: tuple[Segment, ...], bounds: Bounds, duration_us: int
) -> tuple[Segment, ...]:
    fitting = [segment for segment in other if segment.to_us <= duration_us]
    return tuple(segment for segment in (*one, *fitting) if rng.random() < 0.6)[: bounds.segments]


def _scale(rng: Random, bounds: Bounds, path: Path) -> Path:
    """Another rate, RTT, buffer or duration, near to the old one."""
    factor = math.exp((rng.random() - 0.5) * 2)
    which = int(rng.random() * 4)
    if which == 0:
        return replace(path, rate_bps=whole(path.rate_bps * factor))
    if which == 1:
        return replace(path, rtt_us=whole(path.rtt_us * factor))
    if which == 2:
        return replace(path, buffer_bdp=two_digits(path.buffer_bdp * factor))
    return replace(path, duration_us=whole(path.duration_us * factor))


def _queue(rng: Random, bounds: Bounds, path: Path) -> Path:
    return replace(path, queue=pick(rng, bounds.queues))


def _loss(rng: Random, bounds: Bounds, path: Path) -> Path:
    return replace(path, loss=0.0 if rng.random() < 0.4 else log_between(bounds.loss, rng.random()))


def _jitter(rng: Random, bounds: Bounds, path: Path) -> Path:
    if not bounds.jitter_rtt or rng.random() < 0.4:
        return replace(path, jitter_us=0, reorder=False)
    span = bounds.jitter_rtt * log_between((0.01, 1.0), rng.random())
    return replace(
        path, jitter_us=whole(path.rtt_us * span / 2), reorder=bounds.reorder and rng.random() < 0.3
    )


def _aggregation(rng: Random, bounds: Bounds, path: Path) -> Path:
    if not bounds.aggregation_ms or rng.random() < 0.4:
        return replace(path, aggregation=(0, 0))
    every_us = whole(1e3 * log_between((bounds.aggregation_ms / 20, bounds.aggregation_ms), rng.random()))
    return replace(path, aggregation=(every_us, 1))


def _marks(rng: Random, bounds: Bounds, path: Path) -> Path:
    if not bounds.marks or path.queue != "droptail" or rng.random() < 0.4:
        return replace(path, marks=0.0)
    return replace(path, marks=log_between((0.05, 1.0), rng.random()))


def _reverse(rng: Random, bounds: Bounds, path: Path) -> Path:
    return replace(
        path, reverse=0.0 if rng.random() < 0.4 else log_between(bounds.reverse_rate, rng.random())
    )


def _acks(rng: Random, bounds: Bounds, path: Path) -> Path:
    return replace(
        path, ack_every=2 if rng.random() < 0.5 else min(bounds.ack_every, 1 << int(rng.random() * 4))
    )


def _pattern(rng: Random, bounds: Bounds, path: Path) -> Path:
    if path.beside:  # a share is of flows that both have all data
        return path
    kind = pick(rng, bounds.patterns)
    plain = replace(path, on_off_us=(0, 0), app=0.0)
    if kind == "on-off":
        return replace(plain, on_off_us=_times(rng, path))
    if kind == "limited":
        return replace(plain, app=log_between((0.02, 0.9), rng.random()))
    return plain


def _times(rng: Random, path: Path) -> tuple[int, int]:
    most = max(path.duration_us / 4, 20_000.0)
    on_us, off_us = (whole(log_between((10_000.0, most), rng.random())) for _ in range(2))
    return on_us, off_us


def _cross(rng: Random, bounds: Bounds, path: Path) -> Path:
    if not bounds.cross or rng.random() < 0.5:
        return replace(path, cross=(0.0, 0, 0))
    share = log_between((0.05, max(bounds.cross, 0.06)), rng.random())
    from_us = 0 if rng.random() < 0.3 else whole(path.duration_us * 0.8 * rng.random())
    lasts_us = whole(path.duration_us * log_between((0.01, 1.0), rng.random()))
    to_us = path.duration_us if rng.random() < 0.3 else min(from_us + lasts_us, path.duration_us)
    return replace(path, cross=(share, from_us, to_us))


def _segment(rng: Random, bounds: Bounds, path: Path) -> Path:
    """A segment more, fewer or other."""
    segments = list(path.segments)
    choice = rng.random()
    if segments and (choice < 0.3 or path.parts() >= bounds.segments):
        del segments[int(rng.random() * len(segments))]
    elif segments and choice < 0.55:
        at = int(rng.random() * len(segments))
        segments[at] = _moved(rng, segments[at], path.duration_us)
    elif bounds.segments:
        segments.append(_new_segment(rng, bounds, path))
    return replace(path, segments=tuple(segments))


def _new_segment(rng: Random, bounds: Bounds, path: Path) -> Segment:
    from_us = whole(path.duration_us * 0.8 * rng.random())
    lasts = log_between((0.002, 1.0), rng.random())
    to_us = path.duration_us if rng.random() < 0.4 else from_us + whole(path.duration_us * lasts)
    kind = pick(rng, ("rate", "rtt", "hole", "outage"))
    if kind in ("hole", "outage") and bounds.outage_s:
        most_us = bounds.outage_s * 1e6
        to_us = from_us + whole(most_us * log_between((0.005, 1.0), rng.random()))
        return Segment("hole" if kind == "hole" else "rate", from_us, to_us, 0.0)
    kind = "rtt" if kind == "rtt" else "rate"
    factor = log_between(bounds.rtt_factor if kind == "rtt" else bounds.rate_factor, rng.random())
    return Segment(kind, from_us, min(to_us, path.duration_us), factor)


def _moved(rng: Random, one: Segment, duration_us: int) -> Segment:
    span_us = one.to_us - one.from_us
    if rng.random() < 0.5:
        from_us = whole(max(1.0, one.from_us + (rng.random() - 0.5) * 0.3 * duration_us))
        return replace(one, from_us=from_us, to_us=min(from_us + span_us, duration_us))
    span_us = whole(span_us * math.exp((rng.random() - 0.5) * 2)) if one.value else span_us
    return replace(one, to_us=min(one.from_us + span_us, duration_us))


def _losses(rng: Random, bounds: Bounds, path: Path) -> Path:
    """A run of packets lost, or none."""
    losses = list(path.losses)
    if losses and rng.random() < 0.5:
        del losses[int(rng.random() * len(losses))]
    elif path.parts() < bounds.segments:
        first = whole(log_between((1.0, 5_000.0), rng.random()))
        losses.append((first, first + int(log_between((1.0, 6.0), rng.random())) - 1))
    return replace(path, losses=tuple(losses))


def _start(rng: Random, bounds: Bounds, path: Path) -> Path:
    if not path.beside:
        return path
    return replace(path, beside_at=0.0 if rng.random() < 0.5 else two_digits(0.3 * rng.random()))


def _seed(rng: Random, bounds: Bounds, path: Path) -> Path:
    return replace(path, seed=1 + int(rng.random() * 3))


_CHANGES: tuple[tuple[Callable[[Random, Bounds, Path], Path], float], ...] = (
    (_queue, 0.25),
    (_loss, 0.3),
    (_jitter, 0.35),
    (_reverse, 0.08),
    (_aggregation, 0.15),
    (_marks, 0.15),
    (_acks, 0.2),
    (_pattern, 0.5),
    (_cross, 0.3),
    (_segment, 0.6),
    (_segment, 0.5),
    (_losses, 0.25),
    (_start, 0.5),
    (_seed, 0.0),
)


def simpler(path: Path) -> list[Path]:
    """Paths that are simpler by one thing, the largest first."""
    plain = [
        *_shorter(path),
        replace(path, cross=(0.0, 0, 0)),
        replace(path, cross=(path.cross[0], 0, path.duration_us) if path.cross[0] else path.cross),
        replace(path, on_off_us=(0, 0)),
        replace(path, app=0.0),
        replace(path, reverse=0.0),
        replace(path, aggregation=(0, 0)),
        replace(path, marks=0.0),
        replace(path, jitter_us=0, reorder=False),
        replace(path, reorder=False),
        replace(path, loss=0.0),
        replace(path, losses=()),
        replace(path, queue="droptail"),
        replace(path, ack_every=2),
        replace(path, buffer_bdp=1.0),
        replace(path, beside_at=0.0),
        replace(path, segments=()),
    ]
    for at, one in enumerate(path.segments):
        rest = (*path.segments[:at], *path.segments[at + 1 :])
        plain.append(replace(path, segments=rest))
        if one.value and one.to_us < path.duration_us:
            to_end = replace(one, to_us=path.duration_us)
            plain.append(replace(path, segments=(*path.segments[:at], to_end, *path.segments[at + 1 :])))
    plain.extend(
        replace(path, losses=(*path.losses[:at], *path.losses[at + 1 :])) for at in range(len(path.losses))
    )
    if path.seed != 1:
        plain.append(replace(path, seed=1))
    plain.extend(_rounder(path))
    return [one for one in dict.fromkeys(plain) if one != path]


def _shorter(path: Path) -> list[Path]:
    half_us = whole(path.duration_us / 2)
    share, from_us, to_us = path.cross
    to_us = half_us if to_us >= path.duration_us else to_us // 2
    cross = (share, from_us // 2, to_us) if share else path.cross
    halved = tuple(
        replace(
            one, from_us=one.from_us // 2, to_us=half_us if one.to_us >= path.duration_us else one.to_us // 2
        )
        for one in path.segments
    )
    return [
        replace(path, duration_us=half_us, segments=halved, cross=cross),
        replace(path, rate_bps=whole(path.rate_bps / 2)),
    ]


def _one_digit(number: float) -> int:
    return max(1, round(float(f"{number:.1g}")))


def _rounder(path: Path) -> list[Path]:
    """The path with one number of one digit."""
    on_off = (_one_digit(path.on_off_us[0]), _one_digit(path.on_off_us[1])) if path.on_off_us[0] else (0, 0)
    share, from_us, to_us = path.cross
    from_us = _one_digit(from_us) if from_us else 0
    to_us = to_us if to_us >= path.duration_us else _one_digit(to_us)
    cross = (float(f"{share:.1g}"), from_us, to_us) if share and from_us < to_us else path.cross
    rounded = [
        replace(path, rate_bps=_one_digit(path.rate_bps)),
        replace(path, rtt_us=_one_digit(path.rtt_us)),
        replace(path, buffer_bdp=float(f"{path.buffer_bdp:.1g}")),
        replace(path, loss=float(f"{path.loss:.1g}")),
        replace(path, jitter_us=_one_digit(path.jitter_us) if path.jitter_us else 0),
        replace(path, app=float(f"{path.app:.1g}")),
        replace(path, reverse=float(f"{path.reverse:.1g}")),
        replace(path, marks=float(f"{path.marks:.1g}")),
        replace(path, on_off_us=on_off),
        replace(path, cross=cross),
    ]
    for at, one in enumerate(path.segments):
        to_us = one.to_us if one.to_us >= path.duration_us else _one_digit(one.to_us)
        for new in (
            replace(one, value=float(f"{one.value:.1g}")),
            replace(one, from_us=_one_digit(one.from_us) if one.from_us else 0, to_us=to_us),
        ):
            if new.to_us > new.from_us:
                rounded.append(replace(path, segments=(*path.segments[:at], new, *path.segments[at + 1 :])))
    return rounded


def own_or(beside: str) -> str:
    """The neighbour's name in a path: its own kind if none is given."""
    return beside or SUBJECT
