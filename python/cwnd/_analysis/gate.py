"""Checks whether a candidate is as good as a baseline, from runs with the same seeds."""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cwnd._analysis.gate_outcome import Gate, Verdict
from cwnd._common.checks import mapping
from cwnd._common.errors import error, one_line
from cwnd._common.metrics import METRICS, read_metric
from cwnd._cwnd import Error, t_quantile, t_tail
from cwnd._expect.expect import expect
from cwnd._results.metrics import estimate
from cwnd._scenario.scenario import read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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


def gate(baseline: Results, candidate: Results, margins: Mapping[str, float | str] | None = None) -> Gate:
    """Tests if `candidate` is shown to be no worse than `baseline` by more than a margin, point by point.

    A point is a scenario; both results hold the same scenarios with the same seeds. Points are matched by
    their swept values if the results are sweeps, else by name. A point's differences, seed by seed and
    relative to the baseline's mean, have a mean with a two-sided 95 % interval (Student's t):

    - ok: the whole interval is better than minus the margin. A point that is worse by the margin or more
      passes with a chance of at most 2.5 %, and so does a table with such a point in it. Equal values pass,
      even of a single seed.
    - worse: the loss exceeds the margin. For the whole table, the chance that any point is wrongly called
      worse is at most 2.5 % (Holm's correction over all points and metrics).
    - undecided: neither is shown. This is not ok: a comparison without evidence must not pass. The line
      estimates the number of further seeds that would let an equal table pass, 19 times in 20.

    What the candidate's scenarios expect (`[[expect]]`) has to hold besides, in every run.

    Returns the verdicts metric by metric, each in the order of the baseline's scenarios.

    Args:
        margins: The metrics to compare and the largest accepted change of each for the worse, as a fraction
            of the baseline's mean from 0 to 1, or a text like "2%"; default: {"throughput_mbps": 0.02}. Every
            metric of `Results.summary`. Of throughput, goodput, utilization and fairness more is better; of
            losses, RTTs, timeouts, completion times and slowdowns less is better.

    Raises:
        Error: the results do not hold the same points and seeds, a run lacks the metric, or an argument is
            out of range.
    """
    check_results("baseline", baseline)
    check_results("candidate", candidate)
    shares = read_margins({"throughput_mbps": 0.02} if margins is None else mapping("margins", margins))
    compared = [
        (metric, point, pair)
        for metric in shares
        for point, pair in _pairs(per_seed(baseline, metric), per_seed(candidate, metric)).items()
    ]
    signs = [1.0 if METRICS[metric].higher_is_better else -1.0 for metric, _, _ in compared]
    is_expecting = any("expect" in scenario for scenario in candidate.scenarios)
    judgements = _judge([pair for *_, pair in compared], [shares[metric] for metric, *_ in compared], signs)
    return Gate(
        [
            _verdict(point, metric, judgement, len(compared), shares[metric])
            for (metric, point, _), judgement in zip(compared, judgements, strict=True)
        ],
        expect(candidate).decided if is_expecting else [],
    )


def check_results(name: str, given: object) -> None:
    """Raises an `Error` for an argument that is not a `Results`."""
    from cwnd._results.results import Results

    if not isinstance(given, Results):
        shown = one_line(repr(given))
        raise error(name, f"{shown} is not a Results, which cwnd.run returns and cwnd.Results.load reads")


def read_margins(margins: Mapping[str, object]) -> dict[str, float]:
    """Margins as fractions by metric. Raises an `Error` for an unknown metric or a margin out of range."""
    if not margins:
        raise error("margins", f"no metric; there are {', '.join(METRICS)}")
    return {
        read_metric("margins", metric): read_share(f"margins.{one_line(metric)}", margin)
        for metric, margin in margins.items()
    }


def read_share(key: str, given: object) -> float:
    """A share from 0 to 1: a number, or a text like "2%" or "0.02". Errors call it `key`."""
    share = given
    if isinstance(given, str) and (
        written := re.fullmatch(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(%?)\s*", given)
    ):
        with contextlib.suppress(ValueError):
            share = float(written[1]) / (100 if written[2] else 1)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise error(key, f"{one_line(repr(given))} is not a share from 0 to 1, such as '2%' or 0.02")
    return float(share)


def read_thresholds(path: str | os.PathLike[str]) -> dict[str, float]:
    """The margins of a file: TOML with one table, `[margins]`, of metrics and shares like "2%" or 0.02."""
    shown, text = one_line(os.fspath(path)), read_text(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as failed:
        raise error(shown, f"not TOML: {one_line(failed)}") from None
    foreign = [key for key in document if key != "margins"]
    if foreign or not isinstance(document.get("margins"), dict):
        found = f"'{one_line(foreign[0])}' is unknown" if foreign else "there is no table [margins]"
        raise error(shown, f'{found}; accepted: a table [margins] of metrics, such as goodput_mbps = "2%"')
    try:
        return read_margins(document["margins"])
    except Error as refused:
        raise error(shown, str(refused)) from None


def judge(pairs: Sequence[Pair], margin: float, higher_is_better: bool = True) -> list[PointJudgement]:
    """Judges a table of one metric, a pair per point, by the rule of `gate`."""
    sign = 1.0 if higher_is_better else -1.0
    return _judge(pairs, [margin] * len(pairs), [sign] * len(pairs))


def _judge(pairs: Sequence[Pair], margins: Sequence[float], signs: Sequence[float]) -> list[PointJudgement]:
    """Judges comparisons that pass together: of each a pair, the margin, and 1 if more is better, else -1."""
    points = [_compared(*pair) for pair in pairs]
    asked = list(zip(points, signs, margins, strict=True))
    surely_worse = _holm([_p_worse(*one) for one in asked])

    def word(point: PointJudgement, sign: float, margin: float, worse: bool) -> str:
        if min(sign * point.low, sign * point.high) >= -margin:
            return "ok"
        return "worse" if worse else "undecided"

    return [one[0]._replace(word=word(*one, worse)) for one, worse in zip(asked, surely_worse, strict=True)]


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
    point = point_names(results)
    found = {}
    for scenario, runs in results.metrics_by_scenario.items():
        values = runs[metric] if metric in runs.columns else [math.nan] * runs.height
        of_seed = dict(zip(runs["seed"], values, strict=True))
        lacking = [seed for seed, value in of_seed.items() if value is None or not math.isfinite(value)]
        if lacking:
            where = f"{one_line(point[scenario])}, seed {lacking[0]}"
            raise error(metric, f"{where}: the run has no such value")
        found[point[scenario]] = of_seed
    return found


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


def _verdict(point: str, metric: str, one: PointJudgement, points: int, margin: float) -> Verdict:
    needed, advice = _advice(one, points, margin) if one.word == "undecided" else (None, "")
    return Verdict(
        point=point,
        metric=metric,
        unit=METRICS[metric].unit,
        margin=margin,
        word=one.word,
        change=one.mean,
        low=one.low,
        high=one.high,
        baseline=one.of,
        seeds=one.n,
        seeds_needed=needed,
        advice=advice,
    )


def _advice(one: PointJudgement, points: int, margin: float) -> tuple[int | None, str]:
    """The seeds that an undecided point needs, if more would help, and a sentence."""
    if one.n == 1:
        return None, "needs more than one seed"
    needed = seeds_needed(one.sd, one.n, points, margin) if margin else None
    if needed is None:
        return None, f"too noisy for this margin, even with {_SEEDS_MAX} seeds"
    if needed > one.n:
        return needed, f"needs about {needed - one.n} more seeds"
    return None, "its seeds would suffice for an equal point, so a loss near the margin is likely"
