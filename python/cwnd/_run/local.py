"""Runs a sweep's jobs on the threads of this machine."""

from __future__ import annotations

from collections.abc import Container, Sequence

from cwnd import _cwnd
from cwnd._cwnd import Runs
from cwnd._results.notes import INVALID
from cwnd._results.tables import rows_of
from cwnd._run.jobs import Failed, Job, Rows, Runner, SweepPoint, Take


def runner(threads: int, place: _cwnd.World | None = None) -> Runner:
    """Runs jobs on this machine's threads, in the engine or in `place`.

    A failing run is isolated by halving the jobs. A run whose path was not what its scenario asks for has
    failed.
    """

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
                real = [part[index] for index in places]
                left.difference_update(real)
                try:
                    invalid = {
                        index: note
                        for index, notes in zip(real, runs.notes, strict=True)
                        for note in notes
                        if note.startswith(INVALID)
                    }
                    for index, note in invalid.items():
                        failed(index, note)
                    _take_valid(real, rows_of(runs), invalid, take)
                except BaseException as own:
                    raised.append(own)
                    raise

            try:
                _cwnd.run_jobs(
                    [(points[jobs[index].point].scenario, jobs[index].seed) for index in part],
                    threads,
                    taken,
                    place,
                )
            except BaseException as reason:
                if raised or not _of_a_run(reason):
                    raise
                rest = [index for index in part if index in left]
                if len(rest) == 1:
                    where = "".join(f", {note}" for note in getattr(reason, "__notes__", []))
                    failed(rest[0], f"{type(reason).__name__}: {reason}{where}")
                elif rest:
                    half = len(rest) // 2
                    parts += [rest[half:], rest[:half]]

    return run


def _take_valid(indices: list[int], rows: Rows, invalid: Container[int], take: Take) -> None:
    import polars as pl

    if not invalid:
        take(indices, rows)
        return
    kept = [run for run, index in enumerate(indices) if index not in invalid]
    renumbered = pl.col("run").replace_strict(kept, range(len(kept)), return_dtype=pl.UInt32)
    valid = {
        name: table.filter(pl.col("run").is_in(kept)).with_columns(renumbered) for name, table in rows.items()
    }
    take([indices[run] for run in kept], valid)


def _of_a_run(reason: BaseException) -> bool:
    """Returns true if the engine panicked, or an algorithm in Python raised an exception."""
    return isinstance(reason, Exception) or type(reason).__name__ == "PanicException"
