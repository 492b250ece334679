"""Sweeps: runs of a scenario at every point of a grid, each point with the same seeds."""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import re
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypedDict

from cwnd import _cwnd, _worlds
from cwnd._common.checks import whole
from cwnd._common.errors import error, one_line
from cwnd._common.notebook import shows_progress
from cwnd._results.directory import provenance
from cwnd._results.results import Results
from cwnd._results.tables import empty_table
from cwnd._run import local
from cwnd._run.class_code import class_code
from cwnd._run.jobs import Job, Rows, SweepPoint
from cwnd._run.run import Question
from cwnd._run.store import Store
from cwnd._scenario.custom import CongestionControl
from cwnd._scenario.scenario import Scenario, check_class, classes_beside, read_text, toml_text

if TYPE_CHECKING:
    from cwnd._common.shapes import Engine, Estimate, Git, SweepHead

#: Keys of a scenario, or tuples of keys that vary together, and the values of each.
Grid: TypeAlias = "Mapping[str, object] | Mapping[str | tuple[str, ...], object]"

_REPEAT_MAX = 1_000_000
_MAX_SEEDS = 100
#: Most rows of all runs: `Results.load` reads them at once, some 150 bytes each.
_ROWS_MAX = 10_000_000
#: Attempts to run the missing jobs when the sweep should be complete.
_ATTEMPTS = 5
#: An interval needs two runs; from two or three runs its own width is uncertain.
_FIRST_SEEDS = 4


class Progress(NamedTuple):
    """The progress of a sweep in runs; `done` includes `found`, the runs that were finished when it began."""

    done: int
    total: int
    found: int
    failed: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.done / self.total if self.total else 0.0


def share_done(progress: Progress) -> float:
    return progress.share


class Failure(NamedTuple):
    """A run that could not be finished."""

    scenario: str
    seed: int
    reason: str

    def __str__(self) -> str:
        return f"{self.scenario}, seed {self.seed}: {self.reason}"


class SweepOutcome(NamedTuple):
    """The end of a sweep: `finished` is true once the tables are written."""

    points: int
    runs: int
    ran: int
    failures: list[Failure]
    finished: bool
    wall_s: float


class How(TypedDict, total=False):
    """Arguments that functions pass on to `work`: where jobs run, how progress is reported and recorded."""

    jobs: int
    dask: str | None
    progress: Callable[[Progress], object] | None
    command: Sequence[str] | None


class Plan(NamedTuple):
    """A sweep that was read: the points, the seeds of each, and the classes that it may name."""

    points: list[SweepPoint]
    seeds: list[range]
    classes: dict[str, type[CongestionControl]]
    #: Inputs of the world's runs besides their scenario; None for the simulator.
    essence: bytes | None = None

    @property
    def expecting(self) -> list[Scenario]:
        """The scenarios of the points, if they expect anything."""
        if not self.points or "expect" not in self.points[0].description:
            return []
        return [Scenario(one.scenario, ("", one.scenario.name, self.classes)) for one in self.points]


@shows_progress(share_done)
def sweep(
    scenario: Question,
    *,
    grid: Grid | None = None,
    out: str | os.PathLike[str] | None = None,
    repeat: int | None = None,
    jobs: int = 0,
    shard: tuple[int, int] | str | None = None,
    until: float | str | None = None,
    max_seeds: int | None = None,
    dask: str | None = None,
    world: str = "sim",
    progress: Callable[[Progress], object] | None = None,
) -> Results:
    """Simulates a scenario at every point of its [sweep], or of `grid`, and keeps no time series.

    Args:
        scenario: A file, the text of one, or a `Scenario`.
        grid: Replaces the file's [sweep]: {"flows.cca": ["cubic", "elastic"], "dumbbell.buffer":
            {"from": 50, "to": 6400, "factor": 2}}; a tuple of keys with a list of tuples varies them
            together.
        out: A directory that keeps each finished run, so that the same call continues where it stopped.
        repeat: Replaces the scenario's number of seeds, which are the same for all points.
        jobs: Number of runs at a time; 0: one per core. The results do not depend on it.
        shard: "1/4", or (1, 4): run only every fourth run, beginning with the second (0/4 begins with the
            first). The process that finishes the last run writes the tables; the other processes get an
            empty result.
        until: "ci=2%", or 0.02: add seeds to each point until the 95 % interval of the throughput is within
            2 % of the mean on both sides, or `max_seeds` (100) are reached.
        dask: Address of a Dask scheduler, which runs the jobs instead of this machine.
        world: Where to run, as for `run`. A run whose path was not what the scenario asks for has failed.
        progress: Called several times a second.

    Raises:
        Error: bad input; `out` holds something else; the file system fails; every run failed.
    """
    plan = read(scenario, grid, repeat)

    def swept(folder: Path) -> Results:
        outcome = work(
            plan,
            folder,
            jobs=jobs,
            shard=None if shard is None else read_shard(shard),
            until=None if until is None else read_until(until),
            max_seeds=max_seeds,
            dask=dask,
            world=world,
            progress=progress,
        )
        if outcome.failures and outcome.runs == len(outcome.failures):
            raise error("", f"every run failed; {outcome.failures[0]}")
        return Results.load(folder) if outcome.finished else Results([], empty_table)

    if out is not None:
        return swept(Path(out))
    if shard is not None:
        raise error("shard", "needs a directory: give out")
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        return swept(Path(folder))


