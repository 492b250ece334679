"""Measurements: values by case, subject and seed, and findings that compare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from cwnd._analysis.harm import Estimate, estimate, harm_by_seed
from cwnd._common.errors import MissingError
from cwnd._evaluate.scenarios import BASELINE, CANDIDATE, Case, Measure, Part, Rule, Run

PASS, FAIL, UNDECIDED, NOT_RUN, AUTHOR = "pass", "fail", "undecided", "not run", "author"

#: Runs by the case's name and the subject's label, then by seed.
Runs = Mapping[tuple[str, str], Mapping[int, Run]]


class Finding(NamedTuple):
    """One metric in one case. `verdict` is None if it is shown and not judged, `bound` then too.

    `value` is None if the runs have no such value: no transfer ended, for one.
    """

    case: str
    metric: str
    unit: str
    value: Estimate | None
    baseline: Estimate | None
    bound: float | None
    verdict: str | None
    #: Where it is on the time axis of a figure of shares.
    at_s: float | None = None


class Evidence:
    """The runs of a criterion, for one candidate beside a baseline, each named by its label."""

    def __init__(
        self, runs: Runs, candidate: str, baseline: str, parts: Sequence[Part], missing: Mapping[str, str]
    ) -> None:
        self._runs = runs
        self._labels = {CANDIDATE: candidate, BASELINE: baseline}
        self.parts = parts
        self._missing = missing

    def runs(self, case: Case, subject: str = CANDIDATE) -> Mapping[int, Run]:
        """By seed. `subject` is one of the case's; "" if it has none. Raises `MissingError`."""
        found = self._runs.get((case.name, self._labels.get(subject, subject)), {})
        if not found:
            raise MissingError(self._missing.get(case.name, f"{case.name}: no run"))
        return found

    def values(
        self, case: Case, of: Callable[[Run], float | None], subject: str = CANDIDATE
    ) -> list[float | None]:
        """One per seed."""
        return [of(run) for _, run in sorted(self.runs(case, subject).items())]


def compare(evidence: Evidence, case: Case, measure: Measure) -> Finding:
    """A measure in a case, beside the baseline's, judged by its rule."""
    values = evidence.values(case, measure.of)
    others = evidence.values(case, measure.of, BASELINE) if BASELINE in case.subjects else []
    own, beside = known(values), known(others)
    finding = Finding(
        case.name,
        measure.name,
        measure.unit,
        None if own is None else estimate(own),
        None if beside is None else estimate(beside),
        None,
        None,
    )
    if measure.rule is None:
        return finding
    if own is None:
        return finding._replace(verdict=UNDECIDED if beside is None and others else FAIL)
    bound, verdict = judge(own, beside, measure.rule, measure.more_is_better)
    return finding._replace(bound=bound, verdict=verdict)


def known(values: Sequence[float | None]) -> list[float] | None:
    """The values, if every seed has one."""
    known = [value for value in values if value is not None]
    return known if known and len(known) == len(values) else None


def judge(
    own: Sequence[float], beside: Sequence[float] | None, rule: Rule, more_is_better: bool
) -> tuple[float | None, str]:
    """The bound of a rule, and the verdict on the values; `beside` are the baseline's, seed by seed."""
    sign = -1.0 if more_is_better else 1.0
    if rule.limit is not None:
        return rule.limit, verdict_of(estimate([sign * (x - rule.limit) for x in own]))
    if beside is None:
        return None, UNDECIDED
    mean = sum(beside) / len(beside)
    bound = mean + sign * max(rule.share * mean, rule.amount)
    if rule.share * mean > rule.amount:
        # The relative change is that of the means; a harm is its negative.
        excess = [-sign * change - rule.share for change in harm_by_seed(beside, own)]
    else:
        excess = [sign * (x - b) - rule.amount for x, b in zip(own, beside, strict=True)]
    verdict = verdict_of(estimate(excess))
    if rule.enough is not None:
        enough = verdict_of(estimate([sign * (x - rule.enough) for x in own]))
        verdict = PASS if PASS in (verdict, enough) else FAIL if enough == verdict == FAIL else UNDECIDED
        bound = max(bound, rule.enough) if sign > 0 else min(bound, rule.enough)
    return bound, verdict


def verdict_of(excess: Estimate) -> str:
    """pass if the whole interval of what exceeds the bound is at most 0, fail if all of it is above."""
    return PASS if excess.high <= 0 else FAIL if excess.low > 0 else UNDECIDED


def verdict_on(findings: Sequence[Finding]) -> str:
    """fail if a finding fails, else undecided if one is, else pass."""
    words = {finding.verdict for finding in findings}
    return next((word for word in (FAIL, UNDECIDED) if word in words), PASS)
