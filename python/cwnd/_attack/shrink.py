"""Failures made small: what is not needed for them goes, numbers get round."""

from __future__ import annotations

from dataclasses import replace

from cwnd._attack.bounds import Bounds
from cwnd._attack.judge import Answer, Judge, score_of
from cwnd._attack.path import Path, fit
from cwnd._attack.search import Failure
from cwnd._attack.vary import simpler

#: Changes that a path may get on its way to a small one, and those that are tried at a time.
_ROUNDS = 60
_AT_ONCE = 4
#: Seeds with which a failure is repeated; it holds with most of them.
SEEDS = (1, 2, 3, 4, 5)


def shrink(failure: Failure, bounds: Bounds, judge: Judge) -> Path:
    """The smallest path found on which the subject still fails by the goal, within the bounds."""
    path, begin = failure.path, 0
    for _ in range(_ROUNDS):
        smaller = list(dict.fromkeys(fit(one, bounds) for one in simpler(path)))
        # Changes that failed before come last.
        smaller = [one for one in smaller[begin:] + smaller[:begin] if _size(one) < _size(path)]
        found = _failing(smaller, failure, judge)
        if found is None:
            return path
        begin += found
        path = smaller[found]
    return path


def _failing(paths: list[Path], failure: Failure, judge: Judge) -> int | None:
    """The index of the first path that fails beside the failure's reference; some are tried at a time."""
    goal, references = failure.goal, [failure.reference]
    for at in range(0, len(paths), _AT_ONCE):
        for index, answer in enumerate(judge.evaluate(paths[at : at + _AT_ONCE], [goal], references), at):
            if score_of(answer, goal) > 0:
                return index
    return None


def _digits(number: float) -> int:
    return len(f"{number:.6g}".replace(".", "").strip("0")) if number else 0


def _size(path: Path) -> tuple[int, int, float]:
    """How much there is to say of a path: its parts, the digits of its numbers, its packets."""
    parts = (
        *(2 * bool(part) for part in (path.loss, path.jitter_us, path.reverse, path.app, path.marks)),
        2 * bool(path.aggregation[0]),
        *(2 * bool(part) for part in (path.on_off_us[0], path.cross[0], path.beside_at)),
        path.reorder,
        path.queue != "droptail",
        path.ack_every != 2,
        path.buffer_bdp != 1.0,
        path.seed != 1,
    )
    spans = sum(2 if one.to_us >= path.duration_us else 3 for one in path.segments) + 2 * len(path.losses)
    numbers = (path.rate_bps, path.rtt_us, path.buffer_bdp, path.loss, path.jitter_us, path.app, path.reverse)
    cross = [end for end in path.cross[1:] if end < path.duration_us]
    more = (*path.on_off_us, *path.aggregation, path.marks, path.cross[0], *cross)
    times = [number for one in path.segments for number in (one.from_us, one.to_us, one.value)]
    digits = sum(_digits(number) for number in (*numbers, *more, *times))
    return (sum(parts) + spans, digits, path.rate_bps / 1e6 * path.duration_us)


def repeat(path: Path, failure: Failure, judge: Judge) -> list[Answer]:
    """The path with each of the seeds, and as it is."""
    paths = [*(replace(path, seed=seed) for seed in SEEDS), path]
    return judge.evaluate(paths, [failure.goal], [failure.reference])
