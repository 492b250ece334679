"""Effects of flows on each other: harm, fairness, the time until they share, starvation.

Sources: R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry, "Beyond Jain's Fairness Index: Setting the Bar for the
Deployment of Congestion Control Algorithms", HotNets 2019; RFC 5166, sections 2.6 (fairness) and 2.7
(convergence).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from cwnd._analysis.gate import interval
from cwnd._common.errors import error

#: A flow with less than this part of an equal share is starved.
STARVED_BELOW = 0.1


class Estimate(NamedTuple):
    """A mean over seeds, and its 95 % interval (Student's t); infinite for one seed."""

    mean: float
    low: float
    high: float


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of `values`, one per seed, with its interval."""
    return Estimate(*interval(values))


def harm(alone: float, shared: float, more_is_better: bool = True) -> float:
    """The part of a metric that competition takes: 0 is none, 1 is all, less than 0 is a gain (Ware et al.).

    (x - y) / x where more is better (a rate), (y - x) / y where less is (a delay, a loss); x is the value of
    a flow `alone`, y the one in competition (`shared`). Where there is nothing to lose (0 / 0) there is no
    harm.

    Raises `Error` if a value is negative or not finite.
    """
    for name, value in (("alone", alone), ("shared", shared)):
        if not (math.isfinite(value) and value >= 0):
            raise error(name, f"{value} is not a finite number of at least 0")
    good, bad = (alone, shared) if more_is_better else (shared, alone)
    if good == 0:
        return 0.0 if bad == 0 or more_is_better else -math.inf
    return (good - bad) / good


def harm_by_seed(alone: Sequence[float], shared: Sequence[float], more_is_better: bool = True) -> list[float]:
    """A value for each seed, whose mean is the harm of the means; `estimate` of them has the interval.

    A harm is 1 less a ratio of means, r. As usual for ratios (Cochran, Sampling Techniques, 6.3), its error
    is that of the mean of y - r x, seed by seed, over the mean of x: seeds where both are large add nothing.
    Harms of two newcomers with the same seeds are compared by the differences of these values.

    Args:
        alone, shared: One value per seed, in the same order.

    Raises `Error` if there are no seeds, or not as many of both.
    """
    if not alone or len(alone) != len(shared):
        raise error("shared", f"{len(shared)} seeds beside {len(alone)} alone; at least one, and as many")
    n = len(alone)
    mean = harm(math.fsum(alone) / n, math.fsum(shared) / n, more_is_better)
    good, bad = (alone, shared) if more_is_better else (shared, alone)
    of = math.fsum(good) / n
    if of == 0:
        return [mean] * n
    return [mean - (b - (1 - mean) * g) / of for g, b in zip(good, bad, strict=True)]


def jain_index(shares: Sequence[float]) -> float:
    """Jain's index of shares: 1 if all are equal, 1 / n if one has all, 0 if there is nothing to share."""
    squares = sum(share**2 for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


def epsilon_fairness(rates: Sequence[float]) -> float:
    """The least rate over the largest: shares are epsilon-fair if it is at least 1 - epsilon (RFC 5166, 2.6).

    0 if no flow has a rate.
    """
    largest = max(rates)
    return min(rates) / largest if largest > 0 else 0.0


def delta_fair_time_s(
    ends_s: Sequence[float],
    newcomer: Sequence[float],
    incumbent: Sequence[float],
    *,
    start_s: float = 0.0,
    delta: float = 0.1,
) -> float | None:
    """The time from a newcomer's start until it has a share of (1 - delta) / 2 (RFC 5166, 2.7); None: never.

    Two flows of the same kind share a link; the newcomer begins with next to nothing, and so the incumbent
    has fallen to (1 + delta) / 2 by then.

    Args:
        ends_s: The ends of intervals, increasing, those that end before the start left out.
        newcomer, incumbent: Their rates in each interval.
        start_s: The newcomer's start.
    """
    for end_s, new, old in zip(ends_s, newcomer, incumbent, strict=True):
        if end_s > start_s and new + old > 0 and new / (new + old) >= (1 - delta) / 2:
            return end_s - start_s
    return None


def least_share(rates: Sequence[float], equal: float | None = None) -> float:
    """The least rate as a part of an equal share, which is the mean of `rates` unless it is given.

    Below `STARVED_BELOW` that flow is starved. 0 if there is nothing to share.
    """
    share = math.fsum(rates) / len(rates) if equal is None else equal
    return min(rates) / share if share > 0 else 0.0
