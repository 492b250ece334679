"""The finished runs of a sweep that goes on, or that was stopped, as a result."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from cwnd import _worlds
from cwnd._common.errors import error, one_line
from cwnd._results.results import Results
from cwnd._results.tables import empty_table
from cwnd._run.store import Store
from cwnd._run.sweep import Plan, jobs_of, seeds_of

if TYPE_CHECKING:
    from cwnd._common.shapes import Entry


def finished_runs(
    plan: Plan,
    out: str | os.PathLike[str],
    *,
    until: float | None = None,
    max_seeds: int | None = None,
    world: str = "sim",
) -> tuple[Results, int]:
    """The finished runs in the directory of a sweep, and how many runs it has; with `until` at most.

    The directory is read while another process writes to it, and nothing in it changes.
    """
    if not Path(out).is_dir():
        raise error(one_line(os.fspath(out)), "no such directory; a sweep that runs has one")
    place = _worlds.find(world).place()
    if place is not None:
        plan = plan._replace(essence=place.essence)
    seeds = seeds_of(plan, until, max_seeds)
    jobs = jobs_of(plan, seeds)
    done, parts, summaries = Store(Path(out), plan.points, seeds, world).finished(jobs)
    if not done:
        return Results([], empty_table), len(jobs)
    import polars as pl

    seeds_done: dict[int, list[int]] = {}
    for job in done:
        seeds_done.setdefault(job.point, []).append(job.seed)
    entries: list[Entry] = [
        {
            "world": world,
            "seeds": own,
            "values": plan.points[point].values,
            "scenario": plan.points[point].description,
            "summary": summaries[point],
            "engine": {"wall_s": None, "packets": None, "packets_per_s": None},
        }
        for point, own in seeds_done.items()
    ]
    tables = {name: pl.concat([part[name] for part in parts]) for name in ("flows", "links")}
    return Results(entries, lambda name: tables[name] if name in tables else empty_table(name)), len(jobs)
