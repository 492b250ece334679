"""Papers: their experiments, what they published, and the verdict on each number and claim.

`papers/NAME/paper.toml` says what is run; CONTRIBUTING.md describes its keys. All runs of a paper are
one sweep, so that it goes on where it stopped.
"""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli_w

from cwnd import _cwnd, _sweep
from cwnd._claims import Claim, Estimate, MissingError, Quantity, Series, best
from cwnd._errors import error, one_line, os_error
from cwnd._results import Results, runs_of
from cwnd._store import Point

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import polars as pl

_FOLDER = Path(__file__).parent / "papers"

#: Seeds where randomness plays a part, as many as the papers' own runs; of a quick look.
SEEDS = 30
QUICK_SEEDS = 3

#: What a published column is called in a scenario: the last part of a key.
_COLUMNS = {"buffer_pkts": "buffer", "per": "per"}


class Variant(NamedTuple):
    """What runs under a name that the paper uses."""

    name: str
    label: str
    #: Keys of the scenario and their values.
    change: dict[str, Any]


class Experiment(NamedTuple):
    name: str
    #: The scenario as TOML says it.
    scenario: dict[str, Any]
    variants: list[str]
    #: Keys of the sweep and those of their values that a quick look takes.
    quick: dict[str, list[Any]]


class Item(NamedTuple):
    """A figure or table of the paper, or a part of one."""

    name: str
    #: Its name in published.csv; None if it prints no numbers that can be read.
    published: str | None
    title: str
    experiment: str
    #: Swept keys, and the value that each has here.
    at: dict[str, Any]
    #: Published metrics, and what they are called here.
    metrics: dict[str, str]


class Trace(NamedTuple):
    """A figure of windows over time."""

    name: str
    title: str
    scenario: dict[str, Any]
    variants: list[str]
    change: dict[str, Any]
    #: The sum over the flows instead of each flow.
    total: bool
    #: A quick look draws it.
    quick: bool


class Figure(NamedTuple):
    """Items drawn together."""

    name: str
    title: str
    items: list[str]
    #: Drawn is by how many percent this variant exceeds each of the others, not their values.
    gain_of: str | None


class Reading(NamedTuple):
    """Another way to read the paper, or another world: run beside what is taken for right."""

    name: str
    about: str
    items: list[str]
    variants: list[str]
    change: dict[str, Any]
    #: Keys of the sweep and those of their values that it takes.
    only: dict[str, list[Any]]


class Cause(NamedTuple):
    """Why published values differ from ours, and the test of it: `reading`, `within`, or `tested`."""

    text: str
    #: Columns of published.csv and the values that this is about.
    of: dict[str, list[str]]
    #: Explains those with which this reading agrees.
    reading: str | None
    #: "runs": explains those between the least and the most of the runs, of the reading's if it is said;
    #: "rounding": those that the mean gives with as many decimals as were printed.
    within: str | None
    #: What was changed, and what came of it.
    tested: str | None


class Paper(NamedTuple):
    name: str
    folder: Path
    title: str
    citation: str
    about: str
    variants: dict[str, Variant]
    experiments: dict[str, Experiment]
    items: dict[str, Item]
    traces: dict[str, Trace]
    figures: dict[str, Figure]
    readings: dict[str, Reading]
    causes: list[Cause]
    published: list[dict[str, str]]
    claims: list[Claim]


class Number(NamedTuple):
    """A published value beside ours. `verdict` is agrees, differs or not run."""

    item: str
    row: dict[str, str]
    metric: str
    ours: Estimate | None
    verdict: str
    #: Why it differs; None if it agrees or nobody knows.
    cause: str | None


class Judged(NamedTuple):
    """A claim. `verdict` is holds, fails or not run."""

    claim: Claim
    verdict: str
    measured: str


def papers() -> list[Paper]:
    """All papers, by name."""
    return [load(path.parent.name) for path in sorted(_FOLDER.glob("*/paper.toml"))]


#: The keys of paper.toml's tables: those that are needed, and the others.
_KEYS = {
    "experiment": (("scenario",), ("variants", "quick")),
    "item": (("title", "experiment"), ("published", "at", "metrics")),
    "trace": (("title", "scenario"), ("variants", "change", "total", "quick")),
    "figure": (("title", "items"), ("gain_of",)),
    "reading": (("about", "items", "change"), ("variants", "only")),
    "cause": (("text",), ("of", "reading", "within", "tested")),
}


