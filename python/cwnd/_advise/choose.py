"""The rule of choice: what a candidate gains, what it does to others, and whether a change is worth it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cwnd._advise.measure import Measured, Round
from cwnd._analysis.harm import Estimate, estimate, harm_by_seed

#: A newcomer may do more harm than the incumbent does to itself by this much, in rate and in RTT; the end of
#: the estimate's 95 % interval may be twice that.
HARM_MARGIN = 0.1
#: The goals latency and fairness want this part of the present goodput; the end of the interval may be lower
#: by as much again.
KEPT = 0.9


#: A candidate may lose this share of its packets besides random losses, or what the present algorithm does.
LOSS_MOST = 0.1
#: Verdicts of a first look with which a candidate comes after all others.
_HOPELESS = ("too slow", "loses too much")


class Goal(NamedTuple):
    """A goal: of what, `unit`, from what gain on a change is worth it, from what difference on one is better.

    `relative`: gains are fractions of the present value. `score`: a value for each run, of which more is
    better. `kept`: the rate of which the goal wants `KEPT`; None: it wants no rate.
    """

    what: str
    relative: bool
    worth: float
    tie: float
    score: Callable[[Measured, Measured], list[float]]
    kept: Callable[[Measured], list[float]] | None


def _own(one: Measured, incumbent: Measured) -> list[float]:
    """Goodput less what those beside lose, compared with an incumbent in the candidate's place."""
    if not one.beside_mbps:
        return list(one.goodput_mbps)
    lost = (
        max(0.0, there - here) for here, there in zip(one.beside_mbps, incumbent.beside_mbps, strict=True)
    )
    return [own - less for own, less in zip(one.goodput_mbps, lost, strict=True)]


def _together(one: Measured) -> list[float]:
    beside = one.beside_mbps or [0.0] * len(one.goodput_mbps)
    return [own + others for own, others in zip(one.goodput_mbps, beside, strict=True)]


GOALS = {
    "throughput": Goal("goodput", True, 0.1, 0.03, _own, None),
    "latency": Goal(
        "p95 RTT",
        True,
        0.1,
        0.03,
        lambda one, _: [-rtt for rtt in one.alone_rtt_ms],
        lambda one: one.goodput_mbps,
    ),
    "fairness": Goal("Jain's index", False, 0.05, 0.02, lambda one, _: list(one.jain), _together),
}


class Judged(NamedTuple):
    """A candidate: `score` by the goal, `gain` over the present algorithm, and what it does to others.

    `harm_rate` and `harm_rtt` are those beyond the harm that the incumbent does to itself; None without
    competition. `verdict`: "fit", "harmful", "too slow", "loses too much", "harm unsettled" or "goodput
    unsettled".
    """

    cca: str
    score: list[float]
    gain: Estimate
    harm_rate: Estimate | None
    harm_rtt: Estimate | None
    verdict: str


class Choice(NamedTuple):
    """Advice: `decision` is "change", "keep" or "undecided" (between the present algorithm and `cca`).

    `equals`: candidates that do as well as `cca`; `ranking`: all of them, the fit ones first, by score.
    """

    decision: str
    cca: str
    equals: list[str]
    ranking: list[Judged]


def judge(
    measured: Round, goal: Goal, present: str, incumbent: str, random_loss: float = 0.0
) -> list[Judged]:
    """All candidates of a round: those fit for the goal first, by their mean score.

    `random_loss` is the share that the path itself loses.
    """
    reference, of = measured.measured[present], measured.measured[incumbent]
    base = goal.score(reference, of)
    judged = []
    for one in measured.measured.values():
        score = goal.score(one, of)
        harms = _harms(measured, one, of)
        kept = "fit" if goal.kept is None else _kept_verdict(goal.kept(one), goal.kept(reference))
        verdict = kept if kept == "too slow" else _verdict(harms)
        verdict = kept if verdict == "fit" else verdict
        if _mean(one.loss) - random_loss > max(LOSS_MOST, _mean(reference.loss) - random_loss):
            verdict = "loses too much"
        judged.append(Judged(one.cca, score, _gain(score, base, goal), *harms, verdict))
    return sorted(judged, key=lambda one: (one.verdict != "fit", -_mean(one.score)))


