"""This machine's kernel at both ends, the engine's own path between them, in real time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cwnd import _cwnd
from cwnd._results.tables import Answer
from cwnd._worlds._place import run_in


def place() -> _cwnd.World:
    return _cwnd.World.live()


def run(
    scenarios: Sequence[_cwnd.Scenario], jobs: int, progress: Callable[[float], object] | None
) -> list[Answer]:
    """One run at a time, whatever `jobs`: two would take the processor from each other."""
    return run_in(place(), scenarios, jobs, progress)
