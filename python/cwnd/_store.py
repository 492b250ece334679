"""The directory of a sweep: finished runs as shards while it goes on, tables once it is complete.

`shards/*.parquet` hold finished runs as JSON text under their job's key, `shards/sweep.json` tells whose
they are. Files are written under another name and renamed, so each is whole or absent. `finish` turns shards
into the files that `Results.load` reads: manifest.json, flows.parquet, links.parquet, summary.parquet.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from cwnd import _cwnd
from cwnd._errors import error, one_line, os_error
from cwnd._results import FORMAT, flow_schema, link_schema, read_manifest, runs_of

if TYPE_CHECKING:
    import polars as pl

#: A shard is written after that many seconds or runs, whichever comes first. The seconds grow with the time
#: gone by, so that a sweep of days has hundreds of shards and not a million.
_FLUSH_S = 2.0
_FLUSH_S_MAX = 30.0
_FLUSH_RUNS = 1000

#: Runs that are merged at a time.
_GROUP_RUNS = 500

#: Shards that are merged.
_GONE = ".merged."

_TABLES = ("flows", "links", "summary")

#: Rows in a row group of the tables: fixed, for the same bytes everywhere.
_ROW_GROUP = 1 << 16


class Point(NamedTuple):
    """One combination of swept values."""

    values: dict[str, Any]
    scenario: _cwnd.Scenario
    #: The scenario as results tell it.
    told: dict[str, Any]


class Job(NamedTuple):
    """One run: a point and a seed, under a key that says everything it depends on."""

    point: int
    seed: int
    key: str


class _Kept(NamedTuple):
    """Where finished runs are: in rows of the tables, or in which of the shards."""

    rows: dict[str, dict[str, tuple[int, int]]]
    shard_of: dict[str, int]
    shards: list[Path]


#: Takes finished runs: their places in the list of jobs, and their JSON.
Take: TypeAlias = Callable[[list[tuple[int, str]]], object]
#: Takes the place of a job that cannot be done, and why.
Failed: TypeAlias = Callable[[int, str], object]
#: Runs jobs somewhere.
Runner: TypeAlias = Callable[[Sequence[Point], Sequence[Job], Take, Failed], None]


class Store:
    """A sweep's directory. Every failure of the file system is an `Error` of one line."""

    def __init__(self, folder: Path, points: Sequence[Point], seeds: Sequence[range]) -> None:
        """Opens or creates it for these points and the seeds that each may have.

        Raises `Error` if the directory holds something else: nothing is lost by a slip.
        """
        self._folder = folder
        self._shards = folder / "shards"
        self._points = points
        self._shown = one_line(str(folder))
        self._pending: dict[str, str] = {}
        self._began = self._flushed = time.monotonic()
        with self._one_line():
            self._open(seeds)

    def seeds_done(self) -> list[int]:
        """How many seeds of each point the tables hold."""
        kept = {_name(told["values"]): len(told["seeds"]) for told in self._manifest()["results"]}
        return [kept.get(_name(point.values), 0) for point in self._points]

    def done(self) -> set[str]:
        """The keys of all finished jobs."""
        import polars as pl

        keys: set[str] = set()
        with self._one_line():
            tables = [self._folder / f"{table}.parquet" for table in ("flows", "links")]
            if all(table.exists() for table in tables):
                flows, links = (set(pl.read_parquet(table, columns=["job"])["job"]) for table in tables)
                keys |= flows & links
            for shard in self._shards.glob("*.parquet"):
                rows = _read_shard(shard, ["job"])
                if rows is not None:
                    keys.update(rows["job"])
        return keys

    def add(self, key: str, run: str) -> None:
        """Keeps a finished run, on disk within a few seconds."""
        self._pending[key] = run
        now = time.monotonic()
        after = min(max(_FLUSH_S, (now - self._began) / 100), _FLUSH_S_MAX)
        if len(self._pending) >= _FLUSH_RUNS or now - self._flushed >= after:
            self.flush()

    def flush(self) -> None:
        """Writes what is not on disk yet."""
        import polars as pl

        self._flushed = time.monotonic()
        if not self._pending:
            return
        rows = pl.DataFrame(
            {"job": list(self._pending), "run": list(self._pending.values())},
            schema={"job": pl.String(), "run": pl.String()},
        )
        name = hashlib.sha256("".join(self._pending).encode()).hexdigest()[:20]
        with self._one_line():
            self._shards.mkdir(parents=True, exist_ok=True)
            write_file(self._shards / f"{name}.parquet", _parquet(rows, compression_level=1))
        self._pending.clear()

    def summaries(self, jobs: Sequence[Job]) -> dict[int, dict[str, Any]]:
        """The summary of each point over its finished `jobs`."""
        with self._one_line():
            merged = self._merged(jobs, self._kept())
            return {point: summary for _, _, told in merged for point, summary in told.items()}

    def finish(self, jobs: Sequence[Job], manifest: dict[str, Any]) -> None:
        """Writes the tables of `jobs` that are done and the manifest, and clears the shards away.

        The tables' bytes follow from the jobs alone. Killed at any point, all runs are still there.
        """
        with self._one_line(), self._alone() as first:
            if not first and not self._shards.exists():
                return  # another process of the sweep has just done it
            kept = self._kept()
            building = self._shards / f"tables.{os.getpid()}"
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir(parents=True)
            try:
                self._build(jobs, kept, manifest, building)
                # From here to the last rename there is no manifest: no result rather than a mixed one.
                (self._folder / "manifest.json").unlink(missing_ok=True)
                for name in (*(f"{table}.parquet" for table in _TABLES), "manifest.json"):
                    (building / name).replace(self._folder / name)
            finally:
                shutil.rmtree(building, ignore_errors=True)
            # At once for whoever looks.
            gone = self._folder / f"{_GONE}{os.getpid()}"
            self._shards.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)

    def _build(self, jobs: Sequence[Job], kept: _Kept, manifest: dict[str, Any], building: Path) -> None:
        """Writes the tables and the manifest to `building`, a group of jobs at a time."""
        seeds: list[list[int]] = [[] for _ in self._points]
        summaries: dict[int, dict[str, Any]] = {}
        parts: dict[str, list[Path]] = {"flows": [], "links": []}
        for number, (group, tables, told) in enumerate(self._merged(jobs, kept)):
            summaries |= told
            done = set(tables["flows"]["job"])
            for job in group:
                if job.key in done:
                    seeds[job.point].append(job.seed)
            for name, table in tables.items():
                parts[name].append(building / f"{name}.{number}.parquet")
                write_file(parts[name][-1], _parquet(table, compression_level=1, statistics=False))
        engine = {"wall_s": None, "packets": None, "packets_per_s": None, "version": _cwnd.__version__}
        results = [
            {
                "seeds": seeds[index],
                "values": point.values,
                "scenario": point.told,
                "summary": summaries.get(index, {}),
                "engine": engine,
            }
            for index, point in enumerate(self._points)
        ]
        for name, files in parts.items():
            _join(files, building / f"{name}.parquet")
        write_file(building / "summary.parquet", _parquet(_summary_table(results)))
        text = json.dumps({**manifest, "results": results}, indent=1, allow_nan=False) + "\n"
        write_file(building / "manifest.json", text.encode())

    def is_complete(self, jobs: Sequence[Job]) -> bool:
        """Whether the tables hold these jobs and nothing is left to merge."""
        if self._shards.exists() or "sweep" not in self._manifest():
            return False
        told = [(one["values"], one["scenario"], one["seeds"]) for one in self._manifest()["results"]]
        seeds: list[list[int]] = [[] for _ in self._points]
        for job in jobs:
            seeds[job.point].append(job.seed)
        return told == [
            (point.values, point.told, own) for point, own in zip(self._points, seeds, strict=True)
        ]

    def _open(self, seeds: Sequence[range]) -> None:
        if "\0" in str(self._folder):
            raise error(self._shown, "not a name for a directory")
        if self._folder.exists() and not self._folder.is_dir():
            raise error(self._shown, "not a directory")
        self._folder.mkdir(parents=True, exist_ok=True)
        whose = self._shards / "sweep.json"
        manifest = self._manifest()
        earlier = []
        if manifest["results"]:
            if "sweep" not in manifest:
                raise error(self._shown, "holds a result that is not a sweep's; choose another directory")
            earlier.append((manifest["cwnd"], manifest["results"]))
        if whose.exists():
            told = json.loads(whose.read_bytes())
            earlier.append((told["cwnd"], told["points"]))
        if not earlier:
            foreign = sorted(item.name for item in self._folder.iterdir())
            # A sweep that was killed before its first file.
            if foreign and foreign != ["shards"]:
                reason = f"holds what is not a sweep ({one_line(foreign[0])}); choose another directory"
                raise error(self._shown, reason)
        for version, points in earlier:
            self._check(points, seeds, same_version=version == _cwnd.__version__)
        if not os.access(self._folder, os.W_OK | os.X_OK):
            raise error(self._shown, "not writable")
        for gone in self._folder.glob(f"{_GONE}*"):
            shutil.rmtree(gone, ignore_errors=True)

    def prepare(self, seeds: Sequence[range]) -> None:
        """Says whose shards will follow; there are runs to do."""
        told = {
            "cwnd": _cwnd.__version__,
            "format": FORMAT,
            "points": [
                {"values": point.values, "scenario": point.told, "seeds": [own[0], own[-1]]}
                for point, own in zip(self._points, seeds, strict=True)
            ],
        }
        with self._one_line():
            self._shards.mkdir(exist_ok=True)
            write_file(self._shards / "sweep.json", json.dumps(told).encode())

    def _check(self, earlier: list[dict[str, Any]], seeds: Sequence[range], *, same_version: bool) -> None:
        """Raises an `Error` if not all of an earlier sweep here is part of this one."""
        asked = {_name(point.values): index for index, point in enumerate(self._points)}
        for told in earlier:
            index = asked.get(_name(told["values"]))
            where = one_line(", ".join(f"{key} = {value}" for key, value in told["values"].items()))
            where = where or told["scenario"]["name"]
            if index is None:
                reason = f"holds another sweep's runs ({where}); choose another directory"
                raise error(self._shown, reason)
            if same_version and _essence(told["scenario"]) != _essence(self._points[index].told):
                reason = f"holds runs of another scenario ({where}); choose another directory"
                raise error(self._shown, reason)
            done, now = told["seeds"], seeds[index]
            if done and not (now[0] <= min(done) and max(done) <= now[-1]):
                reason = (
                    f"holds seeds {min(done)} to {max(done)} ({where}), this sweep asks for {now[0]} to "
                    f"{now[-1]}; ask for as many, or choose another directory"
                )
                raise error(self._shown, reason)

    def _manifest(self) -> dict[str, Any]:
        if not (self._folder / "manifest.json").exists():
            return {"results": []}
        return read_manifest(self._folder)

    def _kept(self) -> _Kept:
        """Where the runs are."""
        import polars as pl

        kept = _Kept({}, {}, [])
        if all((self._folder / f"{table}.parquet").exists() for table in ("flows", "links")):
            for table in ("flows", "links"):
                jobs = pl.read_parquet(self._folder / f"{table}.parquet", columns=["job"])["job"].rle()
                start = 0
                spans = kept.rows[table] = {}
                for length, key in jobs.struct.unnest().iter_rows():
                    spans[key] = (start, start + length)
                    start += length
        for shard in sorted(self._shards.glob("*.parquet")):
            rows = _read_shard(shard, ["job"])
            if rows is not None:
                kept.shard_of.update(dict.fromkeys(rows["job"], len(kept.shards)))
                kept.shards.append(shard)
        return kept

    def _tables(self, jobs: Sequence[Job], kept: _Kept) -> dict[str, pl.DataFrame]:
        """The rows of those of `jobs` that are done, in the order of the jobs."""
        import polars as pl

        wanted = {job.key for job in jobs}
        schemas: dict[str, dict[str, Any]] = {}
        for table, schema in (("flows", flow_schema()), ("links", link_schema())):
            rest = {name: kind for name, kind in schema.items() if name not in ("scenario", "seed")}
            schemas[table] = {"job": pl.String(), **rest}
        parts = {table: [pl.DataFrame(schema=schema)] for table, schema in schemas.items()}
        taken = wanted.intersection(*kept.rows.values()) if kept.rows else set()
        keys = pl.Series("job", list(taken), pl.String)
        for table, spans in kept.rows.items() if taken else ():
            begin, end = min(spans[key][0] for key in taken), max(spans[key][1] for key in taken)
            rows = pl.scan_parquet(self._folder / f"{table}.parquet").slice(begin, end - begin)
            mine = rows.select(list(schemas[table])).filter(pl.col("job").is_in(keys.implode()))
            parts[table].append(mine.collect())
        numbers = {kept.shard_of[key] for key in wanted - taken if key in kept.shard_of}
        for number in sorted(numbers):
            shard = _read_shard(kept.shards[number], ["job", "run"])
            new: dict[str, list[dict[str, Any]]] = {"flows": [], "links": []}
            for key, text in shard.iter_rows() if shard is not None else ():
                if key in taken or key not in wanted:
                    continue
                taken.add(key)
                run = json.loads(text)
                for table, collected in new.items():
                    collected += [{"job": key, **row} for row in run[table]]
            for table, collected in new.items():
                parts[table].append(pl.DataFrame(collected, schema=schemas[table]))
        order = pl.DataFrame(
            {
                "job": [job.key for job in jobs],
                "seed": [job.seed for job in jobs],
                "scenario": [self._points[job.point].told["name"] for job in jobs],
            },
            schema={"job": pl.String(), "seed": pl.UInt64(), "scenario": pl.String()},
        ).with_row_index("_job")
        answer = {}
        for table, frames in parts.items():
            # Two points may be one and the same scenario; their rows are there twice.
            rows_here = pl.concat(frames).unique(maintain_order=True).with_row_index("_row")
            placed = rows_here.join(order, on="job").sort("_job", "_row")
            names = [name for name in schemas[table] if name != "job"]
            answer[table] = placed.select("scenario", "seed", *names, "job")
        return answer

    def _merged(
        self, jobs: Sequence[Job], kept: _Kept
    ) -> Iterator[tuple[Sequence[Job], dict[str, pl.DataFrame], dict[int, dict[str, Any]]]]:
        """Some jobs at a time: their tables, and the summaries of the points that end with them."""
        point_of = {point.told["name"]: index for index, point in enumerate(self._points)}
        open_runs: dict[int, list[str]] = {}
        for begin in range(0, len(jobs), _GROUP_RUNS):
            group = jobs[begin : begin + _GROUP_RUNS]
            tables = self._tables(group, kept)
            for (scenario, _), run in runs_of(tables).items():
                open_runs.setdefault(point_of[scenario], []).append(json.dumps(run))
            following = jobs[begin + _GROUP_RUNS].point if begin + _GROUP_RUNS < len(jobs) else None
            yield (
                group,
                tables,
                {
                    point: json.loads(_cwnd.summarize(self._points[point].scenario, open_runs.pop(point)))
                    for point in list(open_runs)
                    if point != following
                },
            )

    @contextlib.contextmanager
    def _alone(self) -> Iterator[bool]:
        """Makes the processes of one sweep finish in turn; tells whether there was no one before."""
        try:
            import fcntl
        except ImportError:  # not a Unix
            yield True
            return
        self._shards.mkdir(exist_ok=True)
        with (self._shards / "lock").open("w") as lock:
            first = True
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(lock, fcntl.LOCK_EX)
                first = False
            yield first

    @contextlib.contextmanager
    def _one_line(self) -> Iterator[None]:
        import polars as pl

        try:
            yield
        except OSError as failed:
            if failed.errno == errno.ENOSPC:
                reason = "no space left on device; what was done is kept, the same command goes on with it"
                raise error(self._shown, reason) from None
            raise os_error(self._shown, failed) from None
        except (pl.exceptions.PolarsError, ValueError, KeyError, TypeError) as failed:
            if isinstance(failed, _cwnd.Error):
                raise
            raise error(self._shown, f"a file of the sweep is damaged ({one_line(str(failed))})") from None


