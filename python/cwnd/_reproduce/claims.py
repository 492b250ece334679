"""Measured values in the form that claims need: series over an axis, differences seed by seed, verdicts.

A paper's `claims.py` has a function for each sentence:

>>> @claim("IV.B.2", "One flow gains up to 22 points of the link over the next best.")
... def single_gain(m):
...     gain = m("fig10b", "elastic") - m.best("fig10b", besides="elastic")
...     return (gain / 10).max().about(22)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cwnd._analysis.gate import interval
from cwnd._common.errors import MissingError
from cwnd._common.text import digits, exponent

if TYPE_CHECKING:
    from cwnd._common.shapes import Json

#: A published number agrees with a mean that is within this share of it.
AGREES_WITHIN = 0.1


class SeedEstimate(NamedTuple):
    """A mean with its 95 % interval (Student's t) and the extremes over the seeds.

    Without randomness every seed gives the same result: there is one run, and the interval has no width. A
    single run with randomness has no interval: `low` and `high` are None.
    """

    mean: float
    low: float | None
    high: float | None
    least: float
    most: float
    n: int

    def agrees(self, published: float) -> bool:
        """The rule: within the 95 % interval, or within 10 % of the mean."""
        inside = self.low is not None and self.high is not None and self.low <= published <= self.high
        return inside or abs(published - self.mean) <= AGREES_WITHIN * abs(self.mean)

    def __str__(self) -> str:
        if self.low is None or self.high is None or self.low == self.high:
            return digits(self.mean)
        return f"{digits(self.mean)} [{digits(self.low)}, {digits(self.high)}]"


class Outcome(NamedTuple):
    """Verdict on a claim, and what was measured."""

    holds: bool
    measured: str


class Quantity:
    """A value for each seed.

    `fixed`: without randomness, one value holds for every seed. `of`: the swept values here.
    """

    def __init__(
        self, by_seed: Mapping[int, float], *, fixed: bool, of: Mapping[str, Json] | None = None
    ) -> None:
        self.by_seed = dict(by_seed)
        self.fixed = fixed
        self.of = dict(of or {})

    @property
    def estimate(self) -> SeedEstimate:
        values = list(self.by_seed.values())
        mean, low, high = interval(values)
        least, most = min(values), max(values)
        if self.fixed:
            return SeedEstimate(values[0], values[0], values[0], least, most, 1)
        if math.isinf(low):
            return SeedEstimate(mean, None, None, least, most, 1)
        return SeedEstimate(mean, low, high, least, most, len(values))

    @property
    def mean(self) -> float:
        return self.estimate.mean

    def above(self, bound: float) -> Outcome:
        """Holds if the whole interval is above."""
        low = self.estimate.low
        return Outcome((self.mean if low is None else low) > bound, str(self))

    def below(self, bound: float) -> Outcome:
        """Holds if the whole interval is below."""
        high = self.estimate.high
        return Outcome((self.mean if high is None else high) < bound, str(self))

    def between(self, low: float, high: float) -> Outcome:
        """Holds if the mean is from `low` to `high`, within the tolerance of `about`."""
        near = low <= self.mean <= high or self.estimate.agrees(low) or self.estimate.agrees(high)
        return Outcome(near, str(self))

    def about(self, published: float) -> Outcome:
        """Holds if the published number agrees (`SeedEstimate.agrees`)."""
        return Outcome(self.estimate.agrees(published), str(self))

    def __str__(self) -> str:
        where = ", ".join(f"{key.rpartition('.')[2]} {_plain(value)}" for key, value in self.of.items())
        return f"{self.estimate} at {where}" if where else str(self.estimate)

    def _with(self, other: Quantity | float, operate: Callable[[float, float], float]) -> Quantity:
        if not isinstance(other, Quantity):
            return Quantity(
                {seed: operate(value, other) for seed, value in self.by_seed.items()},
                fixed=self.fixed,
                of=self.of,
            )
        if self.fixed or other.fixed:
            seeds = (other if self.fixed else self).by_seed
            left = next(iter(self.by_seed.values()))
            right = next(iter(other.by_seed.values()))
            pairs = {
                seed: (
                    left if self.fixed else self.by_seed[seed],
                    right if other.fixed else other.by_seed[seed],
                )
                for seed in seeds
            }
        else:
            both = self.by_seed.keys() & other.by_seed.keys()
            pairs = {seed: (self.by_seed[seed], other.by_seed[seed]) for seed in sorted(both)}
        return Quantity(
            {seed: operate(*pair) for seed, pair in pairs.items()},
            fixed=self.fixed and other.fixed,
            of=self.of,
        )

    def __add__(self, other: Quantity | float) -> Quantity:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Quantity | float) -> Quantity:
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other: Quantity | float) -> Quantity:
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other: Quantity | float) -> Quantity:
        return self._with(other, lambda a, b: a / b if b else math.inf)


def only(value: float) -> Quantity:
    """The value of one run without randomness."""
    return Quantity({1: value}, fixed=True)


#: A point of an axis: a swept value, or one of each of several keys.
Place: TypeAlias = "float | str | tuple[float | str, ...]"


class Series:
    """Quantities over an axis, such as the buffer, in its order."""

    def __init__(self, points: Mapping[Place, Quantity]) -> None:
        if not points:
            raise MissingError
        self.points = dict(points)

    def __iter__(self) -> Iterator[Place]:
        return iter(self.points)

    def at(self, x: Place) -> Quantity:
        """The value at a point of the axis."""
        if x not in self.points:
            raise MissingError
        return self.points[x]

    @property
    def value(self) -> Quantity:
        """The only value of a series without an axis."""
        (quantity,) = self.points.values()
        return quantity

    def only(self, keep: Callable[..., bool]) -> Series:
        """The part of the axis that `keep` accepts."""
        return Series({x: value for x, value in self.points.items() if keep(x)})

    def max(self) -> Quantity:
        """The value with the largest mean."""
        return max(self.points.values(), key=lambda value: value.mean)

    def min(self) -> Quantity:
        """The value with the smallest mean."""
        return min(self.points.values(), key=lambda value: value.mean)

    def above(self, bound: float) -> Outcome:
        """Holds if it is above everywhere; shows the point that is nearest to failing."""
        return self._everywhere([value.above(bound) for value in self.points.values()], self.min())

    def below(self, bound: float) -> Outcome:
        """Holds if it is below everywhere; shows the point that is nearest to failing."""
        return self._everywhere([value.below(bound) for value in self.points.values()], self.max())

    def _everywhere(self, outcomes: list[Outcome], nearest: Quantity) -> Outcome:
        failed = [outcome for outcome in outcomes if not outcome.holds]
        if not failed:
            return Outcome(True, f"{nearest}, the nearest of {len(outcomes)}")
        return Outcome(False, f"{nearest}; not at {len(failed)} of {len(outcomes)}")

    def _with(self, other: Series | Quantity | float, operate: str) -> Series:
        if isinstance(other, Series):
            both = [x for x in self.points if x in other.points]
            return Series({x: getattr(self.points[x], operate)(other.points[x]) for x in both})
        return Series({x: getattr(value, operate)(other) for x, value in self.points.items()})

    def __add__(self, other: Series | Quantity | float) -> Series:
        return self._with(other, "__add__")

    def __sub__(self, other: Series | Quantity | float) -> Series:
        return self._with(other, "__sub__")

    def __mul__(self, other: Series | Quantity | float) -> Series:
        return self._with(other, "__mul__")

    def __truediv__(self, other: Series | Quantity | float) -> Series:
        return self._with(other, "__truediv__")


def _plain(value: object) -> str:
    return exponent(value) if isinstance(value, float) else str(value)


def best(series: Iterable[Series]) -> Series:
    """At each point the value with the largest mean."""
    many = list(series)
    shared = [x for x in many[0].points if all(x in one.points for one in many)]
    return Series({x: max((one.points[x] for one in many), key=lambda value: value.mean) for x in shared})


def every(outcomes: Iterable[Outcome]) -> Outcome:
    """Holds if all outcomes hold."""
    all_of = list(outcomes)
    return Outcome(
        all(outcome.holds for outcome in all_of), "; ".join(outcome.measured for outcome in all_of)
    )


class Claim(NamedTuple):
    """A sentence of a paper, and the comparison it stands for. `why` is shown if it fails."""

    name: str
    where: str
    text: str
    #: Called with a `Measured`.
    test: Callable[..., Outcome]
    why: str | None


def claim(where: str, text: str, *, why: str | None = None) -> Callable[[Callable[..., Outcome]], Claim]:
    """Turns a function into a claim.

    `where` is its place in the paper, `text` the sentence, `why` the reason why it fails, if known.
    """
    return lambda test: Claim(test.__name__, where, text, test, why)
