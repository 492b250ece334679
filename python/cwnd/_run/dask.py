"""Runs a sweep's jobs on a running Dask cluster."""

from __future__ import annotations

import importlib
import itertools
import logging
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from cwnd import _cwnd
from cwnd._common.errors import error, one_line
from cwnd._results.tables import rows_of
from cwnd._run.jobs import Failed, Job, Rows, Runner, SweepPoint, Take

#: Runs in a task. A task whose worker dies is tried again on another worker.
_CHUNK = 16
_RETRIES = 3
#: Tasks on the scheduler at a time, for each thread of the cluster.
_AHEAD = 4
_CONNECT_S = 10
_PORT = 8786


class _Future(Protocol):
    """A task on the cluster."""

    key: str
    status: str

    def result(self) -> tuple[str | None, Rows]: ...
    def release(self) -> None: ...


class _Client(Protocol):
    """A connection to the scheduler."""

    loop: object

    def submit(self, work: Callable[[Task], object], task: Task, *, retries: int, pure: bool) -> _Future: ...
    def nthreads(self) -> Mapping[str, int]: ...


class Task(NamedTuple):
    """A worker's task: scenarios as JSON, and runs of them by index, seed and key."""

    scenarios: list[str]
    runs: list[tuple[int, int, str]]


def runner(address: str) -> Runner:
    """Runs jobs through the scheduler at `address`."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise error("dask", "the package distributed is missing; pip install 'cwnd[dask]'") from None

    def run(points: Sequence[SweepPoint], jobs: Sequence[Job], take: Take, failed: Failed) -> None:
        shown = one_line(address)
        try:
            # Checked first, because the client reports a refusal late, and with a traceback at exit.
            _reach(address)
            client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as refused:
            raise error("dask", f"no scheduler at {shown} ({one_line(str(refused))})") from None
        with _silenced(), client:
            _run(distributed, client, points, jobs, take, failed)

    return run


@contextmanager
def _silenced() -> Iterator[None]:
    """Silences Dask, which logs a lost connection with a traceback."""
    # Each has a level of its own.
    names = ("distributed", "distributed.client", "tornado.application")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _reach(address: str) -> None:
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme not in ("tcp", "tls") or not parts.hostname:
        raise ValueError("an address is like tcp://127.0.0.1:8786")
    socket.create_connection((parts.hostname, parts.port or _PORT), _CONNECT_S).close()


def _run(
    distributed: ModuleType,
    client: _Client,
    points: Sequence[SweepPoint],
    jobs: Sequence[Job],
    take: Take,
    failed: Failed,
) -> None:
    def submit(indices: Sequence[int]) -> _Future:
        future = client.submit(
            work, _task(points, [jobs[index] for index in indices]), retries=_RETRIES, pure=False
        )
        indices_of[future.key] = list(indices)
        return future

    indices_of: dict[str, list[int]] = {}
    waiting = _chunks(len(jobs))
    threads = sum(client.nthreads().values())
    first = list(itertools.islice(waiting, max(_AHEAD * threads, _AHEAD)))
    pool = distributed.as_completed([submit(chunk) for chunk in first], loop=client.loop)
    for future in pool:
        indices = indices_of.pop(future.key)
        try:
            # A result is lost with the worker that holds it; then this waits until another worker has
            # repeated it.
            version, rows = future.result()
        except Exception as reason:
            if future.status != "error":
                raise error(
                    "dask", "the scheduler is gone; finished runs are kept: repeat the command to continue"
                ) from None
            if len(indices) > 1:
                # One run of the task is at fault.
                for index in indices:
                    pool.add(submit([index]))
            else:
                failed(indices[0], f"{type(reason).__name__}: {reason}")
        else:
            if version is not None:
                raise error("dask", f"a worker has another cwnd or other algorithms ({version})")
            take(indices, rows)
        future.release()
        for chunk in itertools.islice(waiting, 1):
            pool.add(submit(chunk))


def _chunks(count: int) -> Iterator[range]:
    return (range(begin, min(begin + _CHUNK, count)) for begin in range(0, count, _CHUNK))


def _task(points: Sequence[SweepPoint], jobs: Sequence[Job]) -> Task:
    place = {point: index for index, point in enumerate(dict.fromkeys(job.point for job in jobs))}
    return Task(
        [points[point].scenario.json() for point in place],
        [(place[job.point], job.seed, job.key) for job in jobs],
    )


def work(task: Task) -> tuple[str | None, Rows]:
    """Runs on the worker: returns the rows of the task's runs, or this cwnd's version if it differs."""
    import polars as pl

    scenarios = [_cwnd.Scenario.from_json(text) for text in task.scenarios]
    for place, seed, key in task.runs:
        if _cwnd.job_keys(scenarios[place], [seed]) != [key]:
            return _cwnd.__version__, {}
    parts: dict[str, list[pl.DataFrame]] = {"flows": [], "links": []}

    def take(places: list[int], runs: _cwnd.Runs) -> None:
        place_of = pl.Series("run", places, pl.UInt32)
        for name, table in rows_of(runs).items():
            parts[name].append(table.with_columns(place_of.gather(table["run"])))

    # One thread: Dask has its own.
    try:
        _cwnd.run_jobs([(scenarios[place], seed) for place, seed, _ in task.runs], 1, take)
    except BaseException as reason:
        if type(reason).__name__ == "PanicException":  # A panic is not an Exception: it would end the worker.
            raise RuntimeError(f"the engine panicked: {reason}") from None
        raise
    return None, {name: pl.concat(tables) for name, tables in parts.items()}
