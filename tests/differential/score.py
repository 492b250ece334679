"""Compares the values of both worlds: is Linux within the band of the simulator's seeds?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean, median
from typing import NamedTuple

from .draw import Drawn
from .run import Answers, Values


class Floor(NamedTuple):
    """How much the band is wider at either end: a share of the end, or `absolute` if that is more."""

    share: float
    absolute: float = 0.0
    unit: str = ""

    def __str__(self) -> str:
        share = f"{100 * self.share:g} %"
        return f"{share} or {self.absolute:g} {self.unit}" if self.absolute else share

    def of(self, value: float) -> float:
        return max(self.share * abs(value), self.absolute)


FLOORS = {
    "goodput": Floor(0.02),
    "goodput per flow": Floor(0.02),
    "mean RTT": Floor(0.02),
    "retransmitted": Floor(0.05, 5, "packets"),
    "lost": Floor(0.05, 5, "packets"),
    "mean queue": Floor(0.05, 1, "packet"),
    "timeouts": Floor(0.05, 1, "timeout"),
    "marks": Floor(0.05, 5, "packets"),
    "completion time": Floor(0.05),
}


class Series(NamedTuple):
    """Values of one metric, of one flow where it is of flows, in both worlds."""

    sim: list[float]
    linux: list[float]
    #: True if the range of Linux's runs and the widened range of the simulator's overlap.
    within: bool
    #: Difference of the means, as a share of Linux's.
    error: float


class Score(NamedTuple):
    """The verdict on a scenario. One that is not scored has no metrics."""

    drawn: Drawn
    metrics: dict[str, list[Series]]
    #: Why it is not scored: runs that failed, or whose path was not what it asks for.
    failures: list[str]

    @property
    def out(self) -> list[str]:
        return [metric for metric, series in self.metrics.items() if not all(one.within for one in series)]

    @property
    def is_within(self) -> bool:
        return bool(self.metrics) and not self.out


class Total(NamedTuple):
    """Scenarios that have something in common."""

    name: str
    within: int
    scored: int
    #: By metric, the median error over the scenarios or their flows. A metric without a value is absent.
    errors: dict[str, float]


def compare(metric: str, sim: Sequence[float], linux: Sequence[float]) -> Series:
    floor = FLOORS[metric]
    low, high = min(sim) - floor.of(min(sim)), max(sim) + floor.of(max(sim))
    within = min(linux) <= high and max(linux) >= low
    ours, theirs = mean(sim), mean(linux)
    scale = max(theirs, floor.absolute)
    error = abs(ours - theirs) / scale if scale else math.inf if ours else 0.0
    return Series(list(sim), list(linux), within, error)


def score(drawn: Sequence[Drawn], sim: Answers, linux: Answers) -> list[Score]:
    scores = []
    for one in drawn:
        failures = [
            f"{world}, {reason}"
            for world, answers in (("sim", sim), ("linux", linux))
            for reason in answers.failures.get(one.name, [])
        ]
        if failures:
            scores.append(Score(one, {}, failures))
            continue
        ours, theirs = sim.values[one.name], linux.values[one.name]
        scores.append(Score(one, metrics_of(ours, theirs), []))
    return scores


def metrics_of(sim: Values, linux: Values) -> dict[str, list[Series]]:
    """Metrics that both worlds have; marks only where one of them has marked."""
    found = {}
    for metric in FLOORS:
        pairs = zip(sim[metric], linux[metric], strict=True)
        both = [(ours, theirs) for ours, theirs in pairs if ours and theirs]
        if metric == "marks" and not any(max(*ours, *theirs) for ours, theirs in both):
            continue
        if both:
            found[metric] = [compare(metric, ours, theirs) for ours, theirs in both]
    return found


def by_metric(scores: Sequence[Score]) -> list[Total]:
    totals = []
    for metric in FLOORS:
        having = [one for one in scores if metric in one.metrics]
        within = sum(metric not in one.out for one in having)
        totals.append(Total(metric, within, len(having), _errors(having, [metric])))
    return totals


def total(name: str, scores: Sequence[Score]) -> Total:
    scored = [one for one in scores if one.metrics]
    return Total(name, sum(one.is_within for one in scored), len(scored), _errors(scored, list(FLOORS)))


def _errors(scores: Sequence[Score], metrics: Sequence[str]) -> dict[str, float]:
    errors = {
        metric: [series.error for one in scores for series in one.metrics.get(metric, [])]
        for metric in metrics
    }
    return {metric: median(values) for metric, values in errors.items() if values}
