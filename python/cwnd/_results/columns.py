"""Columns of numbers as bytes, little-endian, as the extension module takes and gives them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: So many numbers of a column, and fewer, are converted one by one. More are converted by NumPy, which takes
#: longer to import than all else of a small run but polars.
_FEW = 4096


def column_of(name: str, data: bytes, kind: pl.DataType) -> pl.Series:
    """The numbers in `data` as a column."""
    import polars as pl

    code = _code(kind)
    count = len(data) // struct.calcsize(f"<{code}")
    if count <= _FEW:
        return pl.Series(name, struct.unpack(f"<{count}{code}", data), kind)
    import numpy as np

    return pl.Series(name, np.frombuffer(data, f"<{_NUMPY[code]}"))


def bytes_of(column: pl.Series) -> bytes:
    """The numbers of a column without gaps."""
    if len(column) <= _FEW:
        return struct.pack(f"<{len(column)}{_code(column.dtype)}", *column)
    return column.to_numpy().tobytes()


_NUMPY = {"d": "f8", "I": "u4", "Q": "u8"}


def _code(kind: pl.DataType) -> str:
    """The type as `struct` names it."""
    import polars as pl

    codes: dict[pl.DataType, str] = {pl.Float64(): "d", pl.UInt32(): "I", pl.UInt64(): "Q"}
    return codes[kind]
