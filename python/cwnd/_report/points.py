"""The points of a sweep: the swept values, as labels and as numbers with units."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cwnd._common.errors import error
from cwnd._common.rows import distinct_algorithms, flow_algorithms
from cwnd._common.text import exponent
from cwnd._scenario.facts import bottleneck, rtt_ms

if TYPE_CHECKING:
    from cwnd._common.shapes import Json, ScenarioJson, Values
    from cwnd._report.source import Source


class Axis(NamedTuple):
    """A swept key with a number at every point that has one."""

    key: str
    name: str
    unit: str

    @property
    def label(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def describe(self, value: float) -> str:
        """The axis at a value, for the title of a panel."""
        if self.name == _NAMES["per"]:
            return f"PER {exponent(value)}" if value else "no random loss"
        return f"{self.name} {number(value)} {self.unit}".rstrip()


class Point(NamedTuple):
    """A scenario of a sweep: its line's label and its numbers by axis."""

    scenario: ScenarioJson
    label: str
    variant: str
    numbers: dict[str, float]


class Points(NamedTuple):
    points: list[Point]
    axes: list[Axis]


#: The names of axes, by the last part of their key.
_NAMES = {"per": "packet error rate", "delay": "one-way delay", "count": "flows", "packet": "payload"}
#: Units of numbers that are written without one.
_PLAIN = {"buffer": "packets", "packet": "bytes"}
_UNITS = {
    "bps": ("Mbit/s", 1e-6),
    "bit": ("Mbit/s", 1e-6),
    # In the spellings of the reader.
    **{
        f"{prefix}{ending}": ("Mbit/s", factor)
        for prefixes, factor in (("kK", 1e-3), ("mM", 1.0), ("gG", 1e3), ("tT", 1e6))
        for prefix in prefixes
        for ending in ("", "bps", "bit", "bits", "bit/s", "bits/s", "b/s")
    },
    "ns": ("ms", 1e-6),
    "us": ("ms", 1e-3),
    "µs": ("ms", 1e-3),
    "ms": ("ms", 1.0),
    "s": ("ms", 1e3),
    "BDP": ("BDP", 1.0),
    "packet": ("packets", 1.0),
    "packets": ("packets", 1.0),
    "bytes": ("bytes", 1.0),
}
_QUANTITY = re.compile(r"([-+]?\d+(?:[._]\d+)*(?:[eE][-+]?\d+)?)\s*([A-Za-zµ/]*)")


def values_of(results: Source) -> list[Values]:
    """The swept values per scenario: as the sweep gives them, else the values that differ."""
    swept = getattr(results, "values", None)
    if swept and any(swept):
        return [dict(values) for values in swept]
    return _differing([_understood(scenario) for scenario in results.scenarios])


def points_of(results: Source, names: Sequence[str]) -> Points:
    """The points of the named scenarios."""
    values = values_of(results)
    scenarios = results.scenarios
    keys = list(dict.fromkeys(key for own in values for key in own))
    numbers: dict[str, list[float | None]] = {}
    units: dict[str, str] = {}
    words: list[str] = []
    for key in keys:
        column = [own.get(key) for own in values]
        read = _numbers(key, column, scenarios)
        if read is None:
            words.append(key)
        else:
            numbers[key], units[key] = read
    labels = ["+".join(distinct_algorithms(one)) for one in scenarios]
    variants = [""] * len(scenarios)
    for key in words:
        texts = [_text(own.get(key)) for own in values]
        if not _follows(list(zip(labels, variants, strict=True)), texts):
            variants = [
                f"{known}, {text}" if known else text for known, text in zip(variants, texts, strict=True)
            ]
    chosen = [index for index, one in enumerate(scenarios) if one["name"] in set(names)]
    points = [
        Point(
            scenarios[index],
            f"{labels[index]}, {variants[index]}" if variants[index] else labels[index],
            variants[index],
            {key: number for key, column in numbers.items() if (number := column[index]) is not None},
        )
        for index in chosen
    ]
    lasts = [key.rpartition(".")[2] for key in numbers]
    axes = []
    for key in numbers:
        if len({point.numbers.get(key) for point in points} - {None}) > 1:
            last = key.rpartition(".")[2]
            name = _NAMES.get(last, last.replace("_", " ")) if lasts.count(last) == 1 else key
            axes.append(Axis(key, name, units[key]))
    return Points(points, axes)


