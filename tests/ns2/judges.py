"""Makes what tests compare with ns-2.35: `crates/engine/tests/all/ns2.csv` and `ns2-single.csv`.

    python3 tests/ns2/judges.py              every row, beside the row of the file; 1 where one differs
    python3 tests/ns2/judges.py reno cubic   the rows of these algorithms
    python3 tests/ns2/judges.py --seeds 1    the run without randomness and one more of each row

A run is kept in target/ns2-judges, so that a stopped command continues. All rows are some 800 runs.
Installs Debian's ns2 if it is missing (root).
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RUNS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "ns2-judges"
TABLES = ROOT / "crates" / "engine" / "tests" / "all"
#: The files have three digits behind the point, and whole packets.
ROUNDING_MBPS = 0.0006


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cca", nargs="*", help="the algorithms; default: all of the files")
    parser.add_argument("--seeds", type=int, default=8, help="runs with starts in the first millisecond")
    asked = parser.parse_args()
    need_ns2()
    RUNS.mkdir(parents=True, exist_ok=True)

    four = [row for row in table("ns2.csv") if not asked.cca or row["cca"] in asked.cca]
    one = [row for row in table("ns2-single.csv") if not asked.cca or row["cca"] in asked.cca]
    if not four and not one:
        print(f"judges.py: no row has {', '.join(asked.cca)}", file=sys.stderr)
        return 2
    singles = sorted({row["cca"] for row in one})
    differ = 0
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        bands = threads.map(lambda row: band(row, asked.seeds), four)
        windows = threads.map(window, singles)
        for row, (goodput, low, high) in zip(four, bands, strict=True):
            is_same = abs(goodput - float(row["goodput_mbps"])) <= ROUNDING_MBPS
            # The file's band has runs of more seeds, so that it holds ours.
            holds = float(row["low_mbps"]) - 1 <= low and high <= float(row["high_mbps"]) + 1
            differ += not is_same
            print(
                f"{row['cca']},{row['buffer_pkts']},{goodput:.3f},{low:.3f},{high:.3f}"
                f"  file {row['goodput_mbps']},{row['low_mbps']},{row['high_mbps']}"
                f"{'' if is_same else '  DIFFERS'}{'' if holds else '  outside of the band'}",
                flush=True,
            )
        for cca, cwnds in zip(singles, windows, strict=True):
            for row in one:
                if row["cca"] == cca:
                    found = cwnds[row["time_s"]]
                    differ += found != row["cwnd_pkts"]
                    mark = "" if found == row["cwnd_pkts"] else "  DIFFERS"
                    print(f"{cca},{row['time_s']},{found}  file {row['cwnd_pkts']}{mark}", flush=True)
    return 1 if differ else 0


def table(name: str) -> Iterator[dict[str, str]]:
    """The rows of a file, without its comments."""
    lines = [line for line in (TABLES / name).read_text().splitlines() if not line.startswith("#")]
    yield from csv.DictReader(lines)


def band(row: dict[str, str], seeds: int) -> tuple[float, float, float]:
    """The goodput of four flows in Mbps; the least and the most of it and of runs with random starts."""
    runs = [goodput(row["cca"], row["buffer_pkts"], 1, 0.0)]
    runs += [goodput(row["cca"], row["buffer_pkts"], seed, 0.001) for seed in range(1, seeds + 1)]
    return runs[0], min(runs), max(runs)


def goodput(cca: str, buffer: str, seed: int, jitter_s: float) -> float:
    return float(
        ns2(
            "flows.tcl",
            cca=cca,
            look_s=0,
            flows=4,
            buffer=buffer,
            access_buffer=50,
            seed=seed,
            jitter_s=jitter_s,
        )["goodput"]
    )


def window(cca: str) -> dict[str, str]:
    """The windows of one flow by time."""
    return ns2(
        "flows.tcl", cca=cca, look_s=0.1, flows=1, buffer=5000, access_buffer=5000, seed=1, jitter_s=0.0
    )


def ns2(script: str, **settings: object) -> dict[str, str]:
    """Output of a script by its first word or by time, kept under the settings."""
    name = "-".join(f"{key}{value}" for key, value in settings.items())
    kept = RUNS / f"{Path(script).stem}-{name}.txt"
    if not kept.exists():
        command = ["ns", str(HERE / script), *(f"{key}={value}" for key, value in settings.items())]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0 or not done.stdout:
            sys.exit(f"judges.py: {' '.join(command)}: {done.stderr.strip()}")
        part = kept.with_suffix(".part")
        part.write_text(done.stdout)
        part.replace(kept)
    printed = [line.split() for line in kept.read_text().splitlines()]
    return {words[-2]: words[-1] for words in printed if len(words) >= 2}


def need_ns2() -> None:
    """Installs Debian's ns2 unless it is there."""
    if shutil.which("ns") is not None:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        sys.exit("judges.py: ns is missing: apt-get install ns2, as root")
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "ns2"]):
        if subprocess.run(["apt-get", *command]).returncode != 0:
            sys.exit("judges.py: ns2 cannot be installed")


if __name__ == "__main__":
    sys.exit(main())
