"""The tables of a result: their columns, and their rows from the engine's runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from cwnd._common.rows import flow_algorithms, series_algorithms
from cwnd._cwnd import Runs, __version__
from cwnd._results.columns import (
    COUNT,
    DOUBLE,
    TEXT,
    WORD,
    Columns,
    column_of,
    type_of,
    values_of,
)
from cwnd._results.notes import notes_of

if TYPE_CHECKING:
    import polars as pl

    from cwnd._common.shapes import Cell, Connection, Engine, FlowJson, RunRows, ScenarioJson


#: `ssthresh` before the first loss.
_SSTHRESH_INFINITE = 0x7FFFFFFF


#: The columns of each table, and their kinds as `columns.py` has them.
_KINDS = {
    "flows": {
        "scenario": TEXT,
        "seed": COUNT,
        "flow": WORD,
        "cca": TEXT,
        "start_s": DOUBLE,
        "stop_s": DOUBLE,
        "sent_pkts": COUNT,
        "retransmitted_pkts": COUNT,
        "delivered_pkts": COUNT,
        "lost_pkts": COUNT,
        "timeouts": COUNT,
        "throughput_mbps": DOUBLE,
        "goodput_mbps": DOUBLE,
        "loss_ratio": DOUBLE,
        "mean_rtt_ms": DOUBLE,
        "p95_rtt_ms": DOUBLE,
        "mean_cwnd_pkts": DOUBLE,
        "marked_pkts": COUNT,
        "fct_ms": DOUBLE,
        "fct_p50_ms": DOUBLE,
        "fct_p95_ms": DOUBLE,
        "fct_p99_ms": DOUBLE,
        "slowdown_p50": DOUBLE,
        "slowdown_p99": DOUBLE,
    },
    "links": {
        "scenario": TEXT,
        "seed": COUNT,
        "link": TEXT,
        "delivered_pkts": COUNT,
        "dropped_pkts": COUNT,
        "error_pkts": COUNT,
        "mean_queue_pkts": DOUBLE,
        "max_queue_pkts": COUNT,
        "utilization": DOUBLE,
        "marked_pkts": COUNT,
        "p95_queue_ms": DOUBLE,
    },
    "samples": {
        "scenario": TEXT,
        "seed": COUNT,
        "time_s": DOUBLE,
        "flow": WORD,
        "cca": TEXT,
        "cwnd_pkts": WORD,
        "min_cwnd_pkts": WORD,
        "max_cwnd_pkts": WORD,
        "ssthresh_pkts": WORD,
        "in_flight_pkts": WORD,
        "rtt_ms": DOUBLE,
        "throughput_mbps": DOUBLE,
        "link": TEXT,
        "queue_pkts": WORD,
        "queue_ms": DOUBLE,
        "dropped_pkts": COUNT,
        "marked_pkts": COUNT,
    },
    "transfers": {
        "scenario": TEXT,
        "seed": COUNT,
        "flow": WORD,
        "cca": TEXT,
        "start_s": DOUBLE,
        "size_bytes": COUNT,
        "fct_ms": DOUBLE,
        "slowdown": DOUBLE,
        "retransmitted_pkts": COUNT,
    },
    "summary": {
        "scenario": TEXT,
        "metric": TEXT,
        "mean": DOUBLE,
        "ci95_low": DOUBLE,
        "ci95_high": DOUBLE,
        "n": WORD,
    },
}

#: The columns that samples by group have besides those of all samples.
_GROUP_KINDS = {"group": WORD, "flows": WORD, "mean_cwnd_pkts": DOUBLE}


def schema_of(table: str) -> dict[str, pl.DataType]:
    return {name: type_of(kind) for name, kind in _KINDS[table].items()}


#: Values of the kernel's enum tcp_ca_state.
_STATES = ("open", "disorder", "cwr", "recovery", "loss")


def traced_samples(columns: dict[str, bytes], name: str, ccas: Sequence[str]) -> pl.DataFrame:
    """Samples of live connections, in the form of `Results.samples`; `ccas` is indexed by flow."""
    import polars as pl

    read = _columns(columns, {**_KINDS["samples"], "pacing_mbps": DOUBLE, "state": WORD})
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
    own = {"state": pl.String(), "pacing_mbps": pl.Float64()}
    empty = pl.DataFrame(schema={**schema_of("samples"), **own})
    return pl.concat([empty, rows], how="diagonal")


def traced_flow(connection: Connection) -> FlowJson:
    """The connection as a flow of the trace's scenario."""
    ends = {key: connection[key] for key in ("local", "remote", "netns", "min_rtt_ms")}
    return cast("FlowJson", {"cca": {"name": connection["cca"]}, **ends})


