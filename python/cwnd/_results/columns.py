"""Columns as the extension module takes and gives them: numbers as bytes, little-endian, and texts."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, overload

if TYPE_CHECKING:
    import polars as pl

    from cwnd._common.shapes import Cell

#: The columns of some rows by name. A NUL follows each text.
Columns: TypeAlias = "Mapping[str, bytes | str]"

#: Kinds of columns; of numbers, as `struct` names them.
DOUBLE: Final = "d"
WORD: Final = "I"
COUNT: Final = "Q"
TEXT: Final = "text"

#: So many numbers of a column, and fewer, are converted one by one. More are converted by NumPy, which takes
#: longer to import than all else of a small run but polars.
_FEW = 4096

_NUMPY = {DOUBLE: "f8", WORD: "u4", COUNT: "u8"}


def type_of(kind: str) -> pl.DataType:
    """The kind as polars has it."""
    import polars as pl

    types = {DOUBLE: pl.Float64(), WORD: pl.UInt32(), COUNT: pl.UInt64(), TEXT: pl.String()}
    return types[kind]


@overload
def values_of(data: bytes | str, kind: Literal["d"]) -> Sequence[float]: ...
@overload
def values_of(data: bytes | str, kind: Literal["I", "Q"]) -> Sequence[int]: ...
@overload
def values_of(data: bytes | str, kind: str) -> Sequence[Cell]: ...
def values_of(data: bytes | str, kind: str) -> Sequence[Cell]:
    """The numbers or the texts in `data`."""
    if isinstance(data, str):
        return data.split("\0")[:-1]
    return struct.unpack(f"<{_count(data, kind)}{kind}", data)


def column_of(name: str, data: bytes | str, kind: str) -> pl.Series:
    """The numbers or the texts in `data` as a column."""
    import polars as pl

    if isinstance(data, str):
        return pl.Series(name, [data]).str.split("\0").explode()[:-1]
    if _count(data, kind) <= _FEW:
        return pl.Series(name, values_of(data, kind), type_of(kind))
    import numpy as np

    return pl.Series(name, np.frombuffer(data, f"<{_NUMPY[kind]}"))


def bytes_of(column: pl.Series) -> bytes:
    """The numbers of a column without gaps."""
    if len(column) <= _FEW:
        (kind,) = (kind for kind in _NUMPY if type_of(kind) == column.dtype)
        return struct.pack(f"<{len(column)}{kind}", *column)
    return column.to_numpy().tobytes()


def _count(data: bytes, kind: str) -> int:
    return len(data) // struct.calcsize(f"<{kind}")
