"""The algorithms on QUIC stacks beside the simulator: docs/img/quic-*.svg, the tables of docs/quic-stacks.md.

One flow over a buffer of one bandwidth-delay product, on three paths. What differs from the simulator by more
than 5 % of goodput or 10 % of mean cwnd is named: with `(handshake)` if a simulation that begins with a
handshake agrees, with `(intervals)` if the 95 % intervals of the runs overlap. Tables go to standard output.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import matplotlib as mpl
import polars as pl

import cwnd
from cwnd._report import figures
from cwnd._report.looks import STYLE, new_figure

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cwnd._scenario.scenario import DumbbellKeys

STACKS = ("quinn", "noq", "s2n-quic")
#: The stacks with cryptography.
TLS = ("quinn-tls", "noq-tls")
#: Parameters without which no stack runs the algorithm.
PARAMS = {"ledbat": {"delay": "rtt"}}
#: Tolerances, as shares of the simulator's value.
TOLERANCES = {"goodput_mbps": 0.05, "mean_cwnd_pkts": 0.10}
#: Student's t for 30 runs.
STUDENT = 2.045
#: CUBIC's constants (RFC 9438).
BETA, C = 0.7, 0.4
#: A simulation whose connections begin with a handshake.
GREETED = {"profile": "linux", "handshake": "first"}


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
    Way("20 Mbps, 200 ms, 1 % loss", "20 Mbps", "200 ms", 0.01, "60 s", 30),
)
#: Runs side by side: the world, and the algorithm there.
OWN = {
    "CUBIC": [
        *((world, "cubic") for world in ("sim", *STACKS)),
        ("quinn", "quinn:cubic"),
        ("noq", "noq:cubic"),
        ("s2n-quic", "s2n-quic:cubic"),
    ],
    "NewReno": [
        *((world, "reno") for world in ("sim", *STACKS)),
        ("quinn", "quinn:newreno"),
        ("noq", "noq:newreno"),
    ],
    "BBR": [
        *((world, "bbr") for world in ("sim", "noq", "s2n-quic")),
        ("quinn", "quinn:bbr"),
        ("s2n-quic", "s2n-quic:bbr"),
        *((world, "bbr3") for world in ("sim", "noq", "s2n-quic")),
    ],
}


class Side(NamedTuple):
    """Means over the runs, and halves of the 95 % intervals."""

    goodput_mbps: float
    mean_cwnd_pkts: float
    lost_pkts: float
    halves: dict[str, float]


def scenario(way: Way, cca: str, **more: Unpack[DumbbellKeys]) -> cwnd.Scenario:
    given = {"rate": way.rate, "rtt": way.rtt, "per": way.per, "duration": way.duration, "repeat": way.repeat}
    more = {"samples": "off", "name": cca, "params": PARAMS.get(cca), **more}
    return cwnd.dumbbell(cca, **given, **more)


def runs_on(stack: str, name: str) -> bool:
    try:
        cwnd.run(scenario(WAYS[0]._replace(duration="10 ms"), name), world=stack)
    except cwnd.Error:
        return False
    return True


def sides(results: cwnd.Results) -> dict[str, Side]:
    found = {}
    for (name,), rows in results.flows.group_by("scenario"):
        spread = {column: rows[column].std() or 0.0 for column in TOLERANCES}
        halves = {column: STUDENT * one / rows.height**0.5 for column, one in spread.items()}
        means = [rows[column].mean() for column in ("goodput_mbps", "mean_cwnd_pkts", "lost_pkts")]
        found[name] = Side(*means, halves)
    return found


def differences(simulated: Side, stack: str, side: Side) -> Iterator[str]:
    for column, tolerance in TOLERANCES.items():
        ours, theirs = getattr(simulated, column), getattr(side, column)
        if abs(theirs - ours) <= tolerance * ours:
            continue
        overlaps = abs(theirs - ours) <= simulated.halves[column] + side.halves[column]
        yield f"{stack}: {column.split('_')[-2]}{' (intervals)' if overlaps else ''}"


def beside_the_simulator(names: Sequence[str]) -> Iterator[str]:
    there = {stack: [name for name in names if runs_on(stack, name)] for stack in STACKS}
    for way in WAYS:
        yield f"\n{way.name}\n"
        columns = [column for metric in ("goodput", "cwnd", "lost") for column in (metric, *STACKS)]
        yield f"| algorithm | {' | '.join(columns)} | beyond |"
        yield "|---" * (len(columns) + 2) + "|"
        simulated = sides(cwnd.run([scenario(way, name) for name in names]))
        greeted = sides(cwnd.run([scenario(way, name, stack=GREETED) for name in names]))
        found = {
            stack: sides(cwnd.run([scenario(way, name) for name in there[stack]], world=stack))
            for stack in STACKS
        }
        for name in names:
            of_stacks = {stack: found[stack][name] for stack in STACKS if name in found[stack]}
            row = [simulated[name], *(of_stacks.get(stack) for stack in STACKS)]
            numbers = [
                "-" if side is None else f"{side[column]:,.{0 if column else 2 if side[0] < 10 else 1}f}"
                for column in range(3)
                for side in row
            ]
            beyond = []
            for stack, side in of_stacks.items():
                left = " ".join(differences(greeted[name], stack, side))
                for text in differences(simulated[name], stack, side):
                    explained = "(" not in text and text not in left
                    beyond.append(f"{text} (handshake)" if explained else text)
            yield f"| {name} | {' | '.join(numbers)} | {', '.join(beyond)} |"


def cuts(samples: pl.DataFrame) -> list[float]:
    """The window after each reduction by a tenth or more within a millisecond, as a share of that before."""
    windows = samples.sort("time_s")["cwnd_pkts"].to_list()
    return [after / before for before, after in pairwise(windows) if after < 0.9 * before and before > 20]


def of_the_stacks(folder: Path) -> Iterator[str]:
    yield f"\n{WAYS[0].name}\n"
    yield "| algorithm | goodput | mean cwnd | lost | cuts | window after a cut: least, median, most |"
    yield "|---|---|---|---|---|---|"
    for title, runs in OWN.items():
        figure = new_figure(width=7, height=3.6)
        axes = figure.subplots()
        for world, cca in runs:
            name = cca if ":" in cca else f"{cca}, {world}"
            results = cwnd.run(scenario(WAYS[0], cca, samples="1 ms"), world=world)
            flow, samples = results.flows.row(0, named=True), results.samples.filter(pl.col("flow") == 0)
            found = pl.Series(cuts(samples), dtype=pl.Float64)
            shares = (
                "-" if found.is_empty() else f"{found.min():.3f}, {found.median():.3f}, {found.max():.3f}"
            )
            numbers = f"{flow['goodput_mbps']:.1f} | {flow['mean_cwnd_pkts']:.0f} | {flow['lost_pkts']:,}"
            yield f"| {name} | {numbers} | {found.len()} | {shares} |"
            axes.plot(samples["time_s"], samples["cwnd_pkts"], linewidth=1, label=name)
        axes.set(xlabel="time (s)", ylabel="cwnd (packets)", title=f"{title}: {WAYS[0].name}, 1 BDP")
        axes.legend(fontsize=8)
        figures.write_figure(figure, folder / f"quic-{title.lower()}.svg")


def epochs(samples: pl.DataFrame) -> Iterator[tuple[float, pl.DataFrame]]:
    """W_max of each cut of CUBIC (RFC 9438, 4.7), and the rows from its growth to the next cut."""
    rows = samples.sort("time_s")
    windows = rows["cwnd_pkts"].to_list()
    cut_at = [i for i in range(1, len(windows)) if 20 < windows[i - 1] > windows[i] / 0.9]
    last_max = 0.0
    for begin, end in pairwise([*cut_at, len(windows)]):
        before = windows[begin - 1]
        w_max = before if before >= last_max else before * (1 + BETA) / 2
        last_max = w_max
        grows = next((i for i in range(begin, end) if windows[i] > windows[begin]), end)
        if end - grows > 1000:
            yield w_max, rows[grows:end]


def deviation(w_max: float, rows: pl.DataFrame) -> pl.Series:
    """The window, as a share of max(W_cubic(t), W_est(t)) (RFC 9438, 4.2 and 4.3), less 1."""
    t_s = rows["time_s"] - rows["time_s"][0]
    begin_pkts = rows["cwnd_pkts"][0]
    k_s = ((w_max - begin_pkts) / C) ** (1 / 3)
    w_cubic = C * (t_s - k_s) ** 3 + w_max
    rtts = t_s.diff().fill_null(0) / (rows["rtt_ms"] / 1000)
    w_est = begin_pkts + (3 * (1 - BETA) / (1 + BETA) * rtts).cum_sum()
    formula = pl.DataFrame({"cubic": w_cubic, "est": w_est}).max_horizontal()
    return rows["cwnd_pkts"] / formula - 1


def beside_the_formula() -> Iterator[str]:
    yield "\n| algorithm | cuts | mean deviation | largest |"
    yield "|---|---|---|---|"
    for world, cca in OWN["CUBIC"][1:]:  # the simulator cuts by PRR, in steps
        results = cwnd.run(scenario(WAYS[0], cca, samples="1 ms"), world=world)
        found = [deviation(*epoch) for epoch in epochs(results.samples.filter(pl.col("flow") == 0))]
        every = pl.concat(found)
        name = cca if ":" in cca else f"{cca}, {world}"
        yield f"| {name} | {len(found)} | {every.abs().mean():.1%} | {every.abs().max():.1%} |"


def speed() -> Iterator[str]:
    """The faster of two runs, one at a time; other programs on the machine change the times."""
    yield f"\n{WAYS[0].name}, {WAYS[0].duration} of cubic\n"
    yield "| world | packets a second | of processor time | seconds |"
    yield "|---|---|---|---|"
    for world in ("sim", *STACKS, *TLS):
        times = []
        for _ in range(2):
            begin_s, begin_processor_s = time.perf_counter(), time.process_time()
            results = cwnd.run(scenario(WAYS[0], "cubic"), world=world, jobs=1)
            times.append((time.perf_counter() - begin_s, time.process_time() - begin_processor_s))
        packets = results.flows["sent_pkts"].sum()
        wall_s, processor_s = (min(one) for one in zip(*times, strict=True))
        yield f"| {world} | {packets / wall_s:,.0f} | {packets / processor_s:,.0f} | {wall_s:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "img")
    folder = parser.parse_args().out
    names = [algorithm["name"] for algorithm in cwnd.algorithms()]
    with mpl.rc_context(STYLE):
        for lines in (speed(), of_the_stacks(folder), beside_the_formula(), beside_the_simulator(names)):
            for line in lines:
                print(line, flush=True)


if __name__ == "__main__":
    main()