def load(name: str) -> Paper:
    """Reads `papers/NAME`.

    Raises `Error` if there is no such paper, or its paper.toml is wrong.
    """
    folder = _FOLDER / name
    if not (folder / "paper.toml").is_file():
        there = ", ".join(path.parent.name for path in sorted(_FOLDER.glob("*/paper.toml")))
        raise error("", f"'{one_line(name)}' is not a paper; there are {there}")
    told = _toml(folder / "paper.toml")
    for key in ("title", "citation", "about"):
        if not isinstance(told.get(key), str):
            raise error(f"{name}/paper.toml: {key}", "is needed, a text")
    variants = {key: Variant(key, one.pop("label", key), one) for key, one in told.get("variant", {}).items()}
    every = list(variants)
    metrics = told.get("metrics", {})
    tables = {kind: _tables(name, kind, told.get(kind, {})) for kind in _KEYS}
    paper = Paper(
        name,
        folder,
        told["title"],
        told["citation"],
        told["about"],
        variants,
        {
            key: Experiment(
                key, _toml(folder / one["scenario"]), one.get("variants", every), one.get("quick", {})
            )
            for key, one in tables["experiment"]
        },
        {
            key: Item(
                key,
                one.get("published"),
                one["title"],
                one["experiment"],
                one.get("at", {}),
                one.get("metrics", metrics),
            )
            for key, one in tables["item"]
        },
        {
            key: Trace(
                key,
                one["title"],
                _toml(folder / one["scenario"]),
                one.get("variants", every),
                one.get("change", {}),
                one.get("total", False),
                one.get("quick", True),
            )
            for key, one in tables["trace"]
        },
        {key: Figure(key, one["title"], one["items"], one.get("gain_of")) for key, one in tables["figure"]},
        {
            key: Reading(
                key,
                one["about"],
                one["items"],
                one.get("variants", every),
                one["change"],
                one.get("only", {}),
            )
            for key, one in tables["reading"]
        },
        [
            Cause(
                one["text"],
                {key: [str(value) for value in values] for key, values in one.get("of", {}).items()},
                one.get("reading"),
                one.get("within"),
                one.get("tested"),
            )
            for _, one in tables["cause"]
        ],
        _published(folder / "published.csv"),
        _claims(folder / "claims.py"),
    )
    _check(paper)
    return paper


def _toml(path: Path) -> dict[str, Any]:
    shown = f"{path.parent.name}/{path.name}"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as failed:
        raise os_error(shown, failed) from None
    except ValueError as failed:
        raise error(shown, one_line(str(failed))) from None


def _tables(paper: str, kind: str, told: Any) -> list[tuple[str, dict[str, Any]]]:
    """The tables of a kind by name, or by number; an `Error` for a key that is missing or unknown."""
    named = list(told.items()) if isinstance(told, dict) else list(enumerate(told, 1))
    needed, others = _KEYS[kind]
    for key, one in named:
        where = f"{paper}/paper.toml: {kind} {key}"
        for missing in needed:
            if missing not in one:
                raise error(where, f"{missing} is needed")
        for unknown in one.keys() - {*needed, *others}:
            raise error(where, f"{one_line(unknown)} is not a key; there are {', '.join((*needed, *others))}")
    return [(str(key), one) for key, one in named]


def _check(paper: Paper) -> None:
    """Raises an `Error` for a name that is nobody's."""

    def known(where: str, names: Iterable[str], there: Iterable[str]) -> None:
        for name in names:
            if name not in there:
                reason = f"'{one_line(name)}' is not one of {', '.join(there)}"
                raise error(f"{paper.name}/paper.toml: {where}", reason)

    for experiment in paper.experiments.values():
        known(f"variants of {experiment.name}", experiment.variants, paper.variants)
    for item in paper.items.values():
        known(f"experiment of {item.name}", [item.experiment], paper.experiments)
    for trace in paper.traces.values():
        known(f"variants of {trace.name}", trace.variants, paper.variants)
    for figure in paper.figures.values():
        known(f"items of {figure.name}", figure.items, paper.items)
    for reading in paper.readings.values():
        known(f"items of {reading.name}", reading.items, paper.items)
        known(f"variants of {reading.name}", reading.variants, paper.variants)
    for number, cause in enumerate(paper.causes, 1):
        known(f"reading of cause {number}", [cause.reading] if cause.reading else [], paper.readings)
        known(f"within of cause {number}", [cause.within] if cause.within else [], ["runs", "rounding"])