def choose(judged: Sequence[Judged], goal: Goal, present: str, prefer: Callable[[str], int]) -> Choice:
    """The rule in docs/advice.md. `prefer` decides among equals: the smallest is taken."""
    now = next(one for one in judged if one.cca == present)
    others = [one for one in judged if one.verdict == "fit" and one.cca != present]
    doubtful = [one for one in judged if _is_doubtful(one, goal)]
    if not others or (others[0].gain.low < goal.worth and doubtful):
        if doubtful:
            return Choice("undecided", doubtful[0].cca, [], list(judged))
        return Choice("keep", present, [], list(judged))
    best = others[0]
    equals = [one for one in others if one is best or _equal(best, one, goal)]
    taken = min(equals, key=lambda one: (prefer(one.cca), -_mean(one.score)))
    rest = [one.cca for one in equals if one is not taken]
    gain = best.gain
    if now.verdict == "harmful" or gain.low >= goal.worth:
        decision = "change"
    elif gain.low <= 0 or gain.high <= goal.worth:
        return Choice("keep", present, [], list(judged))
    else:
        decision = "undecided"
    return Choice(decision, taken.cca, rest, list(judged))


def unsettled(choice: Choice, goal: Goal) -> list[str]:
    """The candidates that more runs could decide about: those of an undecided choice, and those with a gain
    worth a change of which something else is not settled."""
    doubtful = [one.cca for one in choice.ranking if _is_doubtful(one, goal)]
    return [choice.cca, *choice.equals, *doubtful] if doubtful or choice.decision == "undecided" else []


def _is_doubtful(one: Judged, goal: Goal) -> bool:
    return one.verdict.endswith("unsettled") and one.gain.low >= goal.worth


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _gain(score: Sequence[float], base: Sequence[float], goal: Goal) -> Estimate:
    of = abs(_mean(base)) if goal.relative else 1.0
    differences = [one - other for one, other in zip(score, base, strict=True)]
    if not any(differences):
        return Estimate(0.0, 0.0, 0.0)
    return estimate([difference / of if of else math.inf for difference in differences])


def _equal(best: Judged, one: Judged, goal: Goal) -> bool:
    behind = _gain(best.score, one.score, goal)
    return behind.low <= 0 or behind.mean < goal.tie


def _harms(measured: Round, one: Measured, incumbent: Measured) -> tuple[Estimate | None, Estimate | None]:
    """The harm to those beside in rate and in RTT, beyond the one that the incumbent does to itself."""
    if not one.beside_mbps:
        return None, None
    if one is incumbent:
        return Estimate(0.0, 0.0, 0.0), Estimate(0.0, 0.0, 0.0)

    def beyond(idle: list[float], here: list[float], there: list[float], more_is_better: bool) -> Estimate:
        new, own = (harm_by_seed(idle, shared, more_is_better) for shared in (here, there))
        return estimate([a - b for a, b in zip(new, own, strict=True)])

    return (
        beyond(measured.idle_mbps, one.beside_mbps, incumbent.beside_mbps, True),
        beyond(measured.idle_rtt_ms, one.beside_rtt_ms, incumbent.beside_rtt_ms, False),
    )


def _verdict(harms: tuple[Estimate | None, Estimate | None]) -> str:
    known = [harm for harm in harms if harm is not None]
    if any(harm.low > HARM_MARGIN for harm in known):
        return "harmful"
    fit = all(harm.mean <= HARM_MARGIN and harm.high <= 2 * HARM_MARGIN for harm in known)
    return "fit" if fit else "harm unsettled"


def _kept_verdict(own: Sequence[float], present: Sequence[float]) -> str:
    if own == present:
        return "fit"
    of = _mean(present)
    kept = estimate([1 + (a - b) / of if of else math.inf for a, b in zip(own, present, strict=True)])
    if kept.high < KEPT:
        return "too slow"
    return "fit" if kept.mean >= KEPT and kept.low >= 2 * KEPT - 1 else "goodput unsettled"


def finalists(
    measured: Round, goal: Goal, present: str, incumbent: str, random_loss: float, number: int
) -> list[str]:
    """The algorithms that get a second look.

    These are the present algorithm, the incumbent, the `number` best candidates by score, fit ones first, and
    the one with the highest goodput of those whose losses are accepted.
    """
    judged = judge(measured, goal, present, incumbent, random_loss)

    def unfitness(one: Judged) -> int:
        harms = (harm for harm in (one.harm_rate, one.harm_rtt) if harm is not None)
        if one.verdict in _HOPELESS:
            return 2 + _HOPELESS.index(one.verdict)
        return 0 if all(harm.mean <= 2.5 * HARM_MARGIN for harm in harms) else 1

    by_score = sorted(judged, key=lambda one: (unfitness(one), -_mean(one.score)))
    careful = (one.cca for one in judged if one.verdict != "loses too much")
    fastest = max(careful, key=lambda cca: _mean(measured.measured[cca].goodput_mbps))
    chosen = [one.cca for one in by_score if one.cca not in (present, incumbent)][:number]
    return list(dict.fromkeys([present, incumbent, *chosen, fastest]))
