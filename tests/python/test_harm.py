"""Harm, fairness, convergence and starvation beside examples worked by hand; intervals that cover."""

from __future__ import annotations

import math
import random

import pytest

import cwnd
from cwnd._analysis.harm import (
    STARVED_BELOW,
    delta_fair_time_s,
    epsilon_fairness,
    estimate,
    harm,
    harm_by_seed,
    least_share,
)


def test_harm_of_a_rate_is_the_part_that_is_gone() -> None:
    # 10 Mbit/s alone, 4 in competition: 6 of 10 are gone.
    assert harm(10, 4) == pytest.approx(0.6)
    assert harm(10, 10) == 0
    assert harm(10, 0) == 1
    assert harm(10, 12) == pytest.approx(-0.2)


def test_harm_of_a_delay_or_a_loss_is_the_part_that_was_added() -> None:
    # 20 ms alone, 50 in competition: 30 of 50 are due to the other.
    assert harm(20, 50, more_is_better=False) == pytest.approx(0.6)
    assert harm(0, 0.01, more_is_better=False) == 1
    assert harm(50, 40, more_is_better=False) == pytest.approx(-0.25)


def test_where_nothing_can_be_lost_there_is_no_harm() -> None:
    assert harm(0, 0) == 0
    assert harm(0, 5) == 0
    assert harm(0, 0, more_is_better=False) == 0


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_a_value_that_no_metric_has_is_refused(wrong: float) -> None:
    with pytest.raises(cwnd.Error, match="at least 0"):
        harm(wrong, 1)
    with pytest.raises(cwnd.Error, match="at least 0"):
        harm(1, wrong)


def test_harm_over_seeds_is_the_harm_of_the_means() -> None:
    # Means 10 and 6: harm 0.4. y - 0.6 x is 0, 1.2, -1.2 for the seeds, over 10: 0, 0.12, -0.12.
    values = harm_by_seed([10, 8, 12], [6, 6, 6])
    assert values == pytest.approx([0.4, 0.28, 0.52])
    # t(0.975, 2) = 4.3027; the standard deviation is 0.12.
    half = 4.3027 * 0.12 / math.sqrt(3)
    assert estimate(values) == pytest.approx((0.4, 0.4 - half, 0.4 + half), abs=1e-5)
    # An equal proportion in every seed leaves no doubt.
    assert estimate(harm_by_seed([10, 8, 12], [5, 4, 6])) == pytest.approx((0.5, 0.5, 0.5))


def test_one_seed_has_an_infinite_interval() -> None:
    assert estimate([3.0]) == (3.0, -math.inf, math.inf)
    assert estimate([3.0, 3.0]) == (3.0, 3.0, 3.0)


@pytest.mark.parametrize("seeds", [([], []), ([1.0], [1.0, 2.0])])
def test_seeds_without_a_partner_are_refused(seeds: tuple[list[float], list[float]]) -> None:
    with pytest.raises(cwnd.Error, match="seeds beside"):
        harm_by_seed(*seeds)


@pytest.mark.parametrize(("seeds", "more_is_better"), [(5, True), (10, True), (10, False)])
def test_intervals_of_harm_cover_the_true_one_in_95_of_100(seeds: int, more_is_better: bool) -> None:
    draws = random.Random(seeds)
    # Seeds have easy and hard conditions (common), and noise of their own.
    truth = 0.3 if more_is_better else 0.25
    covered = 0
    for _ in range(1000):
        common = [draws.gauss(1, 0.1) for _ in range(seeds)]
        alone = [10 * c * draws.gauss(1, 0.05) for c in common]
        factor = 0.7 if more_is_better else 4 / 3
        shared = [10 * factor * c * draws.gauss(1, 0.05) for c in common]
        found = estimate(harm_by_seed(alone, shared, more_is_better))
        covered += found.low <= truth <= found.high
    # Four standard deviations of a binomial with 1,000 draws and 95 %.
    assert 922 <= covered <= 978


def test_intervals_of_a_difference_of_harms_cover_zero_when_both_are_the_same() -> None:
    draws = random.Random(1)
    covered = 0
    for _ in range(1000):
        alone = [10 * draws.gauss(1, 0.1) for _ in range(8)]
        first = harm_by_seed(alone, [0.5 * x * draws.gauss(1, 0.1) for x in alone])
        second = harm_by_seed(alone, [0.5 * x * draws.gauss(1, 0.1) for x in alone])
        found = estimate([a - b for a, b in zip(first, second, strict=True)])
        covered += found.low <= 0 <= found.high
    assert 922 <= covered <= 978


def test_epsilon_fairness_is_the_least_over_the_largest() -> None:
    assert epsilon_fairness([2, 4, 3]) == 0.5
    assert epsilon_fairness([5, 5]) == 1
    assert epsilon_fairness([0, 0]) == 0


def test_a_newcomer_is_delta_fair_when_it_first_has_its_share() -> None:
    # Shares of 0.2, 0.4, 0.45, 0.5 in intervals that end at 12, 14, 18 and 20 s; it starts at 10 s.
    ends, new, old = [12, 14, 18, 20], [2, 4, 4.5, 5], [8, 6, 5.5, 5]
    assert delta_fair_time_s(ends, new, old, start_s=10) == 8
    assert delta_fair_time_s(ends, new, old, start_s=10, delta=0.2) == 4
    assert delta_fair_time_s(ends, new, old, start_s=10, delta=0.01) == 10
    assert delta_fair_time_s(ends[:2], new[:2], old[:2], start_s=10) is None


def test_delta_fair_time_of_additive_increase_is_what_one_calculates() -> None:
    # Two AIMD flows without queues: windows grow by 1 in a round, both halve when they sum up to 100.
    # The difference halves at each cut, from 98 (99 and 1): shares are within 0.1 once it is below 10,
    # after four cuts (98, 49, 24.5, 12.25, 6.125).
    old, new, ends, cuts = [99.0], [1.0], [0], []
    for second in range(1, 400):
        a, b = old[-1] + 1, new[-1] + 1
        if a + b > 100:
            a, b = a / 2, b / 2
            cuts.append(second)
        old.append(a)
        new.append(b)
        ends.append(second)
    found = delta_fair_time_s(ends, new, old)
    assert found is not None
    differences = [abs(a - b) / (a + b) for a, b in zip(old, new, strict=True)]
    assert found == next(second for second, d in zip(ends, differences, strict=True) if d <= 0.1)
    assert cuts[3] <= found <= cuts[4]


def test_a_flow_with_less_than_a_tenth_of_an_equal_share_is_starved() -> None:
    # 19 and 1: an equal share is 10, the second has a tenth of it.
    assert least_share([19, 1]) == pytest.approx(0.1)
    assert least_share([19.5, 0.5]) < STARVED_BELOW
    assert least_share([5, 5]) == 1
    # 0.4 where a flow of its own kind would have had 5.
    assert least_share([0.4], equal=5) == pytest.approx(0.08)
