"""Columns of any Arrow type as text, each value in one predictable way.

Whole numbers have no point, other floats are written as Python does, true and false in lower case, dates and times in
ISO form (``2024-05-01 12:30:00``), bytes as hexadecimal digits, nested values as JSON. A null stays one.

A column of whole numbers with an empty cell becomes one of floats in pandas, and a column of dates becomes one of
times. So a column whose floats are all whole is written as whole numbers (``2023``, not ``2023.0``), and one whose
times are all midnight as dates. One other value leaves the column as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

LARGEST = 2**53
"""Floats beyond it are not whole numbers that somebody counted."""
DAYS = -719_162, 2_932_896
"""The years 1 to 9999, in days from 1970 on."""


def as_text(column: pa.Array) -> pa.StringArray:
    """Write a column of any type as text; whatever the column holds, there is a text for it."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return as_text(column.dictionary_decode())
    if isinstance(column, pa.ExtensionArray):
        return as_text(column.storage)
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        return _valid_text(column)
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind):
        return pc.cast(column, pa.string())
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        try:
            texts = pc.cast(column, pa.string())
        except pa.ArrowInvalid:  # an unknown time zone: the moment is written in UTC
            texts = pc.cast(pc.cast(column, pa.timestamp(kind.unit, "UTC")), pa.string())
        return pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")
    return pa.array([None if value is None else value_as_text(value) for value in _values(column)], pa.string())


def value_as_text(value: Any) -> str:
    """Write one value as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (list, dict, tuple)):
        return json.dumps(value, ensure_ascii=False, default=value_as_text)
    return str(value)


def _valid_text(column: pa.Array) -> pa.StringArray:
    """Replace bytes that are not UTF-8, which nothing keeps a writer from calling text."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        octets = pc.cast(column, pa.binary() if column.type != pa.large_string() else pa.large_binary()).to_pylist()
        return pa.array([None if text is None else text.decode("utf-8", "replace") for text in octets], pa.string())
    return pc.cast(column, pa.string())


def _values(column: pa.Array) -> Iterable[Any]:
    if column.type in (pa.float16(), pa.float32()):
        # widened to 64 bits a narrow float shows digits that nobody wrote: 0.1 as 0.10000000149011612
        narrow = column.to_numpy(zero_copy_only=False)
        return [narrow[row] if valid else None for row, valid in enumerate(column.is_valid().to_pylist())]
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        return map(_value, column)


def _value(scalar: pa.Scalar) -> Any:
    """Return one value; some that Arrow can hold, such as a date in the year 10000, are beyond Python."""
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return "<value out of range>"


def may_be_whole(kind: pa.DataType) -> bool:
    """Tell whether a type holds floats, or times without a time zone: its values decide."""
    if pa.types.is_dictionary(kind):
        return may_be_whole(kind.value_type)
    return bool(pa.types.is_floating(kind) or (pa.types.is_timestamp(kind) and kind.tz is None))


def as_whole(column: pa.Array) -> pa.Array | None:
    """Return a column of such a type as whole numbers or dates; None if a value is not whole. Empty cells are."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        if pa.types.is_timestamp(column.type):
            whole, (least, most) = column.cast(pa.date32()), DAYS
            numbers = whole.cast(pa.int32())
            if not whole.cast(column.type).equals(column):
                return None
        else:
            floats = column.cast(pa.float64())
            whole = numbers = pc.if_else(pc.is_nan(floats), None, floats).cast(pa.int64())
            least, most = -LARGEST, LARGEST
    except pa.ArrowInvalid:  # a fraction, or a number beyond the type
        return None
    outside = pc.or_(pc.less(numbers, least), pc.greater(numbers, most))
    return None if pc.any(outside).as_py() else whole


def whole_if_possible(column: pa.Array) -> pa.Array:
    """Return a column as whole numbers or dates if all its values are whole, else as it is."""
    whole = as_whole(column) if may_be_whole(column.type) else None
    return column if whole is None else whole
