"""What runs answer, as tables, JSON, files and figures."""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwnd._cwnd import Runs, Scenario, __version__
from cwnd._errors import error, one_line, os_error
from cwnd._files import can_exist, write_file
from cwnd._manifest import (
    FORMAT,
    check_files,
    describe_tables,
    read_manifest,
    read_table,
    write_manifest,
)
from cwnd._metrics import metrics_of, summarize

if TYPE_CHECKING:
    import matplotlib.figure
    import polars as pl

_TABLES = ("flows", "links", "samples", "summary")
_PLOTS = (
    *("cwnd", "rtt", "throughput", "queue"),
    *("throughput-buffer", "lines", "heatmap", "cdf", "throughput-delay"),
)
_FILES = frozenset(
    [
        "manifest.json",
        *(f"{t}.parquet" for t in _TABLES),
        "report.html",
        *(f"{p}.{e}" for p in _PLOTS for e in ("png", "svg", "pdf")),
    ]
)

#: `ssthresh` before the first loss.
_SSTHRESH_INFINITE = 0x7FFFFFFF


class Results:
    """What one or several scenarios answered.

    `flows`, `links`, `samples` and `summary` are polars tables with a column `scenario` and, but for the
    summary, `seed`.
    """

    def __init__(self) -> None:
        raise TypeError("use cwnd.run(...), cwnd.kernel.trace(...) or Results.load(directory)")

    #: Of each scenario what the manifest tells: scenario, values, seeds, summary, engine.
    _told: list[dict[str, Any]]
    #: Reads or makes the table of that name.
    _read: Callable[[str], pl.DataFrame]

    @classmethod
    def _of(cls, scenarios: Sequence[Scenario], answers: Sequence[Runs]) -> Results:
        """The runs of each scenario."""
        import polars as pl

        told = []
        tables: dict[str, list[pl.DataFrame]] = {"flows": [], "links": []}
        for scenario, runs in zip(scenarios, answers, strict=True):
            rows = rows_of(runs)
            for name, table in rows.items():
                named = table.with_columns(pl.lit(scenario.name).alias("scenario"))
                tables[name].append(named.select(_schema(name).keys()))
            engine = {
                "wall_s": runs.wall_s,
                "packets": runs.packets,
                "packets_per_s": runs.packets / runs.wall_s if runs.wall_s > 0 else 0.0,
                "version": __version__,
            }
            told.append(
                {
                    "seeds": runs.seeds,
                    "values": {},
                    "scenario": json.loads(scenario.json()),
                    "summary": summarize(metrics_of(scenario.json(), rows["flows"], rows["links"])),
                    "engine": engine,
                }
            )

        def read(table: str) -> pl.DataFrame:
            if table == "samples":
                return _samples_of(told, answers)
            return pl.concat([cls._empty(table), *tables[table]])

        return cls._made(told, read)

    @classmethod
    def _made(cls, told: list[dict[str, Any]], read: Callable[[str], pl.DataFrame]) -> Results:
        results = object.__new__(cls)
        results._told = told
        results._read = read
        return results

    @classmethod
    def _traced(
        cls,
        name: str,
        interval_ns: int,
        elapsed_s: float,
        connections: list[dict[str, Any]],
        samples: pl.DataFrame,
    ) -> Results:
        """One run, of live connections: a scenario without links."""
        scenario = {
            "name": name,
            "duration_ns": round(elapsed_s * 1e9),
            "seed": 0,
            "repeat": 1,
            "samples": {"interval": {"interval_ns": interval_ns}},
            "links": [],
            "flows": [
                {"cca": {"name": one["cca"]}, **{key: one[key] for key in ("local", "remote", "netns")}}
                for one in connections
            ],
        }
        engine = {"version": __version__, "kernel": platform.release()}
        told = {"scenario": scenario, "values": {}, "seeds": [0], "summary": {}, "engine": engine}
        flows = _traced_flows(name, connections, samples)
        tables = {"flows": flows, "links": cls._empty("links"), "samples": samples}
        return cls._made([told], tables.__getitem__)

    @staticmethod
    def _empty(table: str) -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame(schema=_schema(table))

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Results:
        """Reads what `save` or a sweep wrote.

        Raises `Error` when the directory does not hold a result, or one of another version's format, or when
        a file is missing or damaged.
        """
        folder = Path(directory)
        manifest = read_manifest(folder)
        check_files(folder, manifest)
        results = [{"values": {}, **told} for told in manifest["results"]]

        def read(table: str) -> pl.DataFrame:
            return read_table(folder / f"{table}.parquet")

        tables = {name: read(name) for name in ("flows", "links")}
        # Not every result has time series.
        tables |= {} if os.path.lexists(folder / "samples.parquet") else {"samples": cls._empty("samples")}
        return cls._made(results, lambda table: tables[table] if table in tables else read(table))

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per scenario, seed and flow.

        `flow, cca, start_s, stop_s, sent_pkts, retransmitted_pkts, delivered_pkts, lost_pkts, timeouts,
        throughput_mbps` (on the wire), `goodput_mbps` (payload, in order, once), `loss_ratio, mean_rtt_ms,
        p95_rtt_ms` (null without a sample), `mean_cwnd_pkts`.
        """
        return self._read("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per scenario, seed and link.

        `link, delivered_pkts, dropped_pkts` (queue full), `error_pkts` (lost on the wire), `mean_queue_pkts,
        max_queue_pkts, utilization`.
        """
        return self._read("links")

    @cached_property
    def samples(self) -> pl.DataFrame:
        """Time series: rows of flows and, with `link` instead of `flow`, rows of links.

        `scenario, seed, time_s, flow, cca, cwnd_pkts, ssthresh_pkts` (null before the first loss),
        `in_flight_pkts, rtt_ms` (smoothed, null before the first sample), `throughput_mbps` (since the row
        before; null when samples are by change), `link, queue_pkts`. A trace of live connections has
        `state` ("open", "disorder", "cwr", "recovery", "loss") and `pacing_mbps` (null when not paced) too.
        """
        return self._read("samples")

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row per scenario and metric: `mean, ci95_low, ci95_high` (null for one run), `n`."""
        import polars as pl

        rows = [
            {"scenario": told["scenario"]["name"], "metric": metric, **estimate}
            for told in self._told
            for metric, estimate in told["summary"].items()
        ]
        return pl.DataFrame(rows, schema=summary_schema())

    @cached_property
    def _metrics(self) -> dict[str, pl.DataFrame]:
        """By scenario: a row per seed with the metrics of the summary, for simulated runs."""
        links = self.links.partition_by("scenario", as_dict=True)
        empty = self.links.clear()
        scenarios = {scenario["name"]: json.dumps(scenario) for scenario in self.scenarios}
        return {
            str(name): metrics_of(scenarios[str(name)], rows, links.get((name,), empty))
            for (name,), rows in self.flows.partition_by("scenario", as_dict=True).items()
        }

    @property
    def scenarios(self) -> list[dict[str, Any]]:
        """The scenarios as they were understood."""
        return [told["scenario"] for told in self._told]

    @property
    def values(self) -> list[dict[str, Any]]:
        """What a sweep set in each scenario, such as {"flows.cca": "cubic", "dumbbell.buffer": 50}."""
        return [told["values"] for told in self._told]

    @cached_property
    def _answers(self) -> list[dict[str, Any]]:
        """What `to_json` tells."""
        runs = runs_of({"flows": self.flows, "links": self.links})
        return [
            {
                "scenario": told["scenario"],
                "runs": [
                    runs.get((told["scenario"]["name"], seed), {"seed": seed, "flows": [], "links": []})
                    for seed in told["seeds"]
                ],
                "summary": told["summary"],
                "engine": told["engine"],
            }
            for told in self._told
        ]

    def __add__(self, other: Results) -> Results:
        """Both, to be drawn together. Raises `Error` when they have a scenario's name in common."""
        import polars as pl

        if not isinstance(other, Results):
            return NotImplemented
        both = (self, other)
        mine, others = ({told["scenario"]["name"] for told in each._told} for each in both)
        if common := sorted(mine & others):
            raise error("", f"both have a scenario '{one_line(common[0])}'; name them apart")
        return Results._made(
            [*self._told, *other._told],
            lambda table: pl.concat([getattr(each, table) for each in both], how="diagonal"),
        )

    def to_json(self) -> str:
        """One object `{"scenario", "runs", "summary", "engine"}`; of several scenarios `{"results": [...]}`.

        The same scenario and seed give the same text, but for `engine`.
        """
        told: Any = self._answers[0] if len(self._answers) == 1 else {"results": self._answers}
        return json.dumps(told, separators=(",", ":"), allow_nan=False)

    def save(self, directory: str | os.PathLike[str], *, command: Sequence[str] | None = None) -> None:
        """Writes manifest.json, the tables (flows, links, samples, summary: Parquet) and the figures.

        The directory appears complete or not at all. An earlier result there is replaced; a directory that
        holds anything else is refused with an `Error`. `command` is what the manifest tells as command line.
        """
        from cwnd import _plots

        folder = Path(directory)
        check_target(folder)
        with _new_directory(folder) as building:
            for name in _TABLES:
                table = io.BytesIO()  # polars has no error of its own for a full disk
                getattr(self, name).write_parquet(table)
                write_file(building / f"{name}.parquet", table.getbuffer())
            head = {**provenance(command), "files": describe_tables(building)}
            write_manifest(building, head, self._told)
            for kind in self.plots():
                figure = self.plot(kind)
                for ending in ("png", "svg"):
                    _plots.write(figure, building / f"{kind}.{ending}")

    def plot(
        self,
        kind: str,
        path: str | os.PathLike[str] | None = None,
        *,
        scenarios: Sequence[str] | None = None,
        seed: int | None = None,
        title: str | None = None,
        metric: str | None = None,
        over: Sequence[str] | None = None,
    ) -> matplotlib.figure.Figure:
        """Draws one figure.

        "cwnd", "rtt", "throughput" and "queue", over time, have one panel per scenario (at most 8) and show
        one run: `seed`, or each scenario's first. "throughput-buffer" has a line per algorithm over the
        scenarios' bottleneck buffers, with 95 % confidence intervals, and a panel per packet error rate.
        Of a sweep: "lines" of a metric over a swept value, with intervals; a "heatmap" over two; "cdf" of
        the flows' throughput; "throughput-delay" with ellipses.

        Args:
            path: Also write it there; the ending says how (.png, .svg, .pdf).
            scenarios: Names of those to draw; all when left out.
            title: Instead of the one made from the scenarios.
            metric: Of the summary, for "lines" and "heatmap"; "throughput_mbps" when left out.
            over: Swept keys that those two are drawn over, such as ["dumbbell.buffer"].
        """
        from cwnd import _plots

        figure = _plots.draw(kind, self, scenarios, seed, title, metric=metric, over=over)
        if path is not None:
            write_figure(figure, Path(path))
        return figure

    def plots(self) -> list[str]:
        """The figures that this result has something for."""
        from cwnd import _plots

        return _plots.applicable(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self._told, {name: getattr(self, name) for name in ("flows", "links", "samples")})

    def __repr__(self) -> str:
        runs = sum(len(told["seeds"]) for told in self._told)
        names = ", ".join(scenario["name"] for scenario in self.scenarios[:4])
        more = ", ..." if len(self._told) > 4 else ""
        return f"<cwnd.Results: {runs} run{'s' * (runs != 1)} of {names}{more}>"

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


