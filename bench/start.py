"""How long the command and the package take to start: elapsed times, beside their goals.

Usage: start.py FOLDER, which has the programs `cwnd` and `python`, as `make bench` calls it.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

TURNS = 15
GOALS_MS = {
    ("cwnd", "--version"): 60,
    ("python", "-c", "import cwnd"): 60,
    ("cwnd", "run", "--cca", "reno", "--rate", "10Mbps", "--delay", "10ms", "--duration", "1s"): 250,
}


#: Where bytecode is not written, each start compiles the package again.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def main(folder: str) -> None:
    programs = Path(folder)
    if not (programs / "cwnd").exists():
        print(f"start-up: there is no {programs / 'cwnd'} to measure; 'make .venv/package' builds it")
        return
    times_ms: dict[tuple[str, ...], list[float]] = {command: [] for command in GOALS_MS}
    for turn in range(TURNS + 1):
        for command, measured_ms in times_ms.items():
            ms = elapsed_ms([str(programs / command[0]), *command[1:]])
            # The first turn writes the bytecode and reads the files from the disk.
            measured_ms += [ms] * (turn > 0)
    print(f"{'start-up':<62} {'median ms':>9} {'best ms':>8} {'goal ms':>8}")
    for command, measured_ms in times_ms.items():
        shown = " ".join(f"'{word}'" if " " in word else word for word in command)
        print(f"{shown:<62} {median(measured_ms):>9.0f} {min(measured_ms):>8.0f} {GOALS_MS[command]:>8}")


def elapsed_ms(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)
    return 1e3 * (time.perf_counter() - begin)


if __name__ == "__main__":
    main(*sys.argv[1:])
