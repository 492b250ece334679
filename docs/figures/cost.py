"""docs/img/cost.svg: CPU time per packet over simulated time, window, losses at a time, and flows.

Runs `cwnd-bench`, for some minutes, on a machine that does nothing else.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

from cwnd._report.looks import STYLE, legend, looks, new_figure

ROOT = Path(__file__).parents[2]
#: Runs of which the best counts.
RUNS = 3
STACKS = {"ns2": "every segment acknowledged", "linux": "delayed ACKs"}


class Panel(NamedTuple):
    label: str
    values: list[int]
    scenario: Callable[[str, int], str]


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
rate = "10 Tbps"
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
    text = (ROOT / "bench/scenarios/flows-1000.toml").read_text()
    return f'stack = "{stack}"\n' + text.replace("1000", str(flows)).replace('"10 s"', '"3 s"')


PANELS = [
    Panel("simulated time in s", [3, 10, 30, 100, 400], over_time),
    Panel("window in packets", [10**exponent for exponent in range(2, 8)], over_window),
    Panel("packets lost at a time", [10**exponent for exponent in range(2, 7)], over_losses),
    Panel("flows", [1, 10, 100, 1000, 10000], over_flows),
]


def ns_per_packet(text: str) -> float:
    command = [ROOT / "target/release/cwnd-bench", "--measure", "cost"]
    runs = []
    for _ in range(RUNS):
        done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
        measured = json.loads(done.stdout)
        runs.append(measured["cpu_s"] / measured["packets"] * 1e9)
    return min(runs)


def main() -> None:
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "cwnd-bench"], cwd=ROOT, check=True)
    look = looks(["reno", "cubic"])
    with mpl.rc_context(STYLE):
        figure = new_figure(8, 5)
        for axes, panel in zip(figure.subplots(2, 2).flat, PANELS, strict=True):
            for (stack, name), (colour, line, marker) in zip(STACKS.items(), look.values(), strict=False):
                cost = [ns_per_packet(panel.scenario(stack, value)) for value in panel.values]
                print(panel.label, name, [round(value) for value in cost], flush=True)
                axes.plot(panel.values, cost, color=colour, linestyle=line, marker=marker, label=name)
            axes.set(xscale="log", xlabel=panel.label, ylabel="ns per packet")
            axes.set_ylim(bottom=0)
        legend(figure, {line.get_label(): line for line in figure.axes[0].lines})
        figure.savefig(ROOT / "docs/img/cost.svg", metadata={"Date": None})
        figure.savefig(ROOT / "target/cost.png", dpi=100)


if __name__ == "__main__":
    main()
