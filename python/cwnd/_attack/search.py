"""Search in islands: each begins at random and evolves by itself.

An island is the unit that is kept, resumed and shared out: its failures follow from the request and its
number alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from cwnd._attack.bounds import Bounds
from cwnd._attack.judge import ALONE, SHARED, Answer, Judge, score_of
from cwnd._attack.path import Path, ingredients
from cwnd._attack.vary import child, first_paths, own_or

#: Evaluations of an island, the first share of which is random.
ISLAND = 600
_RANDOM = 0.35
#: Paths that are evaluated at a time, on all threads.
_BATCH = 48
_PARENTS = 12
#: Failures of each goal that an island makes small.
_KEPT = 3


@dataclass(frozen=True)
class Failure:
    """A path on which the subject fails by a goal, as it was found."""

    goal: str
    path: Path
    score: float
    #: A reference that does not fail.
    reference: str

    @property
    def kind(self) -> tuple[str, ...]:
        return (self.goal, *ingredients(self.path))


@dataclass(frozen=True)
class Request:
    """A search, but for the number of threads."""

    goals: tuple[str, ...]
    bounds: Bounds
    beside: str
    seed: int
    budget: int

    def islands(self) -> int:
        return -(-self.budget // self.size())

    def size(self) -> int:
        """Evaluations of an island: fewer where the budget would not have one for each goal."""
        return max(1, min(ISLAND, self.budget // len(self.goals) or self.budget))

    def goals_of(self, island: int) -> tuple[str, tuple[str, ...]]:
        """The goal that an island searches, and all that its paths are scored by."""
        goal = self.goals[island % len(self.goals)]
        # Without a neighbour's name, starve and harm have neighbours of their own.
        together = ALONE if goal in ALONE else SHARED if self.beside else (goal,)
        return goal, tuple(other for other in together if other in self.goals)


def explore(request: Request, island: int, judge: Judge) -> list[Failure]:
    """The failures of an island, the worst of each kind, at most three of each goal."""
    rng = Random(f"{request.seed}/{island}")
    goal, goals = request.goals_of(island)
    beside = own_or(request.beside) if goal in SHARED else ""
    if goal == "harm" and not request.beside:
        beside = "cubic"
    left = min(request.size(), request.budget - island * request.size())
    found: dict[tuple[str, ...], Failure] = {}
    known: list[tuple[float, Path]] = []

    def score(paths: Sequence[Path]) -> None:
        for path, answer in zip(paths, judge.evaluate(paths, goals), strict=True):
            _keep(found, path, answer, goals)
            known.append((score_of(answer, goal), path))

    first = first_paths(rng, request.bounds, min(left, max(1, round(request.size() * _RANDOM))), beside)
    for at in range(0, len(first), _BATCH):
        score(first[at : at + _BATCH])
    left -= len(first)
    while left > 0:
        parents = _parents(known, found, goal)
        score([_child(rng, request.bounds, parents) for _ in range(min(left, _BATCH))])
        left -= min(left, _BATCH)
    return [one for kept in goals for one in _worst(found, kept)]


def _keep(found: dict[tuple[str, ...], Failure], path: Path, answer: Answer, goals: Sequence[str]) -> None:
    for goal in goals:
        one = next((one for one in answer["scores"] if one["goal"] == goal), None)
        if one is None or one["reference"] is None:
            continue
        failure = Failure(goal, path, one["score"], one["reference"])
        if failure.score > 0 and (failure.kind not in found or found[failure.kind].score < failure.score):
            found[failure.kind] = failure


def _parents(known: list[tuple[float, Path]], found: dict[tuple[str, ...], Failure], goal: str) -> list[Path]:
    """The best paths of kinds that were not found yet, and of these one alone."""
    best: list[Path] = []
    taken: set[tuple[str, ...]] = set()
    for _, path in sorted(known, key=lambda one: -one[0]):
        kind = (goal, *ingredients(path))
        if kind in taken:
            continue
        if kind in found:
            taken.add(kind)
        best.append(path)
        if len(best) == _PARENTS:
            break
    return best


def _child(rng: Random, bounds: Bounds, parents: Sequence[Path]) -> Path:
    """A child of the better of two parents."""
    one, two, other = (int(rng.random() * len(parents)) for _ in range(3))
    return child(rng, bounds, parents[min(one, two)], parents[other])


def _worst(found: dict[tuple[str, ...], Failure], goal: str) -> list[Failure]:
    """The failures with the fewest ingredients, of these the worst."""
    of_goal = [one for one in found.values() if one.goal == goal]
    return sorted(of_goal, key=lambda one: (len(one.kind), -one.score, one.kind))[:_KEPT]
