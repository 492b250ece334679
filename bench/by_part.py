"""Where the time of a packet goes: samples of a run's CPU time, by the part of the engine that they fall in.

Needs Linux's perf and binutils. Usage: by_part.py PROGRAM SCENARIO, as `make bench-by-part` calls it.
"""

import functools
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

SAMPLES_PER_S = 10_000
# The first that a file's path holds says what the file does.
PARTS = [
    ("slice/sort", "putting what comes to a link in order"),
    ("runs.rs", "putting what comes to a link in order"),
    ("arrivals.rs", "putting what comes to a link in order"),
    ("engine/src/net/link/", "links"),
    ("engine/src/fast/link/", "links"),
    ("distribution.rs", "RTT: timeout and distribution"),
    ("rtt.rs", "RTT: timeout and distribution"),
    ("acknowledgement.rs", "sender"),
    ("receiver.rs", "receiver"),
    ("fast_path.rs", "sender"),
    ("sender.rs", "sender"),
    ("tlp.rs", "sender"),
    ("engine/src/tcp/", "SACK and recovery"),
    ("bits.rs", "SACK and recovery"),
    ("engine/src/", "going through spans, packets from place to place"),
    ("algorithms/", "the algorithm's hooks"),
]


def main(program: str, scenario: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "perf.data")
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(SAMPLES_PER_S), "-o", data]
        with Path(scenario).open() as text:
            command = [*record, program, "--measure", Path(scenario).stem]
            run = subprocess.run(command, stdin=text, stdout=subprocess.PIPE, check=True)
        script = ["perf", "script", "-i", data, "-F", "ip", "--show-mmap-events"]
        events = subprocess.run(
            script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
        )
    measured = json.loads(run.stdout)
    addresses = Counter(addresses_in(events.stdout, program))
    total = addresses.total()
    parts: Counter[str] = Counter()
    for address, part in zip(addresses, parts_of(program, list(addresses)), strict=True):
        parts[part] += addresses[address]
    ns = measured["cpu_s"] * 1e9 / measured["packets"]
    print(f"| part | ns per packet, of {ns:.0f} |\n|---|---|")
    for part, count in parts.most_common():
        print(f"| {part} | {ns * count / total:.1f} |")


def addresses_in(events: str, program: str) -> list[int | None]:
    """Addresses of the samples: each its address in the program's file; None: it is outside."""
    program = str(Path(program).resolve())
    segments, addresses = [], []
    for line in events.splitlines():
        if mapped := re.search(r"\[0x(\w+)\(0x(\w+)\) @ (?:0x)?(\w+) .*\]: \S+ (.*)", line):
            start, length, offset = (int(number, 16) for number in mapped.groups()[:3])
            if mapped.group(4) == program:
                segments.append((start, start + length, offset))
        elif re.fullmatch(r"\s*[0-9a-f]+\s*", line):
            ip = int(line, 16)
            found = [ip - start + offset for start, end, offset in segments if start <= ip < end]
            addresses.append(virtual(program, found[0]) if found else None)
    return addresses


def virtual(program: str, offset: int) -> int:
    """Where what stands at `offset` in the file is when nothing moves the program."""
    inside = (offset - at + to for at, to, size in segments_of(program) if at <= offset < at + size)
    return next(inside, offset)


@functools.cache
def segments_of(program: str) -> list[tuple[int, int, int]]:
    """Segments: where each is in the file and in memory, and its size."""
    headers = subprocess.run(["readelf", "-lW", program], stdout=subprocess.PIPE, text=True, check=True)
    loads = re.findall(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", headers.stdout)
    return [(int(at, 16), int(to, 16), int(size, 16)) for at, to, size in loads]


def parts_of(program: str, addresses: list[int | None]) -> list[str]:
    """By the innermost function that is not of Rust's library, but for its sorting."""
    lines = "".join(f"{address:#x}\n" for address in addresses if address is not None)
    command = ["addr2line", "-a", "-i", "-e", program]
    found = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True).stdout
    frames = iter(re.split(r"^0x.*\n", found, flags=re.MULTILINE)[1:])
    return ["outside the program" if address is None else part_of(next(frames)) for address in addresses]


def part_of(frames: str) -> str:
    for frame in frames.splitlines():
        for path, part in PARTS:
            if path in frame:
                return part
    return "the rest"


if __name__ == "__main__":
    main(*sys.argv[1:])
