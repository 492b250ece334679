"""Running scenarios."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from cwnd import _cwnd, _worlds
from cwnd._common.checks import whole
from cwnd._common.errors import error
from cwnd._common.notebook import shows_progress
from cwnd._results.results import Results
from cwnd._scenario.scenario import Scenario
from cwnd._worlds import sim

#: Most rows of flows and links (some 400 bytes each), and of time series (some 100 bytes each): all runs are
#: in memory together.
_ROWS_MAX = 9_000_000
_SAMPLE_ROWS_MAX = 10_000_000

Question: TypeAlias = "Scenario | str | os.PathLike[str]"


@shows_progress(float)
def run(
    scenarios: Question | Iterable[Question],
    *,
    seed: int | None = None,
    repeat: int | None = None,
    world: str = "sim",
    jobs: int = 0,
    threads: int = 0,
    progress: Callable[[float], object] | None = None,
) -> Results:
    """Simulates one or several scenarios, or scenario files, with each of their seeds.

    Args:
        seed, repeat: Replace the scenarios' own.
        world: Where to run: "sim", the simulator; "linux", a real kernel in virtual time, with its own
            algorithms where it has them; "linux-ebpf", the same with the algorithms of this project;
            "live", this machine's kernel, in real time; "quinn", "noq" and "s2n-quic", a QUIC stack in
            virtual time; "quinn-tls" and "noq-tls", the same with TLS.
        jobs: Number of runs at a time; 0: one per core. The results do not depend on it.
        threads: Of the simulator for each run, at most 256; 0: one, or, with thousands of flows, as many as
            there are cores that no other run has. The results do not depend on it.
        progress: Called about every 50 ms with the share that is done, and with 1 at the end. Without it a
            notebook shows a bar.

    Scenarios with the same name get numbers appended. A KeyboardInterrupt stops the runs within a second. An
    exception in an algorithm written in Python stops them too, and is raised here.

    Raises:
        Error: a file cannot be read or is not a scenario; an argument is out of range; the world is unknown;
            the runs have more rows than are kept in memory.
    """
    module = _worlds.find(world)
    jobs = whole("jobs", jobs, 0, 4096)
    threads = whole("threads", threads, 0, 256)
    if threads and module is not sim:
        raise error("threads", f"only runs in 'sim' go on several; leave it out for '{world}'")
    given = [scenarios] if isinstance(scenarios, Scenario | str | os.PathLike) else list(scenarios)
    read = [one if isinstance(one, Scenario) else Scenario.from_toml(one) for one in given]
    asked = [
        scenario._replace(name=name, seed=seed, repeat=repeat)
        for scenario, name in zip(read, unique([one.name for one in read]), strict=True)
    ]
    inner = [scenario._inner for scenario in asked]
    _check_memory(inner)
    answers = sim.run(inner, jobs, progress, threads) if threads else module.run(inner, jobs, progress)
    return Results._of(inner, answers)


def _check_memory(scenarios: Sequence[_cwnd.Scenario]) -> None:
    """Raises an `Error` if the runs have more rows than are kept in memory."""
    runs = sum(scenario.repeat for scenario in scenarios)
    rows = sum(scenario.repeat * scenario.rows for scenario in scenarios)
    samples = sum(scenario.repeat * scenario.sample_rows for scenario in scenarios)
    if rows > _ROWS_MAX:
        reason = f"have {rows:,} rows of flows and links, at most {_ROWS_MAX:,} are kept in memory"
        raise error("repeat", f"{runs:,} runs {reason}; repeat less, or sweep, which keeps runs on disk")
    if samples > _SAMPLE_ROWS_MAX:
        reason = f"have {samples:,} rows of time series, at most {_SAMPLE_ROWS_MAX:,} are kept in memory"
        raise error("samples", f"{runs:,} runs {reason}; take fewer or 'off', or repeat less")


def unique(asked: list[str]) -> list[str]:
    """The names; one that occurred before gets the first free number appended."""
    given = set(asked)
    taken: set[str] = set()
    names: list[str] = []
    for first in asked:
        name, number = first, 1
        while name in taken or (number > 1 and name in given):
            number += 1
            name = f"{first}-{number}"
        taken.add(name)
        names.append(name)
    return names
