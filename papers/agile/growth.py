"""Elastic-TCP with the square root, the cube root and the logarithm as growth (thesis, Fig. 6.3)."""

from __future__ import annotations

import argparse
from math import cbrt, log, sqrt
from pathlib import Path

import numpy as np
import polars as pl
import study

import cwnd
from cwnd._report import figures
from cwnd._report.looks import new_figure

HERE = Path(__file__).parent
BUFFERS = ("0.01 BDP", "0.1 BDP", "1 BDP")
PERS = (0, 1e-5)
#: Runs of each point with errors.
SEEDS = 3
#: States in which losses are repaired come after this one.
DISORDER = 1


class Growth(cwnd.algorithms.Elastic):
    """Elastic-TCP whose window grows by weight(RTTmax / RTT · cwnd) in each RTT."""

    def __init__(self, **params: str | float | bool) -> None:
        super().__init__(**params)
        self.rtt_us = self.rtt_max_us = 1
        self.fraction = 0.0

    @staticmethod
    def weight(x: float) -> float:
        return sqrt(x)

    def pkts_acked(self, window, ack):
        super().pkts_acked(window, ack)
        if ack.state <= DISORDER:
            self.rtt_us = max(ack.rtt_us, 1)
            self.rtt_max_us = max(self.rtt_max_us, self.rtt_us)

    def cong_avoid(self, window, ack):
        if window.cwnd < window.ssthresh:
            super().cong_avoid(window, ack)
        elif ack.cwnd_limited:
            grown = self.weight(self.rtt_max_us / self.rtt_us * window.cwnd) / window.cwnd
            self.fraction += ack.acked * min(grown, 1)
            window.cwnd += int(self.fraction)
            self.fraction %= 1


class SquareRoot(Growth):
    """The rule of the header."""


class CubeRoot(Growth):
    @staticmethod
    def weight(x: float) -> float:
        return cbrt(x)


class Logarithm(Growth):
    """The natural one: which base the thesis takes is not public."""

    @staticmethod
    def weight(x: float) -> float:
        return log(x)


CCAS = {"elastic": "elastic", "square root": SquareRoot, "cube root": CubeRoot, "logarithm": Logarithm}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("agile-growth"), help="directory that keeps the runs"
    )
    out = parser.parse_args().out
    print(table(pl.concat([swept(out / f"per-{per:g}", per) for per in PERS])))
    draw(HERE / "figures" / "fig6_3.svg")


def swept(out: Path, per: float) -> pl.DataFrame:
    """A row per point: what was varied, and means over the seeds."""
    grid = {
        "flows.cca": list(CCAS.values()),
        "dumbbell.per": [per],
        "dumbbell.buffer": list(BUFFERS),
    }
    results = study.swept(HERE / "growth.toml", grid, out, SEEDS if per else 1)
    name_of = dict(zip(dict.fromkeys(values["flows.cca"] for values in results.values), CCAS, strict=True))
    varied = pl.DataFrame(
        {
            "scenario": scenario["name"],
            "growth": name_of[values["flows.cca"]],
            "per": float(per),
            "buffer": values["dumbbell.buffer"],
        }
        for values, scenario in zip(results.values, results.scenarios, strict=True)
    )
    means = results.summary.pivot("metric", index="scenario", values="mean")
    return varied.join(means, on="scenario")


def table(points: pl.DataFrame) -> str:
    """Throughput in Mbps and lost packets in percent, a column for each buffer."""
    lines = [f"| PER | growth | {' | '.join(BUFFERS)} |", "|" + "---|" * (2 + len(BUFFERS))]
    for (per, growth), own in points.group_by("per", "growth", maintain_order=True):
        by_buffer = {row["buffer"]: row for row in own.iter_rows(named=True)}
        cells = [
            f"{by_buffer[buffer]['throughput_mbps']:.1f}, {100 * by_buffer[buffer]['loss_ratio']:.2g} %"
            for buffer in BUFFERS
        ]
        lines.append(f"| {per:g} | {growth} | {' | '.join(cells)} |")
    return "\n".join(lines)


def path(cca: type[Growth]) -> cwnd.Scenario:
    """The path of growth.toml with `cca`, and samples."""
    text = (HERE / "growth.toml").read_text().replace('"off"', '"100 ms"')
    return cwnd.Scenario.parse(text.replace('"elastic"', f'"{cca.__name__}"'), cca.__name__, ccas=[cca])


def draw(file: Path) -> None:
    """The three functions, and the window of one flow with each."""
    traced = {growth: cca for growth, cca in CCAS.items() if not isinstance(cca, str)}
    results = cwnd.run([path(cca) for cca in traced.values()])
    with figures.style():
        figure = new_figure(10, 4)
        functions, windows = figure.subplots(1, 2)
        weighed = np.linspace(1, 5000, 400)
        for growth, cca in traced.items():
            functions.plot(weighed, [cca.weight(float(x)) for x in weighed], label=growth)
            own = results.samples.filter(scenario=cca.__name__)
            windows.plot(own["time_s"], own["cwnd_pkts"], label=growth)
        functions.set(xlabel="RTTmax / RTT · cwnd (packets)", ylabel="growth (packets per RTT)", yscale="log")
        windows.set(xlabel="time (s)", ylabel="cwnd (packets)", ylim=(0, None))
        functions.legend()
        figures.write_figure(figure, file)


if __name__ == "__main__":
    main()
