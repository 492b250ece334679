"""Runs a sweep's jobs on the threads of this machine."""

from __future__ import annotations

from collections.abc import Sequence

from cwnd import _cwnd
from cwnd._cwnd import Runs
from cwnd._results.tables import rows_of
from cwnd._run.jobs import Failed, Job, Runner, SweepPoint, Take


def runner(threads: int) -> Runner:
    """Runs jobs on this machine's threads. A failing run is isolated by halving the jobs."""

    def run(points: Sequence[SweepPoint], jobs: Sequence[Job], take: Take, failed: Failed) -> None:
        parts = [list(range(len(jobs)))]
        while parts:
            part = parts.pop()
            left = set(part)
            raised: list[BaseException] = []

            def taken(
                places: list[int],
                runs: Runs,
                part: list[int] = part,
                left: set[int] = left,
                raised: list[BaseException] = raised,
            ) -> None:
                real = [part[place] for place in places]
                left.difference_update(real)
                try:
                    take(real, rows_of(runs))
                except BaseException as own:
                    raised.append(own)
                    raise

            try:
                _cwnd.run_jobs(
                    [(points[jobs[index].point].scenario, jobs[index].seed) for index in part], threads, taken
                )
            except BaseException as reason:
                if raised or not _of_a_run(reason):
                    raise
                rest = [index for index in part if index in left]
                if len(rest) == 1:
                    failed(rest[0], f"{type(reason).__name__}: {reason}")
                elif rest:
                    half = len(rest) // 2
                    parts += [rest[half:], rest[:half]]

    return run


def _of_a_run(reason: BaseException) -> bool:
    """Whether the engine panicked, or an algorithm in Python raised an exception."""
    return isinstance(reason, Exception) or type(reason).__name__ == "PanicException"
