"""The results of runs, as tables, JSON, files and figures.

Functions import what tables, files and figures take: a run that is printed needs none of it.
"""

from __future__ import annotations

import io
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cwnd._common import html
from cwnd._common.errors import error, one_line
from cwnd._common.fairness import comparison_notes
from cwnd._common.labels import scenario_label
from cwnd._common.latex import latex_table
from cwnd._common.metrics import TABLE_COLUMNS
from cwnd._common.rows import fold, unfold
from cwnd._common.text import estimate
from cwnd._cwnd import Scenario, __version__
from cwnd._results.metrics import metrics_by_run, metrics_of, summarize
from cwnd._results.tables import (
    Answer,
    empty_table,
    row_texts,
    schema_of,
    table_of,
    traced_flow,
    traced_flows,
    values_in,
)

if TYPE_CHECKING:
    import matplotlib.figure
    import polars as pl

    from cwnd._common.shapes import Cell, Connection, Engine, Entry, ScenarioJson, Values


class Results:
    """The results of one or several scenarios.

    `flows`, `links`, `samples`, `transfers` and `summary` are polars tables with a column `scenario` and, but
    for the summary, `seed`.
    """

    def __init__(
        self,
        entries: list[Entry],
        read: Callable[[str], pl.DataFrame],
        answers: Mapping[str, Answer] | None = None,
    ) -> None:
        """Made by `cwnd.run`, `cwnd.sweep`, `cwnd.kernel.trace` and `Results.load`."""
        #: One entry per scenario, as the manifest has it: world, scenario, values, seeds, summary, engine.
        self.entries = entries
        #: Reads or makes the table of that name.
        self._read = read
        #: By scenario, if the runs were made here.
        self._answers = answers or {}

    @classmethod
    def _of(cls, scenarios: Sequence[Scenario], answers: Sequence[Answer]) -> Results:
        """The runs of each scenario."""
        entries: list[Entry] = []
        for scenario, answer in zip(scenarios, answers, strict=True):
            described = scenario.json()
            metrics = metrics_by_run(described, answer.flows(), answer.links())
            entries.append(
                {
                    "world": answer.world,
                    "seeds": answer.seeds,
                    "values": {},
                    "scenario": unfold(json.loads(described)),
                    "summary": summarize(metrics),
                    "engine": answer.engine,
                }
            )
            notes = answer.notes(entries[-1]["scenario"])
            entries[-1] |= {"notes": notes} if notes else {}

        def read(table: str) -> pl.DataFrame:
            import polars as pl

            parts = [empty_table(table)]
            for entry, answer in zip(entries, answers, strict=True):
                if table in ("samples", "transfers"):
                    parts.append(getattr(answer, table)(entry["scenario"]))
                else:
                    named = pl.lit(entry["scenario"]["name"]).alias("scenario")
                    rows = table_of(answer, table).with_columns(named)
                    parts.append(rows.select(schema_of(table).keys()))
            return pl.concat(parts, how="diagonal")

        names = (scenario.name for scenario in scenarios)
        return cls(entries, read, dict(zip(names, answers, strict=True)))

    @classmethod
    def _traced(
        cls,
        world: str,
        name: str,
        interval_ns: int,
        elapsed_s: float,
        connections: list[Connection],
        samples: pl.DataFrame,
    ) -> Results:
        """One run, of live connections: a scenario without links."""
        scenario: ScenarioJson = {
            "name": name,
            "duration_ns": round(elapsed_s * 1e9),
            "seed": 0,
            "repeat": 1,
            "samples": {"interval": {"interval_ns": interval_ns}},
            "links": [],
            "flows": [traced_flow(one) for one in connections],
        }
        engine: Engine = {"version": __version__, "kernel": platform.release()}
        entry: Entry = {
            "world": world,
            "scenario": scenario,
            "values": {},
            "seeds": [0],
            "summary": {},
            "engine": engine,
        }
        flows = traced_flows(name, connections, samples)
        tables = {"flows": flows, "samples": samples}
        return cls([entry], lambda table: tables.get(table, empty_table(table)))

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Results:
        """Reads the directory that `save` or a sweep wrote.

        Raises `Error` when the directory does not hold a result, or one of another version's format, or when
        a file is missing or damaged.
        """
        from cwnd._results.manifest import check_files, read_manifest, read_table

        folder = Path(directory)
        manifest = read_manifest(folder)
        check_files(folder, manifest)
        results = manifest["results"]

        def read(table: str) -> pl.DataFrame:
            return read_table(folder / f"{table}.parquet")

        tables = {name: read(name) for name in ("flows", "links")}
        # Not every result has time series and transfers.
        tables |= {
            name: empty_table(name)
            for name in ("samples", "transfers")
            if not os.path.lexists(folder / f"{name}.parquet")
        }
        return cls(results, lambda table: tables[table] if table in tables else read(table))

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per scenario, seed and flow.

        `flow, cca, start_s, stop_s, sent_pkts, retransmitted_pkts, delivered_pkts, lost_pkts, timeouts,
        throughput_mbps` (on the wire), `goodput_mbps` (payload, in order, once), `loss_ratio, mean_rtt_ms,
        p95_rtt_ms` (null without a sample), `mean_cwnd_pkts, marked_pkts`, `fct_ms` (the mean over the flow's
        transfers), `fct_p50_ms, fct_p95_ms, fct_p99_ms, slowdown_p50, slowdown_p99` (over the transfers of
        all flows of the run, null for flows without).
        """
        return self._read("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per scenario, seed and link.

        `link, delivered_pkts, dropped_pkts` (queue full), `error_pkts` (lost on the wire), `mean_queue_pkts,
        max_queue_pkts, utilization, marked_pkts`, `p95_queue_ms` (how long packets wait before they are
        sent).
        """
        return self._read("links")

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """One row per scenario, seed and transfer of flows that have a size; empty for sweeps.

        `flow, cca, start_s, size_bytes` (payload), `fct_ms` (from the start to the ACK of the last byte),
        `slowdown` (over the least possible time), both null if it did not finish, `retransmitted_pkts`.
        """
        return self._read("transfers")

    @cached_property
    def samples(self) -> pl.DataFrame:
        """Time series: rows of flows and, with `link` instead of `flow`, rows of links.

        `scenario, seed, time_s, flow, cca, cwnd_pkts, min_cwnd_pkts, max_cwnd_pkts` (the range since the
        flow's row before, this one included), `ssthresh_pkts` (null before the first loss),
        `in_flight_pkts, rtt_ms` (smoothed, null before the first sample), `throughput_mbps` (since the row
        before; null when samples are by change), `link, queue_pkts, queue_ms` (how long a packet that arrives
        then would wait), `dropped_pkts` (in the queue or on the wire) and `marked_pkts`, both since the row
        before; marks of flows, too. A trace of live connections has
        `state` ("open", "disorder", "cwr", "recovery", "loss") and `pacing_mbps` (null when not paced) too.

        With samples by group, rows of groups instead of flows: `group`, `flows` (how many last then; of flows
        with arrivals, the open transfers) and `mean_cwnd_pkts` instead of `flow` and `cwnd_pkts`, no
        `ssthresh_pkts`. Windows have the range over these, `rtt_ms` is their mean, all else their sum.
        """
        return self._read("samples")

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row per scenario and metric: `mean, ci95_low, ci95_high` (null for one run), `n`."""
        import polars as pl

        rows = [
            {"scenario": entry["scenario"]["name"], "metric": metric, **estimate}
            for entry in self.entries
            for metric, estimate in entry["summary"].items()
        ]
        return pl.DataFrame(rows, schema=schema_of("summary"))

    def _values(self, table: str, scenario: str, names: Sequence[str]) -> list[Sequence[Cell]]:
        """These columns of the scenario's "flows" or "links", without a table if the runs were made here.

        Polars, which tables take, is longer to import than all else of a small run lasts.
        """
        if scenario in self._answers:
            return values_in(self._answers[scenario], table, names)
        rows = getattr(self, table).filter(scenario=scenario)
        return [rows[name].to_list() for name in names]

    @cached_property
    def metrics_by_scenario(self) -> dict[str, pl.DataFrame]:
        """By scenario: a row per seed with the metrics of the summary, for simulated runs."""
        links = self.links.partition_by("scenario", as_dict=True)
        empty = self.links.clear()
        scenarios = {scenario["name"]: json.dumps(scenario, default=fold) for scenario in self.scenarios}
        return {
            str(name): metrics_of(scenarios[str(name)], rows, links.get((name,), empty))
            for (name,), rows in self.flows.partition_by("scenario", as_dict=True).items()
        }

    @property
    def notes(self) -> list[tuple[str, str]]:
        """Notes for the reader of the metrics: the name of a scenario, and a sentence."""
        return [
            (str(entry["scenario"]["name"]), note)
            for entry in self.entries
            for note in entry.get("notes", ())
        ]

    @property
    def comparison_notes(self) -> list[str]:
        """Notes on what makes a comparison unfair: other slow starts, ECN or pacing, equal starts."""
        return comparison_notes(self.scenarios)

    @property
    def scenarios(self) -> list[ScenarioJson]:
        """The scenarios, every default and unit resolved."""
        return [entry["scenario"] for entry in self.entries]

    @property
    def values(self) -> list[Values]:
        """The swept values of each scenario, such as {"flows.cca": "cubic", "dumbbell.buffer": 50}."""
        return [entry["values"] for entry in self.entries]

    def json_parts(self) -> Iterator[str]:
        """The text of `to_json` in parts, for results with more rows than a text should have."""
        rows = {
            name: table.drop("job", strict=False).partition_by("scenario", "seed", as_dict=True)
            for name, table in (("flows", self.flows), ("links", self.links))
        }
        several = len(self.entries) != 1
        yield '{"results":[' if several else ""
        for number, entry in enumerate(self.entries):
            scenario = entry["scenario"]
            yield f'{"," if number else ""}{{"scenario":{_dump(scenario)},"runs":['
            for place, seed in enumerate(entry["seeds"]):
                yield f'{"," if place else ""}{{"seed":{seed}'
                for name, tables in rows.items():
                    yield f',"{name}":['
                    own = tables.get((scenario["name"], seed))
                    yield from row_texts(own.drop("scenario", "seed")) if own is not None else ()
                    yield "]"
                yield "}"
            rest: dict[str, object] = {
                key: entry[key] for key in ("summary", "world", "engine", "notes") if key in entry
            }
            if not several and self.comparison_notes:
                rest["comparison_notes"] = self.comparison_notes
            yield f"],{_dump(rest)[1:]}"
        notes = f',"comparison_notes":{_dump(self.comparison_notes)}' if self.comparison_notes else ""
        yield f"]{notes}}}" if several else ""

    def __add__(self, other: Results) -> Results:
        """The results of both, to draw them together. Raises `Error` if two scenarios have the same name."""
        import polars as pl

        if not isinstance(other, Results):
            return NotImplemented
        both = (self, other)
        mine, others = ({entry["scenario"]["name"] for entry in each.entries} for each in both)
        if common := sorted(mine & others):
            raise error("", f"both have a scenario '{one_line(common[0])}'; give them different names")
        return Results(
            [*self.entries, *other.entries],
            lambda table: pl.concat([getattr(each, table) for each in both], how="diagonal"),
        )

    def _repr_html_(self) -> str:
        """For notebooks: the metrics of the command's table, and the notes."""
        columns = TABLE_COLUMNS
        rows = (
            [
                scenario_label(entry["scenario"]),
                *(estimate(entry["summary"].get(metric), scale) for metric, (_, scale) in columns.items()),
            ]
            for entry in self.entries
        )
        worlds = ", ".join(dict.fromkeys(entry["world"] for entry in self.entries))
        shown = html.table(["scenario", *(heading for heading, _ in columns.values())], rows, f"On {worlds}")
        notes = [*(f"{name}: {note}" for name, note in self.notes), *self.comparison_notes]
        return shown + "".join(map(html.paragraph, notes))

    def to_json(self) -> str:
        """One object `{"scenario", "runs", "summary", "world", "engine"}`, and `notes` and
        `comparison_notes` if there are some; of several scenarios `{"results": [...]}` with the latter.

        The same scenario and seed give the same text, but for `engine`.
        """
        return "".join(self.json_parts())

    def to_latex(self) -> str:
        """The metrics of the command's table for a paper: a tabular with booktabs, a row for each scenario.

        The columns of a sweep begin with its swept values, numbers with their unit in the head.
        """
        from cwnd._report.points import number, points_of

        keys = list(dict.fromkeys(key for values in self.values for key in values))
        points, axes = points_of(self, [one["name"] for one in self.scenarios])
        labels = {"flows.cca": "algorithm", **{axis.key: axis.label for axis in axes}}
        heads = [labels.get(key, key) for key in keys] or ["scenario"]
        numeric = {axis.key for axis in axes}
        rows = []
        for entry, point in zip(self.entries, points, strict=True):
            place = [
                number(point.numbers[key])
                if key in numeric and key in point.numbers
                else str(entry["values"].get(key, ""))
                for key in keys
            ] or [scenario_label(entry["scenario"])]
            summary = entry["summary"]
            numbers = [estimate(summary.get(metric), scale) for metric, (_, scale) in TABLE_COLUMNS.items()]
            rows.append([*place, *numbers])
        return latex_table(
            [*heads, *(heading for heading, _ in TABLE_COLUMNS.values())], rows, texts=len(heads)
        )

    def save(
        self,
        directory: str | os.PathLike[str],
        *,
        command: Sequence[str] | None = None,
        figure_width: str | float | None = None,
    ) -> None:
        """Writes manifest.json, the tables (flows, links, samples, transfers if there are some, summary:
        Parquet) and the figures (PNG, SVG and PDF).

        The directory appears complete or not at all. An earlier result there is replaced; a directory that
        holds anything else is refused with an `Error`. `command` is the command line for the manifest,
        `figure_width` as of `plot`.
        """
        from cwnd._common.files import write_file
        from cwnd._report import figures
        from cwnd._report.form import read_form
        from cwnd._results.directory import TABLES, check_target, new_directory, provenance
        from cwnd._results.manifest import describe_tables, write_manifest

        folder = Path(directory)
        read_form(figure_width)
        check_target(folder)
        with new_directory(folder) as building:
            for name in TABLES:
                rows: pl.DataFrame = getattr(self, name)
                if name == "transfers" and not rows.height:
                    continue
                table = io.BytesIO()  # polars raises no distinct error for a full disk
                rows.write_parquet(table)
                write_file(building / f"{name}.parquet", table.getbuffer())
            head = {**provenance(command), "files": describe_tables(building)}
            write_manifest(building, head, self.entries)
            for kind in self.plots():
                figure = self.plot(kind, figure_width=figure_width)
                figures.write_figures(figure, building, kind, figure_width)

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
        figure_width: str | float | None = None,
    ) -> matplotlib.figure.Figure:
        """Draws one figure.

        "cwnd", "rtt", "throughput" and "queue", over time, have one panel per scenario (at most 28) and show
        one run: `seed`, or each scenario's first. "queue-delay" has one per shared link, drops and marks.
        "throughput-buffer" has a line per algorithm over the scenarios' bottleneck buffers, with 95 %
        confidence intervals, and a panel per packet error rate. Of a sweep: "lines" of a metric over a swept
        value, with intervals; a "heatmap" over two. "throughput-delay" has an ellipse per algorithm and
        scenario. Of transfers: "fct-size", completion times by size, "fct-cdf" and "slowdown-cdf". Over flows
        and time: "cdf" of the flows' throughput, "rtt-cdf", "queue-delay-cdf".

        Args:
            path: Also write the figure to this file; the ending sets the format (.png, .svg, .pdf).
            scenarios: Names of the scenarios to draw; default: all.
            title: Replaces the title made from the scenarios.
            metric: A metric of the summary, for "lines" and "heatmap"; default: "throughput_mbps".
            over: Swept keys for the axes of "lines" and "heatmap", such as ["dumbbell.buffer"].
            figure_width: "ieee" or "acm", a column of a paper; "slides"; or a width in inches, 2 to 20. But
                for slides the figure has no title inside unless `title` is given. Default: as wide as it
                needs, with a title.
        """
        from cwnd._report import figures

        figure = figures.draw(
            kind, self, scenarios, seed, title, metric=metric, over=over, width=figure_width
        )
        if path is not None:
            figures.write_figure(figure, Path(path), figure_width)
        return figure

    def plots(self) -> list[str]:
        """The kinds of figures that this result can have."""
        from cwnd._report import figures

        return figures.applicable(self)

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickle, (
            self.entries,
            {name: getattr(self, name) for name in ("flows", "links", "samples")},
        )

    def __repr__(self) -> str:
        runs = sum(len(entry["seeds"]) for entry in self.entries)
        names = ", ".join(scenario["name"] for scenario in self.scenarios[:4])
        more = ", ..." if len(self.entries) > 4 else ""
        return f"<cwnd.Results: {runs} run{'s' * (runs != 1)} of {names}{more}>"


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False, default=fold)


def _unpickle(entries: list[Entry], tables: dict[str, pl.DataFrame]) -> Results:
    return Results(entries, tables.__getitem__)
