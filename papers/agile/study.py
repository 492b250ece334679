"""A sweep with a bar of progress, for the studies of this folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

import cwnd


def swept(
    file: Path, grid: Mapping[str | tuple[str, ...], Sequence[object]], out: Path, seeds: int
) -> cwnd.Results:
    """The runs of a scenario at every point of `grid`, kept in `out`."""
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task(out.name, total=None)
        return cwnd.sweep(
            file,
            grid=grid,
            out=out,
            repeat=seeds,
            progress=lambda seen: bar.update(task, completed=seen.done, total=seen.total),
        )
