"""Runs in the worlds that have a real kernel or a real QUIC stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cwnd import _cwnd
from cwnd._results.tables import Answer, answer_of


def run_in(
    place: _cwnd.World,
    scenarios: Sequence[_cwnd.Scenario],
    jobs: int,
    progress: Callable[[float], object] | None,
) -> list[Answer]:
    """Answers the scenarios there, after all of them were found to be possible."""
    for scenario in scenarios:
        place.check(scenario)
    answers = [answer_of(runs) for runs in _cwnd.run(scenarios, jobs, progress, place)]
    ends, version = place.ends
    return [answer._replace(engine={**answer.engine, ends: version}) for answer in answers]