def _unpickle(told: list[dict[str, Any]], tables: dict[str, pl.DataFrame]) -> Results:
    return Results._made(told, tables.__getitem__)


def check_target(folder: Path) -> None:
    """Raises an `Error` if a result cannot be written to `folder`."""
    shown = one_line(str(folder))
    if not can_exist(folder) or folder.resolve() == Path.cwd():
        raise error(shown, "not a name for a new directory")
    try:
        if folder.exists() or folder.is_symlink():
            if not folder.is_dir():
                raise error(shown, "not a directory")
            foreign = sorted(item.name for item in folder.iterdir() if item.name not in _FILES)
            if foreign:
                raise error(shown, f"holds what is not a result of cwnd ({one_line(foreign[0])})")
            if (folder / "manifest.json").exists() and "sweep" in read_manifest(folder):
                raise error(shown, "holds a sweep; choose another directory")
        parent = next(parent for parent in folder.absolute().parents if parent.exists())
    except OSError as failed:
        raise os_error(shown, failed) from None
    if not parent.is_dir():
        raise error(one_line(str(parent)), "not a directory")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise error(one_line(str(parent)), "not writable")


@contextlib.contextmanager
def _new_directory(folder: Path) -> Iterator[Path]:
    """A directory to build in, which becomes `folder` if nothing fails."""
    folder = folder.resolve()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        workshop = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as failed:
        raise os_error(one_line(str(folder)), failed) from None
    try:
        building = workshop / "new"
        building.mkdir()
        yield building
        if folder.exists():
            folder.rename(workshop / "old")
        building.rename(folder)
    except OSError as failed:
        raise os_error(one_line(str(folder)), failed) from None
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def write_figure(figure: matplotlib.figure.Figure, path: Path) -> None:
    from cwnd import _plots

    try:
        _plots.write(figure, path)
    except OSError as failed:
        raise os_error(one_line(str(path)), failed) from None
    except ValueError as failed:  # an ending that matplotlib does not know
        raise error(one_line(str(path)), one_line(str(failed))) from None


