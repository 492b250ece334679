"""The QUIC stack quinn at both ends, in virtual time over the engine's links."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cwnd import _cwnd
from cwnd._results.tables import Answer
from cwnd._worlds import _quic
from cwnd._worlds._place import run_in


def place() -> _cwnd.World:
    return _quic.place("quinn")


def run(
    scenarios: Sequence[_cwnd.Scenario], jobs: int, progress: Callable[[float], object] | None
) -> list[Answer]:
    return run_in(place(), scenarios, jobs, progress)
