"""The directory of a sweep: finished runs as shards while it goes on, tables once it is complete.

    shards/HASH.parquet   rows of finished runs under their job's key; the name is a hash of the file
    shards/sweep.json     the points and the seeds that the shards belong to
    shards/building/      tables while they are written
    shards/complete/      tables that are whole, while they are moved to the directory
    shards/lock           held by a process that finishes the sweep, or that reads tables and shards together

`finish` turns shards into the files that `Results.load` reads: flows.parquet, links.parquet, summary.parquet
and manifest.json, which has a hash of each and of itself. A file that does not match its hash is reported in
`Store.damaged`, and its runs count as not done. Files are written under another name and renamed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import shutil
import time
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from cwnd import _cwnd
from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import can_exist, read_sealed, write_file, write_sealed
from cwnd._common.rows import fold
from cwnd._results.manifest import FORMAT, describe_tables, find_damaged, read_manifest, write_manifest
from cwnd._results.metrics import metrics_of, summarize
from cwnd._results.tables import schema_of
from cwnd._run.jobs import Job, Rows, SweepPoint
from cwnd._run.lock import lock
from cwnd._run.parquet import join, parquet

if TYPE_CHECKING:
    import polars as pl

    from cwnd._common.shapes import (
        Engine,
        Entry,
        Estimate,
        Manifest,
        ScenarioJson,
        SweepHead,
        SweepJson,
        Values,
    )


#: A shard is written after this time or this many rows, whichever comes first. The time grows as the sweep
#: goes on, so that a sweep of days has hundreds of shards and not a million.
_FLUSH_S = 2.0
_FLUSH_S_MAX = 30.0
_FLUSH_ROWS = 50_000

#: Rows of flows and links that are merged at a time; a run with more rows is merged alone.
_GROUP_ROWS = 200_000

#: Rows of flows and links.
Tables: TypeAlias = "dict[str, pl.DataFrame]"

_TABLES = ("flows.parquet", "links.parquet", "summary.parquet")

#: Attempts to write into shards/ while other processes remove it.
_ATTEMPTS = 100


class _Kept(NamedTuple):
    """Where finished runs are: in the tables, or in a shard."""

    rows: dict[str, dict[str, tuple[int, int]]]
    shard_of: dict[str, int]
    shards: list[Path]


class Store:
    """A sweep's directory. Every failure of the file system is an `Error` of one line."""

    def __init__(
        self,
        folder: Path,
        points: Sequence[SweepPoint],
        seeds: Sequence[range],
        world: str = "sim",
        engine: Engine | None = None,
    ) -> None:
        """Opens or creates the directory for these points and the seeds that each may have.

        `engine` is what the manifest has of the maker of the runs, who is in `world`.

        Raises `Error` if the directory holds something else, so that a slip destroys nothing.
        """
        self._folder = folder
        self._shards = folder / "shards"
        self._points = points
        self._seeds = seeds
        self._world = world
        self._engine = engine or {}
        self._index_of = {_name(point.values): index for index, point in enumerate(points)}
        self._shown = one_line(str(folder))
        self._pending: list[pl.DataFrame] = []
        self._began = self._flushed = time.monotonic()
        #: Files whose content has changed; their runs count as not done.
        self.damaged: list[str] = []
        with self._one_line():
            self._open()

    def seeds_done(self) -> list[int]:
        """The number of seeds that the tables hold for each point."""
        with self._one_line():
            results = self._sound_results()
        kept = {_name(result["values"]): len(result["seeds"]) for result in results}
        return [kept.get(_name(point.values), 0) for point in self._points]

    def done(self) -> set[str]:
        """The keys of all finished jobs."""
        with self._one_line(), lock(self._shards):
            kept = self._kept()
        return kept.shard_of.keys() | _in_tables(kept)

    def add(self, keys: Sequence[str], rows: Rows) -> None:
        """Keeps the rows of finished runs, one per key, on disk within a few seconds."""
        import polars as pl

        jobs = pl.Series("job", keys, pl.String)
        tables = [table.with_columns(jobs.gather(table["run"])) for table in rows.values()]
        self._pending.append(pl.concat(tables, how="diagonal"))
        now = time.monotonic()
        after = min(max(_FLUSH_S, (now - self._began) / 100), _FLUSH_S_MAX)
        many = sum(table.height for table in self._pending) >= _FLUSH_ROWS
        if many or now - self._flushed >= after:
            self.flush()

    def flush(self) -> None:
        """Writes the rows that are not on disk yet."""
        import polars as pl

        self._flushed = time.monotonic()
        if not self._pending:
            return
        columns = {"job": None, **schema_of("flows"), **schema_of("links")}.keys() - {"scenario", "seed"}
        rows = pl.concat(self._pending).select(sorted(columns))
        data = parquet(rows, level=1)
        with self._one_line():
            self._write_shard(f"{_shard_name(data)}.parquet", data)
        self._pending.clear()

    def summaries(self, jobs: Sequence[Job]) -> dict[int, dict[str, Estimate]] | None:
        """The summary of each point over `jobs`; None if the runs of some are missing or damaged."""
        with self._one_line(), lock(self._shards):
            summaries: dict[int, dict[str, Estimate]] = {}
            for group, tables, ended in self._merged(jobs, self._kept()):
                if self._incomplete(group, tables):
                    return None
                summaries |= ended
            return summaries

    def finished(self, jobs: Sequence[Job]) -> tuple[list[Job], list[Tables], dict[int, dict[str, Estimate]]]:
        """The finished ones of `jobs`, their rows in several parts, and the summary of each point of them."""
        with self._one_line(), lock(self._shards):
            kept = self._kept()
            done = kept.shard_of.keys() | _in_tables(kept)
            mine = [job for job in jobs if job.key in done]
            merged = list(self._merged(mine, kept))
        summaries = {point: one for _, _, ended in merged for point, one in ended.items()}
        return mine, [tables for _, tables, _ in merged], summaries

    def finish(self, asked: Sequence[Job], broken: Container[str], manifest: SweepHead) -> list[Job]:
        """Writes the manifest and the tables of the jobs, and removes the shards whose runs they hold.

        The jobs are the `asked` ones without the `broken` ones, which are given by key. The tables' bytes
        follow from the jobs alone. If the process is killed at any point, all runs are kept. If the runs of
        some jobs are missing or damaged, nothing is written and these jobs are returned. Raises `Error` if
        the directory holds more seeds than are asked for, because another process asked for more.
        """
        jobs = [job for job in asked if job.key not in broken]
        with self._one_line(), lock(self._shards, creating=True):
            self._check_tables(self._seeds_of(asked))
            kept = self._kept()
            done = kept.shard_of.keys() | _in_tables(kept)
            missing = [job for job in jobs if job.key not in done]
            if missing:
                return missing
            building = self._shards / "building"
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir()
            try:
                missing = self._build(jobs, kept, manifest, building)
                if not missing:
                    building.rename(self._shards / "complete")
            finally:
                shutil.rmtree(building, ignore_errors=True)
            if missing:
                return missing
            self._move_tables()
            self._remove_shards({job.key for job in jobs})
            return []

    def _build(self, jobs: Sequence[Job], kept: _Kept, manifest: SweepHead, building: Path) -> list[Job]:
        """Writes the tables and the manifest to `building`, a group of jobs at a time.

        Returns the jobs whose runs turn out to be incomplete; then there is no manifest.
        """
        seeds: list[list[int]] = [[] for _ in self._points]
        summaries: dict[int, dict[str, Estimate]] = {}
        parts: dict[str, list[Path]] = {"flows": [], "links": []}
        missing: list[Job] = []
        for number, (group, tables, ended) in enumerate(self._merged(jobs, kept)):
            summaries |= ended
            missing += self._incomplete(group, tables)
            for job in group:
                seeds[job.point].append(job.seed)
            for name, table in tables.items():
                parts[name].append(building / f"{name}.{number}")
                write_file(parts[name][-1], parquet(table, level=1, statistics=False))
        if missing:
            return missing
        for name, pieces in parts.items():
            join(pieces, building / f"{name}.parquet")
            for piece in pieces:
                piece.unlink()
        write_file(building / "summary.parquet", parquet(self._summary_table(summaries)))
        engine: Engine = {"wall_s": None, "packets": None, "packets_per_s": None, **self._engine}
        results: Iterator[Entry] = (
            {
                "world": self._world,
                "seeds": seeds[index],
                "values": point.values,
                "scenario": point.description,
                "summary": summaries.get(index, {}),
                "engine": engine,
            }
            for index, point in enumerate(self._points)
        )
        write_manifest(building, {**manifest, "files": describe_tables(building)}, results)
        return []

    def _incomplete(self, group: Sequence[Job], tables: dict[str, pl.DataFrame]) -> list[Job]:
        """The jobs of `group` that do not have a row for each flow and each link."""
        rows: dict[tuple[str, int], int] = {}
        for table in tables.values():
            for *run, count in table.group_by("scenario", "seed").len().iter_rows():
                rows[run[0], run[1]] = rows.get((run[0], run[1]), 0) + count
        scenario = [self._points[job.point].scenario for job in group]
        return [
            job
            for job, asked in zip(group, scenario, strict=True)
            if rows.get((asked.name, job.seed)) != asked.rows
        ]

    def is_complete(self, jobs: Sequence[Job]) -> bool:
        """Returns true if the tables hold these jobs, undamaged, and nothing is left to merge."""
        with self._one_line():
            if self._shards.exists():
                return False
            results = self._sound_results()
        seeds: list[list[int]] = [[] for _ in self._points]
        for job in jobs:
            seeds[job.point].append(job.seed)
        return len(results) == len(self._points) and all(
            (result["values"], result["seeds"], result["scenario"]) == (point.values, own, point.description)
            for result, point, own in zip(results, self._points, seeds, strict=True)
        )

    def _open(self) -> None:
        if not can_exist(self._folder):
            raise error(self._shown, "not a name for a directory")
        if self._folder.exists() and not self._folder.is_dir():
            raise error(self._shown, "not a directory")
        self._folder.mkdir(parents=True, exist_ok=True)
        if (self._shards / "complete").exists():
            with lock(self._shards):
                self._move_tables()
        if not self._check_tables(self._seeds) and not self._check_shards():
            # Tables without a manifest are not a result; shards alone belong to a sweep that was killed
            # early.
            foreign = sorted({item.name for item in self._folder.iterdir()} - {*_TABLES, "shards"})
            if foreign:
                found = f"holds a file that is not part of a sweep ({one_line(foreign[0])})"
                raise error(self._shown, f"{found}; choose another directory")
        if not os.access(self._folder, os.W_OK | os.X_OK):
            raise error(self._shown, "not writable")

    def prepare(self) -> None:
        """Writes the points that the shards will belong to, before the first run."""
        points = (
            {
                "values": point.values,
                "name": point.scenario.name,
                "scenario": _essence(point.description),
                "seeds": [own[0], own[-1]],
            }
            for point, own in zip(self._points, self._seeds, strict=True)
        )
        with self._one_line(), lock(self._shards, creating=True):
            self._check_shards()
            head = {"cwnd": _cwnd.__version__, "format": FORMAT, "world": self._world}
            write_sealed(self._shards / "sweep.json", head, "points", points)

    def _check_tables(self, seeds: Sequence[range]) -> bool:
        """True if there are tables of a sweep. Raises an `Error` if not all of it is part of this one."""
        manifest = self._manifest()
        if manifest is None or not manifest["results"]:
            return False
        if "sweep" not in manifest:
            raise error(self._shown, "holds a result that is not a sweep's; choose another directory")
        same_version = manifest["cwnd"] == _cwnd.__version__
        self._check_world(manifest["results"][0]["world"])
        for result in manifest["results"]:
            essence = _essence(result["scenario"]) if same_version else None
            self._check(result["values"], result["scenario"]["name"], essence, result["seeds"], seeds)
        return True

    def _check_shards(self) -> bool:
        """True if there are shards of a sweep. Raises an `Error` if not all of it is part of this one."""
        file = self._shards / "sweep.json"
        try:
            kept = cast("SweepJson | None", read_sealed(file.read_bytes()))
        except FileNotFoundError:
            return False
        if kept is None:
            # This only guards against slips: shards hold the keys of their runs.
            self._report("shards/sweep.json")
            file.unlink(missing_ok=True)
            return True
        same_version = kept["cwnd"] == _cwnd.__version__
        self._check_world(kept["world"])
        for point in kept["points"]:
            essence = point["scenario"] if same_version else None
            self._check(point["values"], point["name"], essence, point["seeds"], self._seeds)
        return True

    def _check_world(self, world: str) -> None:
        if world != self._world:
            reason = f"holds runs of the world '{one_line(world)}'; choose another directory"
            raise error(self._shown, reason)

    def _check(
        self,
        values: Values,
        name: str,
        essence: str | None,
        held: Sequence[int],
        seeds: Sequence[range],
    ) -> None:
        """Raises an `Error` if a point of an earlier sweep here is not part of this one."""
        index = self._index_of.get(_name(values))
        where = one_line(", ".join(f"{key} = {value}" for key, value in values.items())) or one_line(name)
        if index is None:
            raise error(self._shown, f"holds another sweep's runs ({where}); choose another directory")
        if essence is not None and essence != _essence(self._points[index].description):
            raise error(self._shown, f"holds runs of another scenario ({where}); choose another directory")
        asked = seeds[index]
        if held and not (asked[0] <= min(held) and max(held) <= asked[-1]):
            reason = (
                f"holds seeds {min(held)} to {max(held)} ({where}), this sweep asks for {asked[0]} to "
                f"{asked[-1]}; ask for as many, or choose another directory"
            )
            raise error(self._shown, reason)

    def _seeds_of(self, jobs: Sequence[Job]) -> list[range]:
        """The seeds of each point, which follow each other."""
        spans: dict[int, tuple[int, int]] = {}
        for job in jobs:
            first, last = spans.get(job.point, (job.seed, job.seed))
            spans[job.point] = (min(first, job.seed), max(last, job.seed))
        return [range(spans[point][0], spans[point][1] + 1) for point in range(len(self._points))]

    def _manifest(self) -> Manifest | None:
        return read_manifest(self._folder) if (self._folder / "manifest.json").exists() else None

    def _sound_results(self) -> list[Entry]:
        """The results of the manifest, if there is one and the tables are unchanged."""
        manifest = self._manifest()
        if manifest is None or not manifest["results"]:
            return []
        damaged = find_damaged(self._folder, manifest)
        self._report(*damaged)
        return [] if damaged else manifest["results"]

    def _report(self, *names: str) -> None:
        self.damaged += [name for name in names if name not in self.damaged]

    def _kept(self) -> _Kept:
        """Where the runs are."""
        import polars as pl

        kept = _Kept({}, {}, [])
        if self._sound_results():
            for table in ("flows", "links"):
                jobs = pl.read_parquet(self._folder / f"{table}.parquet", columns=["job"])["job"].rle()
                start = 0
                spans = kept.rows[table] = {}
                for length, key in jobs.struct.unnest().iter_rows():
                    spans[key] = (start, start + length)
                    start += length
        for shard in sorted(self._shards.glob("*.parquet")):
            rows = self._read_shard(shard, ["job"])
            if rows is not None:
                kept.shard_of.update(dict.fromkeys(rows["job"], len(kept.shards)))
                kept.shards.append(shard)
        return kept

    def _read_shard(self, shard: Path, columns: Sequence[str] | None) -> pl.DataFrame | None:
        """These columns, or all; None if it is gone or damaged. Damaged shards are removed."""
        import polars as pl

        try:
            data = shard.read_bytes()
        except FileNotFoundError:
            return None
        if shard.stem == _shard_name(data):
            return pl.read_parquet(data, columns=columns if columns is None else list(columns))
        self._report(f"shards/{one_line(shard.name)}")
        shard.unlink(missing_ok=True)
        return None

    def _tables(self, jobs: Sequence[Job], kept: _Kept) -> Tables:
        """The rows of the finished runs among `jobs`, in the order of the jobs."""
        import polars as pl

        wanted = {job.key for job in jobs}
        schemas: dict[str, dict[str, pl.DataType]] = {}
        for table in ("flows", "links"):
            rest = {name: kind for name, kind in schema_of(table).items() if name not in ("scenario", "seed")}
            schemas[table] = {"job": pl.String(), **rest}
        parts = {table: [pl.DataFrame(schema=schema)] for table, schema in schemas.items()}
        taken = wanted & _in_tables(kept)
        keys = pl.Series("job", list(taken), pl.String)
        for table, spans in kept.rows.items() if taken else ():
            begin, end = min(spans[key][0] for key in taken), max(spans[key][1] for key in taken)
            rows = pl.scan_parquet(self._folder / f"{table}.parquet").slice(begin, end - begin)
            held = rows.select(list(schemas[table])).filter(pl.col("job").is_in(keys.implode()))
            parts[table].append(held.collect())
        wanted -= taken
        in_shards = pl.col("job").is_in(pl.Series(list(wanted), dtype=pl.String).implode())
        numbers = {kept.shard_of[key] for key in wanted if key in kept.shard_of}
        for number in sorted(numbers):
            shard = self._read_shard(kept.shards[number], None)
            if shard is None:
                continue
            # A run may be in two shards.
            mine = shard.filter(in_shards, pl.col("job").is_in(list(taken)).not_())
            taken.update(mine["job"].unique())
            for table, of_table in (("flows", "flow"), ("links", "link")):
                own = mine.filter(pl.col(of_table).is_not_null())
                parts[table].append(own.select(schemas[table].keys()))
        order = pl.DataFrame(
            {
                "job": [job.key for job in jobs],
                "seed": [job.seed for job in jobs],
                "scenario": [self._points[job.point].scenario.name for job in jobs],
            },
            schema={"job": pl.String(), "seed": pl.UInt64(), "scenario": pl.String()},
        ).with_row_index("_job")
        answer = {}
        for table, frames in parts.items():
            # Two points may have the same scenario; their rows are written twice.
            rows_here = pl.concat(frames).unique(maintain_order=True).with_row_index("_row")
            placed = rows_here.join(order, on="job").sort("_job", "_row")
            names = [name for name in schemas[table] if name != "job"]
            answer[table] = placed.select("scenario", "seed", *names, "job")
        return answer

    def _merged(
        self, jobs: Sequence[Job], kept: _Kept
    ) -> Iterator[tuple[Sequence[Job], Tables, dict[int, dict[str, Estimate]]]]:
        """Some jobs at a time: their tables, and the summaries of the points that end with them."""
        import polars as pl

        point_of = {point.scenario.name: index for index, point in enumerate(self._points)}
        begun: dict[int, list[pl.DataFrame]] = {}
        groups = itertools.chain(self._groups(jobs), [[]])
        group = next(groups)
        for following in groups:
            tables = self._tables(group, kept)
            links = tables["links"].partition_by("scenario", as_dict=True)
            none = tables["links"].clear()
            for (scenario,), flows in tables["flows"].partition_by("scenario", as_dict=True).items():
                point = point_of[scenario]
                runs = metrics_of(self._points[point].scenario.json(), flows, links.get((scenario,), none))
                begun.setdefault(point, []).append(runs)
            ended = [point for point in begun if not following or point != following[0].point]
            metrics = {point: pl.concat(begun.pop(point)).drop("seed") for point in ended}
            summaries = {point: summarize(each.to_dict(as_series=False)) for point, each in metrics.items()}
            yield group, tables, summaries
            group = following

    def _groups(self, jobs: Sequence[Job]) -> Iterator[list[Job]]:
        """The jobs in their order, as many at a time as have `_GROUP_ROWS` rows together, at least one."""
        group: list[Job] = []
        rows = 0
        for job in jobs:
            own = self._points[job.point].scenario.rows
            if group and rows + own > _GROUP_ROWS:
                yield group
                group, rows = [], 0
            group.append(job)
            rows += own
        yield group

    def _summary_table(self, summaries: dict[int, dict[str, Estimate]]) -> pl.DataFrame:
        import polars as pl

        rows = [
            {"scenario": point.scenario.name, "metric": metric, **estimate}
            for index, point in enumerate(self._points)
            for metric, estimate in summaries.get(index, {}).items()
        ]
        return pl.DataFrame(rows, schema=schema_of("summary"))

    def _write_shard(self, name: str, data: bytes) -> None:
        """Writes a file into shards/, which another process may be removing because it is empty."""
        for attempt in itertools.count(1):
            self._shards.mkdir(parents=True, exist_ok=True)
            try:
                write_file(self._shards / name, data)
                return
            except FileNotFoundError:
                if attempt == _ATTEMPTS:
                    raise

    def _move_tables(self) -> None:
        """Moves complete tables from shards/complete to the directory, or continues such a move; the
        manifest comes last.

        Meanwhile the directory has no manifest: it holds no result rather than a mixed one.
        """
        complete = self._shards / "complete"
        if (complete / "manifest.json").exists():
            (self._folder / "manifest.json").unlink(missing_ok=True)
            for name in (*_TABLES, "manifest.json"):
                with contextlib.suppress(FileNotFoundError):
                    (complete / name).replace(self._folder / name)
        shutil.rmtree(complete, ignore_errors=True)

    def _remove_shards(self, keys: set[str]) -> None:
        """Removes the shards whose runs are all among `keys`, and shards/ if no process asks for more."""
        try:
            self._check_shards()
            is_last = True
        except _cwnd.Error:
            is_last = False
        for shard in self._shards.glob("*.parquet"):
            rows = None if is_last else self._read_shard(shard, ["job"])
            if is_last or (rows is not None and keys.issuperset(rows["job"])):
                shard.unlink(missing_ok=True)
        if is_last:
            # A process that is writing a file here makes the directory anew.
            for name in ("sweep.json", *(file.name for file in self._shards.glob(".cwnd-*")), "lock"):
                (self._shards / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._shards.rmdir()

    @contextlib.contextmanager
    def _one_line(self) -> Iterator[None]:
        import polars as pl

        try:
            yield
        except OSError as failed:
            if failed.errno == errno.ENOSPC:
                reason = "no space left on device; finished runs are kept: make room and repeat the command"
                raise error(self._shown, reason) from None
            raise os_error(self._shown, failed) from None
        except (pl.exceptions.PolarsError, ValueError, KeyError, TypeError) as failed:
            if isinstance(failed, _cwnd.Error):
                raise
            raise error(self._shown, f"a file of the sweep is damaged ({one_line(str(failed))})") from None


def _in_tables(kept: _Kept) -> set[str]:
    """The keys with rows in both tables."""
    return set.intersection(*map(set, kept.rows.values())) if kept.rows else set()


def _name(values: Values) -> str:
    return json.dumps(values, sort_keys=True)


def _essence(described: ScenarioJson) -> str:
    """A hash of what its runs depend on, without parameters, which may change with the algorithms."""
    kept: dict[str, object] = {
        key: value
        for key, value in described.items()
        if key not in ("name", "label", "seed", "repeat", "samples", "expect")
    }
    kept["flows"] = [
        {key: value for key, value in {**flow, "cca": flow["cca"]["name"]}.items() if key != "label"}
        for flow in described["flows"]
    ]
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=fold).encode()).hexdigest()


def _shard_name(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