def _schema(table: str) -> dict[str, pl.DataType]:
    return {"flows": flow_schema, "links": link_schema, "samples": _sample_schema}[table]()


def flow_schema() -> dict[str, pl.DataType]:
    import polars as pl

    counts = ("sent_pkts", "retransmitted_pkts", "delivered_pkts", "lost_pkts", "timeouts")
    numbers = (
        "throughput_mbps",
        "goodput_mbps",
        "loss_ratio",
        "mean_rtt_ms",
        "p95_rtt_ms",
        "mean_cwnd_pkts",
    )
    return {
        "scenario": pl.String(),
        "seed": pl.UInt64(),
        "flow": pl.UInt32(),
        "cca": pl.String(),
        "start_s": pl.Float64(),
        "stop_s": pl.Float64(),
        **dict.fromkeys(counts, pl.UInt64()),
        **dict.fromkeys(numbers, pl.Float64()),
    }


def link_schema() -> dict[str, pl.DataType]:
    import polars as pl

    return {
        "scenario": pl.String(),
        "seed": pl.UInt64(),
        "link": pl.String(),
        **dict.fromkeys(("delivered_pkts", "dropped_pkts", "error_pkts"), pl.UInt64()),
        "mean_queue_pkts": pl.Float64(),
        "max_queue_pkts": pl.UInt64(),
        "utilization": pl.Float64(),
    }


