"""Convert Arrow strings to plain buffers for native loops, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.errors import TextError

Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int64]


def string_array(values: Any) -> pa.StringArray:
    """Convert Arrow strings or any iterable of str and None; raise TextError for anything that is not text."""
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
        if isinstance(values, pa.ChunkedArray):  # more text than 32-bit offsets can address
            raise TextError("more than 2 GiB of text in one batch: pass smaller batches")
    if isinstance(values, pa.Array):
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if kind in (pa.string(), pa.large_string(), pa.string_view(), pa.null()):
            return values.cast(pa.string())
        raise TextError(f"expected an array of strings, got an array of {values.type}")
    if isinstance(values, str):
        raise TextError("expected many strings, got one: wrap it in a list")
    return _from_python(values)


def _from_python(values: Iterable[Any]) -> pa.StringArray:
    try:
        items = values if isinstance(values, list) else list(values)
    except TypeError:
        raise TextError(f"expected strings, got {type(values).__name__}") from None
    try:
        array = pa.array(items, from_pandas=False)
    except (UnicodeEncodeError, pa.ArrowInvalid, pa.ArrowTypeError):
        array = None
    if array is not None and (pa.types.is_string(array.type) or pa.types.is_null(array.type)):
        return array.cast(pa.string())
    raise TextError(next(problem for i, item in enumerate(items) if (problem := _problem(i, item))))


def _problem(number: int, value: Any) -> str | None:
    """Say why a value is not text."""
    if value is None:
        return None
    if not isinstance(value, str):
        return f"value {number} is not a string but {type(value).__name__}: {value!r:.80}"
    try:
        value.encode()
    except UnicodeEncodeError:
        return f"value {number} holds a lone surrogate, which is not valid Unicode text: {value!r:.80}"
    return None


def string_buffers(values: pa.StringArray) -> tuple[Bytes, Offsets]:
    """Return the UTF-8 bytes and the ``n + 1`` offsets of a string array; nulls read as empty strings."""
    if values.null_count:
        values = values.fill_null("")
    _, offsets, data = values.buffers()
    if not len(values):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    bounds = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    text = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return text, bounds.astype(np.int64)


def strings_from_buffers(data: Bytes, offsets: Offsets) -> pa.StringArray:
    """Inverse of `string_buffers`, without copying the text."""
    bounds = pa.py_buffer(offsets.astype(np.int32))
    return pa.StringArray.from_buffers(len(offsets) - 1, bounds, pa.py_buffer(data))
