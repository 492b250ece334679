"""A cell of the table: a property of a hook, proved, refuted or undecided."""

from __future__ import annotations

import dataclasses
import time
from typing import NamedTuple

import numpy as np

from cwnd._prove.build import Built
from cwnd._prove.dag import Dag, Node
from cwnd._prove.demand import wrapping
from cwnd._prove.elf import Object
from cwnd._prove.evaluate import draw, evaluate, unpack, vector
from cwnd._prove.exact import solve
from cwnd._prove.layout import HOOKS, layout
from cwnd._prove.linear import Linear
from cwnd._prove.memory import UntranslatableError
from cwnd._prove.model import (
    Model,
    invariants_of,
    model,
    run_native,
    state_of,
    texts,
    wrap_lines,
    wraps_at,
)
from cwnd._prove.ops import ops_model
from cwnd._prove.properties import PROPERTIES, Question, questions
from cwnd._prove.search import Search

#: Steps of the solver for a question, which are the same on every machine.
_QUICK_STEPS = 500_000
_LINEAR_STEPS = 2_000_000
_EXACT_STEPS = 600_000
_DRAWN = 20_000
_SEED = 50

PROVED, REFUTED, UNDECIDED = "proved", "counterexample", "undecided"


class Cell(NamedTuple):
    """A verdict: `event` is the counterexample by field.

    `before` are the events of the hooks before it, by field and with the name of the hook. Where there are
    none, `init` had the same event.

    `loaded` is the verdict on the object that `cwnd kernel load` loads; empty: it has no such hook, or the
    property is not of its bytecode.
    """

    hook: str
    property: str
    verdict: str
    reason: str
    event: dict[str, int]
    seconds: float
    before: list[dict[str, int | str]]
    loaded: str = ""


