"""The algorithms on QUIC stacks beside the simulator: docs/img/quic-*.svg, and the tables of docs/quic-stacks.md.

One flow over a buffer of one bandwidth-delay product, on three paths. What is beyond the tolerances is marked
`(handshake)` if it agrees with a simulation that begins with a handshake. The tables go to standard output.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import polars as pl

import cwnd
from cwnd._report import figures
from cwnd._report.looks import STYLE, new_figure

STACKS = ("quinn", "noq")
#: Goodput and mean cwnd of a stack agree with the simulator's within these shares.
GOODPUT, CWND = 0.05, 0.10


class Way(NamedTuple):
    name: str
    rate: str
    rtt: str
    per: float
    duration: str
    repeat: int


WAYS = (
    Way("100 Mbps, 40 ms", "100 Mbps", "40 ms", 0, "30 s", 1),
    Way("1 Gbps, 10 ms", "1 Gbps", "10 ms", 0, "5 s", 1),
    Way("20 Mbps, 200 ms, 1 % loss", "20 Mbps", "200 ms", 0.01, "60 s", 10),
)
#: The stacks' own algorithms, and ours of that name.
OWN = {
    "CUBIC": ("cubic", "quinn:cubic", "noq:cubic"),
    "NewReno": ("reno", "quinn:newreno", "noq:newreno"),
    "BBR": ("bbr3", "quinn:bbr", "noq:bbr3"),
}


def scenario(way: Way, cca: str, **more: Any) -> cwnd.Scenario:
    given = {"rate": way.rate, "rtt": way.rtt, "per": way.per, "duration": way.duration, "repeat": way.repeat}
    return cwnd.dumbbell(cca, **{**given, "samples": "off", "name": cca, **more})


def ours(stack: str, names: Sequence[str]) -> list[str]:
    """The algorithms of this project that the stack runs."""
    found = []
    for name in names:
        try:
            cwnd.run(scenario(WAYS[0]._replace(duration="10 ms"), name), world=stack)
        except cwnd.Error:
            continue
        found.append(name)
    return found


class Means(NamedTuple):
    goodput_mbps: float
    cwnd_pkts: float
    lost_pkts: float


def means(results: cwnd.Results) -> dict[str, Means]:
    columns = ("goodput_mbps", "mean_cwnd_pkts", "lost_pkts")
    table = results.flows.group_by("scenario").agg(pl.col(column).mean() for column in columns)
    return {row["scenario"]: Means(*(row[column] for column in columns)) for row in table.to_dicts()}


def beside_the_simulator(names: Sequence[str]) -> Iterator[str]:
    runs = {stack: ours(stack, names) for stack in STACKS}
    for way in WAYS:
        yield f"\n{way.name}\n"
        yield "| algorithm | goodput | quinn | noq | cwnd | quinn | noq | lost | quinn | noq | beyond |"
        yield "|---|---|---|---|---|---|---|---|---|---|---|"
        sim = means(cwnd.run([scenario(way, name) for name in names]))
        first = {"profile": "linux", "handshake": "first"}
        greeted = means(cwnd.run([scenario(way, name, stack=first) for name in names]))
        there = {
            stack: means(cwnd.run([scenario(way, name) for name in runs[stack]], world=stack))
            for stack in STACKS
        }
        for name in names:
            sides = [sim[name], *(there[stack].get(name) for stack in STACKS)]
            numbers = [
                "-" if side is None else f"{side[column]:,.{digits}f}"
                for column, digits in enumerate((1, 0, 0))
                for side in sides
            ]
            differences = beyond(sim[name], sides[1:])
            left = beyond(greeted[name], sides[1:])
            marked = [text if text in left else f"{text} (handshake)" for text in differences]
            new = [f"{text} (only with a handshake)" for text in left if text not in differences]
            yield f"| {name} | {' | '.join(numbers)} | {', '.join(marked + new)} |"


def beyond(simulated: Means, sides: Sequence[Means | None]) -> list[str]:
    """What differs from the simulator's by more than the tolerances, and by how much."""
    found = []
    for stack, side in zip(STACKS, sides, strict=True):
        if side is None:
            continue
        if abs(side.goodput_mbps / simulated.goodput_mbps - 1) > GOODPUT:
            found.append(f"{stack}: goodput")
        if abs(side.cwnd_pkts / simulated.cwnd_pkts - 1) > CWND:
            found.append(f"{stack}: cwnd")
    return found


def cut_factors(samples: pl.DataFrame) -> list[float]:
    """The windows after a reduction, as shares of those before: of each, the least within 50 ms over the last."""
    cwnd_pkts = samples.filter(pl.col("flow") == 0).sort("time_s")["cwnd_pkts"].to_list()
    return [
        after / before
        for before, after in zip(cwnd_pkts, cwnd_pkts[1:], strict=False)
        if after < 0.9 * before and before > 20
    ]


def of_the_stacks(folder: Path) -> Iterator[str]:
    way = WAYS[0]
    yield "\n| algorithm | goodput | mean cwnd | lost | cuts | cut to, of the window, median |"
    yield "|---|---|---|---|---|---|"
    for title, (own, *theirs) in OWN.items():
        drawn = []
        runs = [("sim", own), *((stack, own) for stack in STACKS), *((cca.split(":")[0], cca) for cca in theirs)]
        for world, cca in runs:
            if (world, cca) == ("quinn", "bbr3"):
                continue  # quinn has no way to set a rate
            name = f"{cca} in {world}" if ":" not in cca else cca
            results = cwnd.run(scenario(way, cca, samples="1 ms", name=name), world=world)
            flow = results.flows.row(0, named=True)
            cuts = pl.Series(cut_factors(results.samples), dtype=pl.Float64)
            median = "-" if cuts.is_empty() else f"{cuts.median():.3f}"
            numbers = f"{flow['goodput_mbps']:.1f} | {flow['mean_cwnd_pkts']:.0f} | {flow['lost_pkts']:,}"
            yield f"| {name} | {numbers} | {cuts.len()} | {median} |"
            drawn.append((name, results.samples.filter(pl.col("flow") == 0)))
        figure = new_figure(width=7, height=3.6)
        axes = figure.subplots()
        for name, samples in drawn:
            axes.plot(samples["time_s"], samples["cwnd_pkts"], linewidth=1, label=name)
        axes.set(xlabel="time (s)", ylabel="cwnd (packets)", title=f"{title}: {way.name}, 1 BDP")
        axes.legend(fontsize=8)
        figures.write(figure, folder / f"quic-{title.lower()}.svg")


def speed() -> Iterator[str]:
    yield "\n| world | packets/s of wall time |"
    yield "|---|---|"
    for world in ("sim", *STACKS):
        results = cwnd.run(scenario(WAYS[0], "cubic"), world=world, jobs=1)
        yield f"| {world} | {results.entries[0]['engine']['packets_per_s']:,.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "img")
    folder = parser.parse_args().out
    names = [algorithm["name"] for algorithm in cwnd.algorithms()]
    with mpl.rc_context(STYLE):
        for lines in (speed(), of_the_stacks(folder), beside_the_simulator(names)):
            for line in lines:
                print(line, flush=True)


if __name__ == "__main__":
    main()
