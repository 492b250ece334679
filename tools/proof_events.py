"""Random events for what `cwnd prove` says: its translation, and what it calls proved.

    python tools/proof_events.py translation 1000000     beside the native hooks: a million events a hook
    python tools/proof_events.py kernel 1000000          native hooks beside this machine's kernel; root
    python tools/proof_events.py proved 10000000         so many events of each header, half from init on
    python tools/proof_events.py proved 1000000 reno     those of one header, without its table

Each writes its table of docs/validation/proofs.md. Events are biased to edges and to branches not taken yet:
see python/cwnd/_prove/walk.c. It ends with 1 if the translation differs, or an event breaks what is proved.
`kernel` needs the example `events` of crates/kernel in target/release.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread
from typing import IO, NamedTuple

from proof_faults import ROOT, SEED, write

from cwnd._prove.build import build, registered
from cwnd._prove.decide import PROVED, Hooks
from cwnd._prove.elf import read_object
from cwnd._prove.layout import HOOKS, layout
from cwnd._prove.properties import PROPERTIES
from cwnd._prove.walk import Cells, Outcome, Walk

_CHUNK = 4096
IN_KERNEL = ROOT / "target" / "release" / "examples" / "events"


class Judged(NamedTuple):
    """The cells of a row, and whether nothing was found."""

    cells: list[str]
    sound: bool


def walk(name: str, cells: Cells, folder: Path) -> Walk:
    built = build(name, folder)
    return Walk(built, read_object(built.object), cells, folder, kept=False)


def shown(outcome: Outcome) -> str:
    if outcome.fault:
        return f"**{outcome.fault}**"
    found = [f"{finding.hook}: {finding.property} {finding.where}" for finding in outcome.findings]
    return "; ".join(f"**{text}**" for text in found) or "none"


def translation(name: str, count: int) -> Judged:
    """The expressions beside the native hooks."""
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        outcome = walk(name, {}, Path(folder)).run("any", count, SEED)
    reached = outcome.reached
    branches = sum(each.branches for each in reached.values())
    missed = [f"{hook} {step}" for hook, each in reached.items() for step in each.missed]
    short = [hook for hook, each in reached.items() if each.events < count]
    sound = not outcome.fault and not outcome.findings and not short
    seen = f"{branches - len(missed)} of {branches}"
    return Judged([str(len(reached)), str(outcome.events), seen, shown(outcome)], sound)


def in_kernel(name: str, count: int) -> Judged:
    """The native hooks beside BPF_PROG_TEST_RUN of the same programs, byte by byte."""
    size = layout("init").size
    compared, found = 0, ""
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        program = walk(name, {}, Path(folder)).program
        drawn = subprocess.Popen([program, "write", str(count), str(SEED)], stdout=subprocess.PIPE)
        kernel = subprocess.Popen([IN_KERNEL, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert drawn.stdout and kernel.stdin and kernel.stdout
        while not found:
            both = drawn.stdout.read(2 * size * _CHUNK)
            if not both:
                break
            before, after = halves(both, size)
            feeder = Thread(target=_feed, args=(kernel.stdin, before))
            feeder.start()
            answered = kernel.stdout.read(len(after))
            feeder.join()
            if len(answered) < len(after):
                found = "the kernel ended early"
            elif answered != after:
                at = next(
                    i for i in range(0, len(after), size) if answered[i : i + size] != after[i : i + size]
                )
                hook = HOOKS[before[at]]
                field = next(
                    f.name
                    for f in layout(hook).fields
                    if answered[at + f.offset : at + f.offset + f.size]
                    != after[at + f.offset : at + f.offset + f.size]
                )
                found = f"{hook}: {field} differs: {before[at : at + size].hex()}"
            compared += len(after) // size
        kernel.stdin.close()
        for process in (drawn, kernel):
            process.stdout.close()
            process.kill() if found else None
            process.wait()
    sound = not found and not drawn.returncode and not kernel.returncode
    return Judged([str(compared), f"**{found}**" if found else "none"], sound)


def _feed(to: IO[bytes], data: bytes) -> None:
    to.write(data)
    to.flush()


def halves(both: bytes, size: int) -> tuple[bytes, bytes]:
    """The events before and after, which alternate."""
    parts = [both[at : at + size] for at in range(0, len(both), size)]
    return b"".join(parts[::2]), b"".join(parts[1::2])


def proved(name: str, count: int) -> Judged:
    """Events that may break no cell that is proved."""
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        built = build(name, Path(folder))
        code = read_object(built.object)
        hooks = Hooks(code, read_object(built.ops), built)
        decided = hooks.cells(list(PROPERTIES))
        cells = {
            hook: tuple(c.property for c in decided if (c.hook, c.verdict) == (hook, PROVED))
            for hook in code.hooks
        }
        made = Walk(built, code, cells, Path(folder))
        began = time.perf_counter()
        outcomes = [
            made.run("any", count // 2 // len(cells), SEED + 1),
            made.run("from", count - count // 2, SEED + 1),
        ]
        seconds = time.perf_counter() - began
    events = sum(outcome.events for outcome in outcomes)
    broken = " ".join(dict.fromkeys(map(shown, outcomes)))
    sound = all(not outcome.findings and not outcome.fault for outcome in outcomes)
    number = str(sum(map(len, cells.values())))
    return Judged([number, str(events), f"{events / seconds / 1e6:.1f}", broken], sound)


KINDS = {
    "translation": (translation, ["hooks", "events", "outcomes of branches seen", "differences"]),
    "kernel": (in_kernel, ["events", "differences"]),
    "proved": (proved, ["proved cells", "events", "million a second", "broken"]),
}


def main() -> int:
    kind, count, *only = sys.argv[1:]
    judge, titles = KINDS[kind]
    lines = ["| header | " + " | ".join(titles) + " |", "|---" * (len(titles) + 1) + "|"]
    sound, events = True, 0
    for name in only or registered():
        judged = judge(name, int(count))
        sound &= judged.sound
        events += int(judged.cells[titles.index("events")])
        lines.append(f"| {name} | " + " | ".join(judged.cells) + " |")
        print(lines[-1], flush=True)
    if not only:
        write(kind, [f"{events} events of {len(registered())} headers.", "", *lines])
    return not sound


if __name__ == "__main__":
    sys.exit(main())
