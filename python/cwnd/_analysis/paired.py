"""Paired comparisons: the differences between runs of the same seeds, with intervals, effects and p."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cwnd._analysis.gate import check_results, interval, per_seed, point_names
from cwnd._common.errors import error, one_line
from cwnd._common.latex import latex_table
from cwnd._common.metrics import METRICS, read_metric
from cwnd._common.text import digits, exponent, markdown
from cwnd._cwnd import t_tail

if TYPE_CHECKING:
    from cwnd._results.results import Results

#: Metrics that are compared where none is named.
DEFAULT_METRICS = ("throughput_mbps", "mean_rtt_ms", "loss_ratio", "jain_fairness")


class Difference(NamedTuple):
    """The differences of a metric between pairs of runs with the same seed.

    `mean` and the ends of its 95 % interval (Student's t over the pairs; None of one pair), `effect`, the
    mean over the standard deviation of the differences (Cohen's d of pairs; None where that is 0), and `p`,
    the chance of a mean as far from 0 if there were no difference, two-sided; None of one pair.
    """

    mean: float
    low: float | None
    high: float | None
    effect: float | None
    p: float | None
    n: int


def difference(base: Sequence[float], other: Sequence[float]) -> Difference:
    """The differences `other` - `base` of runs in the same order."""
    changes = [two - one for one, two in zip(base, other, strict=True)]
    n = len(changes)
    mean, low, high = interval(changes)
    if n < 2:
        return Difference(mean, None, None, None, None, n)
    sd = math.sqrt(math.fsum((change - mean) ** 2 for change in changes) / (n - 1))
    if sd <= 1e-12 * abs(mean):  # equal but for rounding
        return Difference(mean, mean, mean, None, 1.0 if mean == 0 else 0.0, n)
    p = min(1.0, 2 * t_tail(abs(mean) / sd * math.sqrt(n), n - 1))
    return Difference(mean, low, high, mean / sd, p, n)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The p values for all together: with a chance below 5 % any below 0.05 is wrong (Holm 1979)."""
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, index) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        adjusted[index] = least
    return adjusted


class PairedLine(NamedTuple):
    """A metric of one algorithm beside the baseline at one point; `p_holm` considers all lines."""

    point: str
    name: str
    metric: str
    base_mean: float
    mean: float
    difference: Difference
    p_holm: float | None

    @property
    def differs(self) -> bool:
        """True if 0 is shown not to be the difference, at 5 % over all lines."""
        return self.p_holm is not None and self.p_holm < 0.05


class PairedComparison:
    """Algorithms of one result side by side: `lines`, the `baseline`, and `notes`."""

    def __init__(self, baseline: str, lines: list[PairedLine], notes: list[str]) -> None:
        self.baseline = baseline
        self.lines = lines
        self.notes = notes

    @property
    def ok(self) -> bool:
        """True if no difference is shown."""
        return not any(line.differs for line in self.lines)

    def to_json(self) -> str:
        """`{"baseline", "ok", "lines", "notes"}`, one object for each line."""
        lines = [
            {
                "point": line.point,
                "name": line.name,
                "metric": line.metric,
                "baseline_mean": line.base_mean,
                "mean": line.mean,
                **paired_json(line.difference, line.p_holm),
            }
            for line in self.lines
        ]
        return json.dumps(
            {"baseline": self.baseline, "ok": self.ok, "lines": lines, "notes": self.notes},
            allow_nan=False,
            separators=(",", ":"),
        )

    def to_markdown(self) -> str:
        """One table."""
        rows = [list(self.heads()), ["---"] * len(self.heads())]
        rows += [[markdown(cell) for cell in row] for row in self.rows()]
        notes = [f"- {markdown(note)}" for note in self.notes]
        texts = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join([*texts, *([""] if notes else []), *notes, ""])

    def to_latex(self) -> str:
        """The table for a paper: a tabular with booktabs."""
        return latex_table(self.heads(), self.rows(), texts=3)

    def heads(self) -> tuple[str, ...]:
        """The headings of `rows`."""
        return ("point", "metric", "algorithm", self.baseline, "mean", *PAIRED_HEADS)

    def rows(self) -> list[list[str]]:
        """The lines as text, numbers in the units of the metrics."""
        rows = []
        for line in self.lines:
            metric = METRICS[line.metric]
            rows.append(
                [
                    line.point,
                    metric.label,
                    line.name,
                    digits(line.base_mean * metric.factor),
                    digits(line.mean * metric.factor),
                    *paired_cells(line.difference, line.p_holm, metric.factor),
                ]
            )
        return rows


#: The headings of `paired_cells`.
PAIRED_HEADS = ("difference", "effect", "p (Holm)", "seeds")


def paired_cells(found: Difference, p_holm: float | None, factor: float) -> list[str]:
    """A difference as text."""
    mean = digits(found.mean * factor)
    if found.low is not None and found.high is not None:
        mean += f" [{digits(found.low * factor)}, {digits(found.high * factor)}]"
    return [
        mean if mean.startswith("-") or found.mean == 0 else f"+{mean}",
        "-" if found.effect is None else f"{found.effect:.2f}",
        "-" if p_holm is None else "<1e-6" if p_holm < 1e-6 else exponent(float(f"{p_holm:.2g}")),
        str(found.n),
    ]


def paired_json(found: Difference, p_holm: float | None) -> dict[str, float | int | None]:
    """A difference as JSON."""
    return {
        "difference": found.mean,
        "ci95_low": found.low,
        "ci95_high": found.high,
        "effect": found.effect,
        "p": found.p,
        "p_holm": p_holm,
        "n": found.n,
    }


def compare_algorithms(
    results: Results, *, baseline: str | None = None, metrics: Sequence[str] | None = None
) -> PairedComparison:
    """Compares the algorithms of one result, such as a sweep, point by point and seed by seed.

    A pair of runs has the same seed and the same swept values but for the algorithm, so that what both share
    cancels out.

    Args:
        baseline: The algorithm that the others are compared with, as figures name it; default: the first.
        metrics: Metrics of the summary; default: throughput, mean RTT and loss, and Jain's index of several
            flows.

    Raises:
        Error: there is one algorithm only, or no pair of runs; the baseline or a metric is unknown.
    """
    from cwnd._report.labelled import Labelled
    from cwnd._report.points import number, points_of

    check_results("result", results)
    shown = Labelled(results)
    points, axes = points_of(shown, [one["name"] for one in shown.scenarios])
    labels = list(dict.fromkeys(point.label for point in points))
    if len(labels) < 2:
        raise error(
            "compare", f"one algorithm, {one_line(labels[0]) if labels else 'none'}; two are compared"
        )
    base = labels[0] if baseline is None else baseline
    if base not in labels:
        raise error("baseline", f"no '{one_line(base)}' here; there are {', '.join(map(one_line, labels))}")
    by_place: dict[str, dict[str, str]] = {}
    for point in points:
        place = ", ".join(
            f"{axis.name} {number(point.numbers[axis.key])} {axis.unit}".rstrip()
            for axis in axes
            if axis.key in point.numbers
        )
        own = by_place.setdefault(place, {})
        if point.label in own:
            raise error("compare", f"{one_line(point.label)} has two scenarios that do not differ in numbers")
        own[point.label] = point.scenario["name"]
    several = any(len(one["flows"]) > 1 for one in shown.scenarios)
    wanted = [name for name in DEFAULT_METRICS if name != "jain_fairness" or several]
    chosen = [read_metric("metric", one) for one in metrics] if metrics else wanted
    of_point = point_names(results)
    found = []
    for metric in chosen:
        values = per_seed(results, metric)
        for place, own in by_place.items():
            for label in labels:
                if label != base and base in own and label in own:
                    pair = [values[of_point[own[name]]] for name in (base, label)]
                    found += _line(place or "the same path", label, metric, *pair)
    if not found:
        raise error("compare", "no two runs have the same point and seed")
    adjusted = holm([line.difference.p for line in found])
    lines = [line._replace(p_holm=p) for line, p in zip(found, adjusted, strict=True)]
    notes = [*dict.fromkeys(note for _, note in results.notes), *results.comparison_notes]
    return PairedComparison(base, lines, notes)


def _line(
    place: str, label: str, metric: str, base: Mapping[int, float], other: Mapping[int, float]
) -> list[PairedLine]:
    seeds = [seed for seed in base if seed in other]
    if not seeds:
        return []
    one, two = ([values[seed] for seed in seeds] for values in (base, other))
    means = (math.fsum(one) / len(one), math.fsum(two) / len(two))
    return [PairedLine(place, label, metric, *means, difference(one, two), None)]