def read(scenario: Question, grid: Grid | None = None, repeat: int | None = None) -> Plan:
    """Reads a sweep."""
    seed = asked = None
    if isinstance(scenario, Scenario):
        text, source, classes = scenario._source
        seed, asked = scenario.seed, scenario.repeat
    elif isinstance(scenario, str) and "\n" in scenario:
        text, source, classes = scenario, "scenario", {}
    else:
        text, source = read_text(scenario), one_line(os.fspath(scenario))
        classes = classes_beside(scenario, text)
    if grid is not None:
        if re.search(r"^\s*\[\[?\s*sweep\b", text, re.MULTILINE):
            raise error("grid", f"{source} has a [sweep] of its own; leave one of them out")
        added, classes = _grid(grid, classes)
        text = f"{text.rstrip()}\n\n{added}"
    if repeat is not None:
        asked = whole("repeat", repeat, 1, _REPEAT_MAX)
    try:
        swept = _cwnd.sweep(text, source, classes)
    except UnicodeEncodeError:
        raise error(source, "text that is not Unicode; scenarios are TOML in UTF-8") from None
    points = [
        SweepPoint(json.loads(values), inner.replace(seed=seed, repeat=asked).without_samples())
        for values, inner in swept
    ]
    return Plan(points, [range(point.seed, point.seed + point.repeat) for _, point in points], classes)


