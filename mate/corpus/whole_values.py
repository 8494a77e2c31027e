"""Numbers and times that are finer than the values in them: 2023.0 where 2023 was meant, midnight where a date was.

A column of whole numbers with an empty cell becomes one of floats in pandas, and a column of dates becomes one of
times. Whole columns are written as what they were: whole numbers, and dates. One value that is not whole leaves the
column as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

LARGEST = 2**53
"""Floats beyond it are not whole numbers that somebody counted."""

PER_DAY = {unit: 86_400 * 10**digits for unit, digits in (("s", 0), ("ms", 3), ("us", 6), ("ns", 9))}
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""The years 1 to 9999, in days from 1970 on."""


def may_be_whole(kind: pa.DataType) -> bool:
    """Tell whether a type holds floats, or times without a time zone: its values decide."""
    if pa.types.is_dictionary(kind):
        return may_be_whole(kind.value_type)
    return bool(pa.types.is_floating(kind) or (pa.types.is_timestamp(kind) and kind.tz is None))


def first_fraction(column: pa.Array) -> int:
    """Return the row of the first value that is not whole, the number of rows if there is none; empty cells are."""
    values, valid, is_whole = _parts(column)
    wrong = valid & ~is_whole(values)
    return int(wrong.argmax()) if wrong.any() else len(column)


def as_whole(column: pa.Array) -> pa.Array:
    """Return a column of whole values as whole numbers or dates."""
    values, valid, _ = _parts(column)
    if pa.types.is_timestamp(_value_type(column)):
        days = np.where(valid, values // PER_DAY[_value_type(column).unit], 0)
        return pa.array(days.astype(np.int32), pa.int32(), mask=~valid).cast(pa.date32())
    return pa.array(np.where(valid, values, 0).astype(np.int64), mask=~valid)


def written_whole(column: pa.Array) -> pa.Array:
    """Return a column as whole numbers or dates if all its values are whole, else as it is."""
    if may_be_whole(column.type) and first_fraction(column) == len(column):
        return as_whole(column)
    return column


Numbers = npt.NDArray[np.generic]


def _parts(column: pa.Array) -> tuple[Numbers, npt.NDArray[np.bool_], Callable[[Numbers], npt.NDArray[np.bool_]]]:
    """Return values as numbers, which of them there are, and what tells whole ones."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(column.type):
        day = PER_DAY[column.type.unit]
        times = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return times, valid, lambda t: (t % day == 0) & (t // day >= FIRST_DAY) & (t // day <= LAST_DAY)
    floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
    valid = valid & ~np.isnan(floats)
    return floats, valid, lambda f: (np.trunc(f) == f) & (np.abs(f) <= LARGEST)


def _value_type(column: pa.Array) -> pa.DataType:
    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type
