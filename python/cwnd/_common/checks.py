"""Checks of arguments that many calls share."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import SupportsIndex, TypeVar

from cwnd._common.errors import error, one_line

Given = TypeVar("Given")


def mapping(name: str, given: Mapping[str, Given]) -> Mapping[str, Given]:
    """Returns `given`; a TypeError if it is not a mapping from names."""
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise TypeError(f"{name}: {one_line(repr(given))} is not a mapping from names")
    return given


def whole(name: str, value: SupportsIndex, low: int, high: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise error(name, f"{one_line(str(value))} is not a whole number; {low} to {high}") from None
    if not low <= number <= high:
        raise error(name, f"{number} is out of range; {low} to {high}")
    return number
