"""docs/img/cost.svg: time per packet over simulated time, window, losses at a time, and flows; memory.

Runs `cwnd-bench`, for some minutes, on a machine that does nothing else. The numbers go to standard output.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cwnd._report.looks import STYLE, legend, looks, new_figure, start_at_zero

ROOT = Path(__file__).parents[2]
#: Turns of all runs, of which the best counts.
TURNS = 3
CORES = os.cpu_count() or 1


class Curve(NamedTuple):
    stack: str
    threads: int
    #: Whose colour, line and marker it has.
    algorithm: str


CURVES = {
    "every segment acknowledged": Curve("ns2", 1, "reno"),
    "delayed ACKs": Curve("linux", 1, "cubic"),
    f"delayed ACKs, {CORES} threads on {CORES} cores": Curve("linux", CORES, "elastic"),
}
EACH, DELAYED, THREADS = CURVES


class Panel(NamedTuple):
    label: str
    values: list[int]
    scenario: Callable[[str, int], str]
    curves: list[str]


class Cost(NamedTuple):
    ns_per_packet: float
    #: The most memory that was allocated at a time.
    heap_bytes: float


#: By the label of the panel and the name of the curve; one for each value.
Costs = dict[str, dict[str, list[Cost]]]


def over_time(stack: str, seconds: int) -> str:
    text = (ROOT / "scenarios/reference.toml").read_text()
    return text.replace('"ns2"', f'"{stack}"').replace('duration = "100 s"', f'duration = "{seconds} s"')


def over_window(stack: str, window: int) -> str:
    """Nothing is lost; the receiver's window is the window. RTT 100 ms."""
    rtts_of_slow_start, packets = 18, 5e6
    seconds = 0.1 * (rtts_of_slow_start + max(packets / window, 5))
    return f"""
duration = "{seconds:.1f} s"
samples = "off"
stack = {{ profile = "{stack}", initial_window = 100, receive_window = {window} }}
[dumbbell]
rate = "2 Tbps"
delay = "50 ms"
buffer = "unlimited"
[[flows]]
cca = "scalable"
"""


def over_losses(stack: str, losses: int) -> str:
    """The first slow start ends that far above what link and queue hold, a million packets."""
    return f"""
duration = "3 s"
samples = "off"
stack = {{ profile = "{stack}", header = 50, initial_window = 100, receive_window = {10**6 + losses} }}
[dumbbell]
rate = "60 Gbps"
delay = "50 ms"
buffer = "500000 packets"
[[flows]]
cca = "scalable"
packet = "1450 bytes"
"""


def over_flows(stack: str, flows: int) -> str:
    """Flows of Reno on one link. RTT 100 ms without a queue, up to 200 ms with one."""
    return f"""
duration = "4 s"
samples = "off"
stack = "{stack}"
[dumbbell]
rate = "100 Gbps"
delay = "50 ms"
buffer = "1 BDP"
[[flows]]
cca = "reno"
count = {flows}
start_jitter = "1 s"
"""


FLOWS = Panel("flows", [10**exponent for exponent in range(7)], over_flows, [DELAYED, THREADS])
PANELS = [
    Panel("simulated time in s", [3, 10, 30, 100, 400], over_time, [EACH, DELAYED]),
    Panel("window in packets", [10**exponent for exponent in range(2, 8)], over_window, [EACH, DELAYED]),
    Panel("packets lost at a time", [10**exponent for exponent in range(2, 7)], over_losses, [EACH, DELAYED]),
    FLOWS,
]


def measure_once(text: str, threads: int) -> Cost:
    command = [str(ROOT / "target/release/cwnd-bench"), "--measure", "cost", "inf", str(threads)]
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    measured = json.loads(done.stdout)
    return Cost(measured["wall_s"] / measured["packets"] * 1e9, measured["heap_bytes"])


def measure() -> Costs:
    """All runs take turns: what disturbs the machine for a while does not meet every run of a point."""
    runs = defaultdict(list)
    for turn in range(TURNS):
        print(f"turn {turn + 1} of {TURNS}", flush=True)
        for panel in PANELS:
            for name in panel.curves:
                stack, threads, _ = CURVES[name]
                for value in panel.values:
                    cost = measure_once(panel.scenario(stack, value), threads)
                    runs[panel.label, name, value].append(cost)
    return {
        panel.label: {
            name: [
                Cost(*map(min, zip(*runs[panel.label, name, value], strict=True))) for value in panel.values
            ]
            for name in panel.curves
        }
        for panel in PANELS
    }


def print_numbers(costs: Costs) -> None:
    for panel in PANELS:
        for name, row in costs[panel.label].items():
            print(f"{panel.label}, {name}: ns per packet", [round(cost.ns_per_packet) for cost in row])
    print("flows: kB per flow", [float(f"{kb:.3g}") for kb in kb_per_flow(costs)])


def kb_per_flow(costs: Costs) -> list[float]:
    """On one thread."""
    row = costs[FLOWS.label][DELAYED]
    return [cost.heap_bytes / flows / 1e3 for cost, flows in zip(row, FLOWS.values, strict=True)]


def draw(costs: Costs) -> Figure:
    figure = new_figure(9, 5.6)
    places = figure.add_gridspec(2, 3)
    corners = (places[0, 0], places[0, 1], places[0, 2], places[1, :2])
    for panel, corner in zip(PANELS, corners, strict=True):
        axes = figure.add_subplot(corner)
        for name, row in costs[panel.label].items():
            plot(axes, panel, name, [cost.ns_per_packet for cost in row])
        axes.set(ylabel="ns per packet")
        start_at_zero([axes])
    axes = figure.add_subplot(places[1, 2])
    plot(axes, FLOWS, DELAYED, kb_per_flow(costs))
    axes.set(yscale="log", ylabel="memory per flow in kB")
    legend(figure, {str(line.get_label()): line for axes in figure.axes for line in axes.lines})
    return figure


def plot(axes: Axes, panel: Panel, name: str, values: list[float]) -> None:
    colour, line, marker = looks([])[CURVES[name].algorithm]
    axes.plot(panel.values, values, color=colour, linestyle=line, marker=marker, label=name)
    axes.set(xscale="log", xlabel=panel.label)


def main() -> None:
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "cwnd-bench"], cwd=ROOT, check=True)
    costs = measure()
    print_numbers(costs)
    with mpl.rc_context(STYLE):
        figure = draw(costs)
        figure.savefig(ROOT / "docs/img/cost.svg", metadata={"Date": None})
        figure.savefig(ROOT / "target/cost.png", dpi=100)


if __name__ == "__main__":
    main()