def summary_schema() -> dict[str, pl.DataType]:
    import polars as pl

    number = dict.fromkeys(("mean", "ci95_low", "ci95_high"), pl.Float64())
    return {"scenario": pl.String(), "metric": pl.String(), **number, "n": pl.UInt32()}


def _sample_schema() -> dict[str, pl.DataType]:
    import polars as pl

    return {
        "scenario": pl.String(),
        "seed": pl.UInt64(),
        "time_s": pl.Float64(),
        "flow": pl.UInt32(),
        "cca": pl.String(),
        "cwnd_pkts": pl.UInt32(),
        "ssthresh_pkts": pl.UInt32(),
        "in_flight_pkts": pl.UInt32(),
        "rtt_ms": pl.Float64(),
        "throughput_mbps": pl.Float64(),
        "link": pl.String(),
        "queue_pkts": pl.UInt32(),
    }


#: Values of the kernel's enum tcp_ca_state.
_STATES = ("open", "disorder", "cwr", "recovery", "loss")


def traced_samples(columns: dict[str, bytes], name: str, ccas: Sequence[str]) -> pl.DataFrame:
    """Samples of live connections as `Results.samples` has them; `ccas` by flow."""
    import polars as pl

    schema = _sample_schema()
    own = {"pacing_mbps": pl.Float64(), "state": pl.UInt32()}
    read = _columns(columns, {**schema, **own})
    names, states = (pl.Series(texts, dtype=pl.String) for texts in (ccas, _STATES))
    rows = read.with_columns(
        pl.lit(name).alias("scenario"),
        pl.lit(0, pl.UInt64).alias("seed"),
        pl.lit(names.gather(read["flow"])).alias("cca"),
        pl.lit(states.gather(read["state"])).alias("state"),
        pl.col("ssthresh_pkts").replace(_SSTHRESH_INFINITE, None),
        pl.col("rtt_ms", "pacing_mbps").replace(0.0, None),
        pl.col("throughput_mbps").fill_nan(None),
    )
    empty = pl.DataFrame(schema={**schema, "state": pl.String(), "pacing_mbps": pl.Float64()})
    return pl.concat([empty, rows], how="diagonal")


