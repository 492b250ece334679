"""`cwnd.conform`: the clauses of RFCs and drafts, tried on an algorithm."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from cwnd import _cwnd, _worlds
from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import write_file
from cwnd._conform.cases import FOLDER, Case, cases, suites
from cwnd._conform.journal import Journal, key_of
from cwnd._conform.page import page
from cwnd._conform.subjects import SIMULATOR, Subject, find_subject
from cwnd._conform.trial import try_case
from cwnd._conform.verdicts import Conformance, Tried
from cwnd._scenario.custom import CongestionControl


def conform(
    algorithm: str | os.PathLike[str] | type[CongestionControl],
    *,
    suite: str | Iterable[str] = (),
    world: str = "sim",
    out: str | os.PathLike[str] | None = None,
    junit: str | os.PathLike[str] | None = None,
    html: str | os.PathLike[str] | None = None,
) -> Conformance:
    """Tries every case that is about an algorithm, or all of some suites.

    Args:
        algorithm: a name of `algorithms()`, an algorithm of a stack such as `quinn:cubic`, a header `FILE.h`,
            or a class. A header or a class is the algorithm of its own name: the cases of cubic are those of
            a header `cubic.h`, wherever it is. In "linux" a name is the kernel's own algorithm.
        suite: names of suites; all cases of them are tried if none is about the algorithm.
        world: where cases with a network run. Elsewhere than in "sim" the hooks cannot be called, and what
            samples do not show cannot be seen.
        out: a folder for `NAME.json`, in other worlds `NAME-on-WORLD.json`. There a journal beside it lets a
            trial that was stopped go on.
        junit: a file for JUnit's XML.
        html: a file for a page with the clause and the trace of each case that failed or warns.

    Raises:
        Error: bad input; the header cannot be compiled; a file cannot be written; there is no case.
    """
    place = _worlds.find(world).place()
    asked = [suite] if isinstance(suite, str) else list(suite)
    for name in asked:
        if name not in suites():
            raise error("suite", f"'{one_line(name)}' is not a suite; there are {', '.join(suites())}")
    subject = find_subject(algorithm, world)
    usable = [
        case
        for case in cases()
        if (not asked or case.suite in asked) and (set(case.params) <= set(subject.params))
    ]
    chosen = [case for case in usable if case.concerns(subject.name, subject.controls_window)]
    if asked and not chosen:
        chosen = usable
    if not chosen:
        raise error(one_line(subject.name), f"no case is about it; the suites are {', '.join(suites())}")
    named = _file_name(subject, world)
    journal = None if out is None or place is None else Journal(Path(out) / f"{named}.jsonl")
    essence = "" if place is None else place.essence.hex()
    try:
        tried = [_try_once(case, subject, world, journal, essence) for case in chosen]
    finally:
        if journal is not None:
            journal.close()
    conformance = Conformance(subject.label, world, tried)
    if out is not None:
        _write(Path(out) / f"{named}.json", conformance.to_json() + "\n")
    if junit is not None:
        _write(Path(junit), conformance.to_junit())
    if html is not None:
        _write(Path(html), page(conformance, subject))
    return conformance


def _file_name(subject: Subject, world: str) -> str:
    name = subject.label.replace(":", "-")
    return name if world == SIMULATOR else f"{name}-on-{world}"


def _try_once(case: Case, subject: Subject, world: str, journal: Journal | None, essence: str) -> Tried:
    """The verdict of a case; that of an earlier trial, if a journal has it."""
    if journal is None or case.scenario is None:
        return try_case(case, subject, world)
    reason = case.deviations.get(subject.label) or case.deviations.get(world, "")
    key = key_of(
        _cwnd.__version__, essence, world, subject.cca(case.params), case.level, reason, case.scenario
    )
    known = journal.find(key)
    if known is not None:
        return Tried(case, known["verdict"], known["found"], known["reason"])
    tried = try_case(case, subject, world)
    verdict = {"verdict": tried.verdict, "found": tried.found, "reason": tried.reason}
    journal.add(key, f"{case.suite}/{case.name}", verdict)
    return tried


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
