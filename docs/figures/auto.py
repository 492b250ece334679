"""Gains and costs of `lambda_max = "auto"` of Agile-SD against the fixed 3: the tables of docs/tuning.md.

50 Mbit/s, 40 s, each point with the same ten seeds for both. Alone: throughput and loss; beside a Reno flow:
Jain's index. A difference is auto's value less that of 3, seed by seed, with its 95 % interval.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

import cwnd
from cwnd._analysis.gate import interval, per_seed
from cwnd._common.text import exponent

if TYPE_CHECKING:
    from cwnd._run.sweep import Grid

RATE_MBPS = 50
SEEDS = 10
BETAS = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
RTTS_MS = [20, 100]
BUFFERS_BDP = [0.25, 1]
PERS = [0, 1e-4, 1e-3]
FLOW = '[[flows]]\ncca = "{}"\nstart_jitter = "1 s"\n'

#: A point but for lambda_max: beta, RTT in ms, buffer in BDP, PER.
Point = tuple[float, int, float, float]
#: By point and lambda_max, a value per seed.
Values = dict[Point, dict[object, list[float]]]


def run(flows: str, metrics: list[str]) -> list[Values]:
    """A sweep over the grid, once per metric of `cwnd gate`."""
    links = f'[dumbbell]\nrate = "{RATE_MBPS} Mbps"\ndelay = "1 ms"\nbuffer = 1\n'
    text = f'name = "auto"\nduration = "40 s"\n{links}{flows}'
    pairs = itertools.product(BETAS, [3, "auto"])
    grid: Grid = {
        "flows[0].cca": [{"name": "agile-sd", "beta": beta, "lambda_max": most} for beta, most in pairs],
        "dumbbell.delay": [f"{rtt / 2:g} ms" for rtt in RTTS_MS],
        "dumbbell.buffer": [f"{buffer:g} BDP" for buffer in BUFFERS_BDP],
        "dumbbell.per": PERS,
    }
    results = cwnd.sweep(cwnd.Scenario.parse(text), grid=grid, repeat=SEEDS)
    points = list(itertools.product(BETAS, [3, "auto"], RTTS_MS, BUFFERS_BDP, PERS))
    answers = []
    for metric in metrics:
        values: Values = defaultdict(dict)
        runs = per_seed(results, metric).values()
        for (beta, most, *path), by_seed in zip(points, runs, strict=True):
            values[(beta, *path)][most] = [by_seed[seed] for seed in sorted(by_seed)]
        answers.append(values)
    return answers


def cells(values: Values, points: list[Point], scale: float, digits: int) -> list[str]:
    """The value with 3 and auto's difference, means over the points, seed by seed."""

    def mean(most: object) -> list[float]:
        return [scale * fmean(seed) for seed in zip(*(values[p][most] for p in points), strict=True)]

    fixed, auto = mean(3), mean("auto")
    change, low, _ = interval([new - old for old, new in zip(fixed, auto, strict=True)])
    sure = "**" if abs(change) > change - low and round(change, digits) else ""
    change, half = round(change, digits) + 0.0, change - low
    return [
        f"{fmean(fixed):.{digits}f}",
        f"{sure}{change:+.{digits}f} ± {half:.{digits}f}{sure}".replace("-", "−"),
    ]


def main() -> None:
    throughput, loss = run(FLOW.format("agile-sd"), ["throughput_mbps", "loss_ratio"])
    [jain] = run(FLOW.format("agile-sd") + FLOW.format("reno"), ["jain_fairness"])
    columns = [(throughput, 100 / RATE_MBPS, 1), (loss, 100, 3), (jain, 1, 3)]
    heads = ["throughput, % of the link", "auto", "loss, %", "auto", "Jain beside Reno", "auto"]

    def table(names: list[str], groups: dict[tuple[object, ...], list[Point]]) -> None:
        print("\n| " + " | ".join([*names, *heads]) + " |\n|" + "---|" * (len(names) + len(heads)))
        for label, points in groups.items():
            row = [exponent(part) for part in label]
            row += [
                cell for values, scale, digits in columns for cell in cells(values, points, scale, digits)
            ]
            print("| " + " | ".join(row) + " |")

    points = list(throughput)
    table(["β"], {(beta,): [p for p in points if p[0] == beta] for beta in BETAS})
    table(["β", "PER"], {k: [p for p in points if (p[0], p[3]) == k] for k in itertools.product(BETAS, PERS)})
    table(["β", "RTT, ms", "buffer, BDP", "PER"], {p: [p] for p in points if p[0] != 0.9})


if __name__ == "__main__":
    main()
