"""Checks whether a candidate is as good as a baseline, from runs with the same seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cwnd._common.errors import error, one_line
from cwnd._cwnd import t_quantile, t_tail
from cwnd._results.metrics import estimate

if TYPE_CHECKING:
    from cwnd._results.results import Results


#: Chance of passing a point that is worse by the margin, and of calling a sound table worse: one side of a
#: 95 % interval.
_ALPHA = 0.025
#: The advice on seeds aims at this chance that a whole table passes if nothing is worse.
_POWER = 0.95
#: The advice never asks for more seeds than this.
_SEEDS_MAX = 100_000

#: Baseline and candidate, one value per seed, in the same order.
Pair = tuple[Sequence[float], Sequence[float]]


class Verdict(NamedTuple):
    """The verdict of `gate` on one point."""

    point: str
    ok: bool
    line: str


class PointJudgement(NamedTuple):
    """One point: `mean`, `low` and `high` are relative to the baseline's mean, `of`.

    `word` is ok, worse or undecided; `sd` is the paired differences' standard deviation.
    """

    word: str
    mean: float
    low: float
    high: float
    sd: float
    n: int
    of: float


class _Metric(NamedTuple):
    """A metric of the summary, and which direction is better."""

    column: str
    higher_is_better: bool
    unit: str


_METRICS = {
    "throughput": _Metric("throughput_mbps", True, " Mbit/s"),
    "goodput": _Metric("goodput_mbps", True, " Mbit/s"),
    "loss": _Metric("loss_ratio", False, ""),
    "rtt": _Metric("mean_rtt_ms", False, " ms"),
    "jain": _Metric("jain_fairness", True, ""),
    "utilization": _Metric("utilization", True, ""),
}


def gate(
    baseline: Results, candidate: Results, metric: str = "throughput", margin: float = 0.02
) -> list[Verdict]:
    """Whether `candidate` is shown to be no worse than `baseline` by more than `margin`, point by point.

    A point is a scenario; both results hold the same scenarios with the same seeds. Points are matched by
    their swept values if the results are sweeps, else by name. A point's differences, seed by seed and
    relative to the baseline's mean, have a mean with a two-sided 95 % interval (Student's t):

    - ok: the whole interval is better than `-margin`. A point that is worse by the margin or more passes with
      a chance of at most 2.5 %, and so does a table with such a point in it. Equal values pass, even of a
      single seed.
    - worse: the loss exceeds the margin. For the whole table, the chance that any point is wrongly called
      worse is at most 2.5 % (Holm's correction over the points).
    - undecided: neither is shown. This is not ok: a comparison without evidence must not pass. The line
      estimates the number of further seeds that would let an equal table pass, 19 times in 20.

    Returns the verdicts in the order of the baseline's scenarios, each with a line for readers.

    Args:
        metric: throughput, goodput, jain or utilization, of which more is better; loss or rtt, of which less
            is better. All as in `Results.summary`.
        margin: As a fraction of the baseline's mean; from 0 to 1.

    Raises:
        Error: the results do not hold the same points and seeds, or an argument is out of range.
    """
    if metric not in _METRICS:
        raise error("metric", f"{one_line(repr(metric))} is not a metric; there are {', '.join(_METRICS)}")
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 <= margin <= 1:
        raise error("margin", f"{one_line(repr(margin))} is not a fraction from 0 to 1")
    pairs = _pairs(per_seed(baseline, metric), per_seed(candidate, metric))
    judgements = judge(list(pairs.values()), margin, _METRICS[metric].higher_is_better)
    lines = _lines(list(pairs), judgements, metric, margin)
    return [
        Verdict(point, judgement.word == "ok", line)
        for point, judgement, line in zip(pairs, judgements, lines, strict=True)
    ]


def judge(pairs: Sequence[Pair], margin: float, higher_is_better: bool = True) -> list[PointJudgement]:
    """Judges a table, a pair per point, by the rule of `gate`."""
    sign = 1.0 if higher_is_better else -1.0
    points = [_compared(*pair) for pair in pairs]
    surely_worse = _holm([_p_worse(point, sign, margin) for point in points])

    def word(point: PointJudgement, worse: bool) -> str:
        if min(sign * point.low, sign * point.high) >= -margin:
            return "ok"
        return "worse" if worse else "undecided"

    return [p._replace(word=word(p, worse)) for p, worse in zip(points, surely_worse, strict=True)]


def seeds_needed(sd: float, n: int, points: int, margin: float) -> int | None:
    """The number of seeds with which a table of equal points passes 19 times in 20; None if that is too many.

    `sd` is what `n` seeds showed for one of the `points`. As in Stein's two-stage test (1945), the power's
    quantile has the degrees of freedom of that first look, at least 4.
    """
    power = t_quantile(1 - (1 - _POWER) / points, max(n - 1, 4))

    def suffices(seeds: int) -> bool:
        return margin * math.sqrt(seeds) >= sd * (t_quantile(1 - _ALPHA, seeds - 1) + power)

    few, many = 1, 2
    while not suffices(many):
        few, many = many, 2 * many
        if few > _SEEDS_MAX:
            return None
    while many - few > 1:
        half = (few + many) // 2
        few, many = (few, half) if suffices(half) else (half, many)
    return many


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and 95 % confidence interval (Student's t), as in `Results.summary`; infinite for one value."""
    found = estimate(values)
    low, high = found["ci95_low"], found["ci95_high"]
    if low is None or high is None:
        return found["mean"], -math.inf, math.inf
    return found["mean"], low, high


def _sd(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((x - mean) ** 2 for x in values) / (len(values) - 1))


def _compared(baseline: Sequence[float], candidate: Sequence[float]) -> PointJudgement:
    """One point, not yet judged."""
    n = len(baseline)
    of = math.fsum(baseline) / n
    absolute = [c - b for b, c in zip(baseline, candidate, strict=True)]
    if not any(absolute):
        return PointJudgement("", 0.0, 0.0, 0.0, 0.0, n, of)
    if of == 0:  # Relative to 0 any change exceeds every margin.
        change = math.copysign(math.inf, math.fsum(absolute))
        return PointJudgement("", change, change, change, 0.0, n, of)
    differences = [difference / of for difference in absolute]
    sd = _sd(differences) if n > 1 else math.inf
    return PointJudgement("", *interval(differences), sd, n, of)


def _p_worse(point: PointJudgement, sign: float, margin: float) -> float:
    """The chance of a loss this large if the true loss equalled the margin."""
    beyond = -margin - sign * point.mean
    if math.isinf(point.sd):
        return 1.0
    if point.sd == 0:
        return 0.0 if beyond > 0 else 1.0
    return t_tail(beyond / point.sd * math.sqrt(point.n), point.n - 1)


def _holm(p_values: Sequence[float]) -> list[bool]:
    """Which hypotheses are rejected, with a chance of at most `_ALPHA` that any true one is (Holm 1979)."""
    fallen = [False] * len(p_values)
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, index in enumerate(order):
        if p_values[index] > _ALPHA / (len(p_values) - rank):
            break
        fallen[index] = True
    return fallen


def per_seed(results: Results, metric: str) -> dict[str, dict[int, float]]:
    """The metric by point and seed."""
    point, column = point_names(results), _METRICS[metric].column
    return {
        point[scenario]: dict(zip(runs["seed"], runs[column], strict=True))
        for scenario, runs in results.metrics_by_scenario.items()
    }


def point_names(results: Results) -> dict[str, str]:
    """The name of each scenario: its swept values, which do not depend on the file's name."""
    names = [scenario["name"] for scenario in results.scenarios]
    swept = [", ".join(f"{key} = {value}" for key, value in values.items()) for values in results.values]
    return dict(zip(names, swept if all(swept) else names, strict=True))


def _pairs(baseline: dict[str, dict[int, float]], candidate: dict[str, dict[int, float]]) -> dict[str, Pair]:
    """The values of each point, paired by seed."""
    for name, here, there in (("baseline", baseline, candidate), ("candidate", candidate, baseline)):
        if not here:
            raise error(name, "has no runs")
        missing = [point for point in there if point not in here]
        if missing:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise error(name, f"has no point {one_line(repr(missing[0]))}{more}; the other has")
    for point, runs in baseline.items():
        if runs.keys() != candidate[point].keys():
            ours, theirs = map(_list_seeds, (runs, candidate[point]))
            seeds = f"{ours} in the baseline, {theirs} in the candidate"
            raise error(one_line(point), f"seeds differ ({seeds}); both need the same")
    return {
        point: ([runs[seed] for seed in runs], [candidate[point][seed] for seed in runs])
        for point, runs in baseline.items()
    }


def _list_seeds(seeds: Iterable[int]) -> str:
    known = sorted(seeds)
    if len(known) > 1 and known[-1] - known[0] == len(known) - 1:
        return f"{known[0]} to {known[-1]}"
    return ", ".join(map(str, known[:4])) + (", ..." if len(known) > 4 else "")


def _lines(
    points: Sequence[str], judgements: Sequence[PointJudgement], metric: str, margin: float
) -> list[str]:
    """A line per point, in columns."""
    names = [f"{one_line(point)}:" for point in points]
    name_width = max(map(len, names))
    word_width = max(len(one.word) for one in judgements)
    digits = 1 if margin >= 0.01 else 3

    def percent(share: float) -> str:
        return f"{round(100 * share, digits) + 0.0:+.{digits}f}"  # Adding 0.0 turns -0.0 into 0.0.

    def line(name: str, one: PointJudgement) -> str:
        bounds = f"[{percent(one.low)}, {percent(one.high)}]" if math.isfinite(one.sd) else "[one seed]"
        of = f"{one.of:.1f}" if one.of >= 10 else f"{one.of:.3g}"
        return (
            f"{one.word:<{word_width}} {name:<{name_width}} {metric} {percent(one.mean):>{digits + 4}} % "
            f"{bounds} of {of}{_METRICS[metric].unit}, margin {100 * margin:g} %"
            f"{_advice(one, len(points), margin)}"
        )

    return [line(name, one) for name, one in zip(names, judgements, strict=True)]


def _advice(one: PointJudgement, points: int, margin: float) -> str:
    """What an undecided point needs."""
    if one.word != "undecided":
        return ""
    if one.n == 1:
        return "; needs more than one seed"
    needed = seeds_needed(one.sd, one.n, points, margin) if margin else None
    if needed is None:
        return f"; too noisy for this margin, even with {_SEEDS_MAX} seeds"
    if needed > one.n:
        return f"; needs about {needed - one.n} more seeds"
    return "; its seeds would suffice for an equal point, so a loss near the margin is likely"
