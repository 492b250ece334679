"""Equal transfers in cwnd and in htsim: how long does each take.

`htsim.py CLONE [CORE]`: CLONE is a clone of https://github.com/Broadcom/csg-htsim; its library is built
there, its source stays as it is. The programs take turns on one core. htsim's TCP is NewReno without SACK, so
nothing is lost, and the same packets cross the same links; cwnd with SACK stands beside it. The exit code is
1 when goodput or losses differ: a race is between programs that answer the same.
"""

from __future__ import annotations

import os
import statistics
import sys
from functools import partial
from pathlib import Path

import tomllib
from peers import HERE, ROOT, TARGET, Measured, amount, cwnd, run, timed

#: Runs of each program.
RUNS = 7
TOLERANCE = 0.005
#: As the scenarios' stack has them.
HEADER_BYTES = 52
#: A scenario, and how packets leave the bottleneck in htsim: over links with a queue each, as the scenario
#: says, or by delays alone, since no packet can wait there.
RACES = [("newreno-access", "links"), ("newreno-access", "delays"), ("newreno", "delays")]


def main() -> int:
    if len(sys.argv) not in (2, 3) or not (clone := Path(sys.argv[1]) / "sim").joinpath("tcp.h").is_file():
        sys.exit("htsim.py: CLONE: not a clone of https://github.com/Broadcom/csg-htsim")
    cores = os.sched_getaffinity(0)
    core = int(sys.argv[2]) if len(sys.argv) == 3 else max(cores)
    if core not in cores:
        sys.exit(f"htsim.py: CORE: {core} is not one of {', '.join(map(str, sorted(cores)))}")
    program = build(clone)
    os.sched_setaffinity(0, {core})

    print(
        f"{'scenario':<16}{'exits':<8}{'':<10}{'packets':>10}{'Mbps':>8}{'best s':>9}{'median s':>9}"
        f"{'per packet, times ours':>25}"
    )
    differ = 0
    for name, exits in RACES:
        text = (ROOT / "bench" / "scenarios" / f"{name}.toml").read_text()
        racers = {
            "cwnd": partial(cwnd, text),
            "with SACK": partial(cwnd, text.replace('"newreno"', '"sack"')),
            "htsim": partial(timed, [str(program), *settings(text, exits)]),
        }
        runs: dict[str, list[Measured]] = {racer: [] for racer in racers}
        for _ in range(RUNS):
            for racer, measure in racers.items():
                runs[racer].append(measure())
        differ += table(name, exits, runs)
    return 1 if differ else 0


def build(clone: Path) -> Path:
    run("cargo", "build", "--quiet", "--release", "-p", "cwnd-bench", "--features", "huge-pages", cwd=ROOT)
    run("make", "--silent", "-C", str(clone), "libhtsim.a")
    program = TARGET / "bench" / "htsim-dumbbell"
    program.parent.mkdir(parents=True, exist_ok=True)
    # Its own flags.
    sources = [str(HERE / "htsim.cc"), str(clone / "libhtsim.a")]
    run("g++", "-std=c++11", "-O3", "-I", str(clone), *sources, "-o", str(program))
    return program


def settings(text: str, exits: str) -> list[str]:
    """A scenario as arguments: Mbps, ms, packets, s."""
    scenario = tomllib.loads(text)
    [flows] = scenario["flows"]
    [link] = scenario["chain"] if "chain" in scenario else [scenario["dumbbell"]]
    access = link.get("access", {})
    payload = int(amount(flows["packet"]))
    values: dict[str, str | float] = {
        "exits": exits,
        "access": int("access" in link),
        "rate": amount(link["rate"]),
        "delay": amount(link["delay"]),
        "buffer": amount(link["buffer"]),
        **{f"access_{key}": amount(value) for key, value in access.items()},
        "flows": flows["count"],
        "stagger": amount(flows["stagger"]),
        "payload": payload,
        "packet": payload + HEADER_BYTES,
        "initial_window": scenario["stack"]["initial_window"],
        "initial_ssthresh": scenario["stack"]["initial_ssthresh"],
        "duration": amount(scenario["duration"]) / 1000,
    }
    return [f"{key}={value}" for key, value in values.items()]


def table(name: str, exits: str, runs: dict[str, list[Measured]]) -> int:
    """Prints a row for each racer; returns how many answer something else than the first."""
    times = {racer: [one["cpu_s"] / one["packets"] for one in measured] for racer, measured in runs.items()}
    [(_, (ours, *_)), *_] = runs.items()
    differ = 0
    for racer, (one, *_) in runs.items():
        best, median = (
            f"{summary(times[racer]) / summary(times['cwnd']):.2f}" for summary in (min, statistics.median)
        )
        cpu_s = [measured["cpu_s"] for measured in runs[racer]]
        print(
            f"{name:<16}{exits:<8}{racer:<10}{one['packets']:>10.0f}{one['goodput_mbps']:>8.1f}"
            f"{min(cpu_s):>9.3f}{statistics.median(cpu_s):>9.3f}{f'{best} ({median})':>25}",
            flush=True,
        )
        same_losses = one["lost_pkts"] == ours["lost_pkts"]
        if not same_losses or abs(one["goodput_mbps"] / ours["goodput_mbps"] - 1) > TOLERANCE:
            print(f"  differs: {one['goodput_mbps']:g} Mbps, {one['lost_pkts']:g} lost")
            differ += 1
    return differ


if __name__ == "__main__":
    sys.exit(main())
