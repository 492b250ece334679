"""The simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cwnd import _cwnd
from cwnd._results.tables import Answer, answer_of


def place() -> None:
    """The engine."""


def run(
    scenarios: Sequence[_cwnd.Scenario],
    jobs: int,
    progress: Callable[[float], object] | None,
    threads: int = 0,
) -> list[Answer]:
    return [answer_of(runs) for runs in _cwnd.run(scenarios, jobs, progress, None, threads)]
