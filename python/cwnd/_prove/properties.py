"""The properties, as conditions of a hook that no event may make true."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cwnd._prove.dag import Dag, Node, uses
from cwnd._prove.model import Model

#: The properties in the order of the tables, each in words.
PROPERTIES = {
    "division": "no division by zero, no shift by the width or more",
    "window": "1 <= cwnd <= cwnd_clamp",
    "growth": "an ACK grows cwnd by at most the segments acknowledged, and not if cwnd is not the limit",
    "ssthresh": "2 <= ssthresh <= max(cwnd, 2)",
    "wrap": "no product and no sum wraps",
    "progress": "windows without a loss grow cwnd, as many as the header states",
    "counters": "counts of segments that wrap at 2^32 change no window",
    "invariants": "the header's invariants of its state hold after each hook",
}

#: Segments that a header with cong_control may always set cwnd to (draft-ietf-ccwg-bbr, BBRMinPipeCwnd).
_LEAST_CONTROLLED = 4

#: Text of a source line on which a sum or a product is meant to wrap.
_MEANT = "wraps"

#: Sources between the kernel and the contract, whose own arithmetic no property is about.
_SHIM = ("shim.h", "hooks.h", "program.h")


class Question(NamedTuple):
    """`wrong` must not be true of any event; `where` says what that would be."""

    wrong: Node
    where: str


def questions(of: Model, name: str, controls: bool) -> list[Question] | None:
    """The questions of a property, or `None` if it says nothing of this hook.

    `controls`: the header has cong_control.
    """
    if name == "division":
        return _risks(of, ("division", "shift"))
    if name == "wrap":
        return _risks(of, ("product", "sum"))
    if name == "invariants":
        return [Question(of.dag.not_(holds), f"not kept: {text}") for text, holds in of.kept.items()] or None
    if name == "progress":
        return _progress(of) if of.progress else None
    if name == "window":
        return _window(of)
    if name == "growth":
        return _growth(of)
    return _ssthresh(of, controls) if (of.name, name) == ("ssthresh", "ssthresh") else None


def _risks(of: Model, kinds: tuple[str, ...]) -> list[Question]:
    risks = [
        risk
        for risk in of.risks
        if risk.kind in kinds
        and not (risk.kind in ("product", "sum") and (risk.in_loop or _MEANT in risk.line))
        and not risk.line.startswith(_SHIM)
    ]
    if "product" not in kinds:
        return [Question(of.dag.both(risk.path, risk.wrong), f"{risk.kind}: {risk.line}") for risk in risks]
    # A compiler computes early what only one side of a choice needs: a wrap counts where its result does.
    used = uses(of.dag, of.after.values())
    found = []
    for risk in risks:
        wraps = of.dag.both(risk.path, risk.wrong)
        # A comparison that finds the wrap, so that a sum stops at its largest value, is no use of it.
        parts = uses(of.dag, of.after.values(), risk.wrong) if risk.wrong.id in used else used
        if risk.made.id in parts:
            found.append(Question(of.dag.both(wraps, parts[risk.made.id]), f"{risk.kind}: {risk.line}"))
    return found


def _window(of: Model) -> list[Question]:
    dag, clamp = of.dag, of.before["w.cwnd_clamp"]
    windows = {"cwnd": of.after["w.cwnd"]}
    if of.name == "undo_cwnd":
        windows["the cwnd to restore"] = of.after["result"]
    found = []
    for name, cwnd in windows.items():
        if cwnd is not of.before["w.cwnd"]:
            found.append(Question(dag.equal(cwnd, dag.const(0)), f"{name} is 0"))
            found.append(Question(dag.less(clamp, cwnd), f"{name} is above cwnd_clamp"))
    return found


def _growth(of: Model) -> list[Question] | None:
    dag, cwnd, acked, after = of.dag, of.before["w.cwnd"], of.before["a.acked"], of.after["w.cwnd"]
    if of.name == "cong_avoid":
        most = acked if of.most is None else of.most
        faster = dag.less(dag.add(cwnd, most, 64), after)
        limited = dag.and_(of.before["a.flags"], dag.const(1))
        if of.most is not None:
            return [Question(faster, "cwnd grows by more than the header states")]
        return [
            Question(faster, "cwnd grows by more than acked"),
            Question(
                dag.both(dag.equal(limited, dag.const(0)), dag.less(cwnd, after)),
                "cwnd grows though it did not limit the sender",
            ),
        ]
    if of.name == "cong_control":
        if of.most is not None:
            most = dag.add(cwnd, of.most, 64)
            return [Question(dag.less(most, after), "cwnd grows by more than the header states")]
        most = dag.add(
            _largest(of, [cwnd, of.before["w.prior_cwnd"], dag.const(_LEAST_CONTROLLED)]), acked, 64
        )
        return [Question(dag.less(most, after), "cwnd grows above max(cwnd, prior_cwnd, 4) + acked")]
    return None


def _progress(of: Model) -> list[Question]:
    dag, before, after = of.dag, of.before, of.after
    (windows, _), (gain, _), (credit, credited), (needed, _) = of.progress
    cwnd = before["w.cwnd"]
    avoids = dag.all_of(
        [
            dag.equal(dag.and_(before["a.flags"], dag.const(1)), dag.const(1)),
            dag.not_(dag.less(cwnd, before["w.ssthresh"])),
            dag.less(cwnd, before["w.cwnd_clamp"]),
        ]
    )
    stays = dag.both(avoids, dag.not_(dag.less(cwnd, after["w.cwnd"])))
    earned = _spread(dag, gain, lambda one: dag.add(credit, dag.mul(one, before["a.acked"], 64), 64))
    each = _spread(dag, gain, lambda one: dag.mul(windows, dag.mul(cwnd, one, 64), 64))
    return [
        Question(dag.both(stays, dag.less(credited, earned)), "an ACK is lost for the growth of cwnd"),
        Question(dag.both(stays, dag.not_(dag.less(credited, needed))), "cwnd does not grow though it could"),
        Question(dag.both(avoids, dag.less(each, needed)), "more windows are needed than stated"),
    ]


def _spread(dag: Dag, choice: Node, made_of: Callable[[Node], Node]) -> Node:
    """An expression, made of each side of a choice."""
    if choice.op != "ite":
        return made_of(choice)
    condition, yes, no = choice.args
    return dag.ite(condition, _spread(dag, yes, made_of), _spread(dag, no, made_of))


def _ssthresh(of: Model, controls: bool) -> list[Question]:
    dag, made = of.dag, of.after["result"]
    two = dag.const(2)
    # With cong_control ssthresh bounds nothing: the hook may leave it as it is.
    kept = [of.before["w.ssthresh"], of.before["w.prior_cwnd"]] if controls else []
    most = _largest(of, [of.before["w.cwnd"], two, *kept])
    return [
        Question(dag.less(made, two), "ssthresh is below 2"),
        Question(dag.less(most, made), "ssthresh is above its bound"),
    ]


def _largest(of: Model, numbers: list[Node]) -> Node:
    most = numbers[0]
    for number in numbers[1:]:
        most = of.dag.ite(of.dag.less(most, number), number, most)
    return most
