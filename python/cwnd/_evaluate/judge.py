"""The verdict on each criterion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cwnd._common.errors import MissingError
from cwnd._evaluate.criterion import Criterion
from cwnd._evaluate.evidence import (
    AUTHOR,
    NOT_RUN,
    Evidence,
    Finding,
    compare,
    verdict_on,
)
from cwnd._evaluate.measure import Measured


class Judged(NamedTuple):
    """A criterion with its verdict: pass, fail, undecided, not run (with a reason), author."""

    criterion: Criterion
    verdict: str
    findings: list[Finding]
    reason: str


def judge(criteria: Sequence[Criterion], measured: Measured, candidate: str, baseline: str) -> list[Judged]:
    return [_judged(one, measured, candidate, baseline) for one in criteria]


def _judged(criterion: Criterion, measured: Measured, candidate: str, baseline: str) -> Judged:
    if criterion.author:
        return Judged(criterion, AUTHOR, [], "")
    if not criterion.parts:
        return Judged(criterion, NOT_RUN, [], criterion.reason)
    evidence = Evidence(measured.runs, candidate, baseline, criterion.parts, measured.missing)
    try:
        if criterion.find is not None:
            findings = criterion.find(evidence)
        else:
            findings = [
                compare(evidence, case, measure)
                for part in criterion.parts
                for case in part.cases
                for measure in part.measures
            ]
    except MissingError as missing:
        return Judged(criterion, NOT_RUN, [], str(missing))
    return Judged(criterion, verdict_on(findings), findings, "")
