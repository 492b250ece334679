"""Random events for the native hooks, beside the expressions of their bytecode, at a million a second."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cwnd._common.errors import error, one_line
from cwnd._common.files import write_file
from cwnd._common.headers import HEADERS, c_compiler, compile_header
from cwnd._prove.build import Built
from cwnd._prove.compiled import function
from cwnd._prove.dag import Node, reachable
from cwnd._prove.elf import Object
from cwnd._prove.layout import HOOKS, Field, Layout
from cwnd._prove.memory import UntranslatableError
from cwnd._prove.model import Model, model
from cwnd._prove.properties import PROPERTIES, Question, questions

_HERE = Path(__file__).parent
_UNDEFINED = ("division", "shift")
_CHECKS = {"window": 1, "ssthresh": 2, "growth": 4, "counters": 8}
_DIFFERS = 100_000
_BROKEN = ("", "", "window", "result", "growth", "counters")
_CONSTANTS_MAX = 512

Cells = Mapping[str, tuple[str, ...]]


class Finding(NamedTuple):
    """A property that an event broke, after those before it: (hook, event as bytes)."""

    hook: str
    property: str
    where: str
    events: list[tuple[str, bytes]]

    def differs(self) -> bool:
        """The bytecode and the native hook do not agree."""
        return not self.property


class Reached(NamedTuple):
    """The outcomes of jumps that the events of a hook reached, and those never seen."""

    events: int
    skipped: int
    branches: int
    missed: list[str]


class Outcome(NamedTuple):
    """The findings, what each hook reached, and the fault that ended the run natively, if one did."""

    findings: list[Finding]
    reached: dict[str, Reached]
    fault: str

    @property
    def events(self) -> int:
        return sum(reached.events for reached in self.reached.values())


class _Hook(NamedTuple):
    of: Model
    undefined: list[tuple[str, Question]]
    others: list[tuple[str, Question]]
    branches: list[tuple[str, Node]]


class Walk:
    """The program of a header: `cells` has the properties that are asked of each hook.

    `kept`: states are those that the header's invariants allow.
    """

    def __init__(self, built: Built, code: Object, cells: Cells, folder: Path, kept: bool = True) -> None:
        name = built.name
        self.hooks: dict[str, _Hook] = {}
        for hook in HOOKS:
            if hook in code.hooks:
                try:
                    self.hooks[hook] = _hook(model(code, hook, kept=kept), "cong_control" in code.hooks)
                except UntranslatableError:
                    continue
        self.program = folder / f"{name}.walk"
        tables = folder / f"{name}.walk.h"
        write_file(tables, self._tables(cells, "cong_control" in code.hooks).encode())
        command = [
            *c_compiler(),
            *("-O1", "-std=gnu11", "-fno-strict-aliasing", f'-DHEADER="{built.header}"', f"-DNAME={name}"),
            *(f"-DFORWARD_{name}", f'-DTABLES="{tables}"', "-I", str(HEADERS), "-I"),
            *(str((_HERE / "kernel").resolve()), str(_HERE / "walk.c"), "-o", str(self.program)),
        ]
        checked = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
        if subprocess.run([*command, *checked], capture_output=True, check=False).returncode:
            compile_header(one_line(name), command)

    def _tables(self, cells: Cells, controls: bool) -> str:
        parts = [f"#define CONTROLS {int(controls)}", f"#define INIT_COUNT {int('init' in self.hooks)}"]
        rows = []
        most = 1
        for hook, has in self.hooks.items():
            shape = has.of.layout
            at = {field.name: ("before", field.offset, field.size) for field in shape.fields}
            at |= {f"then.{field.name}": ("then", field.offset, field.size) for field in shape.fields}
            compared = [f for f in shape.fields if f.name not in ("what", "result")]
            if hook in ("ssthresh", "undo_cwnd"):
                compared.append(shape.field("result"))
            first = [has.of.assumed, *(question.wrong for _, question in has.undefined)]
            last = [
                *(has.of.after[field.name] for field in compared),
                *(question.wrong for _, question in has.others),
                *(node for _, node in has.branches),
            ]
            most = max(most, len(first), len(last))
            wanted = cells.get(hook, ())
            flags = [int(name in wanted) for name, _ in (*has.undefined, *has.others)]
            checks = sum(bit for name, bit in _CHECKS.items() if name in wanted and _checked(has.of, name))
            constants = _constants([*first, *last])
            parts += [
                function(f"first_{hook}", first, at),
                function(f"last_{hook}", last, at),
                _fields(f"fields_{hook}", Layout(_drawn(shape), shape.size)),
                _fields(f"compared_{hook}", Layout(tuple(compared), shape.size)),
                f"static const u64 constants_{hook}[] = {{ {', '.join(f'{c:#x}ULL' for c in constants)} }};",
                f"static const u8 asked_{hook}[] = {{ {', '.join(map(str, [*flags, 0]))} }};",
            ]
            rows.append(
                f'{{ "{hook}", HOOK_{hook}, fields_{hook}, {len(_drawn(shape))}, constants_{hook}, '
                f"{len(constants)}, first_{hook}, last_{hook}, {len(has.undefined)}, compared_{hook}, "
                f"{len(compared)}, {len(has.others)}, {len(has.branches)}, asked_{hook}, {checks} }},"
            )
        if not rows:
            raise error("", "no hook of this header is translated")
        shape = next(iter(self.hooks.values())).of.layout
        parts += [
            f"#define VALUES_MAX {most}",
            f"#define ACK_AT {shape.field('a.now_us').offset}",
            f"#define STATE_AT {shape.size - 104}",
            "static const struct hook hooks[] = {",
            *rows,
            "};",
        ]
        return "\n".join(parts) + "\n"

    def run(self, mode: str, count: int, seed: int) -> Outcome:
        """Runs `count` events: `any` for each hook in any state, `from` for connections from `init` on."""
        done = subprocess.run(
            [self.program, mode, str(count), str(seed)], capture_output=True, text=True, check=False
        )
        lines = done.stdout.splitlines()
        findings: list[Finding] = []
        reached: dict[str, Reached] = {}
        at = 0
        while at < len(lines):
            words = lines[at].split(" ")
            at += 1
            if words[0] == "found":
                length = int(words[3])
                series = [line.split(" ") for line in lines[at : at + length]]
                at += length
                events = [(HOOKS[int(number)], bytes.fromhex(text)) for number, text in series]
                findings.append(self._finding(words[1], int(words[2]), events))
            elif words[0] == "hook":
                has, taken = self.hooks[words[1]], words[4]
                missed = [name for (name, _), seen in zip(has.branches, taken, strict=True) if seen == "0"]
                reached[words[1]] = Reached(int(words[2]), int(words[3]), len(taken), missed)
        fault = ""
        if done.returncode:
            found = [line for line in done.stderr.splitlines() if "runtime error:" in line]
            fault = found[0].split("runtime error:")[1].strip() if found else f"exit {done.returncode}"
        return Outcome(findings, reached, fault)

    def _finding(self, hook: str, number: int, events: list[tuple[str, bytes]]) -> Finding:
        has = self.hooks[hook]
        if number >= _DIFFERS + 10:
            return Finding(hook, "", f"differs natively: compared field {number - _DIFFERS - 10}", events)
        if number >= _DIFFERS:
            name = _BROKEN[number - _DIFFERS]
            return Finding(hook, "window" if name == "result" else name, f"native {name}", events)
        name, question = [*has.undefined, *has.others][number]
        return Finding(hook, name, question.where, events)


def _hook(of: Model, controls: bool) -> _Hook:
    asked = [(name, question) for name in PROPERTIES for question in questions(of, name, controls) or []]
    undefined = [
        ("division", Question(of.dag.both(risk.path, risk.wrong), f"{risk.kind}: {risk.line}"))
        for risk in of.risks
        if risk.kind in _UNDEFINED
    ]
    branches: dict[str, Node] = {}
    for branch in of.branches:
        path = of.dag.all_of(branch.path)
        for taken, node in (("taken", branch.taken), ("not taken", of.dag.not_(branch.taken))):
            key, here = f"step {branch.step} {taken}", of.dag.both(path, node)
            branches[key] = of.dag.either(branches[key], here) if key in branches else here
    return _Hook(of, undefined, [each for each in asked if each[0] != "division"], list(branches.items()))


def _checked(of: Model, name: str) -> bool:
    """Returns true if the native hook is checked, too: a growth that a header states is a question alone."""
    known = {"ssthresh": of.name == "ssthresh", "growth": of.name == "cong_avoid" and of.most is None}
    return known.get(name, True)


def _drawn(of: Layout) -> tuple[Field, ...]:
    return tuple(field for field in of.fields if field.name != "result")


def _fields(name: str, of: Layout) -> str:
    rows = ", ".join(f"{{ {f.offset}, {f.size}, {f.lo:#x}ULL, {f.hi:#x}ULL }}" for f in of.fields)
    return f"static const struct field {name}[] = {{ {rows} }};"


def _constants(roots: list[Node]) -> list[int]:
    """The numbers that values are compared with, smallest first."""
    found = {
        arg.lo for node in reachable(roots) if node.op in ("lt", "eq") for arg in node.args if arg.is_const
    }
    return sorted(found)[:_CONSTANTS_MAX] or [0]
