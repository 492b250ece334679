"""Evaluations of paths: the subject's measures, and its score by each goal beside references."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from threading import Event
from typing import TypedDict, TypeVar

from cwnd import _cwnd
from cwnd._attack.path import Path, text
from cwnd._scenario.custom import CongestionControl

_Item = TypeVar("_Item")

#: Goals of a flow that is alone, and of one beside another.
ALONE = ("stall", "pinned", "underuse", "bloat", "loss", "oscillate")
SHARED = ("starve", "harm")
GOALS = (*ALONE, *SHARED)

#: A window fixed at the bandwidth-delay product of the time, which the extension module has.
FIXED_WINDOW = "fixed-window"

#: In the order in which they run; one that does not fail is enough.
REFERENCES = ("cubic", FIXED_WINDOW, "bbr3", "reno")


class Measures(TypedDict):
    """Measures of a run: crates/attack has what each of them is."""

    stall_rtts: float
    stall_from_s: float
    pinned_rtts: float
    pinned_from_s: float
    goodput_mbps: float
    capacity_mbps: float
    queue_p95_ms: float
    retransmitted_share: float
    avoidable_share: float
    swing: float | None
    least_share: float | None
    least_share_from_s: float
    neighbour_mbps: float | None
    timeouts: int
    mean_cwnd_pkts: float
    lost_pkts: int
    packets: int


class Score(TypedDict):
    """A score by a goal: above 0 the subject fails, and `reference` does not."""

    goal: str
    score: float
    reference: str | None
    beside: Measures | None


class Answer(TypedDict):
    """An evaluation; no scores: the path cannot be run."""

    measures: Measures | None
    scores: list[Score]
    runs: int
    packets: int


@dataclass
class Counts:
    """The work so far."""

    evaluations: int = 0
    runs: int = 0
    packets: int = 0


class StoppedError(Exception):
    """`Judge.stop` is set."""


@dataclass(frozen=True)
class Judge:
    """A subject, which is a name or a class, and how many threads evaluate it; 0: one per core."""

    subject: str
    classes: dict[str, type[CongestionControl]]
    threads: int
    counts: Counts = field(default_factory=Counts)
    #: Algorithms to compare with, in the order in which they run.
    references: tuple[str, ...] = REFERENCES
    #: Is set to end the work of every copy.
    stop: Event = field(default_factory=Event, compare=False)

    def evaluate(
        self, paths: Sequence[Path], goals: Sequence[str], references: Sequence[str] | None = None
    ) -> list[Answer]:
        """Evaluates each path by the goals, beside the references or those of the judge."""
        if self.stop.is_set():
            raise StoppedError
        texts = [text(path) for path in paths]
        answers: list[Answer] = json.loads(
            _cwnd.attack_evaluate(
                texts, self.subject, references or self.references, goals, self.threads, self.classes
            )
        )
        self.counts.evaluations += len(answers)
        self.counts.runs += sum(answer["runs"] for answer in answers)
        self.counts.packets += sum(answer["packets"] for answer in answers)
        return answers


def side_by_side(
    work: Callable[[_Item, Judge], None], items: Sequence[_Item], judge: Judge
) -> Iterator[_Item]:
    """Works on the items, as many at a time as there are threads, each with its own judge; yields those done.

    A judge has the threads that are left, so that few items use all of them, too. Classes that are no headers
    share the interpreter: one item goes at a time.
    """
    native = all(hasattr(one, "TABLE") for one in judge.classes.values())
    threads = (judge.threads or os.cpu_count() or 1) if native else 1
    at_once = max(1, min(threads, len(items)))
    with ThreadPoolExecutor(at_once) as pool:
        own = [replace(judge, threads=max(1, threads // at_once), counts=Counts()) for _ in items]
        running = {pool.submit(work, item, one): item for item, one in zip(items, own, strict=True)}
        try:
            for done in as_completed(running):
                done.result()
                yield running[done]
        except BaseException:
            judge.stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def score_of(answer: Answer, goal: str) -> float:
    """The score by a goal; the least for a path that cannot be run."""
    return next((one["score"] for one in answer["scores"] if one["goal"] == goal), -5.0)
