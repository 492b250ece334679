"""Sweeps for the tests of sweeps: a small one, a longer one, and processes that run them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from cwnd import _cwnd

#: Arguments of `_cwnd.run_jobs`.
Jobs: TypeAlias = "Sequence[tuple[_cwnd.Scenario, int]]"
Take: TypeAlias = "Callable[[list[int], _cwnd.Runs], bool | None]"

SWEEP = """\
name = "small"
duration = "2 s"
repeat = 3
[dumbbell]
rate = "10 Mbps"
delay = "10 ms"
buffer = 50
per = 1e-3
[[flows]]
cca = "cubic"
count = 2
stagger = "100 ms"
[sweep]
"flows.cca" = ["cubic", "elastic"]
"dumbbell.buffer" = [20, 40, 80]
"""

#: A sweep of 600 runs.
BROAD = SWEEP.replace("repeat = 3", "repeat = 100")

#: Some seconds of work for one core.
LONG = SWEEP.replace("2 s", "40 s").replace("repeat = 3", "repeat = 100")

TABLES = ("flows.parquet", "links.parquet", "summary.parquet")


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


#: The command, with a shard five times a second. It writes a line when it begins.
HASTY = (
    "from cwnd._cli.main import main; from cwnd._run import store; "
    "store._FLUSH_S = store._FLUSH_S_MAX = 0.1; print('begins', flush=True); main()"
)


def spawn(*arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HASTY, "sweep", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def until_begun(process: subprocess.Popen[str]) -> None:
    """Waits until a spawned process has left Python's own start, where Ctrl-C ends in a traceback."""
    assert process.stdout is not None and process.stdout.readline() == "begins\n"


def until(condition: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def count_shards(folder: Path) -> int:
    return len(list((folder / "shards").glob("*.parquet")))


def count_runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    ran: list[int] = []
    run_jobs = _cwnd.run_jobs

    def counted(jobs: Jobs, threads: int, take: Take, place: _cwnd.World | None = None) -> None:
        ran.append(len(jobs))
        run_jobs(jobs, threads, take, place)

    monkeypatch.setattr(_cwnd, "run_jobs", counted)
    return ran


RUN_JOBS = _cwnd.run_jobs


def fragile(jobs: Jobs, threads: int, take: Take, place: _cwnd.World | None = None) -> None:
    """Like `run_jobs`, but that elastic's second seed fails."""
    bad = [index for index, (one, seed) in enumerate(jobs) if seed == 2 and "elastic" in one.name]
    RUN_JOBS(jobs[: bad[0]] if bad else jobs, threads, take, place)
    if bad:
        raise RuntimeError("out of\ncheese")
