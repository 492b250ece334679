"""Counterexamples of several hooks: series of events from `init` on, replayed on the native hooks."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from cwnd._prove.build import Built
from cwnd._prove.elf import Object
from cwnd._prove.evaluate import evaluate, unpack, vector
from cwnd._prove.layout import HOOKS, Layout
from cwnd._prove.model import run_native, wrap_lines, wraps_at
from cwnd._prove.walk import Finding, Walk

_EVENTS = 1_000_000
_SEED = 50

COUNTERS = ("a.delivered", "a.rate_prior_delivered", "a.delivered_ce", "a.lost_total")

Series = list[tuple[str, dict[str, int]]]


class Search:
    """The series that a million events of random connections found, by hook and property."""

    def __init__(self, code: Object, built: Built, properties: list[str]) -> None:
        self.built = built
        self.found: dict[tuple[str, str], tuple[str, Series]] = {}
        #: Findings that did not do the same on the native hooks: a fault of the prover.
        self.unreplayed: list[Finding] = []
        #: Wraps of the compiler's own arithmetic, of which the source has none.
        self.compiled: list[Finding] = []
        with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
            self.walk = Walk(built, code, dict.fromkeys(code.hooks, tuple(properties)), Path(folder))
            outcome = self.walk.run("from", _EVENTS, _SEED)
        for finding in outcome.findings:
            series = [(hook, _values(self.shape(hook), data)) for hook, data in finding.events]
            if finding.differs() or not self.replays(finding, series):
                self.unreplayed.append(finding)
            elif finding.property == "wrap" and not self.wraps(finding, series):
                self.compiled.append(finding)
            else:
                self.found.setdefault((finding.hook, finding.property), (finding.where, series))

    def shape(self, hook: str) -> Layout:
        """The event of a hook."""
        return self.walk.hooks[hook].of.layout

    def event(self, hook: str, values: dict[str, int]) -> bytes:
        return vector(self.shape(hook), values, HOOKS.index(hook))

    def replays(self, finding: Finding, series: Series) -> bool:
        """The native hooks, each with the state that the one before left, do what was found."""
        then = dict.fromkeys((field.name for field in self.shape(series[0][0]).fields), 0)
        state, twin = _state(then), _state(then)
        for hook, values in series[:-1]:
            output, fault = run_native(self.built.program, self.event(hook, values | state))
            if fault:
                return False
            then = _values(self.shape(hook), output)
            state = _state(then)
            output, fault = run_native(self.built.program, self.event(hook, _modulo(values) | twin))
            if fault:
                return False
            twin = _state(_values(self.shape(hook), output))
        hook, values = series[-1]
        shape = self.shape(hook)
        values |= state
        output, fault = run_native(self.built.program, self.event(hook, values))
        if finding.property == "division":
            return bool(fault)
        if fault:
            return False
        if finding.property == "counters":
            other, _ = run_native(self.built.program, self.event(hook, _modulo(values) | twin))
            end = shape.field("a.now_us").offset
            return other[:end] != output[:end]
        has = self.walk.hooks[hook]
        before = values | {f"then.{name}": value for name, value in then.items()}
        inputs = {name: np.array([value], dtype=np.uint64) for name, value in before.items()}
        asked = [q.wrong for name, q in has.others if (name, q.where) == (finding.property, finding.where)]
        compared = [
            name
            for name in has.of.after
            if name not in ("what", "result") or (name == "result" and hook in ("ssthresh", "undo_cwnd"))
        ]
        made = evaluate([has.of.assumed, *asked, *(has.of.after[name] for name in compared)], inputs)
        native = unpack(shape, output)
        same = all(made[has.of.after[name].id][0] == native[name][0] for name in compared)
        return bool(same and made[has.of.assumed.id][0] and any(made[wrong.id][0] for wrong in asked))

    def wraps(self, finding: Finding, series: Series) -> bool:
        """The source itself wraps on the last event, on the line that was found."""
        return wraps_at(finding.where, wrap_lines(self.built, self.event(*series[-1])))

    def shown(self, series: Series) -> tuple[list[dict[str, int | str]], dict[str, int]]:
        """The events before the last, with their hooks, and the last: fields above their smallest value."""
        short = [(hook, _short(self.shape(hook), values)) for hook, values in series]
        return [{"hook": hook, **values} for hook, values in short[:-1]], short[-1][1]


def _short(shape: Layout, values: dict[str, int]) -> dict[str, int]:
    return {
        field.name: values[field.name]
        for field in shape.fields
        if field.name != "result" and not field.name.startswith("state.") and values[field.name] != field.lo
    }


def _modulo(values: dict[str, int]) -> dict[str, int]:
    """The counters as a kernel has them, modulo 2^32."""
    return values | {name: values[name] & 0xFFFFFFFF for name in COUNTERS}


def _values(shape: Layout, data: bytes) -> dict[str, int]:
    return {name: int(value[0]) for name, value in unpack(shape, data).items()}


def _state(values: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in values.items() if name.startswith("state.")}
