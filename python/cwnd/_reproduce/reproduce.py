"""Re-running papers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from cwnd._common.checks import whole
from cwnd._common.errors import error
from cwnd._reproduce import measure as runs
from cwnd._reproduce.paper import Paper, load
from cwnd._reproduce.verdicts import Reproduction
from cwnd._run.sweep import Progress


def reproduce(
    name: str,
    *,
    only: Sequence[str] = (),
    quick: bool = False,
    seeds: int | None = None,
    jobs: int = 0,
    out: str | os.PathLike[str] = "reproduced",
    progress: Callable[[Progress], object] | None = None,
    command: Sequence[str] | None = None,
) -> Reproduction:
    """Re-runs a paper's experiments and judges every number and claim.

    Finished runs are kept in `out`/NAME: the same call continues where it stopped, and gives the same bytes.
    The directory gets verdicts.md, verdicts.json, numbers.csv and figures/.

    Args:
        only: Names of items, or how they begin: ["fig10", "table4"].
        quick: Run a few points with few seeds, in `out`/NAME-quick.
        seeds: Seeds of each point that has randomness; 30, or 3 if quick.
        jobs: Number of runs at a time; 0: one per core. The results do not depend on it.
        progress: Called several times a second.

    Raises:
        Error: there is no such paper or item; `out` cannot be written; a run failed.
    """
    paper = load(name)
    if seeds is not None:
        seeds = whole("seeds", seeds, 1, 1_000_000)
    selection = runs.select(paper, only, quick=quick, seeds=seeds)
    folder = folder_of(paper, only, quick, Path(out))
    measured, failures = runs.measure(
        selection, folder / "runs", jobs=jobs, progress=progress, command=command
    )
    if failures:
        raise error(paper.name, f"{len(failures)} of the runs failed; {failures[0]}")
    reproduction = Reproduction(measured)
    reproduction.write(folder)
    return reproduction


def folder_of(paper: Paper, only: Sequence[str], quick: bool, out: Path) -> Path:
    """The directory of a reproduction; each choice of items has its own."""
    return out / "-".join([paper.name, *sorted(set(only)), *(["quick"] if quick else [])])
