"""Compares results: the same scenarios in several worlds, or made by several versions."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cwnd._analysis.gate import check_results, interval
from cwnd._analysis.paired import Difference, difference, holm, paired_json
from cwnd._common.errors import error, one_line
from cwnd._common.fairness import comparison_notes
from cwnd._common.files import write_file
from cwnd._common.latex import latex_table
from cwnd._common.metrics import METRICS
from cwnd._common.rows import distinct_algorithms
from cwnd._common.text import digits, markdown
from cwnd._results.directory import new_files
from cwnd._results.notes import INVALID
from cwnd._scenario.facts import bottleneck_link, is_trace

if TYPE_CHECKING:
    import matplotlib.figure

    from cwnd._common.shapes import ScenarioJson
    from cwnd._results.results import Results


class Metric(NamedTuple):
    """A metric of the summary or a column of flows or links, and by how much it may differ.

    Below `floor` a difference of counts is none.
    """

    name: str
    unit: str
    tolerance: float
    floor: float = 0.0


#: Metrics that are compared. Rates and RTTs may differ by 5 %; counts of rare events and queues by 20 %.
COMPARED = (
    *(Metric(name, METRICS[name].unit, 0.05) for name in ("throughput_mbps", "goodput_mbps", "mean_rtt_ms")),
    Metric("retransmitted_pkts", "packets", 0.20, 10),
    Metric("marked_pkts", "packets", 0.20, 10),
    Metric("mean_queue_pkts", "packets", 0.20, 1),
    Metric("mean_cwnd_pkts", "packets", 0.10, 1),
    Metric("jain_fairness", METRICS["jain_fairness"].unit, 0.05),
    Metric("fct_p50_ms", METRICS["fct_p50_ms"].unit, 0.10),
)

#: Keys of a scenario that two results may have different.
_FREE = ("name", "seed", "repeat", "samples", "sample_groups")


class Side(NamedTuple):
    """A metric of one result: mean, ends of the 95 % interval (infinite for one run), number of runs."""

    mean: float
    low: float
    high: float
    n: int


class Line(NamedTuple):
    """A metric of one scenario in each result.

    `ratios` are those of each result's mean to the first's, None where that is 0. `verdict` is "agrees" if
    all are within the tolerance, "within the intervals" if the 95 % intervals of those that are not overlap
    the first's, else "differs".
    """

    scenario: str
    metric: Metric
    sides: list[Side]
    ratios: list[float | None]
    verdict: str
    #: The paired differences of each further result with two of the first's seeds or more, and p with Holm's
    #: correction over all lines.
    differences: list[tuple[Difference, float | None]]


class Comparison:
    """Results side by side: `lines`, `notes` on what else differs, and the names of the results."""

    def __init__(self, results: Sequence[Results], names: Sequence[str]) -> None:
        self.names = list(names)
        self._results = list(results)
        self._pairs = _pairs(results, self.names)
        self.lines = _with_holm([line for pair in self._pairs for line in _lines(results, pair)])
        self.notes = [note for pair in self._pairs for note in _differences(results, pair, self.names)]
        for name, result in zip(self.names, results, strict=True):
            self.notes += [f"{name}: {one_line(scenario)}: {note}" for scenario, note in result.notes]
        every = [scenario for result in results for scenario in result.scenarios]
        self.notes += comparison_notes(every) if _algorithms_differ(results, self._pairs) else []
        self._valid = not any(note.startswith(INVALID) for result in results for _, note in result.notes)

    @property
    def valid(self) -> bool:
        """True if every path was what its scenario asks for."""
        return self._valid

    @property
    def ok(self) -> bool:
        """True if nothing differs, and every path was what its scenario asks for."""
        return self._valid and all(line.verdict != "differs" for line in self.lines)

    def to_json(self) -> str:
        """`{"names", "ok", "lines", "notes"}`, one object for each line."""
        lines = [
            {
                "scenario": line.scenario,
                "metric": line.metric.name,
                "unit": line.metric.unit,
                "tolerance": line.metric.tolerance,
                "results": [
                    {"mean": mean, "ci95_low": _finite(low), "ci95_high": _finite(high), "n": n}
                    for mean, low, high, n in line.sides
                ],
                "ratios": line.ratios,
                "verdict": line.verdict,
                "paired": [paired_json(*one) for one in line.differences],
            }
            for line in self.lines
        ]
        content = {"names": self.names, "ok": self.ok, "lines": lines, "notes": self.notes}
        return json.dumps(content, allow_nan=False, separators=(",", ":"))

    def to_markdown(self) -> str:
        """One table."""
        names = [markdown(name) for name in self.names]
        heads = ["scenario", "metric", *names, *(f"{name} / {names[0]}" for name in names[1:])]
        rows = [
            [
                markdown(line.scenario),
                line.metric.name,
                *map(shown, line.sides),
                *map(_ratio, line.ratios[1:]),
            ]
            for line in self.lines
        ]
        table = [[*heads, "verdict"], ["---"] * (len(heads) + 1)]
        table += [[*row, line.verdict] for row, line in zip(rows, self.lines, strict=True)]
        texts = [" | ".join(row) for row in table]
        notes = [f"- {markdown(note)}" for note in self.notes]
        return "\n".join([*(f"| {text} |" for text in texts), *([""] if notes else []), *notes, ""])

    def to_latex(self) -> str:
        """The table for a paper: a tabular with booktabs."""
        first, *others = self.names
        heads = ["scenario", "metric", *self.names, *(f"{name} / {first}" for name in others), "verdict"]
        rows = [
            [
                line.scenario,
                f"{line.metric.name} ({line.metric.unit})" if line.metric.unit else line.metric.name,
                *map(shown, line.sides),
                *map(_ratio, line.ratios[1:]),
                line.verdict,
            ]
            for line in self.lines
        ]
        return latex_table(heads, rows, texts=2)

    def plot(self, kind: str, path: str | os.PathLike[str] | None = None) -> matplotlib.figure.Figure:
        """Draws "cwnd", "rtt", "throughput" or "queue" over time: a panel for each scenario, in which the
        results lie over each other; the first seed of each.

        Args:
            path: Also write the figure to this file; the ending sets the format.
        """
        from cwnd._report import compared, figures

        figure = compared.draw(kind, self._results, self.names, self._pairs)
        if path is not None:
            figures.write_figure(figure, Path(path))
        return figure

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes comparison.json, comparison.md and, where the results have time series, cwnd and queue as
        PNG, SVG and PDF."""
        folder = Path(directory)
        from cwnd._report import compared, figures

        with new_files(folder) as building:
            write_file(building / "comparison.json", self.to_json().encode())
            write_file(building / "comparison.md", self.to_markdown().encode())
            for kind in {"cwnd", "queue"}.intersection(compared.applicable(self._results, self._pairs)):
                figure = self.plot(kind)
                figures.write_figures(figure, building, kind)


