"""Equal scenarios in cwnd, ns-2 and ns-3: do they agree, and how long does each take.

Installs ns-2 and ns-3 from the distribution if they are missing (Debian or Ubuntu, root). Prints a table.
The exit code is 1 when a result of ours differs by more than TOLERANCE: a race is between programs that
answer the same.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
TOLERANCE = 0.1
#: Runs of ours, of which the best counts; a peer runs once, for so long that disturbances do not matter.
RUNS = 3
PEER_LIMIT_S = 300
#: In ns-3.
NAMES = {"reno": "TcpNewReno", "cubic": "TcpCubic"}

Measured = dict[str, float]


def main() -> int:
    for command, package in {"ns": "ns2", "g++": "g++", "cargo": ""}.items():
        need(shutil.which(command) is not None, command, package)
    need(Path("/usr/include/ns3").is_dir(), "ns-3", "libns3-dev")
    run("cargo", "build", "--quiet", "--release", "-p", "cwnd-bench", "--features", "huge-pages", cwd=ROOT)
    libraries = ["applications", "internet", "point-to-point", "network", "core"]
    ns3 = TARGET / "bench" / "ns3-dumbbell"
    ns3.parent.mkdir(parents=True, exist_ok=True)
    run("g++", "-O2", str(HERE / "dumbbell.cc"), "-o", str(ns3), *[f"-lns3-{name}" for name in libraries])

    print(f"{'scenario':<14}{'':<6}{'Mbps':>9}{'lost':>9}{'CPU s':>9}{'packets/s':>12}{'times ours':>12}")
    scenarios = ROOT / "bench" / "scenarios"
    races = [
        (ROOT / "scenarios" / "reference.toml", ["ns-2"]),
        (scenarios / "random-loss.toml", ["ns-2"]),
        (HERE / "small.toml", ["ns-2", "ns-3"]),
    ]
    differ = 0
    for scenario, peers in races:
        # Flows that start at the same instant meet in ties, which each simulator breaks in its own way.
        text = scenario.read_text().replace("count = 4", 'count = 4\nstagger = "1 ms"')
        ours = min((cwnd(text) for _ in range(RUNS)), key=lambda measured: measured["cpu_s"])
        row(scenario.stem, "cwnd", ours, ours)
        for peer in peers:
            settings = dumbbell(tomllib.loads(text))
            theirs = ns2(settings) if peer == "ns-2" else ns3_run(ns3, settings)
            row(scenario.stem, peer, theirs, ours)
            for what in ("goodput_mbps", "lost_pkts"):
                ratio = ours[what] / max(theirs[what], 1e-9)
                if abs(ratio - 1) > TOLERANCE:
                    print(f"  differs: {what} {ours[what]:g} here, {theirs[what]:g} in {peer}")
                    differ += 1
    return 1 if differ else 0


def need(there: bool, what: str, package: str) -> None:
    """Installs `package` unless `what` is there."""
    if there:
        return
    if not package or os.geteuid() != 0 or shutil.which("apt-get") is None:
        sys.exit(
            f"peers.py: {what} is missing" + (f": apt-get install {package}, as root" if package else "")
        )
    run("apt-get", "update", "-qq")
    run("apt-get", "install", "-y", "-qq", "--no-install-recommends", package)


def run(*command: str, cwd: Path | None = None) -> None:
    if subprocess.run(command, cwd=cwd, check=False).returncode:
        sys.exit(f"peers.py: {command[0]} failed")


def dumbbell(scenario: dict[str, Any]) -> dict[str, str | float]:
    """A scenario in the units of the two dumbbell programs: Mbps, ms, packets, s."""
    [flows] = scenario["flows"]
    link = scenario["dumbbell"]
    access = link.get("access", {})
    rate = amount(link["rate"])
    return {
        "rate": rate,
        "delay": amount(link["delay"]),
        "buffer": int(amount(link["buffer"])),
        "per": link.get("per", 0),
        "access_rate": amount(access["rate"]) if "rate" in access else 10 * rate,
        "access_delay": amount(access.get("delay", "0 ms")),
        "access_buffer": int(amount(access.get("buffer", "1000000 packets"))),
        "flows": flows["count"],
        "stagger": amount(flows["stagger"]),
        "cca": flows["cca"],
        "payload": 1000,
        "duration": amount(scenario["duration"]) / 1000,
    }


def amount(text: str) -> float:
    """A rate in Mbps, a time in ms, a number of packets or bytes."""
    units = {"Gbps": 1e3, "Mbps": 1.0, "s": 1e3, "ms": 1.0, "packets": 1.0, "bytes": 1.0}
    if not (match := re.fullmatch(r"([\d.]+) (\w+)", text)) or match[2] not in units:
        sys.exit(f"peers.py: '{text}' is not in {', '.join(units)}")
    return float(match[1]) * units[match[2]]


def cwnd(text: str) -> Measured:
    return timed([str(TARGET / "release" / "cwnd-bench"), "--measure", "scenario"], text)


def ns2(settings: dict[str, str | float]) -> Measured:
    return timed(["ns", str(HERE / "dumbbell.tcl"), *[f"{key}={value}" for key, value in settings.items()]])


def ns3_run(program: Path, settings: dict[str, str | float]) -> Measured:
    known = {**settings, "cca": NAMES[str(settings["cca"])]}
    del known["per"]
    return timed([str(program), *[f"--{key}={value}" for key, value in known.items()]])


def timed(command: list[str], text: str = "") -> Measured:
    """The object that `command` prints, with `cpu_s`: the CPU time of the process, start-up included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=PEER_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"peers.py: {command[0]} takes longer than {PEER_LIMIT_S} s")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"peers.py: {command[0]} failed: {done.stderr.strip()}")
    # ns-2 says more than it is asked.
    measured: Measured = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    measured["cpu_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return measured


def row(scenario: str, who: str, measured: Measured, ours: Measured) -> None:
    packets_per_s = measured["packets"] / measured["cpu_s"]
    ratio = measured["cpu_s"] / measured["packets"] * ours["packets"] / ours["cpu_s"]
    print(
        f"{scenario:<14}{who:<6}{measured['goodput_mbps']:>9.1f}{measured['lost_pkts']:>9.0f}"
        f"{measured['cpu_s']:>9.2f}{packets_per_s:>12.0f}{ratio:>12.1f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
