"""Verdict on one expectation over one run, which `crates/results/src/expect` decides."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from cwnd import _cwnd
from cwnd._expect.sources import Source, UnseenError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cwnd._common.shapes import ExpectationJson

    T = TypeVar("T")

PASS, FAIL, UNSEEN = "pass", "fail", "cannot be seen"


class Verdict(NamedTuple):
    """A verdict, the value that it is on and the expectation, in words."""

    verdict: str
    found: str
    expected: str


def judge(expectation: ExpectationJson, source: Source) -> Verdict:
    """Decides an expectation on one run."""
    return Verdict(
        *_cwnd.judge(
            json.dumps(expectation),
            lambda: _or_reason(partial(source.metric, expectation)),
            lambda: _or_reason(partial(_columns, expectation, source)),
            lambda flow, kind: _or_reason(partial(_moments, source, flow, kind)),
        )
    )


def _or_reason(show: Callable[[], T]) -> T | str:
    try:
        return show()
    except UnseenError as unseen:
        return str(unseen)


def _columns(expectation: ExpectationJson, source: Source) -> tuple[bytes, bytes, bytes | None]:
    series = source.series(expectation)
    rows = None if series.rows is None else series.rows.astype("<u8").tobytes()
    return _bytes(series.time_s), _bytes(series.values), rows


def _moments(source: Source, flow: int, kind: str) -> list[tuple[float, float, int]]:
    return [(one.time_s, one.round_s, one.row) for one in source.events(flow, kind)]


def _bytes(values: NDArray[np.float64]) -> bytes:
    return values.astype("<f8", copy=False).tobytes()
