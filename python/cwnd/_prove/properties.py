"""The properties, as conditions of a hook that no event may make true."""

from __future__ import annotations

from typing import NamedTuple

from cwnd._prove.dag import Node
from cwnd._prove.model import Model

#: The properties in the order of the tables, each in words.
PROPERTIES = {
    "division": "no division by zero, no shift by the width or more",
    "window": "1 <= cwnd <= cwnd_clamp",
    "growth": "cwnd grows by at most the segments acknowledged in slow start, and not if it is not the limit",
    "ssthresh": "2 <= ssthresh <= max(cwnd, 2)",
    "wrap": "no product and no sum wraps",
}

#: Segments that a header with cong_control may always set cwnd to (draft-ietf-ccwg-bbr, BBRMinPipeCwnd).
_LEAST_CONTROLLED = 4

#: Text of a source line on which a sum or a product is meant to wrap.
_MEANT = "wraps"


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
    if name == "window":
        return _window(of)
    if name == "growth":
        return _growth(of)
    return _ssthresh(of, controls) if of.name == "ssthresh" else None


def _risks(of: Model, kinds: tuple[str, ...]) -> list[Question]:
    return [
        Question(of.dag.both(risk.path, risk.wrong), f"{risk.kind}: {risk.line}")
        for risk in of.risks
        if risk.kind in kinds
        and not (risk.kind in ("product", "sum") and (risk.in_loop or _MEANT in risk.line))
    ]


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
        faster = dag.less(dag.add(cwnd, acked, 64), after)
        slow_start = dag.less(cwnd, of.before["w.ssthresh"])
        limited = dag.and_(of.before["a.flags"], dag.const(1))
        return [
            Question(dag.both(slow_start, faster), "slow start grows cwnd by more than acked"),
            Question(
                dag.both(dag.equal(limited, dag.const(0)), dag.less(cwnd, after)),
                "cwnd grows though it did not limit the sender",
            ),
        ]
    if of.name == "cong_control":
        most = dag.add(
            _largest(of, [cwnd, of.before["w.prior_cwnd"], dag.const(_LEAST_CONTROLLED)]), acked, 64
        )
        return [Question(dag.less(most, after), "cwnd grows above max(cwnd, prior_cwnd, 4) + acked")]
    return None


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
