"""Faults planted in copies of the headers for `cwnd prove` to refute: those that kernels had, and drawn ones.

    python tools/proof_faults.py                 all of them, with the tables of docs/validation/proofs.md
    python tools/proof_faults.py history         the faults that kernels and QUIC stacks had, alone
    python tools/proof_faults.py drawn 5         the first five of the drawn ones, alone

A fault is refuted if `cwnd prove` refutes a property of a hook of which the header as it is has no
counterexample. The drawn ones are the first PER_HEADER changes of each header, in an order that a seed gives,
which compile and change what a hook computes: see proof_sites.py. They are judged one of each header first.
The folder target/proof-faults keeps verdicts; a later call goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from mutants import HEADERS, Mutant, plant
from proof_sites import changes

import cwnd
from cwnd._prove.build import build, registered
from cwnd._prove.dag import reachable
from cwnd._prove.decide import PROVED, REFUTED, Cell, Hooks
from cwnd._prove.elf import Object, read_object
from cwnd._prove.layout import HOOKS
from cwnd._prove.memory import UntranslatableError
from cwnd._prove.model import model
from cwnd._prove.properties import PROPERTIES

#: Faults of history, each with the property that it breaks.
HISTORY: tuple[tuple[Mutant, str], ...] = (
    (
        Mutant(
            "illinois",
            "illinois.h",
            "	} else if (ca->rtts) {",
            "	} else {",
            "the mean RTT of a round without a sample, as CVE-2012-4565 had it",
        ),
        "division",
    ),
    (
        Mutant(
            "cubic",
            "cubic.h",
            "		epoch->start_us += gap;",
            "		epoch->start_us = a->now_us + gap;",
            "an idle time moves the epoch's start into the future, as a mend of Linux had it",
        ),
        "wrap",
    ),
    (
        Mutant(
            "yeah",
            "yeah.h",
            "	return w->cwnd > cut ? cc_max(w->cwnd - cut, 2) : 2;",
            "	return w->cwnd - cut;",
            "ssthresh below 2, as Linux had it",
        ),
        "ssthresh",
    ),
    (
        Mutant(
            "vegas",
            "vegas.h",
            "	u64 expected = (u64)w->cwnd * a->rtt_us,",
            "	u64 expected = w->cwnd * a->rtt_us,",
            "cwnd times RTT in 32 bits, as Linux had it",
        ),
        "wrap",
    ),
    (
        Mutant(
            "hybla",
            "hybla.h",
            "	rho = rho > 16 << 16 ? 16 << 16 : rho;\n",
            "",
            "2^rho for any rho, as Linux had it",
        ),
        "division",
    ),
    (
        Mutant(
            "bbr",
            "bbr.h",
            "	u64 round_end;       /* a round",
            "	u32 round_end;       /* a round",
            "rounds counted in 32 bits and compared in 64",
        ),
        "counters",
    ),
)


ROOT = HEADERS.parent
PAGE = ROOT / "docs" / "validation" / "proofs.md"
KEPT = ROOT / "target" / "proof-faults"
PER_HEADER = 2
SEED = 50


def hooks_of(header: str, folder: Path) -> tuple[Object, Hooks]:
    built = build(header, folder)
    code = read_object(built.object)
    return code, Hooks(code, read_object(built.ops), built)


def expressions(code: Object) -> dict[str, str]:
    """A hash of what each hook computes with the default parameters, and of what could go wrong there."""
    found = {}
    for hook, steps in code.hooks.items():
        try:
            made = model(code, hook)
        except UntranslatableError:
            text = [(step.code, step.dst, step.src, step.off, step.imm) for step in steps.values()]
        else:
            risks = [node for risk in made.risks for node in (risk.path, risk.wrong)]
            nodes = reachable([*made.after.values(), *risks])
            number = {node.id: at for at, node in enumerate(nodes)}
            text = [
                (node.op, node.width, node.value, *(number[arg.id] for arg in node.args)) for node in nodes
            ]
        found[hook] = hashlib.sha256(repr(text).encode()).hexdigest()
    return found


@cache
def original(algorithm: str) -> dict[str, str]:
    """The expressions of the hooks of the header as it is."""
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        return expressions(hooks_of(algorithm, Path(folder))[0])


@cache
def refuted(algorithm: str) -> frozenset[tuple[str, str]]:
    """The cells of the header as it is that have a counterexample."""
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        _, hooks = hooks_of(algorithm, Path(folder))
        cells = [cell for hook, name in searched(hooks) for cell in hooks.decide(hook, [name])]
    return frozenset((cell.hook, cell.property) for cell in cells if cell.verdict == REFUTED)


def searched(hooks: Hooks) -> list[tuple[str, str]]:
    """The cells that a search finds a series of events for, each of which has to replay."""
    search = hooks.search(list(PROPERTIES))
    if search.unreplayed:
        sys.exit(f"{search.built.name}: a counterexample does not replay: {search.unreplayed[0].where}")
    return list(search.found)


def refutes(mutant: Mutant) -> tuple[Cell | None, list[Cell]]:
    """The first cell that `cwnd prove` refutes of the fault alone; or none, and the cells left open."""
    before = original(mutant.algorithm)
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        code, hooks = hooks_of(str(plant(mutant, Path(folder))), Path(folder))
        for hook, name in searched(hooks):
            if (hook, name) not in refuted(mutant.algorithm):
                (cell,) = hooks.decide(hook, [name])
                if cell.verdict == PROVED:
                    sys.exit(f"{mutant}: {hook}, {name} is called proved, and a series of events breaks it")
                return cell, []
        now = expressions(code)
        changed = [hook for hook in HOOKS if hook in now and now[hook] != before.get(hook)]
        cells = [cell for cell in hooks.cells(list(PROPERTIES)) if cell.hook in changed]
    known = refuted(mutant.algorithm)
    for cell in cells:
        if cell.verdict == REFUTED and (cell.hook, cell.property) not in known:
            return cell, []
    return None, [cell for cell in cells if cell.verdict not in (PROVED, REFUTED)]


def drawn(algorithm: str) -> Iterator[Mutant]:
    """The first PER_HEADER changes of a header that compile and change what it computes."""
    name = f"{algorithm.replace('-', '_')}.h"
    taken = 0
    for before, after, fault in changes((HEADERS / name).read_text(), f"{SEED} {algorithm}"):
        mutant = Mutant(algorithm, name, before, after, fault)
        with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
            try:
                code = read_object(build(str(plant(mutant, Path(folder))), Path(folder)).object)
            except cwnd.Error:
                continue
        if expressions(code) != original(algorithm):
            yield mutant
            taken += 1
            if taken == PER_HEADER:
                return


@cache
def state_of_sources() -> str:
    """A hash of the headers and of the prover."""
    paths = [*sorted(HEADERS.glob("*.h")), *sorted(HEADERS.glob("parts/*.h"))]
    paths += sorted((ROOT / "python" / "cwnd" / "_prove").glob("*.[pch]*"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def judged(mutant: Mutant) -> dict[str, str]:
    """The verdict on a fault, from an earlier call if there is one."""
    key = hashlib.sha256(repr((mutant, state_of_sources())).encode()).hexdigest()[:16]
    kept = KEPT / f"{key}.json"
    if kept.exists():
        found: dict[str, str] = json.loads(kept.read_text(encoding="utf-8"))
        return found
    cell, left = refutes(mutant)
    if cell is not None:
        verdict = {
            "by": f"{cell.hook}, {cell.property}",
            "reason": cell.reason.split(": ")[0] if cell.property in ("wrap", "division") else cell.reason,
            "events": str(len(cell.before) + 1),
        }
    else:
        names = ", ".join(dict.fromkeys(f"{cell.hook}, {cell.property}" for cell in left))
        verdict = {
            "by": "",
            "reason": f"open: {names}" if names else "every property is proved",
            "events": "",
        }
    KEPT.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(verdict))
    return verdict


def row(mutant: Mutant, verdict: dict[str, str]) -> str:
    by = f"{verdict['by']}: {verdict['reason']}" if verdict["by"] else f"**no**; {verdict['reason']}"
    escaped = by.replace("|", "\\|")
    return f"| `{mutant.algorithm}` | {mutant.fault} | {escaped} | {verdict['events']} |"


def table(mutants: Iterator[Mutant]) -> tuple[list[str], int]:
    """The rows, and how many are refuted."""
    lines = ["| header | fault | refuted by | events |", "|---|---|---|---|"]
    count = 0
    for mutant in mutants:
        verdict = judged(mutant)
        count += bool(verdict["by"])
        lines.append(row(mutant, verdict))
        print(lines[-1], flush=True)
    return lines, count


def in_turns() -> Iterator[Mutant]:
    """The drawn faults: one of each header, then another of each."""
    waiting = [drawn(name) for name in registered()]
    for _ in range(PER_HEADER):
        for each in waiting:
            yield from islice(each, 1)


def write(name: str, lines: list[str]) -> None:
    """Replaces a part of the page."""
    begin, end = f"<!-- {name}: tools/proof_faults.py -->\n", f"<!-- end of {name} -->\n"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    PAGE.write_text(before + begin + "\n".join(lines) + "\n" + end + rest.partition(end)[2], encoding="utf-8")


def main() -> None:
    part, most = [*sys.argv[1:], "", ""][:2]
    if part in ("", "history"):
        lines, count = table(mutant for mutant, _ in HISTORY)
        write("history", [f"{count} of {len(lines) - 2} are refuted.", "", *lines])
    if part in ("", "drawn"):
        lines, count = table(islice(in_turns(), int(most) if most else None))
        write("drawn", [f"{count} of {len(lines) - 2} are refuted.", "", *lines])


if __name__ == "__main__":
    main()