def _traced_flows(name: str, connections: list[dict[str, Any]], samples: pl.DataFrame) -> pl.DataFrame:
    """What each connection did while it was traced; timeouts are not told."""
    import polars as pl

    means = samples.group_by("flow").agg(
        pl.col("rtt_ms").mean().alias("mean_rtt_ms"),
        pl.col("rtt_ms").quantile(0.95).alias("p95_rtt_ms"),
        pl.col("cwnd_pkts").mean().alias("mean_cwnd_pkts"),
    )
    of_flow = {row.pop("flow"): row for row in means.iter_rows(named=True)}
    rows = []
    for one in connections:
        seconds = one["stop_s"] - one["start_s"]
        rate = {
            metric: one[told] * 8e-6 / seconds if seconds else 0.0
            for metric, told in (("throughput_mbps", "delivered_bytes"), ("goodput_mbps", "acked_bytes"))
        }
        loss_ratio = one["lost_pkts"] / max(one["sent_pkts"], 1)
        row = {"scenario": name, "seed": 0, "timeouts": None, "loss_ratio": loss_ratio}
        rows.append({**one, **row, **rate, **of_flow.get(one["flow"], {})})
    schema = flow_schema()
    return pl.DataFrame([{key: row.get(key) for key in schema} for row in rows], schema=schema)


def rows_of(runs: Runs) -> dict[str, pl.DataFrame]:
    """The tables "flows" and "links" of runs, without the scenario's name: `run` is the place of the run."""
    import polars as pl

    schema = {**flow_schema(), **link_schema(), "run": pl.UInt32()}
    seeds = pl.Series("seed", runs.seeds, pl.UInt64)
    tables = {}
    for name, columns in (("flows", runs.flows()), ("links", runs.links())):
        rows = _columns(columns, schema)
        # A flow without an RTT sample has none.
        rows = rows.with_columns(pl.col("^(mean|p95)_rtt_ms$").fill_nan(None))
        tables[name] = rows.with_columns(seeds.gather(rows["run"]))
    return tables


def _samples_of(told: list[dict[str, Any]], answers: Sequence[Runs]) -> pl.DataFrame:
    import polars as pl

    schema = _sample_schema()
    parts = [pl.DataFrame(schema=schema)]
    for answer, runs in zip(told, answers, strict=True):
        scenario = answer["scenario"]
        ccas = pl.Series([flow["cca"]["name"] for flow in scenario["flows"]], dtype=pl.String)
        names = pl.Series([link["name"] for link in scenario["links"]], dtype=pl.String)
        for index, seed in enumerate(answer["seeds"]):
            here = [pl.lit(scenario["name"]).alias("scenario"), pl.lit(seed, pl.UInt64).alias("seed")]
            flows = _columns(runs.flow_samples(index), schema)
            links = _columns(runs.link_samples(index), {**schema, "link": pl.UInt32()})
            throughput = pl.col("throughput_mbps")
            if scenario["samples"] == "change":
                throughput = pl.lit(None, pl.Float64).alias("throughput_mbps")
            flows = flows.with_columns(
                *here,
                pl.lit(ccas.gather(flows["flow"])).alias("cca"),
                pl.col("ssthresh_pkts").replace(_SSTHRESH_INFINITE, None),
                pl.col("rtt_ms").replace(0.0, None),
                throughput,
            )
            links = links.with_columns(*here, pl.lit(names.gather(links["link"])).alias("link"))
            parts += [flows, links]
    return pl.concat(parts, how="diagonal")


def _columns(columns: Mapping[str, bytes | list[str]], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    """A table of little-endian numbers and lists of texts."""
    import numpy as np
    import polars as pl

    kinds: dict[pl.DataType, str] = {pl.Float64(): "<f8", pl.UInt32(): "<u4", pl.UInt64(): "<u8"}
    series = (
        pl.Series(name, np.frombuffer(data, kinds[schema[name]]) if isinstance(data, bytes) else data)
        for name, data in columns.items()
    )
    return pl.DataFrame([one.cast(schema[one.name]) for one in series])


def runs_of(tables: dict[str, pl.DataFrame]) -> dict[tuple[str, int], dict[str, Any]]:
    """The runs as `to_json` tells them, from their tables, by scenario and seed."""
    runs: dict[tuple[str, int], dict[str, Any]] = {}
    for of, table in tables.items():
        for row in table.drop("job", strict=False).iter_rows(named=True):
            scenario, seed = row.pop("scenario"), row.pop("seed")
            run = runs.setdefault((scenario, seed), {"seed": seed, "flows": [], "links": []})
            run[of].append(row)
    return runs


def provenance(command: Sequence[str] | None) -> dict[str, Any]:
    """Where a result comes from."""
    if command is not None and not all(isinstance(part, str) for part in command):
        raise TypeError(f"command: {one_line(repr(command))} is not a list of texts")
    return {
        "cwnd": __version__,
        "format": FORMAT,
        "command": None if command is None else list(command),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
