"""A header's hooks as expressions of their events, and their check beside the native build."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cwnd._prove.build import Built, build_wraps
from cwnd._prove.dag import Dag, Node
from cwnd._prove.elf import Object, Step
from cwnd._prove.evaluate import Numbers, draw, evaluate, pack, unpack
from cwnd._prove.layout import HOOKS, REGION, STATE_BYTES, Layout, layout, state_fields
from cwnd._prove.memory import Cell, UntranslatableError, write
from cwnd._prove.translate import Branch, Hook, Risk, translate

_CHUNK = 20_000
_STATED = ".data.stated"
_CLOCK = "a.now_us"


class Model(NamedTuple):
    """A hook: its event before and after, by field, and its risks. `assumed` holds of the event before.

    `kept` are the invariants after the hook, by their text; `most` is the growth that the header states,
    `progress` its statement of progress before and after the hook.
    """

    name: str
    dag: Dag
    layout: Layout
    before: dict[str, Node]
    after: dict[str, Node]
    risks: list[Risk]
    branches: list[Branch]
    assumed: Node
    steps: int
    kept: dict[str, Node]
    most: Node | None
    progress: list[tuple[Node, Node]]

    @property
    def number(self) -> int:
        return HOOKS.index(self.name)


def model(code: Object, hook: str, fresh: bool = False, kept: bool = False) -> Model:
    """Translates a hook.

    The state before it is any; with `kept` one of which the header's invariants hold; with `fresh` that of a
    connection after `init`.

    Raises:
        UntranslatableError: the bytecode has something unknown.
    """
    dag = Dag()
    shape = narrowed(code, hook) if kept else layout(hook, state_of(code))
    before = {field.name: dag.input(field.name, field.lo, field.hi) for field in shape.fields}
    assumed = _relations(dag, before)
    if fresh or (kept and hook == "init"):
        before |= dict.fromkeys(_state(shape), dag.const(0))
    if fresh and "init" in code.hooks and hook != "init":
        begun = _run(dag, code.hooks["init"], code, shape, before | {"what": dag.const(0)})
        before |= {name: node for name, node in _fields(begun, shape).items() if name in _state(shape)}
    elif kept and not fresh and hook != "init":
        assumed = dag.both(assumed, bounded(dag, code, shape, before))
    done = _run(dag, code.hooks[hook], code, shape, before)
    after = _fields(done, shape)
    invariants = invariants_of(dag, code, shape, after) if kept else {}
    most = stated_growth(dag, code, hook, shape, before)
    progress = stated_progress(dag, code, hook, shape, before, after)
    return Model(
        hook,
        dag,
        shape,
        before,
        after,
        done.risks,
        done.branches,
        assumed,
        done.steps,
        invariants,
        most,
        progress,
    )


def _state(shape: Layout) -> list[str]:
    return [field.name for field in shape.fields if field.name.startswith("state.")]


def _run(dag: Dag, steps: dict[int, Step], code: Object, shape: Layout, before: dict[str, Node]) -> Hook:
    memory: dict[tuple[str, int], Cell] = {}
    for field in shape.fields:
        write(memory, REGION, field.offset, field.size, before[field.name])
    return translate(dag, steps, code.data, memory)


def _fields(done: Hook, shape: Layout) -> dict[str, Node]:
    return {field.name: done.read(REGION, field.offset, field.size) for field in shape.fields}


def _stated(
    dag: Dag, code: Object, what: str, shape: Layout, event: dict[str, Node], count: int
) -> list[Node]:
    done = _run(dag, code.stated[what], code, shape, event)
    return [done.read(_STATED, 8 * index, 8) for index in range(count)]


def stated_growth(dag: Dag, code: Object, hook: str, shape: Layout, before: dict[str, Node]) -> Node | None:
    """The segments by which the header says that the hook grows cwnd at most."""
    if "growth" not in code.stated or hook not in ("cong_avoid", "cong_control"):
        return None
    return _stated(dag, code, "growth", shape, before, 1)[0]


def stated_progress(
    dag: Dag, code: Object, hook: str, shape: Layout, before: dict[str, Node], after: dict[str, Node]
) -> list[tuple[Node, Node]]:
    """The numbers of the header's statement of progress, before and after the hook."""
    if "progress" not in code.stated or hook != "cong_avoid":
        return []
    then, now = (_stated(dag, code, "progress", shape, event, 4) for event in (before, after))
    return list(zip(then, now, strict=True))


