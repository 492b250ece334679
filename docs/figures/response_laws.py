"""Mean window against packet error rate, measured beside the law of each paper: docs/img/response-laws.svg.

One flow on a pipe that never fills, RTT 100 ms, no receive window, every segment acknowledged; each packet is
lost with probability p. A point is the mean of two runs. Each run starts at the window of the law; its first
tenth does not count. Prints the table of docs/validation/random-loss.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import cwnd
from cwnd import models
from cwnd._report import figures
from cwnd._report.looks import STYLE, looks, new_figure
from cwnd.models import Array

RTT_S = 0.1
SEEDS = 2
#: Losses of a point; of the rarest fewer, for their sake the script takes minutes.
LOSSES = {1e-2: 2000, 1e-3: 2000, 1e-4: 800, 1e-5: 400, 1e-6: 100, 1e-7: 40}


class ResponseLaw(NamedTuple):
    formula: str
    window: Callable[[float], float]
    params: dict[str, float | str]


def one(law: Callable[[float], Array]) -> Callable[[float], float]:
    return lambda p: float(law(p))


LAWS = {
    "reno": ResponseLaw("√(1.5/p)", one(models.mathis), {}),
    "highspeed": ResponseLaw("0.12/p^0.835", one(models.highspeed_response), {"variant": "spec"}),
    "scalable": ResponseLaw("0.08/p", one(models.scalable_response), {"variant": "spec"}),
    "htcp": ResponseLaw(
        "integral of α(Δ), β 0.8",
        one(lambda p: models.response(models.htcp(), p, RTT_S)),
        {"variant": "spec"},
    ),
    "cubic": ResponseLaw(
        "RFC 9438, 5.1",
        one(lambda p: models.cubic_response(p, RTT_S)),
        {"variant": "spec", "slow_start": "standard"},
    ),
    "agile-sd": ResponseLaw("√(a(1+β)/(2(1−β)p))", one(models.agile_sd_response), {}),
    "elastic": ResponseLaw("(1/((1−β)p))^(2/3)", one(models.elastic_response), {}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("docs/img"), help="directory for the figure")
    out = parser.parse_args().out
    measured = measure()
    print("| law | " + " | ".join(f"10⁻{'⁰¹²³⁴⁵⁶⁷'[round(-math.log10(p))]}" for p in LOSSES) + " |")
    print("|---" * (len(LOSSES) + 1) + "|")
    for name, law in LAWS.items():
        cells = [
            f"{window:.{digits(window)}f}, {law.window(p):.{digits(window)}f}, "
            f"{100 * (window / law.window(p) - 1):+.1f} %".replace("-", "−")
            for p, window in measured[name].items()
        ]
        print(f"| {name}: {law.formula} | " + " | ".join(cells) + " |")
    figures.write_figure(draw(measured), out / "response-laws.svg")


def digits(window: float) -> int:
    return 0 if window >= 100 else 1


def measure() -> dict[str, dict[float, float]]:
    """The mean window of each algorithm at each p."""
    points = [(name, p) for name in LAWS for p in LOSSES]
    results = cwnd.run([scenario(*point, counts) for point in points for counts in (False, True)])
    cwnd_s: dict[str, float] = {}
    for flow in results.flows.to_dicts():
        area = flow["mean_cwnd_pkts"] * flow["stop_s"] / SEEDS
        cwnd_s[flow["scenario"]] = cwnd_s.get(flow["scenario"], 0.0) + area
    measured: dict[str, dict[float, float]] = {name: {} for name in LAWS}
    for name, p in points:
        counted = cwnd_s[f"{name} {p:g} True"] - cwnd_s[f"{name} {p:g} False"]
        measured[name][p] = counted / (0.9 * duration_s(name, p))
    return measured


def duration_s(name: str, p: float) -> float:
    return round(LOSSES[p] / p / LAWS[name].window(p) * RTT_S / SEEDS / 0.9, 6)


def scenario(name: str, p: float, counts: bool) -> cwnd.Scenario:
    law = LAWS[name]
    cca = ", ".join([f'name = "{name}"', *(f'{key} = "{value}"' for key, value in law.params.items())])
    return cwnd.Scenario.parse(f"""
name = "{name} {p:g} {counts}"
duration = "{duration_s(name, p) * (1 if counts else 0.1):.7f} s"
repeat = {SEEDS}
samples = "off"
stack = {{ recovery = "sack", ack_every = 1, initial_ssthresh = {max(2, round(law.window(p)))} }}
[[chain]]
rate = "100 Tbps"
delay = "{RTT_S / 2} s"
buffer = "unlimited"
per = {p}
[[flows]]
cca = {{ {cca} }}
""")


def draw(measured: dict[str, dict[float, float]]) -> Figure:
    look = looks(LAWS)
    with mpl.rc_context(STYLE):
        figure = new_figure(7.2, 4.6)
        axes = figure.subplots()
        rates = [10 ** (-2 - 5.2 * step / 60) for step in range(61)]
        entries = []
        for name, law in LAWS.items():
            colour, line, marker = look[name]
            axes.plot(rates, [law.window(p) for p in rates], color=colour, linestyle=line, linewidth=1)
            points = measured[name]
            axes.plot(list(points), list(points.values()), marker, color=colour, markerfacecolor="white")
            entries.append(
                Line2D([], [], color=colour, linestyle=line, marker=marker, markerfacecolor="white")
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.invert_xaxis()
        axes.set_xlabel("packet error rate p")
        axes.set_ylabel("mean cwnd (packets)")
        labels = [f"{name}: {law.formula}" for name, law in LAWS.items()]
        axes.legend(entries, labels, loc="upper left")
        axes.set_title("Mean window under random loss, RTT 100 ms: points measured, lines by formula")
    return figure


if __name__ == "__main__":
    main()