def compare(*results: Results, names: Sequence[str] | None = None) -> Comparison:
    """Puts results side by side, metric by metric, with a verdict for each.

    Scenarios are paired by their names; if each result has one, these two. Metrics are means over the runs
    with 95 % intervals (Student's t). The first result is what the others are compared with.

    Args:
        names: Of the results; default: their worlds if these differ, else "1", "2", ....

    Raises:
        Error: fewer than two results; a scenario that another result lacks; one without runs or without a
            path.
    """
    for number, result in enumerate(results, 1):
        check_results(f"result {number}", result)
    if len(results) < 2:
        raise error("compare", f"{len(results)} result; two or more are compared")
    if names is None:
        worlds = [result.entries[0]["world"] if result.entries else "" for result in results]
        distinct = len(set(worlds)) == len(worlds)
        names = worlds if distinct else [str(number) for number in range(1, len(results) + 1)]
    elif len(names) != len(results):
        raise error("names", f"{len(names)} names of {len(results)} results")
    return Comparison(results, names)


def shown(side: Side) -> str:
    """The mean and, of more than one run, half the width of its interval."""
    if not math.isfinite(side.high):
        return digits(side.mean)
    return f"{digits(side.mean)} ± {digits(side.high - side.mean)}"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _pairs(results: Sequence[Results], names: Sequence[str]) -> list[list[str]]:
    """The names that each scenario has in the results."""
    scenarios = [[str(scenario["name"]) for scenario in result.scenarios] for result in results]
    if all(len(own) == 1 for own in scenarios):
        pairs = [[own[0] for own in scenarios]]
    else:
        for name, own in zip(names[1:], scenarios[1:], strict=True):
            for there, missing in (
                (name, set(scenarios[0]) - set(own)),
                (names[0], set(own) - set(scenarios[0])),
            ):
                if missing:
                    raise error(
                        one_line(there), f"has no scenario '{one_line(min(missing))}'; another result has"
                    )
        pairs = [[scenario] * len(results) for scenario in scenarios[0]]
    for name, result in zip(names, results, strict=True):
        if not result.flows.height or any(map(is_trace, result.scenarios)):
            raise error(one_line(name), "has no runs of a scenario")
    return pairs


def _algorithms_differ(results: Sequence[Results], pairs: Sequence[Sequence[str]]) -> bool:
    for pair in pairs:
        own = (_scenario(result, name) for result, name in zip(results, pair, strict=True))
        if len({tuple(distinct_algorithms(scenario)) for scenario in own}) > 1:
            return True
    return False


