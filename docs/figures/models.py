"""Models beside simulations: docs/img/models-*.svg, figures 5.5 to 5.13 of the Agile-TCP thesis by our model.

One flow over 100 Mbps with 1448-byte packets, every segment acknowledged, losses repaired by PRR. A simulated
point is the mean of ten seeds, of one where random losses are rarer than one in a run; its start does not
count. Lines are models. Prints the largest differences. Takes some minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import cwnd
from cwnd import models
from cwnd._analysis import model as model_beside
from cwnd._report import figures as paper_figures
from cwnd._report.looks import GREY, STYLE, legend, new_figure

RATE_BPS = 100e6
PACKET_BITS = 8 * 1514
SEEDS = 10
#: Epochs of λmax 1 … 10.
LAMBDAS = (1, 2, 3, 5, 10)
BETAS = (0.5, 0.6, 0.7, 0.8, 0.9)
COLOURS = {1: "#1F4E79", 2: "#009E73", 3: "#E69F00", 5: "#D55E00", 10: "#CC79A7", "auto": "#000000"}
MARKERS = {1: "s", 2: "^", 3: "o", 5: "D", 10: "v", "auto": "P"}


class Point(NamedTuple):
    """Utilization by the model and by simulation, and whether the model's assumptions hold."""

    model: float
    simulated: float
    holds: bool
    epoch_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("docs/img"), help="directory for the figures")
    out = parser.parse_args().out
    for draw in (per, paths, epochs, lambdas, region):
        with mpl.rc_context(STYLE):
            paper_figures.write_figure(draw(), out / f"models-{draw.__name__}.svg")


@cache
def point(beta: float, lambda_max: float, rtt_ms: float, buffer: int, per: float) -> Point:
    """Agile-SD with these parameters; λmax = 1 and β = 0.5 are NewReno."""
    compared = model_beside.compare(
        "agile-sd",
        rate=f"{RATE_BPS:.0f} bps",
        rtt=f"{rtt_ms:g} ms",
        buffer=buffer,
        per=per or None,
        repeat=SEEDS if per > 1e-7 else 1,
        params={"beta": beta, "lambda_max": round(lambda_max, 3)},
    )
    simulated = compared.simulated["throughput_mbps"]["mean"] * 1e6 / RATE_BPS
    return Point(compared.chain.utilization, simulated, not compared.limits, compared.chain.epoch_s)


def path(rtt_ms: float, buffer: float, per: float) -> models.Path:
    rtt_s = rtt_ms / 1e3 + (1 + 2 * 0.1) * PACKET_BITS / RATE_BPS
    return models.Path(RATE_BPS * rtt_s / PACKET_BITS, buffer, per, rtt_s)


def print_points(figure: str, points: Iterable[Point]) -> None:
    """Prints how far model and simulation are apart."""
    listed = list(points)
    off = [abs(one.model / one.simulated - 1) for one in listed if one.holds]
    beyond = [abs(one.model / one.simulated - 1) for one in listed if not one.holds]
    print(f"{figure}: {len(off)} points, difference up to {100 * max(off):.1f} %", end="")
    print(f"; {len(beyond)} beyond the assumptions, up to {100 * max(beyond):.0f} %" if beyond else "")


def scatter(axes: Axes, xs: Sequence[float], points: Sequence[Point], key: float | str) -> None:
    """Simulated points, grey inside where the model's assumptions do not hold."""
    for x, one in zip(xs, points, strict=True):
        face = "white" if one.holds else "#bbbbbb"
        axes.plot([x], [one.simulated], MARKERS[key], color=COLOURS[key], markerfacecolor=face)


def handles(keys: Iterable[float | str]) -> dict[str, Line2D]:
    named = {1: "λmax 1 (NewReno)", "auto": "λmax by β, equal epochs"}
    return {
        named.get(key, f"λmax {key}"): Line2D(
            [], [], color=COLOURS[key], marker=MARKERS[key], markerfacecolor="white"
        )
        for key in keys
    }


