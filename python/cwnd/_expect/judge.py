"""Verdict on one expectation over one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cwnd._common.text import digits
from cwnd._expect.sources import Moment, Series, Source, UnseenError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cwnd._common.shapes import ExpectationJson

PASS, FAIL, UNSEEN = "pass", "fail", "cannot be seen"


class Verdict(NamedTuple):
    """A verdict and the value that it is on, in words."""

    verdict: str
    found: str


class Span(NamedTuple):
    """The part of a run in which a quantity is expected, ends included."""

    from_s: float
    to_s: float
    #: The smoothed RTT at its beginning; None: it begins with no event.
    round_s: float | None
    #: The row of the record with that event.
    row: int = 0


class _NothingError(Exception):
    """The run lacks what the expectation is about, in words: it fails."""


def judge(expectation: ExpectationJson, source: Source) -> Verdict:
    """Decides an expectation on one run."""
    try:
        if expectation["kind"] == "metric":
            return _bounded(expectation, source.metric(expectation))
        if expectation["kind"] == "event":
            return _judge_events(expectation, source)
        return _judge_series(expectation, source)
    except UnseenError as unseen:
        return Verdict(UNSEEN, str(unseen))
    except _NothingError as nothing:
        return Verdict(FAIL, str(nothing))


def _bounded(expectation: ExpectationJson, value: float, where: str = "") -> Verdict:
    is_low = "at_least" in expectation and value < expectation["at_least"]
    is_high = "at_most" in expectation and value > expectation["at_most"]
    return Verdict(FAIL if is_low or is_high else PASS, f"{digits(value)}{where}")


def _judge_events(expectation: ExpectationJson, source: Source) -> Verdict:
    flow, kind = expectation["flow"], expectation["name"]
    span = _span(expectation, source)
    events = [one for one in source.events(flow, kind) if span.from_s <= one.time_s <= span.to_s]
    if expectation["statistic"] == "count":
        times = ", ".join(f"{digits(one.time_s)} s" for one in events[:3])
        more = ", ..." if len(events) > 3 else ""
        return _bounded(expectation, len(events), f" ({times}{more})" if events else "")
    number = 1 if "after" in expectation else expectation.get("number", 1)
    if len(events) < number:
        raise _NothingError(f"{len(events)} of {number} events '{kind}'")
    return _bounded(expectation, events[number - 1].time_s)


def _span(expectation: ExpectationJson, source: Source) -> Span:
    from_s = expectation.get("from_ns", 0) / 1e9
    to_s = expectation["to_ns"] / 1e9 if "to_ns" in expectation else float("inf")
    if "after" not in expectation:
        return Span(from_s, to_s, None)
    if "flow" not in expectation:
        raise UnseenError("events are of a flow, and this expectation is of a link")
    event = _event(expectation, source)
    rounds = expectation.get("rounds")
    end_s = to_s if rounds is None else event.time_s + rounds * event.round_s
    return Span(event.time_s, end_s, event.round_s, event.row)


def _event(expectation: ExpectationJson, source: Source) -> Moment:
    """The event with which the span begins."""
    number, kind = expectation.get("number", 1), expectation["after"]
    events = source.events(expectation["flow"], kind)
    if len(events) < number:
        raise _NothingError(f"{len(events)} of {number} events '{kind}'")
    return events[number - 1]


def _judge_series(expectation: ExpectationJson, source: Source) -> Verdict:
    series = source.series(expectation)
    if "at_ns" in expectation:
        moment = expectation["at_ns"] / 1e9
        times, values = _within(series, Span(moment, moment, None))
        return _bounded(expectation, float(values[-1]), f" at {digits(moment)} s")
    span = _span(expectation, source)
    times, values = _within(series, span)
    if "never" in expectation:
        return _judge_direction(expectation, times, values)
    if expectation["statistic"] == "every":
        return _judge_every(expectation, times, values)
    return _bounded(expectation, _statistic(expectation["statistic"], times, values, span))


def _within(series: Series, span: Span) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rows of a span; the value at its beginning is that of the last row before."""
    first = int(series.time_s.searchsorted(span.from_s, side="left"))
    last = int(series.time_s.searchsorted(span.to_s, side="right"))
    if series.rows is not None and span.round_s is not None:
        first = int(series.rows.searchsorted(span.row, side="right")) - 1
    elif first > 0 and (first >= len(series.time_s) or series.time_s[first] > span.from_s):
        first -= 1
    first = max(first, 0)
    if last <= first:
        raise _NothingError("no value in that span")
    return series.time_s[first:last], series.values[first:last]


def _judge_every(
    expectation: ExpectationJson, times: NDArray[np.float64], values: NDArray[np.float64]
) -> Verdict:
    for place in (int(values.argmin()), int(values.argmax())):
        made = _bounded(expectation, float(values[place]), f" at {digits(float(times[place]))} s")
        if made.verdict == FAIL:
            return made
    return Verdict(PASS, f"{digits(float(values.min()))} to {digits(float(values.max()))}")


def _judge_direction(
    expectation: ExpectationJson, times: NDArray[np.float64], values: NDArray[np.float64]
) -> Verdict:
    steps = values[1:] - values[:-1]
    wrong = steps < 0 if expectation["never"] == "falls" else steps > 0
    if wrong.any():
        place = int(wrong.argmax())
        before, after = digits(float(values[place])), digits(float(values[place + 1]))
        return Verdict(FAIL, f"{before} to {after} at {digits(float(times[place + 1]))} s")
    return Verdict(PASS, f"{digits(float(values[0]))} to {digits(float(values[-1]))}")


def _statistic(name: str, times: NDArray[np.float64], values: NDArray[np.float64], span: Span) -> float:
    first, last = float(values[0]), float(values[-1])
    if name == "mean":
        return _mean(times, values, span)
    if name == "ratio":
        if first == 0:
            raise _NothingError("the first value is 0: there is no ratio")
        return last / first
    if name == "largest_rise":
        return float((values[1:] - values[:-1]).max()) if len(values) > 1 else 0.0
    if name == "rise_per_round":
        if not span.round_s:
            raise UnseenError("a round is a smoothed RTT at an event: give 'after', too")
        elapsed_s = float(times[-1]) - span.from_s
        return (last - first) / (elapsed_s / span.round_s) if elapsed_s > 0 else 0.0
    return {"min": float(values.min()), "max": float(values.max()), "first": first, "last": last}[name]


def _mean(times: NDArray[np.float64], values: NDArray[np.float64], span: Span) -> float:
    """The mean over time: each value lasts until the next row, the last until the end of the span."""
    import numpy as np

    end = span.to_s if span.to_s != float("inf") else float(times[-1])
    edges = np.append(np.maximum(times, span.from_s), end)
    lasts = np.diff(edges)
    return float((values * lasts).sum() / lasts.sum()) if lasts.sum() > 0 else float(values.mean())
