"""Causes that explain a published value's difference, and points that a reading runs."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from cwnd._reproduce import judge, measure
from cwnd._reproduce import paper as paper_reader
from cwnd._reproduce.claims import SeedEstimate


def _cause_of(mean: float, printed: str, **says: Any) -> str | None:
    cause = paper_reader.Cause("why", {}, says.get("reading"), says.get("within"), says.get("tested"))
    measured: Any = SimpleNamespace(paper=SimpleNamespace(causes=[cause]))
    item: Any = SimpleNamespace(name="table")
    ours = SeedEstimate(mean, mean, mean, mean, mean, 1)
    return judge._cause(measured, item, {"value": printed}, float(printed), ours)


@pytest.mark.parametrize(
    ("mean", "printed"), [(0.0033, "0.00"), (0.0132, "0.01"), (2.4, "2"), (0.055, "0.06")]
)
def test_a_value_that_the_mean_rounds_to_is_explained_by_rounding(mean: float, printed: str) -> None:
    assert _cause_of(mean, printed, within="rounding") == "why"


@pytest.mark.parametrize(("mean", "printed"), [(0.0151, "0.01"), (0.0033, "0.000"), (2.6, "2")])
def test_a_value_that_the_mean_does_not_round_to_is_not(mean: float, printed: str) -> None:
    assert _cause_of(mean, printed, within="rounding") is None


def test_a_reading_runs_the_points_that_it_is_limited_to() -> None:
    paper = paper_reader.load("high-speed-comparison")
    points = measure.plan(measure.select(paper, seeds=1)).points
    for name, reading in paper.readings.items():
        for key, own in reading.only.items():
            assert {point.values[key] for point in points if point.values["reading"] == name} == set(own)


def test_packets_in_flight_at_the_end_are_missing() -> None:
    flows = [
        {"sent_pkts": 60, "delivered_pkts": 57},
        {"sent_pkts": 40, "delivered_pkts": 38},
    ]
    assert measure._OF_FLOWS["missing_percent"](flows) == pytest.approx(5)


@pytest.mark.parametrize(
    ("waits_ms", "index"), [([1, 3], 16 / 20), ([2, 2], 1), ([0, 5], 1 / 2), ([0, None], None)]
)
def test_rtt_fairness_is_the_index_of_the_queueing_delays(waits_ms: list[float | None], index: float) -> None:
    # Jain's index by hand: (1 + 3)^2 / (2 (1 + 9)).
    flows: Any = [
        {"mean_rtt_ms": None if wait is None else base + wait}
        for wait, base in zip(waits_ms, [204.0, 104.0], strict=True)
    ]
    found = measure.queueing_jain(flows, [204.0, 104.0])
    assert found == pytest.approx(index) if index is not None else math.isnan(found)
