"""Trial of one case: its hooks or its network, and the verdict."""

from __future__ import annotations

from cwnd import _cwnd
from cwnd._common.errors import one_line
from cwnd._conform.cases import MUST, Case
from cwnd._conform.sender import Outcome, run_hooks
from cwnd._conform.subjects import HEAD, SIMULATOR, Subject
from cwnd._conform.verdicts import DEVIATES, WARN, Tried
from cwnd._expect.expect import expect
from cwnd._expect.judge import FAIL, PASS, UNSEEN
from cwnd._results.results import Results
from cwnd._run.run import run
from cwnd._scenario.scenario import Scenario

#: Samples of cases that have none, where hooks are not watched.
_NO_SAMPLES, _SAMPLES = 'samples = "off"', 'samples = "1 ms"'


def try_case(case: Case, subject: Subject, world: str = SIMULATOR) -> Tried:
    """The verdict of one case."""
    if case.hooks is not None and world != SIMULATOR:
        return Tried(case, UNSEEN, f"'{world}' does not let hooks be called", "")
    if case.params and not subject.has_params:
        return Tried(case, UNSEEN, f"{subject.label} has no parameter {', '.join(case.params)}", "")
    unseen = False
    if case.hooks is not None:
        outcome = run_hooks(scenario_of(case, subject, HEAD)._inner, case.hooks)
    else:
        try:
            outcome, unseen = _run_network(case, subject, world)
        except _cwnd.Error as refused:
            if world == SIMULATOR:
                raise
            return Tried(case, UNSEEN, one_line(refused), "")
    if outcome.ok:
        return Tried(case, PASS, outcome.found, "")
    if unseen:
        return Tried(case, UNSEEN, outcome.found, "")
    reason = case.deviations.get(subject.label) or case.deviations.get(world, "")
    if reason:
        return Tried(case, DEVIATES, outcome.found, reason)
    return Tried(case, FAIL if case.level == MUST else WARN, outcome.found, "")


def scenario_of(case: Case, subject: Subject, text: str) -> Scenario:
    """A scenario with the algorithm in the place of CCA."""
    own = [] if subject.own is None else [subject.own]
    filled = text.replace("CCA", subject.cca(case.params))
    return Scenario.parse(filled, f"{case.suite}/{case.name}", ccas=own)


def run_sampled(case: Case, subject: Subject, world: str) -> Results:
    """The run of a case over a network, with samples."""
    assert case.scenario is not None
    text = case.scenario.replace(_NO_SAMPLES, _SAMPLES)
    return run(scenario_of(case, subject, text), world=world)


def _run_network(case: Case, subject: Subject, world: str) -> tuple[Outcome, bool]:
    """The outcome of a case over a network, and whether some quantity was not seen while none failed."""
    assert case.scenario is not None
    if world == SIMULATOR:
        scenario = scenario_of(case, subject, case.scenario)
        decided = expect(run(scenario), scenarios=[scenario]).decided
    else:
        decided = expect(run_sampled(case, subject, world)).decided
    failed = [one for one in decided if one.verdict == FAIL]
    unseen = [one for one in decided if one.verdict == UNSEEN]
    worst = failed or unseen
    if worst:
        return Outcome(False, f"{worst[0].expected}: {worst[0].found}"), not failed
    return Outcome(True, ", ".join(one.found for one in decided)[:80]), False