def work(
    plan: Plan,
    folder: Path,
    *,
    jobs: int = 0,
    shard: tuple[int, int] | None = None,
    until: float | None = None,
    max_seeds: int | None = None,
    dask: str | None = None,
    world: str = "sim",
    progress: Callable[[Progress], object] | None = None,
    command: Sequence[str] | None = None,
) -> SweepOutcome:
    """Runs the jobs that are missing in `folder`."""
    jobs = whole("jobs", jobs, 0, 4096)
    limit = _MAX_SEEDS if max_seeds is None else whole("max_seeds", max_seeds, 2, _REPEAT_MAX)
    if until is None and max_seeds is not None:
        raise error("max_seeds", "needs until, which it limits")
    if until is not None and shard is not None:
        raise error("until", "cannot be combined with shard: it needs the runs of all shards")
    if dask is not None and plan.classes:
        raise error("dask", "an algorithm that is a Python class runs on this machine only")
    place = _worlds.find(world).place()
    if dask is not None and place is not None:
        raise error("dask", f"runs the simulator alone; leave out the world '{one_line(world)}'")
    for point in plan.points:
        _worlds.check(place, point.scenario)
    if place is not None:
        plan = plan._replace(essence=place.essence)
    begin = time.monotonic()
    runner = local.runner(jobs, place)
    if dask is not None:
        from cwnd._run import dask as cluster

        runner = cluster.runner(dask)
    seeds = seeds_of(plan, until, max_seeds)
    engine: Engine = {"version": _cwnd.__version__, **({} if place is None else dict([place.ends]))}
    store = Store(folder, plan.points, seeds, world, engine)
    ran = 0
    found: int | None = None
    failures: list[Failure] = []
    broken: set[str] = set()

    def run_missing(mine: Sequence[Job]) -> None:
        nonlocal ran, found
        done = store.done()
        missing = [job for job in mine if job.key not in done and job.key not in broken]
        if found is None:
            found = sum(job.key in done for job in mine)
        already = found
        if not missing:
            return
        # In the order of their hashes, so that the finished runs are a fair sample of all.
        missing = sorted({job.key: job for job in missing}.values(), key=lambda job: job.key)
        store.prepare()
        ahead = len(mine) - len(missing)
        here = 0

        def report() -> None:
            if progress is not None:
                progress(Progress(ahead + here, len(mine), already, len(failures)))

        def take(places: list[int], rows: Rows) -> None:
            nonlocal here, ran
            store.add([missing[place].key for place in places], rows)
            here += len(places)
            ran += len(places)
            report()

        def failed(index: int, reason: str) -> None:
            nonlocal here
            job = missing[index]
            here += 1
            broken.add(job.key)
            failures.append(Failure(plan.points[job.point].scenario.name, job.seed, one_line(reason)))
            report()

        report()
        try:
            runner(plan.points, missing, take, failed)
        except BaseException:
            with contextlib.suppress(_cwnd.Error):
                store.flush()
            raise
        store.flush()

    for _ in range(_ATTEMPTS):
        if until is None:
            asked = jobs_of(plan, plan.seeds)
            mine = asked if shard is None else asked[shard[0] :: shard[1]]
            run_missing(mine)
        else:
            until_jobs = _until(plan, store, until, limit, run_missing, broken)
            if until_jobs is None:
                raise _unstable(folder)
            asked = mine = until_jobs
        complete = ran == 0 and not failures and store.is_complete(asked)
        if complete:
            break
        missing = store.finish(asked, broken, _manifest(plan, asked, failures, command))
        complete = not missing
        # Other processes run the jobs of other shards.
        if not set(missing).intersection(mine):
            break
    else:
        raise _unstable(folder)
    for name in store.damaged:
        reason = "was damaged; its runs were repeated"
        warnings.warn(f"{one_line(str(folder))}: {name} {reason}", RuntimeWarning, stacklevel=2)
    return SweepOutcome(len(plan.points), len(asked), ran, failures, complete, time.monotonic() - begin)


def _unstable(folder: Path) -> _cwnd.Error:
    return error(one_line(str(folder)), "its files are removed or damaged while the sweep goes on")


def read_shard(text: tuple[int, int] | str) -> tuple[int, int]:
    """ "1/4": the second of four."""
    if isinstance(text, tuple):
        index, of = text
    else:
        matched = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
        if matched is None:
            raise error("shard", f"'{one_line(text)}' is not I/N, such as 0/4 to 3/4")
        index, of = int(matched[1]), int(matched[2])
    if not 0 <= index < of:
        raise error("shard", f"{index}/{of} is not one of 0/N to N-1/N")
    return index, of


def read_until(text: float | str) -> float:
    """ "ci=2%": 0.02."""
    if isinstance(text, str):
        matched = re.fullmatch(r"ci\s*=\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(%?)", text.strip())
        try:
            share = float(matched[1]) / (100 if matched[2] else 1) if matched else math.nan
        except ValueError:
            share = math.nan
    else:
        share = float(text) if isinstance(text, float | int) else math.nan
    if not 0 < share < 1:
        raise error(
            "until", f"'{one_line(str(text))}' is not ci=SHARE with a share of the mean, such as ci=2%"
        )
    return share


def seeds_of(plan: Plan, until: float | None, max_seeds: int | None) -> list[range]:
    """The seeds that each point may have."""
    if until is None:
        return plan.seeds
    limit = _MAX_SEEDS if max_seeds is None else max_seeds
    return [range(own.start, own.start + max(limit, len(own))) for own in plan.seeds]


def jobs_of(plan: Plan, seeds: Sequence[Sequence[int]]) -> list[Job]:
    """Every run, points first. Raises `Error` if their tables would not fit into memory."""
    runs = sum(map(len, seeds))
    rows = sum(point.scenario.rows * len(own) for point, own in zip(plan.points, seeds, strict=True))
    if rows > _ROWS_MAX:
        reason = (
            f"{runs:,} runs have {rows:,} rows of flows and links, at most {_ROWS_MAX:,} fit; "
            "ask for fewer seeds, or split the values over several sweeps"
        )
        raise error("repeat", reason)
    return [
        Job(index, seed, key)
        for index, (point, own) in enumerate(zip(plan.points, seeds, strict=True))
        for seed, key in zip(own, _keys(point, own, plan), strict=True)
    ]


