"""The runs of a paper, and the values that its claims compare."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import tomli_w

from cwnd import _cwnd
from cwnd._analysis.harm import jain_index
from cwnd._common.errors import MissingError, error, one_line
from cwnd._reproduce.claims import Place, Quantity, Series, best
from cwnd._reproduce.paper import Experiment, Item, Paper, Reading, Template, WindowTrace
from cwnd._results.results import Results
from cwnd._results.tables import empty_table, runs_of
from cwnd._run import sweep
from cwnd._run.jobs import SweepPoint
from cwnd._scenario.facts import base_rtts_ms
from cwnd._worlds import sim

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import Unpack

    from cwnd._common.shapes import FlowRow, Json, RunRows, ScenarioJson, Values


#: Seeds of a point with randomness, as many as the papers' own runs; and with `quick`.
SEEDS = 30
QUICK_SEEDS = 3


class Selection(NamedTuple):
    """The items and traces of a paper to run."""

    paper: Paper
    items: list[Item]
    traces: list[WindowTrace]
    quick: bool
    seeds: int
    #: Where the measured values are from.
    world: str


def select(
    paper: Paper,
    only: Sequence[str] = (),
    *,
    quick: bool = False,
    seeds: int | None = None,
    world: str = "sim",
) -> Selection:
    """The items and traces whose names are, or begin with, one of `only`; all if it is empty.

    In a world with a real kernel, the items of experiments that the paper ran on real kernels.

    Raises `Error` if an entry of `only` matches no name, or there is nothing for the world.
    """
    items, traces = list(paper.items.values()), list(paper.traces.values())
    if world != "sim":
        items, traces = [item for item in items if paper.experiments[item.experiment].testbed], []
        if not items:
            reason = f"{paper.name} has no testbed; without --on its experiments run in the simulator"
            raise error("world", reason)
    names = [*(item.name for item in items), *(trace.name for trace in traces)]
    for part in only:
        if not any(name.startswith(part) for name in names):
            there = ", ".join(names)
            raise error("only", f"'{one_line(part)}' is not in {paper.name}; there are {there}")

    def chosen(name: str) -> bool:
        return not only or name.startswith(tuple(only))

    return Selection(
        paper,
        [item for item in items if chosen(item.name)],
        [trace for trace in traces if chosen(trace.name) and (trace.quick or not quick)],
        quick,
        (QUICK_SEEDS if quick else SEEDS) if seeds is None else seeds,
        world,
    )


def plan(selection: Selection) -> sweep.Plan:
    """The runs that the selected items need. A point without randomness has one seed, the others `seeds`.

    With `quick`, and on real kernels, only the readings that explain a difference are run; in the world
    `live`, where each run takes the time of its transfers, none: those of the simulator explain.
    """
    paper = selection.paper
    explaining = {cause.reading for cause in paper.causes}
    is_short = selection.quick or selection.world != "sim"
    known = [] if selection.world == "live" else paper.readings.values()
    readings = [one for one in known if not is_short or one.name in explaining]
    points = []
    for experiment in paper.experiments.values():
        items = [item for item in selection.items if item.experiment == experiment.name]
        for variant in experiment.variants if items else []:
            points += _points(selection, experiment, variant, items, None)
        for reading in readings:
            mine = [item for item in items if item.name in reading.items]
            for variant in reading.variants if mine else []:
                if variant in experiment.variants:
                    points += _points(selection, experiment, variant, mine, reading)
    seeds = [
        range(
            point.scenario.seed,
            point.scenario.seed + (selection.seeds if is_random(point.description) else 1),
        )
        for point in points
    ]
    return sweep.Plan(points, seeds, {})


def is_random(scenario: ScenarioJson) -> bool:
    """Returns true if the seed changes anything."""
    return any(link["per"] for link in scenario["links"]) or any(
        flow["start_jitter_ns"] for flow in scenario["flows"]
    )


def _points(
    selection: Selection, experiment: Experiment, variant: str, items: Sequence[Item], reading: Reading | None
) -> list[SweepPoint]:
    change = {**selection.paper.variants[variant].change, **({} if reading is None else reading.change)}
    name = ", ".join([experiment.name, *([] if reading is None else [reading.name]), variant])
    scenario = experiment.scenario if reading is None else reading.scenario or experiment.scenario
    text = _text(scenario, name, change)
    tags = {"experiment": experiment.name, "reading": reading and reading.name, "variant": variant}
    points = []
    for point in sweep.read(text).points:
        needed = any(_is_at(point.values, _left(item.at, change)) for item in items)
        quick = _is_among(point.values, experiment.quick)
        wanted = reading is None or _is_among(point.values, reading.only)
        if needed and wanted and (quick or not selection.quick):
            rest = [str(value) for key, value in point.values.items() if key not in change]
            inner = point.scenario.replace(name=", ".join([name, *rest]))
            points.append(SweepPoint({**tags, **point.values}, inner))
    return points


def _text(scenario: Template, name: str, change: Mapping[str, Json]) -> str:
    """The scenario as TOML, with `change` in its sweep, over what it sweeps itself."""
    swept: Values = {**scenario.swept, **{key: [value] for key, value in change.items()}}
    if scenario.zipped:
        left = [{key: value for key, value in one.items() if key not in change} for one in scenario.zipped]
        swept["zip"] = [one for one in left if one]
    return tomli_w.dumps({**scenario.keys, "name": name, "sweep": swept})


def _is_at(values: Mapping[str, Json], at: Mapping[str, Json]) -> bool:
    return all(values.get(key) == value for key, value in at.items())


def _left(at: Mapping[str, Json], change: Mapping[str, Json]) -> Values:
    """The keys that `change` leaves alone."""
    return {key: value for key, value in at.items() if key not in change}


def _is_among(values: Mapping[str, Json], among: Mapping[str, Sequence[Json]]) -> bool:
    return all(values.get(key) in some for key, some in among.items())


class Measured:
    """The measured values by item, variant and point, for claims.

    `m("fig10b", "elastic")` is the series of a variant in an item.
    """

    def __init__(self, selection: Selection, results: Results, traces: dict[str, Results]) -> None:
        self.selection = selection
        self.paper = selection.paper
        self.items = {item.name: item for item in selection.items}
        self._traces = traces
        self._reading: str | None = None
        runs: dict[str, dict[int, RunRows]] = {}
        for (scenario, seed), run in runs_of({"flows": results.flows}).items():
            runs.setdefault(scenario, {})[seed] = run
        self._points = [
            (values, scenario, runs.get(scenario["name"], {}))
            for values, scenario in zip(results.values, results.scenarios, strict=True)
        ]
        self._metrics = {
            name: {run["seed"]: run for run in table.iter_rows(named=True)}
            for name, table in results.metrics_by_scenario.items()
        }

    def __call__(
        self,
        item: str,
        variant: str,
        metric: str | None = None,
        *,
        reading: str | None = None,
        at: Mapping[str, Json] | None = None,
    ) -> Series:
        """A variant's values in an item over the remaining swept key; over tuples if several remain.

        Args:
            metric: A metric of the item; default: the first.
            at: More keys of the sweep, each with the value to take.
        """
        if item not in self.items:
            raise MissingError
        its = self.items[item]
        published = metric if metric is not None else next(iter(its.metrics))
        ours = its.metrics[published]
        change = self.paper.variants[variant].change
        template = self.paper.experiments[its.experiment].scenario
        again: Values = {}
        if reading is None and self._reading is not None:
            reading = self._reading
            if item not in self.paper.readings[reading].items:
                raise MissingError
        if reading is not None:
            read = self.paper.readings[reading]
            again, template = read.change, read.scenario or template
            ours = read.metrics.get(published, ours)
        tags = {"experiment": its.experiment, "reading": reading, "variant": variant}
        fixed = _left({**its.at, **(at or {})}, again)
        # Keys that are swept together form one axis, named by the first.
        others = {key for one in template.zipped for key in list(one)[1:]}
        series: dict[Place, Quantity] = {}
        for values, scenario, runs in self._points:
            if not _is_at(values, {**tags, **fixed}) or not runs:
                continue
            rest = {
                key: value
                for key, value in values.items()
                if key not in others and key not in {**tags, **fixed, **change, **again}
            }
            place = tuple(one if isinstance(one, float | int) else str(one) for one in rest.values())
            x = place[0] if len(place) == 1 else place
            by_seed = {seed: self._value(scenario, run, ours) for seed, run in sorted(runs.items())}
            series[x] = Quantity(by_seed, fixed=not is_random(scenario), of=rest)
        return Series(series)

    def read_as(self, reading: str) -> Measured:
        """These values as a reading has them; what the reading did not run is missing."""
        other = copy.copy(self)
        other._reading, other._traces = reading, {}
        return other

    def best(
        self,
        item: str,
        metric: str | None = None,
        *,
        besides: str | Sequence[str],
        reading: str | None = None,
    ) -> Series:
        """At each point the largest value of the variants except `besides`."""
        return best(self(item, variant, metric, reading=reading) for variant in self.others(item, besides))

    def others(self, item: str, besides: str | Sequence[str]) -> list[str]:
        """The variants of an item except `besides`."""
        out = [besides] if isinstance(besides, str) else besides
        return [variant for variant in self.variants(item) if variant not in out]

    def variants(self, item: str) -> list[str]:
        """The variants of an item."""
        if item not in self.items:
            raise MissingError
        return self.paper.experiments[self.items[item].experiment].variants

    def unit(self, item: Item, metric: str) -> str:
        """A published metric with its unit, for an axis."""
        units = [
            row["unit"]
            for row in self.paper.published
            if row["item"] == item.published and row["metric"] == metric
        ]
        shown = metric.replace("_", " ")
        return f"{shown} ({units[0]})" if units else shown

    def trace(self, name: str, variant: str) -> pl.DataFrame:
        """The time series of a figure of windows, as in `Results.samples`."""
        if name not in self._traces:
            raise MissingError
        import polars as pl

        return self._traces[name].samples.filter(pl.col("scenario") == variant)

    def _value(self, scenario: ScenarioJson, run: RunRows, metric: str) -> float:
        name, _, argument = metric.partition(" ")
        if name == QUEUEING_JAIN:
            return queueing_jain(run["flows"], base_rtts_ms(scenario).tolist())
        if name in _OF_FLOWS:
            flows = run["flows"]
            if argument:
                flows = [flows[int(argument) - 1]]
            return _OF_FLOWS[name](flows)
        return float(self._metrics[scenario["name"]][run["seed"]][name])


#: Columns that are summed over flows.
_Summed: TypeAlias = Literal[
    "sent_pkts", "retransmitted_pkts", "delivered_pkts", "lost_pkts", "mean_cwnd_pkts"
]


def _total(flows: Sequence[FlowRow], column: _Summed) -> float:
    return float(sum(flow[column] for flow in flows))


#: Metrics of papers that are not in the summary; "NAME K" is the metric of the K-th flow alone.
_OF_FLOWS: dict[str, Callable[[Sequence[FlowRow]], float]] = {
    # Retransmitted for each 100 packets that arrived.
    "retransmitted_percent": lambda flows: (
        100 * _total(flows, "retransmitted_pkts") / max(_total(flows, "delivered_pkts"), 1)
    ),
    # The highest sequence number sent, from 0: `maxseq_` of ns-2.
    "highest_sent": lambda flows: (
        _total(flows, "sent_pkts") - _total(flows, "retransmitted_pkts") - len(flows)
    ),
    # Packets sent that have not arrived by the end, including packets in flight.
    "missing_percent": lambda flows: (
        100 * (1 - _total(flows, "delivered_pkts") / max(_total(flows, "sent_pkts"), 1))
    ),
    # All flows together, from the first start to the end of the last transfer.
    "transfers_mbps": lambda flows: (
        sum(flow["throughput_mbps"] * (flow["stop_s"] - flow["start_s"]) for flow in flows)
        / (max(flow["stop_s"] for flow in flows) - min(flow["start_s"] for flow in flows))
    ),
    # The sum of the flows' mean windows.
    "mean_cwnd": lambda flows: _total(flows, "mean_cwnd_pkts"),
    "loss_percent": lambda flows: 100 * _total(flows, "lost_pkts") / max(_total(flows, "sent_pkts"), 1),
}


#: Name of `queueing_jain` in paper.toml.
QUEUEING_JAIN = "queueing_delay_jain"


def queueing_jain(flows: Sequence[FlowRow], base_rtts_ms: Sequence[float]) -> float:
    """Jain's index of the flows' mean queueing delays: the mean RTT without the RTT over empty queues.

    NaN without a flow that waited. The index of whole RTTs is 1 wherever queues are short beside the path.
    """
    waits = [
        max(flow["mean_rtt_ms"] - base_ms, 0)
        for flow, base_ms in zip(flows, base_rtts_ms, strict=True)
        if flow["mean_rtt_ms"] is not None
    ]
    return jain_index(waits) if any(waits) else math.nan


def measure(
    selection: Selection, folder: Path, **how: Unpack[sweep.How]
) -> tuple[Measured, list[sweep.Failure]]:
    """Runs what is missing in `folder`, then the traces."""
    asked = plan(selection)
    failures: list[sweep.Failure] = []
    results = Results([], empty_table)
    if asked.points:
        outcome = sweep.work(asked, folder, world=selection.world, **how)
        failures = outcome.failures
        results = Results.load(folder)
    traces = {trace.name: _traced(selection.paper, trace, how.get("jobs", 0)) for trace in selection.traces}
    return Measured(selection, results, traces), failures


def _traced(paper: Paper, trace: WindowTrace, jobs: int) -> Results:
    scenario = trace.scenario._replace(swept={}, zipped=[])
    scenarios = []
    for variant in trace.variants:
        change = {**paper.variants[variant].change, **trace.change}
        ((_, inner),) = _cwnd.sweep(_text(scenario, variant, change), trace.name, {})
        scenarios.append(inner.replace(name=variant, seed=None, repeat=None))
    return Results._of(scenarios, sim.run(scenarios, jobs, None))
