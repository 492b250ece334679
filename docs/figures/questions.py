"""The table "Twelve questions" of docs/advice.md: what engineers ask, and the first line that they get.

Each answer is judged by arithmetic that does not simulate: `Asked.right` has the numbers that its first
line, or its table, must hold. Answers are those of --quick, seconds are of processor time. As root on Linux
the files of each answer are applied and undone in a network namespace. Names of questions as arguments ask
these alone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import cwnd
from cwnd._advise.files import SET, UNDO, UNIT, Files, write_files

#: Payload of a full segment over its bytes on the wire.
PAYLOAD = 1448 / 1514
SPACE, DEVICE = f"cwnd-questions-{os.getpid()}", "cwnd-a"


class Asked(NamedTuple):
    """A question, how it is put to `advise`, and whether an answer is right."""

    text: str
    given: Mapping[str, object]
    right: Callable[[cwnd.Advice], bool]
    #: The `[dumbbell]` of a path that no flags describe.
    path: str = ""


def says(*parts: str) -> Callable[[cwnd.Advice], bool]:
    """The first line has all of these."""
    return lambda advice: all(part in str(advice).partition("\n")[0] for part in parts)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def full(rate_mbps: float) -> Callable[[cwnd.Advice], bool]:
    """The advised algorithm and those beside it have 85 % of the link's payload, and no more than all."""

    def check(advice: cwnd.Advice) -> bool:
        own = advice.measured.measured[advice.choice.cca]
        total = mean(own.goodput_mbps) + (mean(own.beside_mbps) if own.beside_mbps else 0.0)
        return 0.85 * PAYLOAD * rate_mbps <= total <= 1.001 * PAYLOAD * rate_mbps

    return check


def bloated(base_ms: float, buffer_ms: float) -> Callable[[cwnd.Advice], bool]:
    """Cubic fills most of the buffer and no more than it; what is advised, or fq-codel, does not."""

    def check(advice: cwnd.Advice) -> bool:
        now = mean(advice.measured.measured["cubic"].alone_rtt_ms)
        own = mean(advice.measured.measured[advice.choice.cca].alone_rtt_ms)
        return base_ms + 0.7 * buffer_ms <= now <= 1.02 * (base_ms + buffer_ms) and own < now / 2

    return check


def faster(than_mbps: float) -> Callable[[cwnd.Advice], bool]:
    """A change is advised, to one with more than what a loss-based algorithm can have alone."""

    def check(advice: cwnd.Advice) -> bool:
        own = advice.measured.measured[advice.choice.cca]
        return advice.choice.decision == "change" and mean(own.goodput_mbps) > than_mbps

    return check


def sqrt_law_mbps(rtt_s: float, loss: float) -> float:
    return 1448 * 8e-6 / rtt_s * (1.5 / loss) ** 0.5


