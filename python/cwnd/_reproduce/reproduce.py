"""Re-running papers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from cwnd._common.checks import whole
from cwnd._common.errors import error
from cwnd._common.notebook import shows_progress
from cwnd._reproduce import measure as runs
from cwnd._reproduce.paper import load
from cwnd._reproduce.verdicts import Reproduction
from cwnd._run.sweep import Progress, share_done


@shows_progress(share_done)
def reproduce(
    name: str,
    *,
    only: Sequence[str] = (),
    quick: bool = False,
    seeds: int | None = None,
    jobs: int = 0,
    world: str = "sim",
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
        world: With "linux", "linux-ebpf" or "live", what the paper ran on a testbed runs on a real kernel, in
            `out`/NAME-on-WORLD; the simulator's values stand beside.
        progress: Called several times a second.

    Raises:
        Error: there is no such paper or item; the paper has no testbed; `out` cannot be written; a run
            failed.
    """
    paper = load(name)
    if seeds is not None:
        seeds = whole("seeds", seeds, 1, 1_000_000)
    selection = runs.select(paper, only, quick=quick, seeds=seeds, world=world)
    folder = folder_of(selection, only, Path(out))

    def measure(where: str, selection: runs.Selection) -> runs.Measured:
        measured, failures = runs.measure(
            selection, folder / where, jobs=jobs, progress=progress, command=command
        )
        if failures:
            raise error(paper.name, f"{len(failures)} of the runs failed; {failures[0]}")
        return measured

    simulated = None if world == "sim" else measure("simulated", selection._replace(world="sim"))
    reproduction = Reproduction(measure("runs", selection), simulated)
    reproduction.write(folder)
    return reproduction


def folder_of(selection: runs.Selection, only: Sequence[str], out: Path) -> Path:
    """The directory of a reproduction; each choice of items and world has its own."""
    parts = [selection.paper.name, *sorted(set(only)), *(["quick"] if selection.quick else [])]
    return out / "-".join([*parts, *([] if selection.world == "sim" else ["on", selection.world])])
