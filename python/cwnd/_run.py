"""Running scenarios."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TypeAlias

from cwnd import _cwnd
from cwnd._results import Results
from cwnd._scenario import Scenario, _whole

Question: TypeAlias = "Scenario | str | os.PathLike[str]"


def run(
    scenarios: Question | Iterable[Question],
    *,
    seed: int | None = None,
    repeat: int | None = None,
    jobs: int = 0,
    progress: Callable[[float], object] | None = None,
) -> Results:
    """Simulates one or several scenarios, or scenario files, with each of their seeds.

    Args:
        seed, repeat: Instead of the scenarios' own.
        jobs: Runs at a time; 0: one per core. The results do not depend on it.
        progress: Called about every 50 ms with the share that is done, and with 1 at the end.

    Scenarios of one name get a number behind it. A KeyboardInterrupt stops the runs within a second. An
    exception in a Python algorithm stops them too and is raised here.

    Raises:
        Error: a file cannot be read or is not a scenario; an argument is out of range.
    """
    jobs = _whole("jobs", jobs, 0, 4096)
    given = [scenarios] if isinstance(scenarios, Scenario | str | os.PathLike) else list(scenarios)
    read = [one if isinstance(one, Scenario) else Scenario.from_toml(one) for one in given]
    asked = [
        scenario._replace(name=name, seed=seed, repeat=repeat)
        for scenario, name in zip(read, unique([one.name for one in read]), strict=True)
    ]
    return Results._of(_cwnd.run([scenario._inner for scenario in asked], jobs, progress))


def unique(asked: list[str]) -> list[str]:
    """The names, those that occurred before with the first free number behind them."""
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