class Hooks:
    """The hooks of a header, ready for questions."""

    def __init__(self, code: Object, ops: Object, built: Built) -> None:
        self.code = code
        self.ops = ops
        self.built = built
        self.controls = "cong_control" in code.hooks
        self._search: Search | None = None
        self._wraps: dict[str, list[str]] | None = None
        self._settled = not texts(code)

    def cells(self, wanted: list[str]) -> list[Cell]:
        """The cells of all hooks, by hook in the order of the properties.

        Those of the invariants come first: what is not proved of them is assumed nowhere.
        """
        hooks = [hook for hook in HOOKS if hook in self.code.hooks]
        kept = self.begin() + [cell for hook in hooks for cell in self.decide(hook, ["invariants"], wanted)]
        self._settled = all(cell.verdict == PROVED for cell in kept)
        rest = [name for name in wanted if name != "invariants"]
        found = [cell for hook in hooks for cell in self.decide(hook, rest, wanted)]
        if "invariants" in wanted:
            found += kept
        names = list(PROPERTIES)
        return sorted(found, key=lambda cell: (HOOKS.index(cell.hook), names.index(cell.property)))

    def _settle(self) -> None:
        """Drops the invariants that are not proved after each hook, until the rest needs none of them."""
        while not self._settled:
            lost = set(self._lost_before())
            for hook in self.code.hooks:
                try:
                    lost |= _lost(model(self.code, hook, kept=True))
                except UntranslatableError:
                    lost |= set(texts(self.code))
            self._settled = lost <= self.code.dropped
            self.code = dataclasses.replace(self.code, dropped=self.code.dropped | lost)

    def _lost_before(self) -> dict[str, Node]:
        """The invariants that a state of 0 may break, before the first hook of a header without `init`."""
        if "init" in self.code.hooks:
            return {}
        dag, shape = Dag(), layout("init", state_of(self.code))
        event = {
            field.name: dag.const(0)
            if field.name.startswith("state.")
            else dag.input(field.name, field.lo, field.hi)
            for field in shape.fields
        }
        linear = Linear(_LINEAR_STEPS, dag.const(1))
        wrong = {text: dag.not_(holds) for text, holds in invariants_of(dag, self.code, shape, event).items()}
        return {text: node for text, node in wrong.items() if not _never(node) and not linear.refutes([node])}

    def begin(self) -> list[Cell]:
        """The cell of the invariants before the first hook of a header without `init`."""
        if "init" in self.code.hooks or not texts(self.code):
            return []
        began = time.perf_counter()
        lost = self._lost_before()
        verdict = UNDECIDED if lost else PROVED
        if any(node.is_const for node in lost.values()):
            verdict = REFUTED
        reason = "; ".join(f"not kept: {text}" for text in lost)
        return [Cell("init", "invariants", verdict, reason, {}, time.perf_counter() - began, [])]

    def decide(self, hook: str, names: list[str], wanted: list[str] | None = None) -> list[Cell]:
        """The cells of a hook, of those of the properties `names` that say something of it.

        Invariants that are not proved are assumed only for the cell of the invariants itself.

        `wanted`: the properties of which series of hooks are looked for; `names` without it.
        """
        if names != ["invariants"]:
            self._settle()
        began = time.perf_counter()
        try:
            anyhow = model(self.code, hook, kept=True)
        except UntranslatableError as unknown:
            return [
                Cell(hook, name, UNDECIDED, f"not translated: {unknown}", {}, time.perf_counter() - began, [])
                for name in names
                if _says(hook, name)
            ]
        linear = _Ladder(anyhow)
        loaded = _Loaded(self, hook)
        found = []
        for name in names:
            if name == "counters":
                found.append(self._counters(hook))
                continue
            asked = questions(anyhow, name, self.controls)
            if asked is not None:
                began = time.perf_counter()
                verdict, reason, event = self._cell(anyhow, linear, name, asked)
                on_object = loaded.verdict(name)
                seconds = time.perf_counter() - began
                found.append(Cell(hook, name, verdict, reason, event, seconds, [], on_object))
        return [self._longer(cell, wanted or names) for cell in found]

    def _longer(self, cell: Cell, wanted: list[str]) -> Cell:
        """An open cell with a counterexample of several hooks, if one is found."""
        if cell.verdict != UNDECIDED:
            return cell
        search = self.search(wanted)
        longer = search.found.get((cell.hook, cell.property))
        if longer is None:
            return cell
        before, event = search.shown(longer[1])
        return cell._replace(verdict=REFUTED, reason=longer[0], event=event, before=before)

    def search(self, wanted: list[str]) -> Search:
        """The counterexamples of several hooks."""
        if self._search is None:
            self._search = Search(self.code, self.built, wanted)
        return self._search

    def _counters(self, hook: str) -> Cell:
        began = time.perf_counter()
        if self._wraps is None:
            models: dict[str, Model] = {}
            for name in self.code.hooks:
                try:
                    models[name] = model(self.code, name)
                except UntranslatableError as unknown:
                    reason = f"{name} is not translated: {unknown}"
                    return Cell(hook, "counters", UNDECIDED, reason, {}, time.perf_counter() - began, [])
            self._wraps = wrapping(models)
        high = self._wraps[hook]
        reason = f"needs more than 32 bits of {', '.join(high)}" if high else ""
        seconds = time.perf_counter() - began
        return Cell(hook, "counters", UNDECIDED if high else PROVED, reason, {}, seconds, [])

    def _cell(
        self, anyhow: Model, linear: _Ladder, name: str, asked: list[Question]
    ) -> tuple[str, str, dict[str, int]]:
        left = [
            number
            for number, question in enumerate(asked)
            if not _impossible(question) and not linear.refutes(question.wrong)
        ]
        if not left:
            return PROVED, "", {}
        fresh = model(self.code, anyhow.name, fresh=True, kept=True)
        first = self._drawn(fresh, questions(fresh, name, self.controls) or [])
        if first is not None:
            return REFUTED, first[0], first[1]
        open_questions = []
        drawn = _violations(anyhow, [asked[number] for number in left])
        for number in left:
            question = asked[number]
            answer = "sat" if question in drawn else solve([anyhow.assumed, question.wrong], _EXACT_STEPS)[0]
            if answer == "unsat":
                continue
            if answer == "sat":
                event = self._solved(fresh, question.where, name)
                if event is not None:
                    return REFUTED, question.where, event
                open_questions.append(
                    f"{question.where} (only from a state that one hook after init does not have)"
                )
            else:
                open_questions.append(f"{question.where} (the solver gave up)")
        if not open_questions:
            return PROVED, "", {}
        return UNDECIDED, "; ".join(dict.fromkeys(open_questions)), {}

    def _drawn(self, fresh: Model, asked: list[Question]) -> tuple[str, dict[str, int]] | None:
        """A counterexample among random events."""
        drawn = draw(fresh.layout, _DRAWN, _SEED)
        made = evaluate([question.wrong for question in asked], drawn)
        for question in asked:
            for at in np.flatnonzero(made[question.wrong.id])[:5]:
                event = {name: int(values[at]) for name, values in drawn.items()}
                if self.replays(fresh, question, event):
                    return question.where, _shown(fresh, event)
        return None

    def _solved(self, fresh: Model, where: str, name: str) -> dict[str, int] | None:
        """A counterexample that the solver finds."""
        for question in questions(fresh, name, self.controls) or []:
            if question.where == where and not _impossible(question):
                answer, event = solve([fresh.assumed, question.wrong], _EXACT_STEPS)
                if answer == "sat" and self.replays(fresh, question, event):
                    return _shown(fresh, event)
        return None

    def replays(self, fresh: Model, question: Question, event: dict[str, int]) -> bool:
        """The native hook does on this event, after `init`, what the question is about."""
        shape = fresh.layout
        state = {f.name: 0 for f in shape.fields if f.name.startswith("state.")}
        values = {**{f.name: f.lo for f in shape.fields}, **event, **state}
        if "init" in self.code.hooks and fresh.name != "init":
            begun, fault = run_native(
                self.built.program, vector(shape, {**values, "what": 0}, HOOKS.index("init"))
            )
            if fault or len(begun) != shape.size:
                return False
            after_init = unpack(shape, begun)
            values |= {name: int(after_init[name][0]) for name in state}
        output, fault = run_native(self.built.program, vector(shape, values, fresh.number))
        if question.where.startswith(("division", "shift")):
            return bool(fault)
        if fault or len(output) != shape.size:
            return False
        inputs = {name: np.array([value], dtype=np.uint64) for name, value in values.items()}
        compared = [
            field.name
            for field in shape.fields
            if field.name not in ("what", "result")
            or (field.name == "result" and fresh.name in ("ssthresh", "undo_cwnd"))
        ]
        made = evaluate([question.wrong, fresh.assumed, *(fresh.after[name] for name in compared)], inputs)
        native = unpack(shape, output)
        same = all(made[fresh.after[name].id][0] == native[name][0] for name in compared)
        if question.where.startswith(("sum", "product")):
            event_bytes = vector(shape, values, fresh.number)
            same = same and wraps_at(question.where, wrap_lines(self.built, event_bytes))
        return bool(same and made[question.wrong.id][0] and made[fresh.assumed.id][0])


