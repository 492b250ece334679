"""Columns of numbers as bytes and back: the same for few numbers, without NumPy, and for many, with it."""

from __future__ import annotations

import numpy as np
import pytest

from cwnd._results import columns

KINDS = {"<f8": columns.DOUBLE, "<u4": columns.WORD, "<u8": columns.COUNT}


@pytest.mark.parametrize("count", [0, 1, columns._FEW, columns._FEW + 1])
@pytest.mark.parametrize("numpy_kind", KINDS)
def test_a_column_holds_the_numbers_of_its_bytes_and_gives_them_back(numpy_kind: str, count: int) -> None:
    # Every pattern of bits: NaNs, infinities, the largest numbers.
    data = np.random.default_rng(1).bytes(count * np.dtype(numpy_kind).itemsize)
    column = columns.column_of("some", data, KINDS[numpy_kind])
    assert (column.name, column.dtype, len(column)) == ("some", columns.type_of(KINDS[numpy_kind]), count)
    np.testing.assert_array_equal(column.to_numpy(), np.frombuffer(data, numpy_kind))
    np.testing.assert_array_equal(columns.values_of(data, KINDS[numpy_kind]), np.frombuffer(data, numpy_kind))
    assert columns.bytes_of(column) == data


@pytest.mark.parametrize("special", [np.nan, np.inf, -0.0, 5e-324, np.finfo(float).max])
def test_a_special_double_keeps_its_bits(special: float) -> None:
    data = np.array([special, 1.5], "<f8").tobytes()
    assert columns.bytes_of(columns.column_of("some", data, columns.DOUBLE)) == data


@pytest.mark.parametrize("texts", [[], [""], ["reno", "", "cubic"]])
def test_texts_are_those_before_the_nuls(texts: list[str]) -> None:
    data = "".join(f"{text}\0" for text in texts)
    assert list(columns.values_of(data, columns.TEXT)) == texts
    column = columns.column_of("some", data, columns.TEXT)
    assert (column.to_list(), column.dtype) == (texts, columns.type_of(columns.TEXT))
