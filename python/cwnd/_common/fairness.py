"""Notes on comparisons: what differs between algorithms besides what their papers are about."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cwnd import _cwnd
from cwnd._common.labels import labelled
from cwnd._common.rows import runs_of_rows

if TYPE_CHECKING:
    from cwnd._common.shapes import FlowJson, ScenarioJson

#: A header that paces does this; to read the rate is not enough.
_SETS_RATE = re.compile(r"\bpacing_rate\s*=[^=]")
#: Most algorithms that a note names.
_NAMED_MAX = 12


def comparison_notes(scenarios: Sequence[ScenarioJson]) -> list[str]:
    """Notes if algorithms differ in slow start, ECN or pacing, and if flows start at the same nanosecond."""
    return [*_difference_notes(scenarios), *_same_start_notes(scenarios)]


def _difference_notes(scenarios: Sequence[ScenarioJson]) -> list[str]:
    flows: dict[str, FlowJson] = {}
    for scenario in labelled(scenarios):
        for run in runs_of_rows(scenario["flows"]):
            if scenario["links"] and run.first["cca"]["algorithm"] != "udp":
                flows.setdefault(run.first["cca"]["name"], run.first)
    if not 2 <= len(flows) <= _NAMED_MAX:
        return []
    differing = []
    for what, read in _COMPARED.items():
        by_value: dict[str, list[str]] = {}
        for name, flow in flows.items():
            by_value.setdefault(read(flow), []).append(name)
        if len(by_value) > 1:
            parts = (f"{', '.join(names)}: {value}" for value, names in by_value.items())
            differing.append(f"{what} ({'; '.join(parts)})")
    if not differing:
        return []
    *others, last = differing
    listed = f"{', '.join(others)} and {last}" if others else last
    return [f"besides what they are named for, the algorithms differ in {listed}"]


def _same_start_notes(scenarios: Sequence[ScenarioJson]) -> list[str]:
    """A note if flows of an algorithm that draws no random numbers start at the same nanosecond."""
    found = [
        one for scenario in scenarios if scenario["links"] and (one := _same_start(scenario)) is not None
    ]
    if not found:
        return []
    name, count = max(found, key=lambda one: one[1])
    return [
        f"{count:,} flows of {name} start at the same nanosecond and may lose in step; start_jitter "
        "starts each at a random time"
    ]


def _same_start(scenario: ScenarioJson) -> tuple[str, int] | None:
    """The name of the most flows of an algorithm that start together, and how many they are."""
    counts: dict[tuple[str, str, int], int] = {}
    for run in runs_of_rows(scenario["flows"]):
        flow = run.first
        is_alone = flow["start_jitter_ns"] or flow.get("traffic") or _draws(flow["cca"]["algorithm"])
        if is_alone or flow["cca"]["algorithm"] == "udp" or (run.length > 1 and run.step.get("start_ns")):
            continue
        key = (flow.get("label", flow["cca"]["name"]), flow["cca"]["algorithm"], flow["start_ns"])
        counts[key] = counts.get(key, 0) + run.length
    several = [(name, count) for (name, *_), count in counts.items() if count > 1]
    return max(several, key=lambda one: one[1], default=None)


def _slow_start(flow: FlowJson) -> str:
    params = dict(flow["cca"]["params"])
    header = _code(flow["cca"]["algorithm"])
    return params.get("slow_start", "its own") if header else "as its class has it"


def _ecn(flow: FlowJson) -> str:
    return flow["stack"]["ecn"]


def _pacing(flow: FlowJson) -> str:
    if flow["stack"].get("pacing", "own") != "own":
        return "by the stack"
    header = _code(flow["cca"]["algorithm"])
    if not header:
        return "as its class has it"
    return "paced" if any(_SETS_RATE.search(text) for text in header) else "not paced"


#: Properties that are compared, with how it is read off a flow.
_COMPARED: dict[str, Callable[[FlowJson], str]] = {"slow start": _slow_start, "ECN": _ecn, "pacing": _pacing}


def _draws(algorithm: str) -> bool:
    return any("cc_random" in text for text in _code(algorithm))


@functools.cache
def _code(algorithm: str) -> tuple[str, ...]:
    """The tokens of a header and of what it includes but the contract; none where there is no header."""
    try:
        return tuple(_cwnd.header_code(algorithm).split("\0")[:-1])
    except _cwnd.Error:
        return ()
