"""The tables of a result: their columns, and their rows from the engine's runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cwnd._common.rows import flow_algorithms, runs_of_rows, series_algorithms
from cwnd._cwnd import Runs, __version__
from cwnd._results.columns import column_of

if TYPE_CHECKING:
    import polars as pl


#: Notes on runs whose path was not what the scenario asks for begin so.
INVALID = "not valid: "

#: `ssthresh` before the first loss.
_SSTHRESH_INFINITE = 0x7FFFFFFF


def schema_of(table: str) -> dict[str, pl.DataType]:
    schemas = {
        "flows": flow_schema,
        "links": link_schema,
        "samples": _sample_schema,
        "transfers": _transfer_schema,
    }
    return schemas[table]()


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
    of_transfers = ("fct_ms", "fct_p50_ms", "fct_p95_ms", "fct_p99_ms", "slowdown_p50", "slowdown_p99")
    return {
        "scenario": pl.String(),
        "seed": pl.UInt64(),
        "flow": pl.UInt32(),
        "cca": pl.String(),
        "start_s": pl.Float64(),
        "stop_s": pl.Float64(),
        **dict.fromkeys(counts, pl.UInt64()),
        **dict.fromkeys(numbers, pl.Float64()),
        "marked_pkts": pl.UInt64(),
        **dict.fromkeys(of_transfers, pl.Float64()),
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
        "marked_pkts": pl.UInt64(),
        "p95_queue_ms": pl.Float64(),
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
        "min_cwnd_pkts": pl.UInt32(),
        "max_cwnd_pkts": pl.UInt32(),
        "ssthresh_pkts": pl.UInt32(),
        "in_flight_pkts": pl.UInt32(),
        "rtt_ms": pl.Float64(),
        "throughput_mbps": pl.Float64(),
        "link": pl.String(),
        "queue_pkts": pl.UInt32(),
        "queue_ms": pl.Float64(),
        "dropped_pkts": pl.UInt64(),
        "marked_pkts": pl.UInt64(),
    }


def _group_schema() -> dict[str, pl.DataType]:
    """The columns that samples by group have besides those of all samples."""
    import polars as pl

    return {"group": pl.UInt32(), "flows": pl.UInt32(), "mean_cwnd_pkts": pl.Float64()}


def _transfer_schema() -> dict[str, pl.DataType]:
    import polars as pl

    return {
        "scenario": pl.String(),
        "seed": pl.UInt64(),
        "flow": pl.UInt32(),
        "cca": pl.String(),
        "start_s": pl.Float64(),
        "size_bytes": pl.UInt64(),
        "fct_ms": pl.Float64(),
        "slowdown": pl.Float64(),
        "retransmitted_pkts": pl.UInt64(),
    }


#: Values of the kernel's enum tcp_ca_state.
_STATES = ("open", "disorder", "cwr", "recovery", "loss")


def traced_samples(columns: dict[str, bytes], name: str, ccas: Sequence[str]) -> pl.DataFrame:
    """Samples of live connections, in the form of `Results.samples`; `ccas` is indexed by flow."""
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


def traced_flows(name: str, connections: list[dict[str, Any]], samples: pl.DataFrame) -> pl.DataFrame:
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
            metric: one[column] * 8e-6 / seconds if seconds else 0.0
            for metric, column in (("throughput_mbps", "delivered_bytes"), ("goodput_mbps", "acked_bytes"))
        }
        loss_ratio = one["lost_pkts"] / max(one["sent_pkts"], 1)
        row = {"scenario": name, "seed": 0, "timeouts": None, "loss_ratio": loss_ratio}
        rows.append({**one, **row, **rate, **of_flow.get(one["flow"], {})})
    schema = flow_schema()
    return pl.DataFrame([{key: row.get(key) for key in schema} for row in rows], schema=schema)


class Answer(NamedTuple):
    """What a world answers to one scenario: its runs, one for each seed."""

    #: The name of the world, as results have it.
    world: str
    seeds: list[int]
    #: The tables "flows" and "links", without the scenario's name.
    rows: dict[str, pl.DataFrame]
    #: Makes the time series of the scenario, which is given in the form of the results.
    samples: Callable[[dict[str, Any]], pl.DataFrame]
    #: What made the runs: `version`, and for the simulator `wall_s, packets, packets_per_s`.
    engine: dict[str, Any]
    #: Makes the transfers, in the same way as the samples.
    transfers: Callable[[dict[str, Any]], pl.DataFrame] = lambda _: empty_table("transfers")
    #: What a reader of the metrics should know, given the scenario: a sentence each.
    notes: Callable[[dict[str, Any]], list[str]] = lambda _: []


def answer_of(runs: Runs) -> Answer:
    """The runs of the simulator as an answer."""
    engine = {
        "wall_s": runs.wall_s,
        "packets": runs.packets,
        "packets_per_s": runs.packets / runs.wall_s if runs.wall_s > 0 else 0.0,
        "version": __version__,
    }
    return Answer(
        runs.world,
        runs.seeds,
        rows_of(runs),
        lambda scenario: _samples_of(scenario, runs),
        engine,
        lambda scenario: _transfers_of(scenario, runs),
        lambda scenario: _notes_of(scenario, runs),
    )


def rows_of(runs: Runs) -> dict[str, pl.DataFrame]:
    """The tables "flows" and "links" of runs, without the scenario's name: `run` is the run's index."""
    import polars as pl

    schema = {**flow_schema(), **link_schema(), "run": pl.UInt32()}
    seeds = pl.Series("seed", runs.seeds, pl.UInt64)
    tables = {}
    for name, columns in (("flows", runs.flows()), ("links", runs.links())):
        rows = _columns(columns, schema)
        # A flow without an RTT sample has none, and so on.
        rows = rows.with_columns(pl.selectors.float().fill_nan(None))
        tables[name] = rows.with_columns(seeds.gather(rows["run"]))
    return tables


def complete(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """`rows` with the columns that the table has gained since they were written, null."""
    import polars as pl

    gained = {name: kind for name, kind in schema_of(table).items() if name not in rows.columns}
    return rows.with_columns(pl.lit(None, kind).alias(name) for name, kind in gained.items())


def empty_table(table: str) -> pl.DataFrame:
    """The table of that name, without rows."""
    import polars as pl

    return pl.DataFrame(schema=schema_of(table))


def _samples_of(scenario: dict[str, Any], runs: Runs) -> pl.DataFrame:
    import polars as pl

    schema = _sample_schema()
    parts = [pl.DataFrame(schema=schema)]
    if scenario["samples"] == "off":
        return parts[0]
    by_group = "sample_groups" in scenario
    if by_group:
        schema |= _group_schema()
    ccas = pl.Series(series_algorithms(scenario), dtype=pl.String)
    names = pl.Series([link["name"] for link in scenario["links"]], dtype=pl.String)
    for index, seed in enumerate(runs.seeds):
        here = [pl.lit(scenario["name"]).alias("scenario"), pl.lit(seed, pl.UInt64).alias("seed")]
        flows = _columns(runs.group_samples(index) if by_group else runs.flow_samples(index), schema)
        links = _columns(runs.link_samples(index), {**schema, "link": pl.UInt32()})
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
            # What would never be sent waits for no time that a table can hold.
            pl.col("queue_ms").replace(math.inf, None),
        )
        parts += [flows, links]
    return pl.concat(parts, how="diagonal")


def _transfers_of(scenario: dict[str, Any], runs: Runs) -> pl.DataFrame:
    import polars as pl

    schema = _transfer_schema()
    parts = [pl.DataFrame(schema=schema)]
    ccas = pl.Series(flow_algorithms(scenario), dtype=pl.String)
    for index, seed in enumerate(runs.seeds):
        rows = _columns(runs.transfers(index), schema)
        rows = rows.with_columns(
            pl.lit(scenario["name"]).alias("scenario"),
            pl.lit(seed, pl.UInt64).alias("seed"),
            pl.lit(ccas.gather(rows["flow"])).alias("cca"),
            pl.selectors.float().fill_nan(None),
        )
        parts.append(rows.select(schema.keys()))
    return pl.concat(parts)


#: A first slow start that takes more of the measured time than this share is worth a note.
_SLOW_START_SHARE = 0.1

#: A limit is known to be one where this share of it was used, on the average.
_LIMIT_SHARE = 0.9


def _notes_of(scenario: dict[str, Any], runs: Runs) -> list[str]:
    """The notes of the runs, each once, and those on slow start."""
    of_runs = [note for notes in runs.notes for note in notes]
    return [*dict.fromkeys(of_runs), *_slow_start_notes(scenario, runs)]


def _slow_start_notes(scenario: dict[str, Any], runs: Runs) -> list[str]:
    """A first slow start that takes long, or what keeps flows in it for good, as far as it is known."""
    import polars as pl

    schema: dict[str, pl.DataType] = {"run": pl.UInt32(), "flow": pl.UInt32()}
    numbers = dict.fromkeys(("start_s", "stop_s", "slow_start_s"), pl.Float64())
    rows = _columns(runs.slow_starts(), {**schema, **numbers})
    warmup_s = scenario.get("warmup_ns", 0) / 1e9
    begin_s = pl.max_horizontal("start_s", pl.lit(warmup_s))
    measured_s = pl.col("stop_s") - begin_s
    end_s = pl.col("start_s") + pl.col("slow_start_s").fill_nan(0.0)
    long = rows.filter(end_s - begin_s > _SLOW_START_SHARE * measured_s)
    if not long.height:
        return []
    counts = _columns(runs.flows(), {**flow_schema(), "run": pl.UInt32()})
    counts = counts.select("run", "flow", "throughput_mbps", "goodput_mbps", "mean_rtt_ms")
    long = long.join(counts, on=["run", "flow"]).join(_limits(scenario, long["flow"].unique()), on="flow")
    # By Little's law, as many packets as this are in flight on the average.
    in_flight_pkts = pl.col("throughput_mbps") * pl.col("mean_rtt_ms") * 1e3 / 8 / pl.col("packet_bytes")
    for_good = end_s >= pl.col("stop_s") - 1e-9
    by_window = for_good & (in_flight_pkts >= _LIMIT_SHARE * pl.col("window_pkts")).fill_null(False)
    writes_all = pl.col("goodput_mbps") >= _LIMIT_SHARE * pl.col("app_mbps")
    by_application = for_good & ~by_window & writes_all.fill_null(False)
    # A flow whose transfers end is not expected to leave slow start; an application may be the limit.
    slow = ~(by_window | by_application | pl.col("ends") | (for_good & pl.col("may_be_limited")))
    flows = len(scenario["flows"])
    notes = []
    if (limited := long.filter(by_window)).height:
        one = f"its receive window of {limited['window_pkts'][0]} packets"
        notes.append(_limit_note(limited["flow"], flows, one, "their receive windows"))
    if (limited := long.filter(by_application)).height:
        notes.append(_limit_note(limited["flow"], flows, "its application", "their applications"))
    if (starting := long.filter(slow)).height:
        last_s = float(starting.select(end_s.max()).item())
        notes.append(
            f"{_who(starting['flow'], flows)} in the first slow start for more than a tenth of the measured "
            f"time, until {last_s:.3g} s; 'warmup' leaves out what comes before it"
        )
    return notes


def _limits(scenario: dict[str, Any], flows: pl.Series) -> pl.DataFrame:
    """What of these flows may limit them besides the path."""
    import polars as pl

    of_runs: dict[str, list[Any]] = {name: [] for name in _limit_schema()}
    firsts, first = [], 0
    for run in runs_of_rows(scenario["flows"]):
        flow, traffic = run.first, run.first.get("traffic") or {}
        stack = flow.get("stack") or {}
        on, off = flow.get("on_off_ns") or (1, 0)
        rate = flow.get("app_rate_bps")
        firsts.append(first)
        first += run.length
        of_runs["window_pkts"].append(stack.get("receive_window_pkts"))
        of_runs["packet_bytes"].append(flow["payload_bytes"] + stack.get("header_bytes", 0))
        of_runs["app_mbps"].append(rate / 1e6 * on / (on + off) if rate and not traffic else None)
        of_runs["ends"].append(bool(traffic.get("size")))
        of_runs["may_be_limited"].append(bool(rate or traffic))
    runs = pl.Series(firsts).search_sorted(flows, side="right") - 1
    limits = pl.DataFrame(of_runs, schema=_limit_schema())
    return limits[runs].with_columns(flows.alias("flow"))


def _limit_schema() -> dict[str, pl.DataType]:
    import polars as pl

    return {
        "window_pkts": pl.Int64(),
        "packet_bytes": pl.Int64(),
        "app_mbps": pl.Float64(),
        "ends": pl.Boolean(),
        "may_be_limited": pl.Boolean(),
    }


def _who(flows: pl.Series, of: int) -> str:
    flows = flows.unique().sort()
    return f"flow {flows[0]} is" if len(flows) == 1 else f"{len(flows)} of {of} flows are"


def _limit_note(flows: pl.Series, of: int, its: str, their: str) -> str:
    is_one = flows.n_unique() == 1
    stays = "it stays" if is_one else "they stay"
    return f"{_who(flows, of)} limited by {its if is_one else their}, so {stays} in the first slow start"


def _columns(columns: Mapping[str, bytes | str], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    """A table of little-endian numbers, and of texts with a NUL after each."""
    import polars as pl

    series = (
        column_of(name, data, schema[name])
        if isinstance(data, bytes)
        else pl.Series(name, [data]).str.split("\0").explode()[:-1]
        for name, data in columns.items()
    )
    return pl.DataFrame([one.cast(schema[one.name]) for one in series])


#: Rows that are objects of Python at one time.
_ROWS_AT_A_TIME = 10_000


def row_texts(table: pl.DataFrame) -> Iterator[str]:
    """The rows of a table as JSON, with commas between them."""
    for number, some in enumerate(table.iter_slices(_ROWS_AT_A_TIME)):
        text = json.dumps(some.to_dicts(), separators=(",", ":"), allow_nan=False)
        yield f"{',' if number else ''}{text[1:-1]}"


def runs_of(tables: dict[str, pl.DataFrame]) -> dict[tuple[str, int], dict[str, Any]]:
    """The runs as `to_json` has them, from their tables, by scenario and seed."""
    runs: dict[tuple[str, int], dict[str, Any]] = {}
    for of, table in tables.items():
        for row in table.drop("job", strict=False).iter_rows(named=True):
            scenario, seed = row.pop("scenario"), row.pop("seed")
            run = runs.setdefault((scenario, seed), {"seed": seed, "flows": [], "links": []})
            run[of].append(row)
    return runs
