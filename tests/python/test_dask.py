"""Sweeps on a Dask cluster: the same tables, whatever happens to its workers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import cwnd
from conftest import Swept
from cwnd import _cwnd
from cwnd._run import sweep as sweeps
from sweeping import LONG, count_shards, fragile, spawn, tables, until


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers, each a process of its own."""
    pytest.importorskip("distributed", reason="distributed is not installed; pip install 'cwnd[dask]'")
    where = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}

    def dask(*arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]], **quiet
        )  # type: ignore[call-overload, no-any-return]

    processes = [
        dask(
            "dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(where),
        )
    ]
    try:
        until(lambda: where.exists() and where.read_text())  # it is written after it is made
        address = json.loads(where.read_text())["address"]
        worker = (
            "dask_worker",
            address,
            "--nthreads",
            "1",
            "--no-dashboard",
            "--no-nanny",
            "--host",
            "127.0.0.1",
        )
        processes += [dask(*worker), dask(*worker)]
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_dask_gives_the_same_bytes_though_a_worker_is_killed(long_sweep: Swept, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with cluster(tmp_path) as (address, processes):
        worker = processes[1]

        def kill(progress: cwnd.Progress) -> None:
            if progress.done > 100 and worker.poll() is None:
                assert progress.done < 500
                worker.kill()
                worker.wait()

        cwnd.sweep(long_sweep[0], out=out, dask=address, progress=kill)
        assert worker.poll() is not None
    assert tables(out) == long_sweep[1]


@pytest.mark.slow
def test_results_that_are_lost_with_their_worker_are_computed_again(
    long_sweep: Swept, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with cluster(tmp_path) as (address, processes):
        distributed = pytest.importorskip("distributed")
        with distributed.Client(address, set_as_default=False) as watcher:
            watcher.wait_for_workers(2, timeout=20)
            worker = processes[1]

            def kill_with_results(progress: cwnd.Progress) -> None:
                if progress.done and worker.poll() is None:
                    # The first of them may be of a task that was taken already.
                    until(lambda: all(len(held) > 1 for held in watcher.has_what().values()))
                    worker.kill()
                    worker.wait()
                    until(lambda: len(watcher.has_what()) == 1)

            cwnd.sweep(long_sweep[0], out=out, dask=address, progress=kill_with_results)
        assert worker.poll() is not None
    assert tables(out) == long_sweep[1]


@pytest.mark.slow
def test_a_scheduler_that_is_gone_is_one_line_and_what_was_done_is_kept(tmp_path: Path) -> None:
    file, out = tmp_path / "long.toml", tmp_path / "out"
    file.write_text(LONG)
    with cluster(tmp_path) as (address, processes):
        sweep = spawn(file, "--out", out, "--dask", address)
        until(lambda: count_shards(out) > 0)
        processes[0].kill()
        _, stderr = sweep.communicate(timeout=60)
    assert sweep.returncode == 2
    assert stderr.splitlines()[-1].startswith(
        "cwnd: error: --dask: the scheduler is gone; finished runs are kept"
    )
    assert "Traceback" not in stderr
    assert count_shards(out) > 0


def test_what_fails_on_every_worker_is_reported(
    sweep_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip(
        "distributed", reason="distributed is not installed; pip install 'cwnd[dask]'"
    )
    monkeypatch.setattr(_cwnd, "run_jobs", fragile)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=":0"
    ) as here:
        outcome = sweeps.work(sweeps.read(sweep_file), tmp_path / "out", dask=here.scheduler_address)
    assert [failure.seed for failure in outcome.failures] == [2, 2, 2]
    assert cwnd.Results.load(tmp_path / "out").flows.height == (18 - 3) * 2