def per() -> Figure:
    """Figs. 5.5 and 5.6: throughput over the packet error rate, and what the simpler models make of it."""
    rtt_ms, buffer, beta = 20.0, 20, 0.5
    rates = (1e-8, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
    fine = np.geomspace(1e-8, 1e-2, 37)
    figure = new_figure(9, 3.9)
    left, right = figure.subplots(1, 2, sharey=True)
    every = []
    for most in LAMBDAS:
        law = models.agile_sd(beta, most)
        line = [models.exact_chain(law, path(rtt_ms, buffer, p)).utilization for p in fine]
        left.plot(fine, line, color=COLOURS[most])
        points = [point(beta, most, rtt_ms, buffer, p) for p in rates]
        scatter(left, rates, points, most)
        every += points
    print_points("per", every)
    most = 5
    law = models.agile_sd(beta, most)
    simple = [models.chain(law, path(rtt_ms, buffer, p)).utilization for p in fine]
    exact = [models.exact_chain(law, path(rtt_ms, buffer, p)).utilization for p in fine]
    even = np.minimum(models.agile_sd_response(fine, beta, most) / path(rtt_ms, buffer, 0).bdp_pkts, 1)
    (one,) = right.plot(fine, simple, color=GREY, linestyle=(0, (6, 1.5)))
    (two,) = right.plot(fine, exact, color=COLOURS[most])
    (three,) = right.plot(fine, even, color="#0072B2", linestyle=(0, (2, 1)))
    scatter(right, rates, [point(beta, most, rtt_ms, buffer, p) for p in rates], most)
    limits = [chain_limit(law, path(rtt_ms, buffer, p)) for p in fine]
    for axes in (left, right):
        axes.set(xscale="log", xlabel="packet error rate", ylim=(0, 1.03))
    if any(limits):
        right.axvspan(fine[limits.index(True)], fine[-1], color="#dddddd", zorder=0)
    left.set_ylabel("throughput / capacity")
    left.set_title("exact chain, β 0.5: λmax 1 … 10 against NewReno")
    right.set_title("λmax 5: three models; grey, assumptions fail")
    names = {"chain of windows": one, "chain of windows and last losses": two, "response function": three}
    legend(figure, {**handles(LAMBDAS), **names}, columns=4)
    return figure


def chain_limit(law: models.Law, on: models.Path) -> bool:
    return bool(model_beside.limits(law, models.exact_chain(law, on), on))


def paths() -> Figure:
    """Figs. 5.7 and 5.8: throughput over the buffer and over the RTT at a PER of 1e-8."""
    figure = new_figure(9, 3.6)
    left, right = figure.subplots(1, 2, sharey=True)
    buffers = (1, 2, 4, 8, 20, 40, 80, 160)
    rtts = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
    every = []
    for most in (1, 5):
        law = models.agile_sd(0.5, most)
        fine = np.unique(np.geomspace(1, 160, 40).round())
        left.plot(fine, [models.chain(law, path(10, b, 1e-8)).utilization for b in fine], color=COLOURS[most])
        points = [point(0.5, most, 10, b, 1e-8) for b in buffers]
        scatter(left, buffers, points, most)
        times = np.geomspace(2, 64, 40)
        right.plot(
            times, [models.chain(law, path(t, 4, 1e-8)).utilization for t in times], color=COLOURS[most]
        )
        more = [point(0.5, most, t, 4, 1e-8) for t in rtts]
        scatter(right, rtts, more, most)
        every += points + more
    print_points("paths", every)
    left.axvspan(1, model_beside.BUFFER_MIN, color="#dddddd", zorder=0)
    left.set(xscale="log", xlabel="buffer (packets)", ylabel="throughput / capacity", ylim=(0, 1.03))
    left.set_title("RTT 10 ms (BDP 84 packets), PER 1e-8, β 0.5")
    right.set(xscale="log", xlabel="RTT (ms)")
    right.set_xticks(rtts, [f"{t:g}" for t in rtts])
    right.minorticks_off()
    right.set_title("buffer 4 packets, PER 1e-8, β 0.5")
    legend(figure, handles((1, 5)))
    return figure


def epochs() -> Figure:
    """Figs. 5.9 and 5.10: the time between losses."""
    figure = new_figure(9, 3.6)
    left, middle, right = figure.subplots(1, 3)
    rtts = (5.0, 10.0, 20.0, 40.0)
    times = np.geomspace(5, 40, 30)
    off = []
    for beta, most in ((0.5, 1), (0.5, 5), (0.9, 3)):
        law = models.agile_sd(beta, most)
        left.plot(times, [models.epoch(law, path(t, 4, 0)).time_s for t in times], color=COLOURS[most])
        for t in rtts:
            measured = measured_epoch_s(beta, most, t)
            left.plot([t], [measured], MARKERS[most], color=COLOURS[most], markerfacecolor="white")
            off.append(models.epoch(law, path(t, 4, 0)).time_s / measured - 1)
    fine = np.linspace(1, 10, 40)
    for beta, key in ((0.5, 5), (0.9, 3)):
        ends = [models.epoch(models.agile_sd(beta, most), path(20, 4, 0)) for most in fine]
        middle.plot(fine, [one.utilization for one in ends], color=COLOURS[key])
        right.plot(fine, [one.time_s for one in ends], color=COLOURS[key])
        for most in LAMBDAS:
            one = point(beta, most, 20, 4, 0)
            scatter(middle, [most], [one], key)
            measured = measured_epoch_s(beta, most, 20)
            right.plot([most], [measured], MARKERS[key], color=COLOURS[key], markerfacecolor="white")
            off.append(models.epoch(models.agile_sd(beta, most), path(20, 4, 0)).time_s / measured - 1)
    print(f"epochs: {len(off)} times, difference {100 * min(off):+.1f} to {100 * max(off):+.1f} %")
    left.set(xscale="log", yscale="log", xlabel="RTT (ms)", ylabel="time between losses (s)")
    left.set_xticks(rtts, [f"{t:g}" for t in rtts])
    left.minorticks_off()
    left.set_title("over the RTT, buffer 4")
    middle.set(xlabel="λmax", ylabel="throughput / capacity", ylim=(0.7, 1.01))
    middle.set_title("RTT 20 ms, buffer 4")
    right.set(xlabel="λmax", ylabel="time between losses (s)", ylim=(0, None))
    entries = handles((1, 5, 3))
    legend(
        figure,
        dict(zip(("NewReno", "β 0.5 (left: λmax 5)", "β 0.9 (left: λmax 3)"), entries.values(), strict=True)),
    )
    return figure


@cache
def measured_epoch_s(beta: float, lambda_max: float, rtt_ms: float) -> float:
    """The mean time between two cuts of the window, buffer 4, no random loss, after the first half."""
    on = path(rtt_ms, 4, 0)
    lasts_s = models.epoch(models.agile_sd(beta, lambda_max), on).time_s
    results = cwnd.run(
        cwnd.dumbbell(
            "agile-sd",
            params={"beta": beta, "lambda_max": round(lambda_max, 3)},
            rate=f"{RATE_BPS:.0f} bps",
            delay=f"{rtt_ms / 2} ms",
            buffer=4,
            duration=f"{2 * (12 * lasts_s + 1.5 * on.window_pkts * on.rtt_s):.6f} s",
            stack={"ack_every": 1},
            samples="change",
        )
    )
    rows = results.samples.drop_nulls("cwnd_pkts")
    half_s = results.scenarios[0]["duration_ns"] / 2e9
    steps = zip(rows["time_s"][1:], rows["cwnd_pkts"][1:], rows["cwnd_pkts"][:-1], strict=True)
    falls = [time for time, now, before in steps if now < before and time > half_s]
    # A cut takes several steps, which follow each other within an RTT.
    cuts = [time for before, time in pairwise([-math.inf, *falls]) if time - before > 2 * on.rtt_s]
    return (cuts[-1] - cuts[0]) / (len(cuts) - 1)


def lambdas() -> Figure:
    """Figs. 5.11 to 5.13: λmax against β, λmax as a function of β, and what that does."""
    figure = new_figure(9, 3.6)
    left, middle, right = figure.subplots(1, 3)
    fine = np.linspace(0.4, 0.95, 45)
    every = []
    for most in LAMBDAS:
        left.plot(
            fine,
            [models.chain(models.agile_sd(b, most), path(40, 4, 1e-8)).utilization for b in fine],
            color=COLOURS[most],
        )
        points = [point(b, most, 40, 4, 1e-8) for b in BETAS]
        scatter(left, BETAS, points, most)
        every += points
    middle.plot(fine, models.lambda_max_auto(fine), color=COLOURS["auto"])
    middle.plot(fine, models.lambda_max_utilization(fine, 0.9), color="#0072B2", linestyle=(0, (6, 1.5)))
    middle.plot(fine, models.lambda_max_friendly(fine), color=GREY, linestyle=(0, (2, 1)))
    middle.plot(
        fine, models.lambda_max_loss(fine, 1e-3, path(40, 4, 0).window_pkts), color="#009E73", linestyle="-."
    )
    middle.plot([0.9], [3], "o", color=COLOURS[3], markerfacecolor="white")
    for x, y, text in (
        (0.405, 15, "equal epochs"),
        (0.47, 150, "utilization 0.9"),
        (0.41, 3.2, "TCP-friendly"),
        (0.72, 60, "loss 1e-3"),
    ):
        middle.annotate(text, (x, y), fontsize=7.5, color=GREY)
    for key in (1, 3, "auto"):
        chosen = {b: float(models.lambda_max_auto(b)) if key == "auto" else key for b in BETAS}
        line = [float(models.lambda_max_auto(b)) if key == "auto" else key for b in fine]
        both = zip(fine, line, strict=True)
        right.plot(
            fine,
            [models.chain(models.agile_sd(b, most), path(40, 4, 1e-8)).utilization for b, most in both],
            color=COLOURS[key],
        )
        points = [point(b, chosen[b], 40, 4, 1e-8) for b in BETAS]
        scatter(right, BETAS, points, key)
        every += points
    print_points("lambdas", every)
    left.set(xlabel="β", ylabel="throughput / capacity", ylim=(0.65, 1.01))
    left.set_title("RTT 40 ms, PER 1e-8, buffer 4")
    middle.set(xlabel="β", ylabel="λmax", yscale="log", ylim=(0.9, 1000))
    middle.set_title("λmax(β): four rules")
    right.set(xlabel="β", ylim=(0.65, 1.01))
    right.set_title("λmax by β, PER 1e-8, buffer 4")
    legend(figure, handles((*LAMBDAS, "auto")))
    return figure


def region() -> Figure:
    """Where the model holds: its difference from the simulation, over PER and BDP, over buffer and λmax."""
    figure = new_figure(9, 4.2)
    panels = figure.subplots(1, 3)
    rtts = (1.0, 2.0, 5.0, 10.0, 20.0)
    rates = (0.0, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2)
    shared: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -20, "vmax": 20}
    bdp = [f"{path(t, 4, 0).bdp_pkts:.0f}" for t in rtts]
    points = []
    for axes, beta, most in ((panels[0], 0.9, 3), (panels[1], 0.5, 5)):
        grid = [[point(beta, most, t, 10, p) for p in rates] for t in rtts]
        cells(axes, grid, [f"{p:g}" for p in rates], bdp, shared)
        axes.set(xlabel="packet error rate", title=f"β {beta}, λmax {most}, buffer 10")
        points += [one for row in grid for one in row]
    panels[0].set_ylabel("BDP (packets)")
    buffers = (1, 2, 3, 4, 6, 10)
    mosts = (1, 3, 5, 10, 31.869)
    grid = [[point(0.5, most, 10, b, 0.0) for b in buffers] for most in mosts]
    cells(panels[2], grid, [str(b) for b in buffers], [f"{most:.3g}" for most in mosts], shared)
    panels[2].set(xlabel="buffer (packets)", ylabel="λmax", title="β 0.5, no random loss")
    print_points("region", points + [one for row in grid for one in row])
    figure.suptitle("Model against simulation, difference in %; framed: where its assumptions hold")
    return figure