def texts(code: Object) -> list[str]:
    """The invariants that the header states, as it writes them."""
    data = code.data.get(".rodata.invariants", b"")
    return [" ".join(text.decode().split()) for text in data.split(b"\0") if text]


def invariants_of(dag: Dag, code: Object, shape: Layout, event: dict[str, Node]) -> dict[str, Node]:
    """The header's invariants of an event, by their text, without those that are dropped."""
    found = texts(code)
    values = _stated(dag, code, "invariants", shape, event, len(found)) if found else []
    pairs = zip(found, values, strict=True)
    return {text: truth(dag, value) for text, value in pairs if text not in code.dropped}


def truth(dag: Dag, value: Node) -> Node:
    return dag.not_(dag.equal(value, dag.const(0)))


def bounded(dag: Dag, code: Object, shape: Layout, event: dict[str, Node]) -> Node:
    """The invariants of the state as an event before left it, of which only the order of times is known."""
    then = {
        field.name: event[field.name]
        if field.name.startswith("state.")
        else dag.input(f"then.{field.name}", field.lo, field.hi)
        for field in shape.fields
    }
    found = invariants_of(dag, code, shape, then)
    if not found:
        return dag.const(1)
    return dag.all_of([*found.values(), dag.not_(dag.less(event[_CLOCK], then[_CLOCK]))])


@cache
def state_of(code: Object) -> tuple[tuple[str, int, int], ...]:
    """The name, the offset and the size of each number of the state."""
    start = layout("init").size - STATE_BYTES
    accesses: set[tuple[int, int]] = set()
    for hook, steps in code.hooks.items():
        dag, shape = Dag(), layout(hook)
        before = {field.name: dag.input(field.name, field.lo, field.hi) for field in shape.fields}
        try:
            done = _run(dag, steps, code, shape, before)
        except UntranslatableError:
            continue
        accesses |= {(at - start, size) for region, at, size in done.accesses if region == REGION}
    return state_fields(code.types, accesses)


@cache
def narrowed(code: Object, hook: str) -> Layout:
    """The event of a hook, with the ranges of the state that the invariants give single numbers."""
    shape = layout(hook, state_of(code))
    if not texts(code):
        return shape
    while True:
        dag = Dag()
        event = {field.name: dag.input(field.name, field.lo, field.hi) for field in shape.fields}
        ranges = {field.name: (field.lo, field.hi) for field in shape.fields}
        for holds in invariants_of(dag, code, shape, event).values():
            for condition in conjuncts(holds):
                bound = _bound(condition)
                if bound is not None and bound[0] in ranges and bound[0].startswith("state."):
                    name, lo, hi = bound
                    ranges[name] = (max(ranges[name][0], lo), min(ranges[name][1], hi))
        fields = tuple(f._replace(lo=ranges[f.name][0], hi=ranges[f.name][1]) for f in shape.fields)
        # One invariant's range of a number may make another one a bound.
        if fields == shape.fields:
            return shape
        shape = shape._replace(fields=fields)


def conjuncts(condition: Node) -> list[Node]:
    if condition.op == "both":
        return [part for arg in condition.args for part in conjuncts(arg)]
    return [condition]


def _bound(condition: Node) -> tuple[str, int, int] | None:
    """An input and its range, if the condition is a comparison of it with a constant."""
    holds = condition.op != "not"
    compared = condition if holds else condition.args[0]
    if compared.op not in ("lt", "eq"):
        return None
    a, b = compared.args
    most = (1 << 64) - 1
    if compared.op == "eq" and a.op == "in" and b.is_const:
        if holds:
            return str(a.value), b.lo, b.lo
        return (str(a.value), 1, most) if b.lo == 0 else None
    if compared.op == "lt" and a.op == "in" and b.is_const:
        return (str(a.value), 0, b.lo - 1) if holds else (str(a.value), b.lo, most)
    if compared.op == "lt" and b.op == "in" and a.is_const:
        return (str(b.value), a.lo + 1, most) if holds else (str(b.value), 0, a.lo)
    return None


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
