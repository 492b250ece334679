"""Scenarios with a place for the algorithm that is judged, what is measured in them, and rules for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cwnd._common.text import digits

if TYPE_CHECKING:
    from cwnd._common.shapes import FlowRow, LinkRow

#: In a scenario, the name of the algorithm that is judged, or that stands in its place for comparison.
SUBJECT = "SUBJECT"
#: In a scenario, the ECN of the subject: its own if it has one, else classic (RFC 3168).
ECN_OF_SUBJECT = "SUBJECT"
#: Who may stand in the place of the subject, besides algorithms by name.
CANDIDATE, BASELINE = "candidate", "baseline"


class Case(NamedTuple):
    """One scenario: keys as in a scenario file, and its groups of flows, with `SUBJECT` for an algorithm.

    `subjects` are those that it is run with, in turn; none if the subject is not in it.
    """

    name: str
    over: Mapping[str, object]
    groups: Sequence[Mapping[str, object]]
    subjects: tuple[str, ...] = (CANDIDATE, BASELINE)


class Run(NamedTuple):
    """One run: rows of the flows, a list for each group of the scenario, and rows of the links by name."""

    groups: list[list[FlowRow]]
    links: dict[str, LinkRow]

    @property
    def flows(self) -> list[FlowRow]:
        return [flow for group in self.groups for flow in group]


class Rule(NamedTuple):
    """When a value is good enough.

    Either `limit`, which it may not exceed (or not fall below, where more is better), whatever the baseline
    does; or it may be worse than the baseline's by `share` of that or by `amount`, whichever is more, and any
    value as good as `enough` passes.
    """

    share: float = 0.0
    amount: float = 0.0
    enough: float | None = None
    limit: float | None = None

    def words(self, measure: Measure) -> str:
        def with_unit(number: float, unit: str = measure.unit) -> str:
            one = {"packets": "packet", "percentage points": "percentage point"}
            return f"{digits(number)} {one.get(unit, unit) if number == 1 else unit}".rstrip()

        least, below = ("at least", "below") if measure.more_is_better else ("at most", "above")
        if self.limit is not None:
            return f"{measure.name}: {least} {with_unit(self.limit)}"
        points = "percentage points" if measure.unit == "%" else measure.unit
        allowed = [
            *([f"{digits(100 * self.share)} % of it"] if self.share else []),
            *([with_unit(self.amount, points)] if self.amount else []),
        ]
        text = f"{measure.name}: {below} the baseline's by at most {' or '.join(allowed)}"
        if len(allowed) > 1:
            text += ", whichever is more"
        return text if self.enough is None else f"{text}; {least} {with_unit(self.enough)} always passes"


class Measure(NamedTuple):
    """A value of a run; without a rule it is shown and not judged. None: the run has no such value."""

    name: str
    unit: str
    of: Callable[[Run], float | None]
    rule: Rule | None = None
    more_is_better: bool = False


class Part(NamedTuple):
    """Cases, and what is measured in each of them."""

    cases: Sequence[Case]
    measures: Sequence[Measure]


def path(
    rate: object, rtt: str, buffer: int | str, *, duration: str, warmup: str = "0 s", **link: object
) -> dict[str, object]:
    """A dumbbell without flows. `link` has more keys of the bottleneck; a `delay` replaces the RTT."""
    delay = {} if "delay" in link else {"rtt": rtt}
    return {
        "duration": duration,
        "warmup": warmup,
        "dumbbell": {"rate": rate, **delay, "buffer": buffer, **link},
    }


def bulk(cca: str = SUBJECT, count: int = 1, **more: object) -> dict[str, object]:
    """A group of flows; each starts later by a random time, so that seeds differ."""
    return {"cca": cca, "count": count, "start_jitter": "100 ms", **more}


def transfers(size: str, rate_per_s: float, cca: str = SUBJECT) -> dict[str, object]:
    """Transfers of one size that arrive at random."""
    return {"cca": cca, "size": size, "arrivals": {"process": "poisson", "rate": rate_per_s}}


def case(
    name: str,
    over: Mapping[str, object],
    *groups: Mapping[str, object],
    subjects: tuple[str, ...] = (CANDIDATE, BASELINE),
) -> Case:
    return Case(name, over, groups, subjects)