def cells(
    axes: Axes, grid: list[list[Point]], columns: list[str], rows: list[str], look: dict[str, Any]
) -> None:
    """A heatmap of differences in percent, those of points whose assumptions hold framed."""
    off = np.array([[100 * (one.model / one.simulated - 1) for one in row] for row in grid])
    axes.imshow(off, aspect="auto", origin="lower", **look)
    axes.grid(False)
    for y, row in enumerate(grid):
        for x, one in enumerate(row):
            value = off[y, x]
            text = f"{value:+.0f}" if abs(value) >= 9.5 else f"{value:+.1f}"
            axes.annotate(
                text,
                (x, y),
                ha="center",
                va="center",
                fontsize=6.5,
                color="white" if abs(value) > 14 else "black",
                weight="bold" if one.holds else "normal",
            )
    holds = np.array([[one.holds for one in row] for row in grid], float)
    axes.contour(
        np.kron(holds, np.ones((20, 20))),
        levels=[0.5],
        colors="black",
        linewidths=1.2,
        extent=(-0.5, len(columns) - 0.5, -0.5, len(rows) - 0.5),
    )
    axes.set_xticks(range(len(columns)), columns, rotation=45)
    axes.set_yticks(range(len(rows)), rows)


if __name__ == "__main__":
    main()
