"""The set of criteria."""

from __future__ import annotations

from collections.abc import Sequence

from cwnd._common.errors import error, one_line
from cwnd._evaluate.criteria import alone, general, mixed, special, suites
from cwnd._evaluate.criterion import Criterion

#: Another number stands for other scenarios, metrics or rules: reports with the same number are comparable.
VERSION = "1"


def criteria(quick: bool, only: Sequence[str] = ()) -> list[Criterion]:
    """The criteria in the order of RFC 9743, those of other documents last; with `only`, those ids alone.

    Raises `Error` if an id is unknown.
    """
    every = [one for part in (alone, mixed, general, special, suites) for one in part.criteria(quick)]
    known = [one.id for one in every]
    for name in only:
        if name not in known:
            raise error("only", f"'{one_line(name)}' is not a criterion; there are {', '.join(known)}")
    return [one for one in every if not only or one.id in only]
