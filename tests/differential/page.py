"""Writes docs/validation/random-paths.md, the lines on the terminal and the JSON object."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import mean

from cwnd._results.notes import INVALID

from .draw import ALGORITHMS, DISCIPLINES, FEATURES, HEADERS
from .run import SEEDS
from .score import FLOORS, Score, Series, Total, by_metric, total

#: Metrics whose errors the tables of groups show.
_SHOWN = ("goodput", "goodput per flow", "mean RTT", "mean queue", "retransmitted")
_UNITS = {
    "goodput": "Mbit/s",
    "goodput per flow": "Mbit/s",
    "mean RTT": "ms",
    "completion time": "ms",
}


def page(scores: Sequence[Score], count: int, seed: int, release: str) -> str:
    """The page of a whole draw."""
    scored = [one for one in scores if one.metrics]
    whole = total("all", scores)
    totals = {one.name: one for one in by_metric(scores)}
    missing = len(scores) - len(scored)
    return "\n".join(
        [
            "# Random paths beside Linux",
            "",
            f"On {whole.within} of {whole.scored} random paths every metric is within the band of the "
            f"simulator's seeds, and goodput on {totals['goodput'].within} of {totals['goodput'].scored}. "
            f"The median error is {_errors(whole, _SHOWN)}.",
            *_unscored_note(missing, len(scores)),
            "",
            "## How it is made",
            "",
            f"`make differential N={count} SEED={seed}` writes this page. It draws scenarios, runs each in "
            f"the simulator with {SEEDS['sim']} seeds and {SEEDS['linux']} times on Linux {release} in "
            "virtual time ([worlds](../worlds.md)), and goes on where it stopped.",
            "",
            '- A scenario has one of five queue disciplines, `variant = "linux"` where there is one, 1 to 6 '
            "flows with one to three algorithms, 5 to 100 Mbps, an RTT of 10 to 200 ms without access links, "
            "a buffer of 0.2 to 3 BDP (20 packets at least, 40 under a discipline other than droptail), and "
            "15 to 25 s with a warmup of 3 to 5 s. Features are added at random.",
            "- Seeds move the start of each flow by up to 5 ms in both worlds, and draw the losses on wires. "
            f"So Linux's {SEEDS['linux']} runs show its own spread.",
            "- A metric is *within* if the range of Linux's runs and the range of the simulator's overlap, "
            "once the latter is wider at either end by the floor in the first table. A metric of flows is "
            "within if it is so for each flow.",
            f"- {_guests(scores)}",
            "- Quantiles of RTTs are not compared: kernels show the smoothed RTT, the simulator has every "
            "sample.",
            "- An error is that of the mean, as a share of Linux's mean, or of the floor's number if that is "
            "more. Tables have medians over the scenarios, or over all their flows.",
            "- A scenario has several features and algorithms: each of them counts it as out, whichever is "
            "the cause.",
            "",
            "## By metric",
            "",
            *_table(
                ["metric", "floor", "within", "median error"],
                [
                    [one.name, str(FLOORS[one.name]), f"{one.within} of {one.scored}", _error(one, one.name)]
                    for one in totals.values()
                    if one.scored
                ],
            ),
            "",
            "*Goodput per flow* and *completion time* are of each flow, the others of all together; *mean "
            "queue* is that of the bottleneck, *marks* are those of all links, *lost* is what all links but "
            "the way back drop or lose on the wire.",
            "",
            "## By feature",
            "",
            *_groups("feature", scores, [*FEATURES, "none"]),
            "",
            "## By discipline",
            "",
            *_groups("discipline", scores, DISCIPLINES),
            "",
            "## By algorithm",
            "",
            *_groups("algorithm", scores, ALGORITHMS),
            "",
            "## What is out",
            "",
            *_outs([one for one in scored if one.out]),
            *(["", "## Not scored", ""] if missing else []),
            *(f"- {_described(one)}: {'; '.join(one.failures)}" for one in scores if one.failures),
            "",
        ]
    )


def _unscored_note(missing: int, of: int) -> list[str]:
    if not missing:
        return []
    return ["", f"{missing} of {of} paths are not scored ([why](#not-scored))."]


def _guests(scores: Sequence[Score]) -> str:
    """Paths with features that guests could mistake, and how many were other than asked."""
    drawn = [one.drawn for one in scores]
    back, lossy, up = (
        sum(feature in one.features for one in drawn)
        for feature in ("way back", "lossy way back", "upward flows")
    )
    several = sum(len({*HEADERS} & {*one.algorithms}) > 1 for one in drawn)
    wrong = sum(INVALID in failure for one in scores for failure in one.failures)
    return (
        f"{back} paths have a way back, {lossy} of these lose ACKs and {up} have flows upwards; {several} "
        "paths have several algorithms of this project in one kernel. Each kernel measures its path before "
        f"the run: {wrong or 'none'} of {SEEDS['linux'] * len(scores)} found it other than asked."
    )


def lines(scores: Sequence[Score]) -> Iterable[str]:
    """One for each scenario."""
    for one in scores:
        if not one.metrics:
            verdict = f"not scored: {one.failures[0]}"
        elif one.is_within:
            verdict = "within"
        else:
            verdict = "out: " + ", ".join(_compared(one, metric) for metric in one.out)
        yield f"{_described(one)}: {verdict}"


def side_by_side(one: Score) -> Iterable[str]:
    """Every metric of a scenario with the values of both worlds: what --only prints."""
    yield one.drawn.text
    yield from one.failures
    yield f"{'':24} {'simulator':>10} {'least':>10} {'most':>10}   linux"
    for metric, series in one.metrics.items():
        for flow, values in enumerate(series):
            name = f"{metric} {flow}" if len(series) > 1 else metric
            ours = (mean(values.sim), min(values.sim), max(values.sim))
            numbers = " ".join(f"{_number(value):>10}" for value in ours)
            theirs = " ".join(f"{_number(value):>10}" for value in values.linux)
            yield f"{name:24} {numbers}   {theirs}{'' if values.within else '   out'}"


def content(scores: Sequence[Score], count: int, seed: int, release: str) -> dict[str, object]:
    """All of it, for --json."""
    return {
        "count": count,
        "seed": seed,
        "linux": release,
        "metrics": [_counts(one) for one in by_metric(scores)],
        "groups": {
            kind: [_counts(one) for one in _totals(kind, scores, names)]
            for kind, names in (
                ("feature", [*FEATURES, "none"]),
                ("discipline", DISCIPLINES),
                ("algorithm", ALGORITHMS),
            )
        },
        "scenarios": [
            {
                **one.drawn._asdict(),
                "within": one.is_within if one.metrics else None,
                "failures": one.failures,
                "metrics": {
                    metric: [{**values._asdict(), "error": _finite(values.error)} for values in series]
                    for metric, series in one.metrics.items()
                },
            }
            for one in scores
        ],
    }


def _counts(one: Total) -> dict[str, object]:
    errors = {metric: _finite(error) for metric, error in one.errors.items()}
    return {"name": one.name, "within": one.within, "scored": one.scored, "median_errors": errors}


def _finite(value: float) -> float | None:
    """Null where Linux has 0 and the simulator more."""
    return value if math.isfinite(value) else None


def _has(one: Score, kind: str, name: str) -> bool:
    if kind == "feature":
        return name in (one.drawn.features or ("none",))
    return name in (one.drawn.algorithms if kind == "algorithm" else (one.drawn.discipline,))


def _totals(kind: str, scores: Sequence[Score], names: Iterable[str]) -> list[Total]:
    totals = (total(name, [one for one in scores if _has(one, kind, name)]) for name in names)
    return [one for one in totals if one.scored]


def _groups(kind: str, scores: Sequence[Score], names: Iterable[str]) -> list[str]:
    rows = [
        [one.name, f"{one.within} of {one.scored}", *(_error(one, metric) for metric in _SHOWN)]
        for one in _totals(kind, scores, names)
    ]
    return _table([kind, "all metrics within", *_SHOWN], rows)


def _outs(scores: Sequence[Score]) -> list[str]:
    if not scores:
        return ["Nothing."]
    rows = [
        [_described(one) if metric == one.out[0] else "", metric, *_worst(one, metric)]
        for one in scores
        for metric in one.out
    ]
    return [
        "Where a metric is of flows, the one that is furthest off.",
        "",
        *_table(["path", "metric", "simulator (range)", "Linux"], rows),
    ]


def _furthest(series: Sequence[Series]) -> Series:
    return max((one for one in series if not one.within), key=lambda one: one.error)


def _worst(one: Score, metric: str) -> tuple[str, str]:
    values = _furthest(one.metrics[metric])
    unit = f" {_UNITS[metric]}" if metric in _UNITS else ""
    ours = f"{_number(mean(values.sim))} ({_number(min(values.sim))}–{_number(max(values.sim))}){unit}"
    return ours, ", ".join(map(_number, values.linux))


def _compared(one: Score, metric: str) -> str:
    values = _furthest(one.metrics[metric])
    return f"{metric} {_number(mean(values.sim))}, linux {'/'.join(map(_number, values.linux))}"


def _described(one: Score) -> str:
    drawn = one.drawn
    features = f"; {', '.join(drawn.features)}" if drawn.features else ""
    return f"{drawn.name} ({drawn.discipline}, {' + '.join(drawn.algorithms)}{features})"


def _errors(one: Total, metrics: Iterable[str]) -> str:
    return ", ".join(f"{metric} {_error(one, metric)}" for metric in metrics)


def _error(one: Total, metric: str) -> str:
    if metric not in one.errors:
        return "–"
    return f"{100 * one.errors[metric]:.1f} %" if one.errors[metric] < 10 else "> 1000 %"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    all_lines = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(line)} |" for line in all_lines]
