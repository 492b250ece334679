"""Evaluating an algorithm."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cwnd import _cwnd
from cwnd._common.checks import mapping, whole
from cwnd._common.errors import error, one_line
from cwnd._common.notebook import shows_progress
from cwnd._evaluate import report, suite
from cwnd._evaluate.judge import Judged, judge
from cwnd._evaluate.measure import Algorithm, algorithm_of, measure
from cwnd._evaluate.report import Content, CriterionJson
from cwnd._run.sweep import How, Progress, share_done
from cwnd._scenario.scenario import Cca, cca_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cwnd._common.shapes import Param

#: Seeds of each scenario.
SEEDS = 10
_SEEDS_MAX = 10_000


class Question(NamedTuple):
    """Question that an evaluation asks of every algorithm."""

    only: Sequence[str] = ()
    quick: bool = False
    seeds: int = SEEDS
    world: str = "sim"


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The verdict on each criterion for one algorithm beside a baseline."""

    #: The labels of the two: a name, with its parameters if some are given.
    algorithm: str
    baseline: str
    judged: list[Judged]
    #: The runs that failed, a line each; their criteria are not run.
    failures: list[str]
    question: Question
    #: A sentence for each worst case of a search; None: there was none.
    worst_cases: list[str] | None = None

    @property
    def criteria(self) -> list[CriterionJson]:
        """A table for each criterion, in the order of RFC 9743.

        `id, section, level` (MUST, SHOULD, none), `title, asks, rules` (in words), `scenarios` (names),
        `verdict` (pass, fail, undecided, not run, author), `reason` (of not run, else None), and `metrics`:
        `case, metric, unit, value, baseline` (`mean, ci95_low, ci95_high`, None if there is none), `bound`,
        `verdict` (None if it is shown and not judged).
        """
        return self.content["criteria"]

    @cached_property
    def content(self) -> Content:
        """Everything that the JSON has."""
        content: Content = {
            "algorithm": self.algorithm,
            "baseline": self.baseline,
            "suite": suite.VERSION,
            "quick": self.question.quick,
            "seeds": self.question.seeds,
            "world": self.question.world,
            "cwnd": _cwnd.__version__,
            "criteria": [report.describe(one) for one in self.judged],
        }
        if self.worst_cases is not None:
            content["worst_cases"] = self.worst_cases
        return content

    def to_json(self) -> str:
        """One object: `algorithm, baseline, suite, quick, seeds, world, cwnd, criteria, worst_cases`."""
        return report.to_json(self.content)

    def write(self, directory: str | os.PathLike[str]) -> None:
        """Writes report.html, report.json, report.md and figures/ID.svg.

        A text of the author in prose/ID.md is put into the page and the Markdown at the criterion's place.
        Raises `Error` if the directory cannot be written.
        """
        report.write(self.content, self.judged, Path(directory))

    def __repr__(self) -> str:
        return f"<cwnd.Evaluation of {self.algorithm}: {report.summary(self.judged)}>"


@shows_progress(share_done)
def evaluate(
    cca: Cca,
    *,
    params: Mapping[str, Param] | None = None,
    baseline: Cca = "cubic",
    only: Sequence[str] = (),
    quick: bool = False,
    seeds: int = SEEDS,
    jobs: int = 0,
    dask: str | None = None,
    world: str = "sim",
    attacks: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
    command: Sequence[str] | None = None,
) -> Evaluation:
    """Judges an algorithm by the criteria of RFC 9743 and the scenarios of tcpeval, RFC 7928 and RFC 8867.

    Args:
        cca: A name, or a class; `params` are its parameters.
        baseline: The algorithm that most rules compare with; it runs in the same scenarios with the same
            seeds.
        only: Ids of criteria: ["harm", "starvation"].
        quick: Fewer scenarios.
        seeds: Seeds of each scenario; one has no interval, and nothing is decided.
        jobs: Number of runs at a time; 0: one per core. The results do not depend on it.
        dask: Address of a Dask scheduler, which runs the jobs instead of this machine.
        world: Where to run, as for `run`. Criteria with a scenario that the world refuses are not run.
        attacks: A directory that `attack` wrote for the algorithm; its worst cases get into the reports.
        out: A directory that keeps each finished run in runs/, so that the same call continues where it
            stopped, and gets the reports.
        progress: Called several times a second.

    Raises:
        Error: bad input; `out` holds something else or cannot be written.
    """
    question = Question(tuple(only), quick, whole("seeds", seeds, 1, _SEEDS_MAX), world)
    candidate = algorithm_of(cca, mapping("params", params or {}))
    try:
        other = algorithm_of(baseline)
    except _cwnd.Error as refused:
        raise error("baseline", refused.reason) from None

    worst_cases = None if attacks is None else _worst_cases(Path(attacks), cca)

    def evaluate_in(folder: Path) -> Evaluation:
        (found,) = evaluate_all(
            question,
            [candidate],
            other,
            folder / "runs",
            jobs=jobs,
            dask=dask,
            progress=progress,
            command=command,
        )
        return replace(found, worst_cases=worst_cases)

    if out is None:
        with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
            return evaluate_in(Path(folder))
    found = evaluate_in(Path(out))
    found.write(out)
    return found


def _worst_cases(found: Path, cca: Cca) -> list[str]:
    """A sentence for each worst case of the algorithm."""
    from cwnd._attack.known import read_findings

    subject, findings = read_findings(found)
    if subject != cca_name(cca):
        raise error("attacks", f"{one_line(found)} has worst cases of '{one_line(subject)}'; attack this one")
    return [one.sentence for one in findings]


def evaluate_all(
    question: Question,
    candidates: Sequence[Algorithm],
    baseline: Algorithm,
    runs: Path,
    **how: Unpack[How],
) -> list[Evaluation]:
    """An evaluation of each candidate; the runs of all, and the baseline's once, are kept in `runs`."""
    criteria = suite.criteria(question.quick, question.only)
    measured = measure(
        [case for one in criteria for case in one.cases],
        candidates,
        baseline,
        runs,
        seeds=question.seeds,
        world=question.world,
        **how,
    )
    return [
        Evaluation(
            one.label,
            baseline.label,
            judge(criteria, measured, one.label, baseline.label),
            measured.failures,
            question,
        )
        for one in candidates
    ]
