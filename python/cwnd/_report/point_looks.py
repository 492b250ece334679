"""The looks of the points of a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cwnd._report.looks import Look, algorithms_label, looks_of
from cwnd._report.points import Point, flows_by_label, points_of

if TYPE_CHECKING:
    from cwnd._report.source import Source


def all_looks(results: Source, points: Iterable[Point]) -> dict[str, Look]:
    """The looks of the flows' algorithms come first, so that they are the same in every figure."""
    every = points_of(results, [one["name"] for one in results.scenarios]).points if points else []
    return looks_of(
        results.scenarios,
        [
            *map(algorithms_label, results.scenarios),
            *(point.label for point in every),
            *(label for point in every for label in flows_by_label(point)),
        ],
    )
