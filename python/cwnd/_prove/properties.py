"""The properties, as conditions of a hook that no event may make true."""

from __future__ import annotations

from typing import NamedTuple

from cwnd._prove.dag import Node
from cwnd._prove.model import Model

#: What is proved, in the order of the tables.
PROPERTIES = {
    "division": "no division by zero, no shift by the width or more",
    "window": "1 <= cwnd <= cwnd_clamp",
    "growth": "cwnd grows by at most the segments acknowledged in slow start, and not if it is not the limit",
    "ssthresh": "2 <= ssthresh <= max(cwnd, 2)",
    "wrap": "no product and no sum wraps",
}

#: Text of a source line on which a sum or a product is meant to wrap.
_MEANT = "wraps"


class Question(NamedTuple):
    """`wrong` must not be true of any event; `where` says what that would be."""

    wrong: Node
    where: str


def questions(of: Model, name: str) -> list[Question] | None:
    """The questions of a property, or `None` if it says nothing of this hook."""
    if name == "division":
        return _risks(of, ("division", "shift"))
    if name == "wrap":
        return _risks(of, ("product", "sum"))
    if name == "window":
        return _window(of)
    if name == "growth":
        return _growth(of)
    return _ssthresh(of) if of.name == "ssthresh" else None


def _risks(of: Model, kinds: tuple[str, ...]) -> list[Question]:
    return [
        Question(of.dag.both(risk.path, risk.wrong), f"{risk.kind}: {risk.line}")
        for risk in of.risks
        if risk.kind in kinds and not (name_is_wrap(risk.kind) and (risk.in_loop or _MEANT in risk.line))
    ]


def name_is_wrap(kind: str) -> bool:
    return kind in ("product", "sum")


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
        prior = of.before["w.prior_cwnd"]
        most = dag.add(dag.ite(dag.less(cwnd, prior), prior, cwnd), acked, 64)
        return [Question(dag.less(most, after), "cwnd grows above max(cwnd, prior_cwnd) + acked")]
    return None


def _ssthresh(of: Model) -> list[Question]:
    dag, cwnd, made = of.dag, of.before["w.cwnd"], of.after["result"]
    two = dag.const(2)
    most = dag.ite(dag.less(cwnd, two), two, cwnd)
    return [
        Question(dag.less(made, two), "ssthresh is below 2"),
        Question(dag.less(most, made), "ssthresh is above max(cwnd, 2)"),
    ]
