"""This machine's kernel at both ends, the engine's own path between them, in real time."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence

from cwnd import _cwnd
from cwnd._results.tables import Answer, answer_of


def run(
    scenarios: Sequence[_cwnd.Scenario], jobs: int, progress: Callable[[float], object] | None
) -> list[Answer]:
    """One run at a time, whatever `jobs`: two would take the processor from each other."""
    world = _cwnd.World.live()
    for scenario in scenarios:
        world.check(scenario)
    answers = [answer_of(runs) for runs in _cwnd.run(scenarios, jobs, progress, world)]
    return [answer._replace(engine={**answer.engine, "kernel": platform.release()}) for answer in answers]
