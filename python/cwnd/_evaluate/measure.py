"""The runs of an evaluation: planned as a sweep, kept in its directory, read as evidence."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cwnd import _cwnd, _worlds
from cwnd._common.errors import WorldError, error
from cwnd._common.text import digits
from cwnd._evaluate.evidence import Runs
from cwnd._evaluate.scenarios import BASELINE, CANDIDATE, ECN_OF_SUBJECT, SUBJECT, Case, Run
from cwnd._results.results import Results
from cwnd._results.tables import runs_of
from cwnd._run import sweep
from cwnd._run.jobs import SweepPoint
from cwnd._scenario.custom import CongestionControl
from cwnd._scenario.scenario import Cca, cca_name, dumbbell, toml_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cwnd._common.shapes import FlowJson, Param

_SEED = 1


class Algorithm(NamedTuple):
    """An algorithm with parameters, by the label that it has in a report."""

    label: str
    name: str
    params: Mapping[str, Param]
    classes: Mapping[str, type[CongestionControl]]


def algorithm_of(cca: Cca, params: Mapping[str, Param] | None = None) -> Algorithm:
    """The algorithm, checked as `dumbbell` does. Raises `Error` as that does."""
    given = dict(params or {})
    dumbbell(cca, params=given)
    name = cca_name(cca)
    shown = ", ".join(
        f"{key} = {digits(value) if isinstance(value, float) else value}" for key, value in given.items()
    )
    label = f"{name} ({shown})" if shown else name
    return Algorithm(label, name, given, {} if isinstance(cca, str) else {name: cca})


class Measured(NamedTuple):
    """The runs, and why cases have none, by the case's name."""

    runs: Runs
    missing: Mapping[str, str]
    failures: list[str]


def measure(
    cases: Sequence[Case],
    candidates: Sequence[Algorithm],
    baseline: Algorithm,
    folder: Path,
    *,
    seeds: int,
    world: str = "sim",
    **how: Unpack[sweep.How],
) -> Measured:
    """Runs what is missing in `folder`. Equal cases of several criteria are run once."""
    missing: dict[str, str] = {}
    points = []
    place = _worlds.find(world).place()
    for case, subject in _asked(cases, candidates, baseline):
        if case.name in missing:
            continue
        scenario = _scenario(case, subject)
        label = "" if subject is None else subject.label
        name = f"{case.name}, {label}" if label else case.name
        inner = scenario.replace(name=name, seed=_SEED, repeat=seeds).without_samples()
        try:
            _worlds.check(place, inner)
        except WorldError as refused:
            missing[case.name] = f"--on {world}: {refused}"
            continue
        points.append(SweepPoint({"case": case.name, "subject": label}, inner))
    points = [point for point in points if point.values["case"] not in missing]
    if not points:
        return Measured({}, missing, [])
    classes = {name: cca for one in (*candidates, baseline) for name, cca in one.classes.items()}
    plan = sweep.Plan(points, [range(_SEED, _SEED + seeds)] * len(points), classes)
    outcome = sweep.work(plan, folder, world=world, **how)
    case_of = {point.scenario.name: str(point.values["case"]) for point in points}
    for failure in outcome.failures:
        missing.setdefault(case_of[failure.scenario], f"a run failed: {failure}")
    if not outcome.finished:
        raise error("", "the runs are not complete; repeat the command to continue")
    by_name = {case.name: case for case in cases}
    return Measured(
        _read(Results.load(folder), by_name, missing), missing, [str(one) for one in outcome.failures]
    )


def _asked(
    cases: Iterable[Case], candidates: Sequence[Algorithm], baseline: Algorithm
) -> Iterable[tuple[Case, Algorithm | None]]:
    """Each case once with each of its subjects."""
    seen: dict[tuple[str, str], Case] = {}
    for case in cases:
        subjects: list[Algorithm | None] = [] if case.subjects else [None]
        for subject in case.subjects:
            if subject == CANDIDATE:
                subjects += candidates
            else:
                subjects.append(baseline if subject == BASELINE else algorithm_of(subject))
        for one in subjects:
            key = (case.name, "" if one is None else one.label)
            if key not in seen:
                seen[key] = case
                yield case, one
            elif (seen[key].over, seen[key].groups) != (case.over, case.groups):
                raise AssertionError(f"two scenarios are called {case.name}")


def _scenario(case: Case, subject: Algorithm | None) -> _cwnd.Scenario:
    """The scenario with `subject` in its place."""
    groups = [dict(group) for group in case.groups]
    classes = {} if subject is None else dict(subject.classes)
    stacks = []
    for group in groups:
        if subject is not None and group["cca"] == SUBJECT:
            group["cca"] = {"name": subject.name, **subject.params}
            stack = group.get("stack")
            if isinstance(stack, Mapping) and stack.get("ecn") == ECN_OF_SUBJECT:
                group["stack"] = own = {key: value for key, value in stack.items() if key != "ecn"}
                stacks.append(own)

    def read() -> _cwnd.Scenario:
        return _cwnd.Scenario(toml_text({**case.over, "flows": groups}), "scenario", classes)

    scenario = read()
    if subject is None or not stacks:
        return scenario
    flows: list[FlowJson] = json.loads(scenario.json())["flows"]
    if next(flow["stack"]["ecn"] for flow in flows if flow["cca"]["name"] == subject.name) != "off":
        return scenario
    for stack in stacks:
        stack["ecn"] = "classic"
    return read()


def _count(group: Mapping[str, object]) -> int:
    """How many flows the group has."""
    count = group.get("count", 1)
    assert isinstance(count, int), count
    return count


def _read(results: Results, cases: Mapping[str, Case], missing: Mapping[str, str]) -> Runs:
    values_of = {
        scenario["name"]: values
        for values, scenario in zip(results.values, results.scenarios, strict=True)
        if str(values["case"]) not in missing
    }
    found: dict[tuple[str, str], dict[int, Run]] = {}
    for (name, seed), tables in runs_of({"flows": results.flows, "links": results.links}).items():
        if name not in values_of:
            continue
        values = values_of[name]
        rest = iter(tables["flows"])
        case, subject = str(values["case"]), str(values["subject"])
        groups = [list(itertools.islice(rest, _count(group))) for group in cases[case].groups]
        links = {link["link"]: link for link in tables["links"]}
        found.setdefault((case, subject), {})[seed] = Run(groups, links)
    return found