def _name(values: dict[str, Any]) -> str:
    return json.dumps(values, sort_keys=True)


def _essence(told: dict[str, Any]) -> dict[str, Any]:
    """What makes a scenario another one; parameters may have changed with the algorithm."""
    kept = {key: value for key, value in told.items() if key not in ("name", "seed", "repeat", "samples")}
    kept["flows"] = [{**flow, "cca": flow["cca"]["name"]} for flow in told["flows"]]
    return kept


def _read_shard(shard: Path, columns: Collection[str]) -> pl.DataFrame | None:
    """None if it is damaged, as after a power cut: its jobs are run again."""
    import polars as pl

    try:
        return pl.read_parquet(shard, columns=list(columns))
    except pl.exceptions.PolarsError:
        return None
    except FileNotFoundError:  # merged by another process just now
        return None


def _parquet(table: pl.DataFrame, **how: Any) -> bytes:
    # Not to the file at once: polars has no error of its own for a full disk.
    data = io.BytesIO()
    table.write_parquet(data, **how)
    return data.getvalue()


def write_file(path: Path, data: bytes) -> None:
    """Makes a file that is there, complete, or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _join(files: Sequence[Path], to: Path) -> None:
    """One table of several, without holding them."""
    import polars as pl

    try:
        pl.scan_parquet(list(files)).sink_parquet(to, row_group_size=_ROW_GROUP, maintain_order=True)
    except pl.exceptions.PolarsError as failed:
        # Whatever the disk says comes as text.
        if "os error 28" in str(failed):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        raise
    with to.open("rb+") as file:
        os.fsync(file.fileno())


def _summary_table(results: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    number = dict.fromkeys(("mean", "ci95_low", "ci95_high"), pl.Float64())
    return pl.DataFrame(
        [
            {"scenario": told["scenario"]["name"], "metric": metric, **estimate}
            for told in results
            for metric, estimate in told["summary"].items()
        ],
        schema={"scenario": pl.String(), "metric": pl.String(), **number, "n": pl.UInt32()},
    )