QUESTIONS = {
    "900 of 10,000": Asked(
        "10 Gbit/s, 150 ms: why does a transfer have 900 Mbit/s?",
        {"rate": "10 Gbps", "rtt": "150 ms", "now": "900 Mbps"},
        says("The receive window limits", f"{900e6 * 0.15 / 8e6:.3g} MB", f"{1e10 * 0.15 / 8e6:g} MB"),
    ),
    "long fat, new": Asked(
        "10 Gbit/s, 150 ms, to be used: what has to be set?",
        {"rate": "10 Gbps", "rtt": "150 ms"},
        says(
            "The windows limit", f"{3 * 2**20 * 8e-6 / 0.15:.4g} Mbps", f"{2 * 2**20 * 8e-6 / 0.15:.4g} Mbps"
        ),
    ),
    "policer": Asked(
        "A policer of 1 Gbit/s on a link of 10 Gbit/s, 20 ms: what now?",
        {"flows": 1, "beside": "none"},
        says("A policer of 1 Gbps with a burst of 1000 kB", "Shape to 950 Mbps"),
        'rate = "10 Gbps"\nrtt = "20 ms"\nbuffer = "1 BDP"\npolicer = { rate = "1 Gbps", burst = "1 MB" }',
    ),
    "branch": Asked(
        "A branch office, 50 Mbit/s, 20 ms, half a second of buffer: calls stutter.",
        {"rate": "50 Mbps", "rtt": "20 ms", "buffer": "500 ms", "goal": "latency", "beside": "none"},
        bloated(20, 500),
    ),
    "many flows": Asked(
        "64 connections at 1 Gbit/s, 10 ms: another algorithm?",
        {"rate": "1 Gbps", "rtt": "10 ms", "flows": 64},
        full(1000),
    ),
    "Wi-Fi": Asked(
        "Wi-Fi, 40 Mbit/s, 20 ms, bursts of losses of 1 % in all.",
        {"flows": 1, "beside": "none"},
        faster(sqrt_law_mbps(0.02, 0.01)),
        'rate = "40 Mbps"\nrtt = "20 ms"\nbuffer = "1 BDP"\n'
        'loss = { model = "gilbert-elliott", p = 0.0034, r = 0.33, bad = 1 }',
    ),
    "satellite": Asked(
        "A satellite, 40 Mbit/s, 600 ms, 0.1 % lost: why 1.2 Mbit/s?",
        {"rate": "40 Mbps", "rtt": "600 ms", "loss": "0.1%", "now": "1.2 Mbps"},
        says("Random losses of 0.1 % limit", f"{1e3 * sqrt_law_mbps(0.6, 1e-3):.4g} kbps"),
    ),
    "transatlantic": Asked(
        "2 Gbit/s, 80 ms, 0.01 % lost: why 18 Mbit/s a connection?",
        {"rate": "2 Gbps", "rtt": "80 ms", "loss": "0.01%", "now": "18 Mbps", "flows": 4},
        says("Random losses of 0.01 % limit", f"{sqrt_law_mbps(0.08, 1e-4):.4g} Mbps"),
    ),
    "full already": Asked(
        "100 Mbit/s, 20 ms: a download has 94 Mbit/s; is there more?",
        {"rate": "100 Mbps", "rtt": "20 ms", "now": "94 Mbps"},
        says("The rate limits"),
    ),
    "data centre": Asked(
        "25 Gbit/s, 0.2 ms, in a data centre: another algorithm?",
        {"rate": "25 Gbps", "rtt": "200 us"},
        full(25_000),
    ),
    "backup": Asked(
        "A backup over 1 Gbit/s, 40 ms, has 420 Mbit/s.",
        {"rate": "1 Gbps", "rtt": "40 ms", "now": "420 Mbps"},
        says("The receive window limits", f"{420e6 * 0.04 / 8e6:.3g} MB", "3 connections"),
    ),
    "home": Asked(
        "A home uplink, 20 Mbit/s, 30 ms, shared by two: a fair share?",
        {"rate": "20 Mbps", "rtt": "30 ms", "flows": 1, "beside": "cubic:1", "goal": "fairness"},
        full(20),
    ),
}


def inside(*command: str) -> str:
    """Runs a command in the namespace and returns its output."""
    line = ["ip", "netns", "exec", SPACE, *command]
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=20).stdout


def state() -> str:
    keys = [f"net.ipv4.{key}" for key in ("tcp_rmem", "tcp_wmem", "tcp_congestion_control")]
    return inside("sysctl", *keys) + inside("tc", "qdisc", "show", "dev", DEVICE)


def tried(files: Files) -> str:
    """The files, and whether they applied and were undone; what loads an algorithm is left out."""
    names = ", ".join(f"`{name}`" for name in files.content)
    if not names:
        return "none"
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return names
    subprocess.run(["ip", "netns", "add", SPACE], check=True)
    try:
        inside("ip", "link", "add", DEVICE, "type", "veth", "peer", "name", "cwnd-b")
        before = state()
        unit = files.content.get(UNIT, "").replace("%i", DEVICE)
        steps = {
            key: [
                line
                for line in re.findall(rf"^{key}=/bin/sh -c '(.*)'$", unit, re.M)
                if line.startswith("tc ")
            ]
            for key in ("ExecStart", "ExecStop")
        }
        with tempfile.TemporaryDirectory() as folder:
            write_files(files, folder)
            for file, key in ((SET, "ExecStart"), (UNDO, "ExecStop")):
                if file in files.content:
                    inside("sysctl", "-p", str(Path(folder) / file))
                for line in steps[key]:
                    inside("/bin/sh", "-c", line)
                if key == "ExecStart" and state() == before and (SET in files.content or steps[key]):
                    return f"{names}: not applied"
        return names + (": applied, undone" if state() == before else ": not undone")
    except subprocess.CalledProcessError as failed:
        return f"{names}: this kernel refuses ({failed.stderr.strip()})"
    finally:
        subprocess.run(["ip", "netns", "del", SPACE], check=True)


def main() -> None:
    print("| question | first line | right | s | files |\n|---|---|---|--:|---|", flush=True)
    for name, asked in QUESTIONS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = None
            if asked.path:
                path = Path(folder) / "path.toml"
                path.write_text(f'[dumbbell]\n{asked.path}\n[[flows]]\ncca = "cubic"\n')
            begin = time.process_time()
            advice = cwnd.advise(path, quick=True, **asked.given)
            spent_s = time.process_time() - begin
        first = str(advice).partition("\n")[0]
        right = "yes" if asked.right(advice) else "no"
        print(f"| {asked.text} | {first} | {right} | {spent_s:.0f} | {tried(advice.files)} |", flush=True)


if __name__ == "__main__":
    main()
