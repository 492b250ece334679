"""Connections of an answer: one by its number, and all as text with a table of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict, TypeVar

from cwnd._common.errors import error


class Numbered(TypedDict):
    """A connection of any answer, as far as it is needed here."""

    number: int


_Connection = TypeVar("_Connection", bound=Numbered)

#: Rows of the table of connections, at most.
_ROWS = 20


def numbered(connections: Sequence[_Connection], number: int, has: str) -> _Connection:
    """The connection with this number; `has` introduces the numbers that there are in the error."""
    for connection in connections:
        if connection["number"] == number:
            return connection
    reported = sorted(connection["number"] for connection in connections)
    limits = f"1 to {reported[-1]}" if reported else "none"
    raise error("connection", f"there is no {number} ({has} {limits})")


def overview(
    first: str,
    connections: Sequence[_Connection],
    count: int,
    table: Callable[[Sequence[_Connection]], list[str]],
    notes: Sequence[str],
) -> str:
    """The answer about the first of `count` connections, a table if there are more, and notes."""
    parts = [first]
    if count > 1:
        shown = connections[:_ROWS]
        intro = f"{count} connections, by bytes; above is the first, --connection N shows another:"
        left = [f"and {count - len(shown)} more"] if count > len(shown) else []
        parts.append("\n".join([intro, "", *table(shown), *left]))
    if notes:
        parts.append("\n".join(notes))
    return "\n\n".join(parts)