def _published(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _claims(path: Path) -> list[Claim]:
    if not path.exists():
        return []
    spec = importlib.util.spec_from_file_location(f"cwnd_papers.{path.parent.name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [value for value in vars(module).values() if isinstance(value, Claim)]


class Selection(NamedTuple):
    """What of a paper is run."""

    paper: Paper
    items: list[Item]
    traces: list[Trace]
    quick: bool
    seeds: int


def select(
    paper: Paper, only: Sequence[str] = (), *, quick: bool = False, seeds: int | None = None
) -> Selection:
    """The items and traces whose names are, or begin with, one of `only`; all if it is empty.

    Raises `Error` if one of `only` is nothing's name.
    """
    for part in only:
        if not any(name.startswith(part) for name in [*paper.items, *paper.traces]):
            there = ", ".join([*paper.items, *paper.traces])
            raise error("only", f"'{one_line(part)}' is not in {paper.name}; there are {there}")

    def chosen(name: str) -> bool:
        return not only or name.startswith(tuple(only))

    return Selection(
        paper,
        [item for item in paper.items.values() if chosen(item.name)],
        [trace for trace in paper.traces.values() if chosen(trace.name) and (trace.quick or not quick)],
        quick,
        (QUICK_SEEDS if quick else SEEDS) if seeds is None else seeds,
    )


def plan(selection: Selection) -> _sweep.Plan:
    """The runs that the selected items need. A point without randomness has one seed, the others `seeds`.

    A quick look takes only those readings that explain something.
    """
    paper = selection.paper
    explaining = {cause.reading for cause in paper.causes}
    readings = [one for one in paper.readings.values() if not selection.quick or one.name in explaining]
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
    return _sweep.Plan(points, seeds, {})


def is_random(scenario: Mapping[str, Any]) -> bool:
    """Whether the seed changes anything."""
    return any(link["per"] for link in scenario["links"]) or any(
        flow["start_jitter_ns"] for flow in scenario["flows"]
    )


def _points(
    selection: Selection, experiment: Experiment, variant: str, items: Sequence[Item], reading: Reading | None
) -> list[Point]:
    change = {**selection.paper.variants[variant].change, **({} if reading is None else reading.change)}
    name = ", ".join([experiment.name, *([] if reading is None else [reading.name]), variant])
    text = _text(experiment.scenario, name, change)
    tags = {"experiment": experiment.name, "reading": reading and reading.name, "variant": variant}
    points = []
    for point in _sweep.read(text).points:
        needed = any(_is_at(point.values, _left(item.at, change)) for item in items)
        quick = _is_among(point.values, experiment.quick)
        wanted = reading is None or _is_among(point.values, reading.only)
        if needed and wanted and (quick or not selection.quick):
            rest = [str(value) for key, value in point.values.items() if key not in change]
            inner = point.scenario.replace(name=", ".join([name, *rest]))
            points.append(Point({**tags, **point.values}, inner))
    return points


def _text(scenario: dict[str, Any], name: str, change: Mapping[str, Any]) -> str:
    """The scenario as TOML, with `change` in its sweep, over what it sweeps itself."""
    swept = {**scenario.get("sweep", {}), **{key: [value] for key, value in change.items()}}
    if "zip" in swept:
        left = [{key: value for key, value in one.items() if key not in change} for one in swept["zip"]]
        swept["zip"] = [one for one in left if one]
    return tomli_w.dumps({**scenario, "name": name, "sweep": swept})


def _is_at(values: Mapping[str, Any], at: Mapping[str, Any]) -> bool:
    return all(values.get(key) == value for key, value in at.items())


def _left(at: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that are not changed."""
    return {key: value for key, value in at.items() if key not in change}


def _is_among(values: Mapping[str, Any], among: Mapping[str, Sequence[Any]]) -> bool:
    return all(values.get(key) in some for key, some in among.items())


class Measured:
    """What the runs gave, by item, variant and point: what a claim asks.

    `m("fig10b", "elastic")` is the series of a variant in an item.
    """

    def __init__(self, selection: Selection, results: Results, traces: dict[str, Results]) -> None:
        self.selection = selection
        self.paper = selection.paper
        self.items = {item.name: item for item in selection.items}
        self._traces = traces
        runs: dict[str, dict[int, dict[str, Any]]] = {}
        for (scenario, seed), run in runs_of({"flows": results.flows}).items():
            runs.setdefault(scenario, {})[seed] = run
        self._points = [
            (values, scenario, runs.get(scenario["name"], {}))
            for values, scenario in zip(results.values, results.scenarios, strict=True)
        ]
        self._metrics = {
            name: {run["seed"]: run for run in table.iter_rows(named=True)}
            for name, table in results._metrics.items()
        }

    def __call__(
        self,
        item: str,
        variant: str,
        metric: str | None = None,
        *,
        reading: str | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> Series:
        """A variant's values in an item over the swept key that is left; over tuples if there are several.

        Args:
            metric: One of the item's; the first, if left out.
            at: More keys of the sweep with the value to take.
        """
        if item not in self.items:
            raise MissingError
        its = self.items[item]
        ours = its.metrics[metric] if metric is not None else next(iter(its.metrics.values()))
        tags = {"experiment": its.experiment, "reading": reading, "variant": variant}
        change = self.paper.variants[variant].change
        again = {} if reading is None else self.paper.readings[reading].change
        fixed = _left({**its.at, **(at or {})}, again)
        # Keys that are swept together are one axis: the first.
        zipped = self.paper.experiments[its.experiment].scenario.get("sweep", {}).get("zip", [])
        others = {key for one in zipped for key in list(one)[1:]}
        series = {}
        for values, scenario, runs in self._points:
            if not _is_at(values, {**tags, **fixed}) or not runs:
                continue
            rest = {
                key: value
                for key, value in values.items()
                if key not in others and key not in {**tags, **fixed, **change, **again}
            }
            x = next(iter(rest.values())) if len(rest) == 1 else tuple(rest.values())
            by_seed = {seed: self._value(scenario["name"], run, ours) for seed, run in sorted(runs.items())}
            series[x] = Quantity(by_seed, fixed=not is_random(scenario), of=rest)
        return Series(series)

    def best(
        self,
        item: str,
        metric: str | None = None,
        *,
        besides: str | Sequence[str],
        reading: str | None = None,
    ) -> Series:
        """Point by point the largest of the variants but `besides`."""
        return best(self(item, variant, metric, reading=reading) for variant in self.others(item, besides))

    def others(self, item: str, besides: str | Sequence[str]) -> list[str]:
        """The variants of an item but `besides`."""
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

    def _value(self, scenario: str, run: dict[str, Any], metric: str) -> float:
        name, _, argument = metric.partition(" ")
        if name in _OF_FLOWS:
            flows = run["flows"]
            if argument:
                flows = [flows[int(argument) - 1]]
            return _OF_FLOWS[name](flows)
        return float(self._metrics[scenario][run["seed"]][name])


def _total(flows: Sequence[Mapping[str, Any]], column: str) -> float:
    return float(sum(flow[column] for flow in flows))


#: Metrics of papers that are not in the summary; "NAME K" is that of the K-th flow alone.
_OF_FLOWS: dict[str, Callable[[Sequence[Mapping[str, Any]]], float]] = {
    # Retransmitted for each 100 packets that arrived.
    "retransmitted_percent": lambda flows: (
        100 * _total(flows, "retransmitted_pkts") / max(_total(flows, "delivered_pkts"), 1)
    ),
    # The highest sequence number sent, from 0: `maxseq_` of ns-2.
    "highest_sent": lambda flows: (
        _total(flows, "sent_pkts") - _total(flows, "retransmitted_pkts") - len(flows)
    ),
    # Packets sent that have not arrived by the end, those in flight among them.
    "missing_percent": lambda flows: (
        100 * (1 - _total(flows, "delivered_pkts") / max(_total(flows, "sent_pkts"), 1))
    ),
    # The sum of the flows' mean windows.
    "mean_cwnd": lambda flows: _total(flows, "mean_cwnd_pkts"),
    # Jain's index of the flows' mean RTTs.
    "rtt_jain": lambda flows: (
        _total(flows, "mean_rtt_ms") ** 2
        / (len(flows) * sum(float(flow["mean_rtt_ms"]) ** 2 for flow in flows))
    ),
    "loss_percent": lambda flows: 100 * _total(flows, "lost_pkts") / max(_total(flows, "sent_pkts"), 1),
}


def measure(
    selection: Selection,
    folder: Path,
    *,
    jobs: int = 0,
    progress: Callable[[_sweep.Progress], object] | None = None,
    command: Sequence[str] | None = None,
) -> tuple[Measured, list[_sweep.Failure]]:
    """Runs what is missing in `folder`, then the traces."""
    asked = plan(selection)
    failures: list[_sweep.Failure] = []
    results = Results._made([], Results._empty)
    if asked.points:
        outcome = _sweep.work(asked, folder, jobs=jobs, progress=progress, command=command)
        failures = outcome.failures
        results = Results.load(folder)
    traces = {trace.name: _traced(selection.paper, trace, jobs) for trace in selection.traces}
    return Measured(selection, results, traces), failures


def _traced(paper: Paper, trace: Trace, jobs: int) -> Results:
    scenario = {key: value for key, value in trace.scenario.items() if key != "sweep"}
    scenarios = []
    for variant in trace.variants:
        change = {**paper.variants[variant].change, **trace.change}
        ((_, inner),) = _cwnd.sweep(_text(scenario, variant, change), trace.name, {})
        scenarios.append(inner.replace(name=variant, seed=None, repeat=None))
    return Results._of(scenarios, _cwnd.run(scenarios, jobs, None))


def numbers(measured: Measured) -> list[Number]:
    """The verdict on each published value of the selected items, in the order of published.csv."""
    item_of: dict[tuple[str, str], Item] = {}
    for item in measured.selection.items:
        for metric in item.metrics:
            item_of.setdefault((item.published or "", metric), item)
    judged = []
    for row in measured.paper.published:
        its = item_of.get((row["item"], row["metric"]))
        if its is None:
            continue
        ours = _ours(measured, its, row, None)
        value = float(row["value"])
        verdict = "not run" if ours is None else "agrees" if ours.agrees(value) else "differs"
        cause = _cause(measured, its, row, value, ours) if verdict == "differs" else None
        judged.append(Number(its.name, row, its.metrics[row["metric"]], ours, verdict, cause))
    return judged


def _ours(measured: Measured, item: Item, row: Mapping[str, str], reading: str | None) -> Estimate | None:
    """What a published value is to be compared with."""
    try:
        series = measured(item.name, row["cca"], row["metric"], reading=reading)
    except (MissingError, KeyError):
        return None
    wanted = {key: float(row[column]) for column, key in _COLUMNS.items() if row.get(column)}
    for quantity in series.points.values():
        if all(wanted.get(key.rpartition(".")[2]) == value for key, value in quantity.of.items()):
            estimate: Estimate = quantity.estimate
            return estimate
    return None


def _cause(
    measured: Measured, item: Item, row: Mapping[str, str], value: float, ours: Estimate | None
) -> str | None:
    for cause in measured.paper.causes:
        if any(row.get(column) not in values for column, values in cause.of.items()):
            continue
        if cause.tested is not None:
            return cause.text
        of = ours if cause.reading is None else _ours(measured, item, row, cause.reading)
        if of is None:
            continue
        if cause.within == "runs" and of.least <= value <= of.most:
            return cause.text
        decimals = len(row["value"].partition(".")[2])
        if cause.within == "rounding" and round(of.mean, decimals) == value:
            return cause.text
        if cause.within is None and of.agrees(value):
            return cause.text
    return None


def read_so(measured: Measured, about: Sequence[Number], reading: str) -> list[tuple[Number, bool]]:
    """Those of the numbers that a reading was run for, and whether they agree with it."""
    told = []
    for one in about:
        so = _ours(measured, measured.items[one.item], one.row, reading)
        if so is not None:
            told.append((one, so.agrees(float(one.row["value"]))))
    return told


def judge(measured: Measured) -> list[Judged]:
    """The verdict on each claim."""
    judged = []
    for claim in measured.paper.claims:
        try:
            outcome = claim.test(measured)
        except MissingError:
            judged.append(Judged(claim, "not run", ""))
            continue
        judged.append(Judged(claim, "holds" if outcome.holds else "fails", outcome.measured))
    return judged
