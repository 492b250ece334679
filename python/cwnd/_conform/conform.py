"""`cwnd.conform`: the clauses of RFCs and drafts, tried on an algorithm."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from cwnd import _cwnd, _worlds
from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import write_file
from cwnd._common.text import aligned
from cwnd._conform.cases import FOLDER, MUST, Case, cases, suites
from cwnd._conform.sender import Outcome, run_hooks
from cwnd._expect.expect import expect
from cwnd._expect.judge import FAIL, PASS, UNSEEN
from cwnd._run.run import run
from cwnd._scenario.class_files import load_class
from cwnd._scenario.custom import CongestionControl
from cwnd._scenario.header_files import load_header
from cwnd._scenario.registry import algorithms
from cwnd._scenario.scenario import Scenario

#: Verdicts besides those of expectations: a clause with SHOULD that does not hold, and one that the
#: algorithm leaves on purpose.
WARN, DEVIATES = "warn", "deviates"
VERDICTS = (PASS, FAIL, WARN, DEVIATES, UNSEEN)

_HEAD = '[dumbbell]\nrate = "48 Mbps"\ndelay = "20 ms"\nbuffer = 320\n[[flows]]\ncca = CCA\n'


class Subject(NamedTuple):
    """The algorithm that is tried."""

    name: str
    #: Its class, if the registry does not have it.
    own: type[CongestionControl] | None
    #: Parameters with their defaults: the text's rules, not those of a stack's profile.
    params: Mapping[str, str | float]
    controls_window: bool


class Tried(NamedTuple):
    """One case, and its verdict."""

    case: Case
    verdict: str
    #: Values that were seen, or why none was.
    found: str
    #: The reason of a documented deviation.
    reason: str


class Conformance(NamedTuple):
    """The verdicts of all cases on one algorithm."""

    algorithm: str
    world: str
    tried: list[Tried]

    @property
    def ok(self) -> bool:
        """No clause with MUST failed."""
        return all(one.verdict != FAIL for one in self.tried)

    def count(self, verdict: str) -> int:
        return sum(one.verdict == verdict for one in self.tried)

    def to_json(self) -> str:
        """One JSON object; equal for equal headers."""
        return json.dumps(
            {
                "algorithm": self.algorithm,
                "world": self.world,
                "ok": self.ok,
                "cases": [
                    {
                        "suite": one.case.suite,
                        "case": one.case.name,
                        "clause": one.case.clause,
                        "requires": one.case.requires,
                        "level": one.case.level,
                        "verdict": one.verdict,
                        "found": one.found,
                        "reason": one.reason,
                    }
                    for one in self.tried
                ],
            },
            indent=1,
        )

    def to_junit(self) -> str:
        """JUnit's XML: failures, and as skipped the cases that warn, deviate or cannot be seen."""
        from xml.etree import ElementTree

        skipped = (WARN, DEVIATES, UNSEEN)
        root = ElementTree.Element(
            "testsuite",
            name=f"cwnd conform {self.algorithm}",
            tests=str(len(self.tried)),
            failures=str(self.count(FAIL)),
            skipped=str(sum(map(self.count, skipped))),
        )
        for one in self.tried:
            name = f"{one.case.name}: {one.case.requires}"
            case = ElementTree.SubElement(root, "testcase", classname=one.case.suite, name=name)
            message = f"{one.case.clause}: {one.found}" + (f"; {one.reason}" if one.reason else "")
            if one.verdict == FAIL:
                ElementTree.SubElement(case, "failure", message=message)
            elif one.verdict in skipped:
                ElementTree.SubElement(case, "skipped", message=f"{one.verdict}: {message}")
        ElementTree.indent(root)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"

    def __str__(self) -> str:
        rows = [["case", "clause", "level", "verdict", "found"]]
        rows += [
            [f"{one.case.suite}/{one.case.name}", one.case.clause, one.case.level, one.verdict, one.found]
            for one in self.tried
        ]
        lines = aligned(rows)
        for one in self.tried:
            if one.verdict != PASS:
                lines.append(f"{one.case.suite}/{one.case.name}: {one.verdict}: {one.case.requires}")
                lines += [f"  {one.reason}"] if one.reason else []
        counts = ", ".join(f"{self.count(verdict)} {verdict}" for verdict in VERDICTS)
        lines.append(f"{self.algorithm} in {self.world}: {len(self.tried)} cases: {counts}")
        return "\n".join(lines)


