"""Evaluations of paths: the subject's measures, and its score by each goal beside references."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from cwnd import _cwnd
from cwnd._attack.path import Path, text
from cwnd._scenario.custom import CongestionControl

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


@dataclass(frozen=True)
class Judge:
    """A subject, which is a name or a class, and how many threads evaluate it; 0: one per core."""

    subject: str
    classes: dict[str, type[CongestionControl]]
    threads: int
    counts: Counts

    def evaluate(
        self, paths: Sequence[Path], goals: Sequence[str], references: Sequence[str] = REFERENCES
    ) -> list[Answer]:
        """Evaluates each path by the goals."""
        texts = [text(path) for path in paths]
        answers: list[Answer] = json.loads(
            _cwnd.attack_evaluate(texts, self.subject, references, goals, self.threads, self.classes)
        )
        self.counts.evaluations += len(answers)
        self.counts.runs += sum(answer["runs"] for answer in answers)
        self.counts.packets += sum(answer["packets"] for answer in answers)
        return answers


def score_of(answer: Answer, goal: str) -> float:
    """The score by a goal; the least for a path that cannot be run."""
    return next((one["score"] for one in answer["scores"] if one["goal"] == goal), -5.0)