class _Ladder:
    """Linear questions about a hook, first with few claims about products, then with all."""

    def __init__(self, of: Model) -> None:
        self.assumed = of.assumed
        self.rungs: list[Linear] = []

    def refutes(self, wrong: Node) -> bool:
        for number, steps in enumerate((_QUICK_STEPS, _LINEAR_STEPS)):
            if number == len(self.rungs):
                self.rungs.append(Linear(steps, self.assumed, thorough=bool(number)))
            if self.rungs[number].refutes([wrong]):
                return True
        return False


class _Loaded:
    """A hook of the object that is loaded, translated when the first question is about it."""

    def __init__(self, of: Hooks, hook: str) -> None:
        self.of = of
        self.hook = hook
        self.known: tuple[Model, _Ladder] | None = None

    def verdict(self, name: str) -> str:
        if self.hook not in self.of.ops.hooks:
            return ""
        try:
            if self.known is None:
                made = ops_model(self.of.code, self.of.ops, self.hook)
                self.known = made, _Ladder(made)
        except UntranslatableError:
            return UNDECIDED
        made, linear = self.known
        for question in questions(made, name, self.of.controls) or []:
            if not _impossible(question) and not linear.refutes(question.wrong):
                return UNDECIDED
        return PROVED


def _says(hook: str, name: str) -> bool:
    return {"growth": hook in ("cong_avoid", "cong_control"), "ssthresh": hook == "ssthresh"}.get(name, True)


def _impossible(question: Question) -> bool:
    return _never(question.wrong)


def _never(condition: Node) -> bool:
    return condition.is_const and condition.lo == 0


def _lost(of: Model) -> set[str]:
    """The invariants that are not proved to hold after a hook, if all that are assumed hold before it."""
    linear = _Ladder(of)
    wrong = {text: of.dag.not_(holds) for text, holds in of.kept.items()}
    return {text for text, node in wrong.items() if not _never(node) and not linear.refutes(node)}


def _violations(of: Model, asked: list[Question]) -> list[Question]:
    drawn = draw(of.layout, _DRAWN, _SEED)
    drawn |= {f"then.{name}": values for name, values in drawn.items()}
    made = evaluate([of.assumed, *(question.wrong for question in asked)], drawn)
    return [q for q in asked if (made[q.wrong.id] & made[of.assumed.id]).any()]


def _shown(of: Model, event: dict[str, int]) -> dict[str, int]:
    """The fields that are not at their smallest value; the state is that after `init`."""
    least = {field.name: field.lo for field in of.layout.fields}
    return {
        name: value
        for name, value in event.items()
        if not name.startswith("state.") and name != "result" and value != least[name]
    }


__all__ = ["PROPERTIES", "PROVED", "REFUTED", "UNDECIDED", "Cell", "Hooks"]
