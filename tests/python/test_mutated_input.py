"""Damaged input of every kind: refused in one line, or a run that stays small and hears Ctrl-C."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import FILE, SMALL_FLAGS

ROOT = Path(__file__).parents[2]
SWEEP = (
    FILE
    + '[sweep]\n"flows.cca" = ["cubic", "elastic"]\n"dumbbell.buffer" = { from = 20, to = 80, factor = 2 }\n'
)

#: Ctrl-C after the first; a second is what it should take to end then, the rest is for a busy machine.
RUN_S, END_S, HANG_S = 4, 5, 60
MEMORY_MAX_BYTES = 2 << 30
#: The command, which cannot take the memory of the machine.
BOUNDED = f"""\
import resource, signal
resource.setrlimit(resource.RLIMIT_AS, ({2 * MEMORY_MAX_BYTES}, {2 * MEMORY_MAX_BYTES}))
signal.signal(signal.SIGINT, signal.default_int_handler)
from cwnd._cli import main as cli
cli.main()
"""

NUMBER = re.compile(r"(?<![\w.])[0-9][0-9_]*(?:\.[0-9]+)?(?:e-?[0-9]+)?")
NUMBERS = [
    *("0", "-1", "1", "2", "10", "100", "1000", "0.5", "0.001", "1e-9", "1e-300", "1e308", "1e999", "nan"),
    *(
        "99999",
        "100000",
        "1000000",
        "2147483647",
        "4294967296",
        "18446744073709551615",
        "18446744073709551616",
    ),
]
UNIT = re.compile(r"\b(ns|us|ms|s|min|bps|kbps|Mbps|Gbps|Tbps|BDP|packets|bytes)\b")
UNITS = [
    "ns",
    "us",
    "ms",
    "s",
    "min",
    "bps",
    "kbps",
    "Mbps",
    "Gbps",
    "Tbps",
    "BDP",
    "packets",
    "bytes",
    "",
    "é",
]


class Ended(NamedTuple):
    code: int
    stdout: str
    stderr: str
    memory_bytes: int
    #: From Ctrl-C to the end; None: it ended by itself.
    ending_s: float | None


def run(arguments: list[str], folder: Path, run_s: float = RUN_S) -> Ended:
    with (folder / "stdout").open("w") as stdout, (folder / "stderr").open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", BOUNDED, *arguments], stdout=stdout, stderr=stderr, cwd=folder
        )
    begin = time.monotonic()
    interrupted = None
    while True:
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
        now = time.monotonic()
        if done:
            break
        if interrupted is None and now > begin + run_s:
            os.kill(process.pid, signal.SIGINT)
            interrupted = now
        if now > begin + HANG_S:
            process.kill()
        time.sleep(0.01)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Ended(
        process.returncode,
        *((folder / name).read_text(errors="replace") for name in ("stdout", "stderr")),
        usage.ru_maxrss * 1024,
        None if interrupted is None else now - interrupted,
    )


def fault(ended: Ended) -> str | None:
    """Describes an end that must not be; None: the end is as it should be."""
    last = ended.stderr.strip()[-300:]
    if "Traceback" in ended.stderr or "panicked" in ended.stderr:
        return f"a traceback: {last}"
    if ended.memory_bytes > MEMORY_MAX_BYTES:
        return f"{ended.memory_bytes >> 20} MiB"
    if ended.ending_s is not None and ended.ending_s > END_S:
        return f"ended {ended.ending_s:.1f} s after Ctrl-C with exit code {ended.code}"
    if ended.code == 2:
        one_line = ended.stderr.startswith("cwnd: error: ") and ended.stderr.count("\n") == 1
        return None if one_line and not ended.stdout else f"refused with: {ended.stdout[-300:]}{last}"
    # Python on its way out leaves Ctrl-C to the system.
    interrupted = ended.ending_s is not None and ended.code in (130, -signal.SIGINT)
    if ended.code == 0 or interrupted:
        return None
    return f"exit code {ended.code}: {last}"


def damaged(text: str, rng: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        line = lines[at]
        key, equals, value = line.partition(" = ")
        kind = rng.choice(6 * ["number"] + 2 * ["unit"] + ["delete", "double", "swap", "keys", "nest", "cut"])
        if kind == "number":
            lines[at] = replaced(NUMBER, line, rng.choice(NUMBERS), rng)
        elif kind == "unit":
            lines[at] = replaced(UNIT, line, rng.choice(UNITS), rng)
        elif kind == "delete":
            lines[at] = ""
        elif kind == "double":
            lines.insert(other, line)
        elif kind == "swap":
            lines[at], lines[other] = lines[other], line
        elif kind == "keys" and equals:
            lines[at] = lines[other].partition(" = ")[0] + equals + value
        elif kind == "nest" and equals:
            depth = rng.choice((1, 2, 50, 10_000))
            opening, closing = rng.choice((("[", "]"), ("{ a = ", " }")))
            lines[at] = key + equals + opening * depth + value.strip() + closing * depth + "\n"
        elif kind == "cut":
            lines[at] = line[: rng.randrange(len(line) + 1)]
    content = bytearray("".join(lines).encode())
    if content and rng.random() < 0.1:
        for _ in range(rng.choice((1, 4, 32))):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def replaced(what: re.Pattern[str], text: str, by: str, rng: random.Random) -> str:
    found = list(what.finditer(text))
    if not found:
        return text
    one = rng.choice(found)
    return text[: one.start()] + by + text[one.end() :]


def damaged_flags(flags: list[str], rng: random.Random) -> list[str]:
    flags = list(flags)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at, other = rng.randrange(1, len(flags)), rng.randrange(1, len(flags))
        kind = rng.choice(10 * ["number"] + 2 * ["unit"] + ["delete", "double", "swap", "flip"])
        if kind == "number":
            at = rng.choice([i for i, flag in enumerate(flags) if NUMBER.search(flag)] or [at])
            flags[at] = replaced(re.compile("[0-9][0-9.]*"), flags[at], rng.choice(NUMBERS), rng)
        elif kind == "unit":
            flags[at] = replaced(re.compile("[a-zA-Z]+$"), flags[at], rng.choice(UNITS), rng)
        elif kind == "delete" and len(flags) > 2:
            del flags[at]
        elif kind == "double":
            flags.insert(other, flags[at])
        elif kind == "swap":
            flags[at], flags[other] = flags[other], flags[at]
        elif kind == "flip" and flags[at]:
            place = rng.randrange(len(flags[at]))
            flags[at] = flags[at][:place] + chr(rng.randrange(1, 0x250)) + flags[at][place + 1 :]
    return flags


#: A line for each kind of flag.
RUN_FLAGS = [
    ["run", "--cca", "reno", *SMALL_FLAGS, "--flows", "2", "--stagger", "10ms", "--repeat", "3", "--json"],
    [
        "run",
        "--cca",
        "cubic",
        "--param",
        "beta=0.7",
        *SMALL_FLAGS,
        "--per",
        "1e-3",
        "--seed",
        "7",
        "--jobs",
        "2",
    ],
    [
        "run",
        "--cca",
        "bbr",
        *SMALL_FLAGS,
        "--packet",
        "1000",
        "--start",
        "100ms",
        "--stop",
        "1s",
        "--samples",
        "50",
    ],
    [
        "run",
        "--cca",
        "vegas",
        *SMALL_FLAGS,
        "--access-rate",
        "20Mbps",
        "--access-buffer",
        "40",
        "--out",
        "out",
    ],
]
SWEEP_FLAGS = [
    ["sweep", "good.toml", "--out", "out", "--repeat", "3", "--jobs", "2"],
    ["sweep", "good.toml", "--out", "out", "--shard", "0/1", "--repeat", "2"],
    ["sweep", "good.toml", "--out", "out", "--until", "ci=50%", "--max-seeds", "5"],
]


class Case(NamedTuple):
    arguments: list[str]
    content: bytes = SWEEP.encode()


def cases(seed: int = 17) -> Iterator[Case]:
    rng = random.Random(seed)
    paths = [*ROOT.glob("scenarios/*.toml"), *ROOT.glob("papers/*/*.toml")]
    texts = [path.read_text() for path in sorted(paths) if path.name != "paper.toml"]
    runs = [text for text in texts if "\n[sweep" not in text and "\n[[sweep" not in text]
    sweeps = [text for text in texts if text not in runs]
    # Most are small, so that most that are accepted come to their end.
    for _ in range(160):
        yield Case(["run", "bad.toml"], damaged(rng.choice((FILE, FILE, rng.choice(runs))), rng))
    for _ in range(120):
        sweep = damaged(rng.choice((SWEEP, SWEEP, rng.choice(sweeps))), rng)
        yield Case(["sweep", "bad.toml", "--out", "out"], sweep)
    for _ in range(100):
        yield Case(damaged_flags(rng.choice(RUN_FLAGS), rng))
    for _ in range(40):
        yield Case(damaged_flags(rng.choice(SWEEP_FLAGS), rng))


@pytest.mark.slow
def test_four_hundred_mutated_inputs_are_refused_in_one_line_or_stay_within_bounds(tmp_path: Path) -> None:
    def check(numbered: tuple[int, Case]) -> tuple[Ended, str | None]:
        number, case = numbered
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "bad.toml").write_bytes(case.content)
        (folder / "good.toml").write_text(SWEEP)
        ended = run(case.arguments, folder)
        wrong = fault(ended)
        return ended, None if wrong is None else f"{folder}: cwnd {' '.join(case.arguments)}: {wrong}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        checked = list(pool.map(check, enumerate(cases())))
    assert len(checked) >= 400
    codes = Counter(ended.code for ended, _ in checked)
    slowest_s = max(ended.ending_s or 0 for ended, _ in checked)
    largest_mib = max(ended.memory_bytes for ended, _ in checked) >> 20
    print(f"exit codes {dict(codes)}; at most {slowest_s:.2f} s after Ctrl-C and {largest_mib} MiB")
    # Otherwise nothing was tried.
    assert min(codes[0], codes[2]) > 50
    wrong = [one for _, one in checked if one is not None]
    assert not wrong, "\n".join(wrong)


def points(count: int) -> str:
    return f'{{ from = "1 ms", to = "1 s", points = {count} }}'


DELAYS = FILE + f'[sweep]\n"dumbbell.delay" = {points(1000)}\n'
CROWDED = FILE.replace("count = 2", "count = 100_000").replace('"100 ms"', '"0 s"')
SMALL = " ".join(("run --cca reno", *SMALL_FLAGS))


def command(line: str) -> Case:
    return Case(line.split())


#: Each is accepted by itself, key by key.
LARGE: dict[str, Case] = {
    "seeds": command(f"{SMALL} --repeat 1000000"),
    "flows": command(f"{SMALL} --flows 100000"),
    "threads": command(f"{SMALL} --repeat 5000 --jobs 4096"),
    "packets of 0 ns": command(
        "run --cca reno --rate 100Tbps --delay 10ms --buffer 1000000 --packet 1 --duration 10s"
    ),
    "packets in flight": command(
        "run --cca reno --rate 100Tbps --delay 1min --buffer unlimited --duration 10000min"
    ),
    "samples": command(
        "run --cca reno --rate 10Gbps --delay 1ms --buffer 100 --samples change --duration 1000s"
    ),
    "points": Case(
        ["sweep", "bad.toml", "--out", "out"], f'{DELAYS}"flows.start" = {points(1000)}\n'.encode()
    ),
    "seeds of points": Case(
        ["sweep", "bad.toml", "--out", "out"], DELAYS.replace("repeat = 2", "repeat = 1_000_000").encode()
    ),
    "flows of points": Case(
        ["sweep", "bad.toml", "--out", "out"],
        (CROWDED + '[sweep]\n"dumbbell.buffer" = { from = 1, to = 39, step = 1 }\n').encode(),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", LARGE)
def test_what_asks_for_too_much_is_refused_or_stays_within_bounds(tmp_path: Path, what: str) -> None:
    case = LARGE[what]
    (tmp_path / "bad.toml").write_bytes(case.content)
    assert fault(run(case.arguments, tmp_path, run_s=3 * RUN_S)) is None
