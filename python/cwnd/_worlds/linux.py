"""A real Linux kernel in virtual time, with its own algorithms where it has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cwnd import _cwnd
from cwnd._results.tables import Answer, answer_of
from cwnd._worlds import _machine


def place() -> _cwnd.World:
    return _machine.find(ours=False)


def run(
    scenarios: Sequence[_cwnd.Scenario], jobs: int, progress: Callable[[float], object] | None
) -> list[Answer]:
    return run_in(place(), scenarios, jobs, progress)


def run_in(
    machine: _cwnd.World,
    scenarios: Sequence[_cwnd.Scenario],
    jobs: int,
    progress: Callable[[float], object] | None,
) -> list[Answer]:
    """Answers the scenarios in guests of the machine, after all of them were found to be possible there."""
    for scenario in scenarios:
        machine.check(scenario)
    answers = [answer_of(runs) for runs in _cwnd.run(scenarios, jobs, progress, machine)]
    return [answer._replace(engine={**answer.engine, "kernel": machine.release}) for answer in answers]
