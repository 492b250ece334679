"""Compares Tables 2 and 4 of the Discrete TCP paper with ns-2.35, each over its own random losses.

    python tests/ns2/errors.py               the table of papers/discrete-tcp/README.md, and ns-2's means
    python tests/ns2/errors.py --seeds 5     fewer runs of each

A row has the mean of the highest sequence number sent and its standard deviation, of ns-2.35 and of cwnd,
their difference, bold where a t test separates them (p < 0.05), and t. Runs are kept in target/ns2-judges.
Needs the package cwnd; installs Debian's ns2 if it is missing (root).
"""

from __future__ import annotations

import argparse
import math
import os
from concurrent.futures import ThreadPoolExecutor
from statistics import mean, stdev

from judges import RUNS, need_ns2, ns2

import cwnd

#: By row of the paper: the agent and the sink of ns-2, and the variant of papers/discrete-tcp/paper.toml.
SENDERS = {
    "SACK": ("Sack1", "Sack1", "sack"),
    "Linux": ("Linux", "Sack1", "linux"),
    "Reno": ("Reno", "-", "reno"),
    "FACK": ("Fack", "Sack1", "fack"),
    "Fast Start": ("FS", "-", "fs"),
    "Vegas": ("Vegas", "-", "vegas"),
}
#: By item of paper.toml: its flows.
TABLES = {"table2": 1, "table4": 2}
PERS = (0.001, 0.01)
#: The golden ratio of 2^32 (Knuth, The Art of Computer Programming, volume 3, section 6.4).
SPREAD = 2_654_435_761
#: Student's t for p = 0.05, of 100 runs each.
T95 = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100, help="runs of each")
    seeds = range(1, parser.parse_args().seeds + 1)
    need_ns2()
    RUNS.mkdir(parents=True, exist_ok=True)
    paper = cwnd.reproduce("discrete-tcp", only=list(TABLES), seeds=len(seeds), out=RUNS / "cwnd")
    print("| table | PER | sender | ns-2.35 | cwnd | difference | t |\n|---|---|---|---|---|---|---|")
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for item, flows in TABLES.items():
            for per in PERS:
                for row, (agent, sink, variant) in SENDERS.items():
                    settings = {"flows": flows, "agent": agent, "sink": sink, "per": per}
                    theirs = [*threads.map(lambda seed, of=settings: sent_by_ns2(of, seed), seeds)]
                    ours = [*paper.measured(item, variant).points[per].by_seed.values()]
                    print(line(item, per, row, theirs, ours), flush=True)


def sent_by_ns2(settings: dict[str, object], seed: int) -> float:
    # ns-2's stream of a seed is that of seed 1 times the seed: near ones lose the same packets.
    return float(ns2("errors.tcl", **settings, seed=seed * SPREAD % 2**31)["sent"])


def line(item: str, per: float, row: str, theirs: list[float], ours: list[float]) -> str:
    """A row of the table. t is Welch's: the difference of the means over its standard error."""
    means, squares = [mean(theirs), mean(ours)], [stdev(one) ** 2 / len(one) for one in (theirs, ours)]
    t = (means[1] - means[0]) / math.sqrt(sum(squares))
    shown = [f"{mean(one):.0f} ± {stdev(one):.0f}" for one in (theirs, ours)]
    mark = "**" * (abs(t) > T95)
    difference = f"{mark}{100 * (means[1] / means[0] - 1):+.1f} %{mark}"
    return "| " + " | ".join([item, f"{per:g}", row, *shown, difference, f"{t:.1f}"]) + " |"


if __name__ == "__main__":
    main()