def _differences(results: Sequence[Results], pair: Sequence[str], names: Sequence[str]) -> list[str]:
    """A line for each result whose scenario is not the first's, with the first key that differs."""
    first, *others = (_scenario(result, name) for result, name in zip(results, pair, strict=True))
    found = []
    for name, other in zip(names[1:], others, strict=True):
        here, there = (
            {key: value for key, value in one.items() if key not in _FREE} for one in (first, other)
        )
        difference = _first_difference(here, there, "")
        if difference is not None:
            key, values = difference
            found.append(f"{one_line(pair[0])}: {key} is {values[0]} in {names[0]}, {values[1]} in {name}")
    return found


def _first_difference(here: object, there: object, key: str) -> tuple[str, tuple[str, str]] | None:
    if isinstance(here, dict) and isinstance(there, dict):
        for name in [*here, *(name for name in there if name not in here)]:
            found = _first_difference(here.get(name), there.get(name), f"{key}.{name}" if key else name)
            if found is not None:
                return found
        return None
    if isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        for index, (one, other) in enumerate(zip(here, there, strict=True)):
            found = _first_difference(one, other, f"{key}[{index}]")
            if found is not None:
                return found
        return None
    return None if here == there else (key, (_value(here), _value(there)))


def _value(value: object) -> str:
    text = one_line(json.dumps(value))
    return text if len(text) <= 40 else f"{text[:37]}..."


def _scenario(result: Results, name: str) -> ScenarioJson:
    return next(scenario for scenario in result.scenarios if scenario["name"] == name)


def _lines(results: Sequence[Results], pair: Sequence[str]) -> list[Line]:
    values = [_values(result, name) for result, name in zip(results, pair, strict=True)]
    lines = []
    for metric in COMPARED:
        own = [each.get(metric.name, {}) for each in values]
        if not all(own) or (
            metric.name == "marked_pkts" and not any(any(of_seed.values()) for of_seed in own)
        ):
            continue
        sides = [Side(*interval(list(of_seed.values())), len(of_seed)) for of_seed in own]
        ratios = [side.mean / sides[0].mean if sides[0].mean else None for side in sides]
        differences: list[tuple[Difference, float | None]] = [
            (found, None) for other in own[1:] if (found := _paired(own[0], other))
        ]
        if len(differences) < len(own) - 1:
            differences = []
        lines.append(Line(pair[0], metric, sides, ratios, _verdict(metric, sides), differences))
    return lines


def _paired(first: Mapping[int, float], other: Mapping[int, float]) -> Difference | None:
    """The differences of the runs with the same seeds, if these are two or more."""
    seeds = [seed for seed in first if seed in other]
    if len(seeds) < 2:
        return None
    return difference([first[seed] for seed in seeds], [other[seed] for seed in seeds])


def _with_holm(lines: list[Line]) -> list[Line]:
    adjusted = iter(holm([found.p for line in lines for found, _ in line.differences]))
    return [
        line._replace(differences=[(found, next(adjusted)) for found, _ in line.differences])
        for line in lines
    ]


def _verdict(metric: Metric, sides: Sequence[Side]) -> str:
    first, *others = sides
    beyond = [
        side
        for side in others
        if abs(side.mean - first.mean) > max(metric.tolerance * abs(first.mean), metric.floor)
    ]
    if not beyond:
        return "agrees"
    overlap = all(
        side.n > 1 and first.n > 1 and side.low <= first.high and first.low <= side.high for side in beyond
    )
    return "within the intervals" if overlap else "differs"


def _values(result: Results, name: str) -> dict[str, dict[int, float]]:
    """By metric and seed, the value of each run that has it."""
    import polars as pl

    scenario = _scenario(result, name)
    runs = result.metrics_by_scenario[name]
    flows = result.flows.filter(scenario=name).group_by("seed", maintain_order=True)
    sums = flows.agg(pl.col("retransmitted_pkts").sum(), pl.col("mean_cwnd_pkts").mean())
    queue = result.links.filter(scenario=name, link=bottleneck_link(scenario, 0)["name"])
    columns = {
        **{name: runs[name] for name in ("throughput_mbps", "goodput_mbps", "mean_rtt_ms")},
        **{name: sums[name] for name in ("retransmitted_pkts", "mean_cwnd_pkts")},
        **{name: queue[name] for name in ("marked_pkts", "mean_queue_pkts")},
    }
    if len(scenario["flows"]) > 1:
        columns["jain_fairness"] = runs["jain_fairness"]
    if "fct_p50_ms" in runs.columns:
        columns["fct_p50_ms"] = runs["fct_p50_ms"]
    seeds = dict.fromkeys(columns, runs["seed"])
    seeds |= dict.fromkeys(("retransmitted_pkts", "mean_cwnd_pkts"), sums["seed"])
    seeds |= dict.fromkeys(("marked_pkts", "mean_queue_pkts"), queue["seed"])
    return {
        metric: {
            int(seed): float(value)
            for seed, value in zip(seeds[metric], column, strict=True)
            if value is not None and math.isfinite(value)
        }
        for metric, column in columns.items()
    }