def conform(
    algorithm: str | os.PathLike[str] | type[CongestionControl],
    *,
    suite: str | Iterable[str] = (),
    world: str = "sim",
    out: str | os.PathLike[str] | None = None,
    junit: str | os.PathLike[str] | None = None,
) -> Conformance:
    """Tries every case that is about an algorithm, or all of some suites.

    Args:
        algorithm: a name of `algorithms()`, a header `FILE.h`, or a class. A header or a class is the
            algorithm of its own name: the cases of cubic are those of a header `cubic.h`, wherever it is.
        suite: names of suites; all cases of them are tried if none is about the algorithm.
        world: where cases with a network run. Elsewhere than in "sim" the hooks cannot be called.
        out: a folder for `NAME.json`.
        junit: a file for JUnit's XML.

    Raises:
        Error: bad input; the header cannot be compiled; a file cannot be written; there is no case.
    """
    _worlds.find(world)
    asked = [suite] if isinstance(suite, str) else list(suite)
    for name in asked:
        if name not in suites():
            raise error("suite", f"'{one_line(name)}' is not a suite; there are {', '.join(suites())}")
    subject = find_subject(algorithm)
    usable = [
        case
        for case in cases()
        if (not asked or case.suite in asked) and set(case.params) <= set(subject.params)
    ]
    chosen = [case for case in usable if case.concerns(subject.name, subject.controls_window)]
    if asked and not chosen:
        chosen = usable
    if not chosen:
        raise error(one_line(subject.name), f"no case is about it; the suites are {', '.join(suites())}")
    conformance = Conformance(subject.name, world, [try_case(case, subject, world) for case in chosen])
    if out is not None:
        _write(Path(out) / f"{subject.name}.json", conformance.to_json() + "\n")
    if junit is not None:
        _write(Path(junit), conformance.to_junit())
    return conformance


def find_subject(algorithm: str | os.PathLike[str] | type[CongestionControl]) -> Subject:
    """The algorithm of that name, header or class."""
    own: type[CongestionControl] | None = None
    if isinstance(algorithm, type):
        own = algorithm
    else:
        asked = os.fspath(algorithm)
        path, colon, name = asked.rpartition(":")
        if asked.endswith(".h"):
            own = load_header(Path(asked))
        elif colon and path.endswith(".py"):
            own = load_class(Path(path), name)
        else:
            found = [one for one in algorithms() if one["name"] == asked]
            if not found:
                known = "neither an algorithm of 'cwnd algorithms' nor a FILE.h nor FILE.py:CLASS"
                raise error(one_line(asked), known)
            defaults = {param["name"]: param["default"] for param in found[0]["params"]}
            return Subject(asked, None, defaults, _controls_window(asked, None))
    params: Mapping[str, str | float] = getattr(own, "PARAMS", {})
    return Subject(own.__name__.replace("_", "-"), own, params, _controls_window(own.__name__, own))


def _controls_window(name: str, own: type[CongestionControl] | None) -> bool:
    text = _HEAD.replace("CCA", json.dumps(name))
    inner = Scenario.parse(text, ccas=[] if own is None else [own])._inner
    return _cwnd.Hooks(inner, 10, 100).controls_window


def try_case(case: Case, subject: Subject, world: str = "sim") -> Tried:
    """The verdict of one case."""
    if case.hooks is not None and world != "sim":
        return Tried(case, UNSEEN, f"'{world}' does not let hooks be called", "")
    if case.is_white_box and world != "sim":
        return Tried(case, UNSEEN, f"'{world}' does not show windows at each ACK", "")
    unseen = False
    if case.hooks is not None:
        outcome = run_hooks(_scenario(case, subject, _HEAD)._inner, case.hooks)
    else:
        outcome, unseen = _run_network(case, subject, world)
    if outcome.ok:
        return Tried(case, PASS, outcome.found, "")
    if unseen:
        return Tried(case, UNSEEN, outcome.found, "")
    reason = case.deviations.get(subject.name) or case.deviations.get("any", "")
    if reason:
        return Tried(case, DEVIATES, outcome.found, reason)
    return Tried(case, FAIL if case.level == MUST else WARN, outcome.found, "")


def _scenario(case: Case, subject: Subject, text: str) -> Scenario:
    name = subject.name if subject.own is None else subject.own.__name__
    merged = {**subject.params, **case.params}
    params = "".join(f", {key} = {_value(value)}" for key, value in merged.items())
    own = [] if subject.own is None else [subject.own]
    filled = text.replace("CCA", f'{{ name = "{name}"{params} }}')
    return Scenario.parse(filled, f"{case.suite}/{case.name}", ccas=own)


def _value(value: str | float) -> str:
    """A parameter as TOML has it."""
    return json.dumps(value) if isinstance(value, str) else f"{value}"


def _run_network(case: Case, subject: Subject, world: str) -> tuple[Outcome, bool]:
    """The outcome of a case over a network, and whether some quantity was not seen while none failed."""
    assert case.scenario is not None
    scenario = _scenario(case, subject, case.scenario)
    results = run(scenario, world=world)
    decided = expect(results, scenarios=[scenario]).decided
    failed = [one for one in decided if one.verdict == FAIL]
    unseen = [one for one in decided if one.verdict == UNSEEN]
    worst = failed or unseen
    if worst:
        return Outcome(False, f"{worst[0].expected}: {worst[0].found}"), not failed
    return Outcome(True, ", ".join(one.found for one in decided)[:80]), False


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text.encode())
    except OSError as failed:
        raise os_error(one_line(path), failed) from None


def texts(tried: Iterable[Tried]) -> Mapping[str, str]:
    """The verdict of each case by SUITE/CASE."""
    return {f"{one.case.suite}/{one.case.name}": one.verdict for one in tried}


__all__ = ["FOLDER", "Conformance", "Tried", "conform", "texts"]
