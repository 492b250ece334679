"""Known worst cases as a gate: a changed algorithm fails on none of them more than it did before."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from cwnd._attack.attack import judge_of
from cwnd._attack.finding import Finding, from_dict
from cwnd._attack.judge import Judge, score_of
from cwnd._attack.shrink import SEEDS
from cwnd._common.errors import error, one_line, os_error
from cwnd._scenario.scenario import Cca

#: A failure is worse if its ratio is larger by a tenth; scores are logarithms of ratios.
_WORSE = 0.1


@dataclass(frozen=True)
class KnownCase:
    """A worst case with two algorithms in turn: median scores of five seeds; above 0 it fails."""

    finding: str
    goal: str
    baseline: float
    candidate: float
    #: ok or worse: the candidate fails, and by a ratio that is larger by a tenth or more.
    verdict: str

    @property
    def line(self) -> str:
        both = f"score {self.baseline:+.2f} -> {self.candidate:+.2f}"
        return f"{self.verdict:5} {self.finding} ({self.goal}): {both}; above 0 it fails"


@dataclass(frozen=True)
class KnownCases:
    """The verdict on each worst case."""

    cases: list[KnownCase]

    @property
    def ok(self) -> bool:
        """True if none got worse."""
        return all(case.verdict == "ok" for case in self.cases)

    @property
    def lines(self) -> list[str]:
        return [case.line for case in self.cases]

    def to_json(self) -> str:
        """`{"ok", "cases"}`, each case with finding, goal, baseline, candidate and verdict."""
        return json.dumps({"ok": self.ok, "cases": [asdict(case) for case in self.cases]})


def gate_attacks(
    found: str | os.PathLike[str], baseline: Cca, candidate: Cca, *, jobs: int = 0
) -> KnownCases:
    """Judges two algorithms on the worst cases that `cwnd.attack` wrote, each with five seeds.

    Args:
        found: The directory of an attack, or its attack.json.
        baseline: The algorithm as it was: a name or a class.
        candidate: The algorithm as it is.
        jobs: Threads; 0: one per core.

    Raises:
        Error: no such directory, or it holds no findings.
    """
    _, findings = read_findings(Path(found))
    before, after = (_scores(findings, judge_of(cca, jobs)) for cca in (baseline, candidate))
    cases = [
        KnownCase(
            finding.name,
            finding.goal,
            old,
            new,
            "worse" if new > 0 and new > max(old, -_WORSE) + _WORSE else "ok",
        )
        for finding, old, new in zip(findings, before, after, strict=True)
    ]
    return KnownCases(cases)


def read_findings(found: Path) -> tuple[str, list[Finding]]:
    """The subject and the findings of a directory of `cwnd.attack`. Raises `Error` with one line."""
    file = found / "attack.json" if found.is_dir() else found
    try:
        read = json.loads(file.read_text("utf-8"))
        return str(read["subject"]), [from_dict(one) for one in read["findings"]]
    except OSError as failed:
        raise os_error(f"attacks: {one_line(file)}", failed) from None
    except (UnicodeDecodeError, ValueError, KeyError, TypeError, AssertionError):
        raise error("attacks", f"{one_line(file)} is no attack.json of this version's cwnd attack") from None


def _scores(findings: list[Finding], judge: Judge) -> list[float]:
    """The median score of each, beside the reference of the finding."""
    scores = []
    for finding in findings:
        paths = [replace(finding.path, seed=seed) for seed in SEEDS]
        answers = judge.evaluate(paths, [finding.goal], [finding.reference])
        scores.append(median(score_of(answer, finding.goal) for answer in answers))
    return scores