def chosen_axes(swept: Points, over: Sequence[str] | None, at_least: int, at_most: int) -> list[Axis]:
    """The axes that a figure needs, the one with the most values first; or the axes of `over`.

    Omits an axis that follows from another one, such as the second list of a [[sweep.zip]].
    """
    points, axes = swept
    if over is None:
        order = sorted(axes, key=lambda axis: -len({point.numbers.get(axis.key) for point in points}))
    else:
        order = [_named(key, axes) for key in over]
        order += [axis for axis in axes if axis not in order]
    kept: list[Axis] = []
    for axis in order:
        known = [(point.label, *(point.numbers.get(other.key) for other in kept)) for point in points]
        if not _follows(known, [point.numbers.get(axis.key) for point in points]):
            kept.append(axis)
    if len(kept) < at_least:
        needed = "a numeric value" if at_least == 1 else "two numeric values"
        raise error("scenarios", f"{needed} must differ between the scenarios; there is nothing to draw over")
    if len(kept) > at_most:
        more = ", ".join(axis.key for axis in kept[at_most:])
        raise error("scenarios", f"{more}: also swept; choose the scenarios with one of its values")
    return kept


def number(value: float) -> str:
    """At most four digits: 6400, 0.05, 1e-5."""
    return exponent(float(f"{value:.4g}"))


def _named(key: str, axes: list[Axis]) -> Axis:
    for axis in axes:
        if key in (axis.key, axis.key.rpartition(".")[2]):
            return axis
    there = ", ".join(axis.key for axis in axes) or "none"
    raise error("over", f"{key!r} is not a swept numeric value; there are {there}")


def _follows(known: Iterable[object], values: Iterable[object]) -> bool:
    """Returns true if `values` is a function of `known`."""
    seen: dict[object, object] = {}
    return all(seen.setdefault(left, right) == right for left, right in zip(known, values, strict=True))


def _numbers(
    key: str, column: Sequence[Json], scenarios: list[ScenarioJson]
) -> tuple[list[float | None], str] | None:
    """The column in one unit, None where there is no number; None if it is not a column of numbers."""
    last = key.rpartition(".")[2]
    read = [_quantity(value, _PLAIN.get(last, "")) for value in column]
    units = {quantity[1] for quantity in read if quantity is not None}
    if len(units) == 1 and len({quantity for quantity in read if quantity is not None}) > 1:
        return [None if quantity is None else quantity[0] for quantity in read], units.pop()
    if len(units) > 1 and last in _UNDERSTOOD:
        return _numbers(key, [_UNDERSTOOD[last](scenario) for scenario in scenarios], scenarios)
    return None


def _quantity(value: Json, plain: str) -> tuple[float, str] | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), plain
    matched = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if matched is None or (matched[2] and matched[2] not in _UNITS):
        return None
    try:
        amount = float(matched[1])
    except ValueError:
        return None
    unit, factor = _UNITS.get(matched[2], (plain, 1.0))
    return float(f"{amount * factor:.12g}"), unit


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


#: Values that can be read from a scenario in place of a swept value.
_UNDERSTOOD: dict[str, Callable[[ScenarioJson], Json]] = {
    "cca": lambda scenario: "+".join(distinct_algorithms(scenario)),
    "buffer": lambda scenario: "unlimited" if bottleneck(scenario)[1] is None else bottleneck(scenario)[1],
    "per": lambda scenario: bottleneck(scenario)[2],
    "rate": lambda scenario: f"{bottleneck(scenario)[0]} bps",
    "delay": lambda scenario: f"{rtt_ms(scenario) / 2:.9g} ms",
    "count": lambda scenario: len(scenario["flows"]),
    "profile": lambda scenario: scenario["flows"][0]["stack"]["profile"],
}
_KEYS = {"cca": "flows.cca", "count": "flows.count", "profile": "stack.profile"}


def _understood(scenario: ScenarioJson) -> Values:
    return {_KEYS.get(last, f"dumbbell.{last}"): read(scenario) for last, read in _UNDERSTOOD.items()}


def _differing(values: list[Values]) -> list[Values]:
    constant = {key for key in values[0] if len({own[key] for own in values}) == 1} if values else set()
    return [{key: value for key, value in own.items() if key not in constant} for own in values]


def flow_labels(point: Point) -> list[str]:
    """The label of each flow."""
    label = {name: _label(point, name) for name in distinct_algorithms(point.scenario)}
    return [label[name] for name in flow_algorithms(point.scenario)]


def flows_by_label(point: Point) -> dict[str, int]:
    """How many flows have each label."""
    counts = Counter(flow_algorithms(point.scenario))
    return {_label(point, name): count for name, count in counts.items()}


def _label(point: Point, name: str) -> str:
    return f"{name}, {point.variant}" if point.variant else name