def _keys(point: SweepPoint, seeds: Sequence[int], plan: Plan) -> list[str]:
    used: list[str] = []
    if plan.classes:
        used = sorted({flow["cca"]["name"] for flow in point.description["flows"]} & plan.classes.keys())
    codes = "\0".join(class_code(plan.classes[name]) for name in used).encode()
    return _cwnd.job_keys(point.scenario, list(seeds), codes, plan.essence)


def _until(
    plan: Plan,
    store: Store,
    share: float,
    limit: int,
    run_missing: Callable[[Sequence[Job]], None],
    broken: Container[str],
) -> list[Job] | None:
    """Adds seeds to the points whose interval is too wide. The returned jobs follow from the runs alone.

    None: runs kept disappearing after they had finished.
    """
    kept = store.seeds_done()
    counts = [max(len(own), min(_FIRST_SEEDS, limit), had) for own, had in zip(plan.seeds, kept, strict=True)]
    wide = set(range(len(counts)))
    for _ in range(_ATTEMPTS * limit):
        jobs = jobs_of(
            plan, [range(own.start, own.start + n) for own, n in zip(plan.seeds, counts, strict=True)]
        )
        run_missing(jobs)
        summaries = store.summaries([job for job in jobs if job.point in wide and job.key not in broken])
        if summaries is None:
            continue
        for index in sorted(wide):
            more = _seeds_for(summaries.get(index), share, counts[index])
            if more <= counts[index] or counts[index] >= limit:
                wide.discard(index)
            else:
                counts[index] = min(more, limit)
        if not wide:
            return jobs
    return None


def _seeds_for(summary: dict[str, Estimate] | None, share: float, n: int) -> int:
    """The number of seeds that makes the interval narrow enough, estimated from `n`."""
    throughput = (summary or {}).get("throughput_mbps")
    if throughput is None:  # every run failed
        return n
    if throughput["ci95_high"] is None:
        return n + 1
    half = throughput["ci95_high"] - throughput["mean"]
    if half < share * throughput["mean"] or half == 0:
        return n
    factor = (half / (share * throughput["mean"])) ** 2 if throughput["mean"] > 0 else 2
    return min(max(n + 1, math.ceil(n * factor)), 2 * n)


def _grid(
    grid: Grid, classes: dict[str, type[CongestionControl]]
) -> tuple[str, dict[str, type[CongestionControl]]]:
    """`grid` as the [sweep] of a scenario, and the classes that it may name."""
    classes = dict(classes)

    def named(value: object) -> object:
        if isinstance(value, type):
            classes[value.__name__] = check_class(value)
            return value.__name__
        if isinstance(value, Mapping):
            return {key: named(item) for key, item in value.items()}
        if isinstance(value, Iterable) and not isinstance(value, str):
            return [named(item) for item in value]
        return value

    if not isinstance(grid, Mapping):
        raise TypeError(f"grid: {one_line(repr(grid))} is not a mapping from keys to values")
    lists: dict[str, object] = {}
    zips: list[dict[str, list[object]]] = []
    for key, values in grid.items():
        if isinstance(key, str):
            lists[key] = named(values)
            continue
        listed = named(values)
        rows = [row for row in listed if isinstance(row, list)] if isinstance(listed, list) else []
        if not isinstance(listed, list) or [len(row) for row in rows] != [len(key)] * len(listed):
            raise error(f"grid[{key!r}]", f"tuples of {len(key)} values are needed")
        zips.append({one: [row[index] for row in rows] for index, one in enumerate(key)})
    return toml_text({"sweep": {**lists, "zip": zips} if zips else {**lists}}), classes


def _manifest(
    plan: Plan, jobs: Sequence[Job], failures: Sequence[Failure], command: Sequence[str] | None
) -> SweepHead:
    return {
        **provenance(command),
        "host": platform.node(),
        "git": _git(),
        "sweep": {"points": len(plan.points), "runs": len(jobs) - len(failures)},
        "failed": [failure._asdict() for failure in failures],
    }


def _git() -> Git | None:
    """The state of the repository that the sweep was started in."""

    def ask(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], capture_output=True, check=True, text=True, timeout=10
        ).stdout.strip()

    try:
        commit = ask("rev-parse", "HEAD")
        return {"commit": commit, "changed": bool(ask("status", "--porcelain", "--untracked-files=no"))}
    except (OSError, subprocess.SubprocessError):
        return None
