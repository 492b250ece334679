"""A header's hooks as expressions of their events, and their check beside the native build."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cwnd._prove.build import Built, build_wraps
from cwnd._prove.dag import Dag, Node
from cwnd._prove.elf import Object
from cwnd._prove.evaluate import Numbers, draw, evaluate, pack, unpack
from cwnd._prove.layout import HOOKS, REGION, Layout, layout
from cwnd._prove.translate import Branch, Cell, Risk, translate, write

_CHUNK = 20_000


class Model(NamedTuple):
    """A hook: its event before and after, by field, and its risks. `assumed` holds of the event before."""

    name: str
    dag: Dag
    before: dict[str, Node]
    after: dict[str, Node]
    risks: list[Risk]
    branches: list[Branch]
    assumed: Node
    steps: int

    @property
    def layout(self) -> Layout:
        return layout(self.name)

    @property
    def number(self) -> int:
        return HOOKS.index(self.name)


def model(code: Object, hook: str, fresh: bool = False) -> Model:
    """Translates a hook. `fresh`: the state is that of a connection after `init`, not any.

    Raises:
        UntranslatableError: the bytecode has something unknown.
    """
    dag = Dag()
    shape = layout(hook)
    memory: dict[tuple[str, int], Cell] = {}
    before = {field.name: dag.input(field.name, field.lo, field.hi) for field in shape.fields}
    assumed = _relations(dag, before)
    if fresh:
        start = {
            field.name: dag.const(0)
            if field.name.startswith("state.") or hook == "init"
            else before[field.name]
            for field in layout("init").fields
        }
        for field in shape.fields:
            if field.name.startswith("state."):
                before[field.name] = dag.const(0)
        if "init" in code.hooks and hook != "init":
            for field in shape.fields:
                write(memory, REGION, field.offset, field.size, start[field.name])
            done = translate(dag, code, "init", memory)
            for field in shape.fields:
                if field.name.startswith("state."):
                    before[field.name] = done.read(REGION, field.offset, field.size)
            memory = {}
    for field in shape.fields:
        write(memory, REGION, field.offset, field.size, before[field.name])
    done = translate(dag, code, hook, memory)
    after = {field.name: done.read(REGION, field.offset, field.size) for field in shape.fields}
    return Model(hook, dag, before, after, done.risks, done.branches, assumed, done.steps)


def _relations(dag: Dag, of: dict[str, Node]) -> Node:
    return dag.all_of(
        dag.not_(dag.less(of[larger], of[smaller]))
        for smaller, larger in (
            ("w.cwnd", "w.cwnd_clamp"),
            ("w.prior_cwnd", "w.cwnd_clamp"),
        )
    )


def run_native(program: Path, events: bytes) -> tuple[bytes, str]:
    """The events as the native hooks leave them, and the line of the fault that ended the run, if one did."""
    done = subprocess.run([program], input=events, capture_output=True, check=False)
    if done.returncode == 0:
        return done.stdout, ""
    lines = done.stderr.decode(errors="replace").splitlines()
    found = next((line.split("runtime error:")[1].strip() for line in lines if "runtime error:" in line), "")
    return done.stdout, found or ("division by zero" if done.returncode == -8 else f"exit {done.returncode}")


def wrap_lines(built: Built, event: bytes) -> set[str]:
    """The source lines, as `file:number`, whose sums and products wrap on an event."""
    done = subprocess.run([build_wraps(built)], input=event, capture_output=True, check=False)
    return set(done.stderr.decode(errors="replace").splitlines())


def wraps_at(where: str, lines: set[str]) -> bool:
    """One of the lines is that of a question: `sum: file:number: text`."""
    return any(f" {line}:" in where for line in lines)


def differences(of: Model, built: Built, count: int, seed: int) -> tuple[int, list[str]]:
    """The number of random events that were compared, and the first with a difference."""
    compared = 0
    fields = [field for field in of.layout.fields if field.name not in ("result", "what")]
    if of.name in ("ssthresh", "undo_cwnd"):
        fields.insert(0, of.layout.field("result"))
    for begin in range(0, count, _CHUNK):
        drawn = draw(of.layout, min(_CHUNK, count - begin), seed + begin)
        faults = [of.dag.both(r.path, r.wrong) for r in of.risks if r.kind in ("division", "shift")]
        if faults:
            # Where the bytecode has a result, and C has none.
            found = evaluate(faults, drawn)
            sound = ~np.any([found[fault.id] != 0 for fault in faults], axis=0)
            drawn = {name: values[sound] for name, values in drawn.items()}
        made = evaluate([of.after[field.name] for field in fields], drawn)
        output, fault = run_native(built.program, pack(of.layout, drawn, of.number))
        native = unpack(of.layout, output)
        ran = len(native["w.cwnd"])
        for field in fields:
            ours, theirs = made[of.after[field.name].id][:ran], native[field.name]
            wrong = np.flatnonzero(ours != theirs)
            if len(wrong):
                return compared, [_shown(drawn, int(wrong[0]), field.name, ours, theirs)]
        compared += ran
        if fault:
            return compared, [f"the native hook: {fault}"]
    return compared, []


def _shown(drawn: dict[str, Numbers], at: int, name: str, ours: Numbers, theirs: Numbers) -> str:
    event = " ".join(f"{key}={int(value[at])}" for key, value in drawn.items() if value[at])
    return f"{name}: {int(ours[at])} here, {int(theirs[at])} natively: {event}"
