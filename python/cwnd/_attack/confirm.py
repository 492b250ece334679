"""Findings in other worlds: does the subject fail there, and the reference not?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cwnd import _cwnd
from cwnd._attack.finding import Finding
from cwnd._attack.judge import FIXED_WINDOW, Judge
from cwnd._attack.path import Path, text
from cwnd._common.errors import about
from cwnd._worlds import check, find

#: Seeds with which a finding is repeated in another world; it holds there with most of them.
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Confirmation:
    """A finding in another world."""

    finding: str
    world: str
    #: Seeds with which it fails there, of `SEEDS`.
    seeds: list[int]
    #: The score with each seed, as `Finding.score`.
    scores: list[float]
    #: The reference there; a window fixed at the BDP exists in the simulator alone, and is judged there.
    reference: str
    #: Why the world cannot be asked; "": it was.
    unsupported: str = ""

    @property
    def holds(self) -> bool:
        return 2 * len(self.seeds) > len(SEEDS)

    @property
    def verdict(self) -> str:
        if self.unsupported:
            return "not supported"
        return f"{'holds' if self.holds else 'does not hold'} ({len(self.seeds)}/{len(SEEDS)})"


def confirm(finding: Finding, world: str, judge: Judge) -> Confirmation:
    """Repeats the finding in the world, with each of the seeds.

    Raises `Error` if the world is not there. A path or an algorithm that it does not support is part of the
    result.
    """
    place = find(world).place()
    subject, reference = judge.subject, finding.reference
    names = [subject] if reference == FIXED_WINDOW else [subject, reference]
    paths = [replace(finding.path, seed=seed) for seed in SEEDS]
    try:
        runs = {name: _run(paths, name, place, judge) for name in names}
    except _cwnd.Error as refused:
        return Confirmation(finding.name, world, [], [], reference, about(refused)[1] or str(refused))
    scores = []
    for at, path in enumerate(paths):
        of = _measure(path, subject, runs[subject][at], judge)
        beside = (
            json.dumps(finding.beside)
            if reference == FIXED_WINDOW
            else _measure(path, reference, runs[reference][at], judge)
        )
        scores.append(_cwnd.attack_score(finding.goal, of, beside))
    seeds = [seed for seed, score in zip(SEEDS, scores, strict=True) if score > 0]
    return Confirmation(finding.name, world, seeds, scores, reference)


def _run(paths: Sequence[Path], name: str, place: _cwnd.World | None, judge: Judge) -> list[_cwnd.Runs]:
    scenarios = [_cwnd.Scenario(text(path, name), "path", judge.classes) for path in paths]
    for scenario in scenarios:
        check(place, scenario)
    return list(_cwnd.run(scenarios, judge.threads, None, place))


def _measure(path: Path, name: str, runs: _cwnd.Runs, judge: Judge) -> str:
    return _cwnd.attack_measure(text(path), name, runs, 0, list(judge.classes))


def in_order(confirmations: Sequence[Confirmation]) -> list[Confirmation]:
    """Sorts by verdict: failed confirmations, worlds that do not support the finding, confirmations."""
    return sorted(confirmations, key=lambda one: (one.holds, bool(one.unsupported), one.finding))
