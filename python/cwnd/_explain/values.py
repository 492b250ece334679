"""Values out of JSON that somebody else wrote: those of another type count as absent."""

from __future__ import annotations

import math
from collections.abc import Mapping


def table(of: object, *keys: str) -> Mapping[str, object]:
    """The object at the end of these keys; empty if there is none."""
    for key in keys:
        of = of.get(key) if isinstance(of, Mapping) else None
    return of if isinstance(of, Mapping) else {}


def items(of: Mapping[str, object], key: str) -> list[object]:
    """A list; empty if there is none."""
    found = of.get(key)
    return found if isinstance(found, list) else []


def number(of: Mapping[str, object], *keys: str) -> float | None:
    """A finite number under the first of these keys that has one."""
    for key in keys:
        found = of.get(key)
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            try:
                value = float(found)
            except OverflowError:
                continue
            if math.isfinite(value):
                return value
    return None


def text(of: Mapping[str, object], key: str) -> str | None:
    """A text that is not empty."""
    found = of.get(key)
    return found if isinstance(found, str) and found else None