def traced_flows(name: str, connections: list[Connection], samples: pl.DataFrame) -> pl.DataFrame:
    """The row of each connection over the time of its trace; timeouts are unknown."""
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
            metric: moved * 8e-6 / seconds if seconds else 0.0
            for metric, moved in (
                ("throughput_mbps", one["delivered_bytes"]),
                ("goodput_mbps", one["acked_bytes"]),
            )
        }
        loss_ratio = one["lost_pkts"] / max(one["sent_pkts"], 1)
        row = {"scenario": name, "seed": 0, "timeouts": None, "loss_ratio": loss_ratio}
        rows.append({**one, **row, **rate, **of_flow.get(one["flow"], {})})
    schema = schema_of("flows")
    return pl.DataFrame([{key: row.get(key) for key in schema} for row in rows], schema=schema)


class Answer(NamedTuple):
    """Answer of a world to one scenario: its runs, one for each seed."""

    #: The name of the world, as results have it.
    world: str
    seeds: list[int]
    #: The rows of flows and of links: the columns of the tables but for scenario and seed, and `run`, the
    #: index of the seed. The rows of a run are neighbours, and the runs are in order. NaN: null.
    flows: Callable[[], Columns]
    links: Callable[[], Columns]
    #: Makes the time series of the scenario, which is given in the form of the results.
    samples: Callable[[ScenarioJson], pl.DataFrame]
    #: Maker of the runs: `version`, and for the simulator `wall_s, packets, packets_per_s`.
    engine: Engine
    #: Makes the transfers, in the same way as the samples.
    transfers: Callable[[ScenarioJson], pl.DataFrame] = lambda _: empty_table("transfers")
    #: Makes the notes for the reader of the metrics, given the scenario: a sentence each.
    notes: Callable[[ScenarioJson], list[str]] = lambda _: []


def answer_of(runs: Runs) -> Answer:
    """The runs of the simulator as an answer."""
    engine: Engine = {
        "wall_s": runs.wall_s,
        "packets": runs.packets,
        "packets_per_s": runs.packets / runs.wall_s if runs.wall_s > 0 else 0.0,
        "version": __version__,
    }
    return Answer(
        runs.world,
        runs.seeds,
        runs.flows,
        runs.links,
        lambda scenario: _samples_of(scenario, runs),
        engine,
        lambda scenario: _transfers_of(scenario, runs),
        lambda scenario: notes_of(scenario, runs),
    )


def rows_of(runs: Runs | Answer) -> dict[str, pl.DataFrame]:
    """The tables "flows" and "links" of runs, without the scenario's name: `run` is the run's index."""
    return {name: table_of(runs, name) for name in ("flows", "links")}


def table_of(runs: Runs | Answer, table: str) -> pl.DataFrame:
    """One of the tables of `rows_of`."""
    import polars as pl

    rows = _columns(getattr(runs, table)(), {**_KINDS[table], "run": WORD})
    # A flow without an RTT sample has none, and so on.
    rows = rows.with_columns(pl.selectors.float().fill_nan(None))
    return rows.with_columns(pl.Series("seed", runs.seeds, pl.UInt64).gather(rows["run"]))


def values_in(runs: Runs | Answer, table: str, names: Iterable[str]) -> list[Sequence[Cell]]:
    """These columns of one of the tables of `rows_of`, without polars."""
    columns, kinds = getattr(runs, table)(), _KINDS[table]
    seeds = runs.seeds
    values: list[Sequence[Cell]] = []
    for name in names:
        if name == "seed":
            values.append([seeds[run] for run in values_of(columns["run"], WORD)])
        else:
            values.append([None if one != one else one for one in values_of(columns[name], kinds[name])])
    return values


