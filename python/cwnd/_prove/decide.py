"""A cell of the table: a property of a hook, proved, refuted or undecided."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from cwnd._prove.build import Built
from cwnd._prove.elf import Object
from cwnd._prove.evaluate import draw, evaluate, unpack, vector
from cwnd._prove.exact import solve
from cwnd._prove.layout import HOOKS, layout
from cwnd._prove.linear import Linear
from cwnd._prove.model import Model, model, run_native, wrap_lines, wraps_at
from cwnd._prove.properties import PROPERTIES, Question, questions
from cwnd._prove.search import Search, shown
from cwnd._prove.translate import UntranslatableError

#: Steps of the solver for a question, which are the same on every machine.
_LINEAR_STEPS = 2_000_000
_EXACT_STEPS = 1_500_000
_DRAWN = 20_000
_SEED = 50

PROVED, REFUTED, UNDECIDED = "proved", "counterexample", "undecided"


class Cell(NamedTuple):
    """A verdict: `event` is the counterexample by field.

    `before` are the events of the hooks before it, by field and with the name of the hook. Where there are
    none, `init` had the same event.
    """

    hook: str
    property: str
    verdict: str
    reason: str
    event: dict[str, int]
    seconds: float
    before: list[dict[str, int | str]]


class Hooks:
    """The hooks of a header, ready for questions."""

    def __init__(self, code: Object, built: Built) -> None:
        self.code = code
        self.built = built
        self.controls = "cong_control" in code.hooks
        self._search: Search | None = None

    def decide(self, hook: str, wanted: list[str]) -> list[Cell]:
        """The cells of a hook, of those properties that say something of it."""
        began = time.perf_counter()
        try:
            anyhow = model(self.code, hook)
        except UntranslatableError as unknown:
            return [
                Cell(hook, name, UNDECIDED, f"not translated: {unknown}", {}, time.perf_counter() - began, [])
                for name in wanted
                if _says(hook, name)
            ]
        linear = Linear(_LINEAR_STEPS)
        found: list[Cell] = []
        for name in wanted:
            asked = questions(anyhow, name, self.controls)
            if asked is not None:
                began = time.perf_counter()
                verdict, reason, event = self._cell(anyhow, linear, name, asked)
                before: list[dict[str, int | str]] = []
                if verdict == UNDECIDED:
                    longer = self.search(wanted).found.get((hook, name))
                    if longer is not None:
                        verdict, reason = REFUTED, longer[0]
                        before, event = shown(longer[1])
                found.append(Cell(hook, name, verdict, reason, event, time.perf_counter() - began, before))
        return found

    def search(self, wanted: list[str]) -> Search:
        """The counterexamples of several hooks."""
        if self._search is None:
            self._search = Search(self.code, self.built, wanted)
        return self._search

    def _cell(
        self, anyhow: Model, linear: Linear, name: str, asked: list[Question]
    ) -> tuple[str, str, dict[str, int]]:
        left = [
            number
            for number, question in enumerate(asked)
            if not _impossible(question) and not linear.refutes([anyhow.assumed, question.wrong])
        ]
        if not left:
            return PROVED, "", {}
        fresh = model(self.code, anyhow.name, fresh=True)
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
        more = f"; {len(open_questions) - 1} more" if len(open_questions) > 1 else ""
        return UNDECIDED, open_questions[0] + more, {}

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
        shape = layout(fresh.name)
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


def _says(hook: str, name: str) -> bool:
    return {"growth": hook in ("cong_avoid", "cong_control"), "ssthresh": hook == "ssthresh"}.get(name, True)


def _impossible(question: Question) -> bool:
    return question.wrong.is_const and question.wrong.lo == 0


def _violations(of: Model, asked: list[Question]) -> list[Question]:
    made = evaluate([question.wrong for question in asked], draw(of.layout, _DRAWN, _SEED))
    return [question for question in asked if made[question.wrong.id].any()]


def _shown(of: Model, event: dict[str, int]) -> dict[str, int]:
    """The fields that are not at their smallest value; the state is that after `init`."""
    least = {field.name: field.lo for field in of.layout.fields}
    return {
        name: value
        for name, value in event.items()
        if not name.startswith("state.") and name != "result" and value != least[name]
    }


__all__ = ["PROPERTIES", "PROVED", "REFUTED", "UNDECIDED", "Cell", "Hooks"]