def empty_table(table: str) -> pl.DataFrame:
    """The table of that name, without rows."""
    import polars as pl

    return pl.DataFrame(schema=schema_of(table))


def _samples_of(scenario: ScenarioJson, runs: Runs) -> pl.DataFrame:
    import polars as pl

    parts = [empty_table("samples")]
    if scenario["samples"] == "off":
        return parts[0]
    by_group = "sample_groups" in scenario
    kinds = {**_KINDS["samples"], **(_GROUP_KINDS if by_group else {})}
    ccas = pl.Series(series_algorithms(scenario), dtype=pl.String)
    names = pl.Series([link["name"] for link in scenario["links"]], dtype=pl.String)
    for index, seed in enumerate(runs.seeds):
        here = [pl.lit(scenario["name"]).alias("scenario"), pl.lit(seed, pl.UInt64).alias("seed")]
        flows = _columns(runs.group_samples(index) if by_group else runs.flow_samples(index), kinds)
        links = _columns(runs.link_samples(index), {**kinds, "link": WORD})
        since_last_row = [pl.col("throughput_mbps"), pl.col("marked_pkts")]
        if scenario["samples"] == "change":
            since_last_row = [
                pl.lit(None, pl.Float64).alias("throughput_mbps"),
                pl.lit(None, pl.UInt64).alias("marked_pkts"),
            ]
        flows = flows.with_columns(
            *here,
            pl.lit(ccas.gather(flows["group" if by_group else "flow"])).alias("cca"),
            pl.col("^ssthresh_pkts$").replace(_SSTHRESH_INFINITE, None),
            pl.col("rtt_ms").replace(0.0, None),
            *since_last_row,
        )
        if by_group:
            windows = pl.col("mean_cwnd_pkts", "min_cwnd_pkts", "max_cwnd_pkts")
            flows = flows.with_columns(pl.when(pl.col("flows") > 0).then(windows))
        links = links.with_columns(
            *here,
            pl.lit(names.gather(links["link"])).alias("link"),
            # A packet that would never be sent waits for no time that a table can hold.
            pl.col("queue_ms").replace(math.inf, None),
        )
        parts += [flows, links]
    return pl.concat(parts, how="diagonal")


def _transfers_of(scenario: ScenarioJson, runs: Runs) -> pl.DataFrame:
    import polars as pl

    kinds = _KINDS["transfers"]
    parts = [empty_table("transfers")]
    ccas = pl.Series(flow_algorithms(scenario), dtype=pl.String)
    for index, seed in enumerate(runs.seeds):
        rows = _columns(runs.transfers(index), kinds)
        rows = rows.with_columns(
            pl.lit(scenario["name"]).alias("scenario"),
            pl.lit(seed, pl.UInt64).alias("seed"),
            pl.lit(ccas.gather(rows["flow"])).alias("cca"),
            pl.selectors.float().fill_nan(None),
        )
        parts.append(rows.select(kinds.keys()))
    return pl.concat(parts)


def _columns(columns: Columns, kinds: dict[str, str]) -> pl.DataFrame:
    """A table of columns of these kinds."""
    import polars as pl

    return pl.DataFrame([column_of(name, data, kinds[name]) for name, data in columns.items()])


#: Rows that are objects of Python at one time.
_ROWS_AT_A_TIME = 10_000


def row_texts(table: pl.DataFrame) -> Iterator[str]:
    """The rows of a table as JSON, with commas between them."""
    for number, some in enumerate(table.iter_slices(_ROWS_AT_A_TIME)):
        text = json.dumps(some.to_dicts(), separators=(",", ":"), allow_nan=False)
        yield f"{',' if number else ''}{text[1:-1]}"


def runs_of(tables: dict[str, pl.DataFrame]) -> dict[tuple[str, int], RunRows]:
    """The runs as `to_json` has them, from their tables, by scenario and seed."""
    rows: dict[tuple[str, int], dict[str, list[object]]] = {}
    for of, table in tables.items():
        for row in table.drop("job", strict=False).iter_rows(named=True):
            run = rows.setdefault((row.pop("scenario"), row.pop("seed")), {"flows": [], "links": []})
            run[of].append(row)
    return {(name, seed): cast("RunRows", {"seed": seed, **own}) for (name, seed), own in rows.items()}
