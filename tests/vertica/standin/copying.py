"""The records of a COPY FROM STDIN in the delimited format: escapes, enclosing quotes, lengths, rejected rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.vertica.standin.statements import Copy, Field
from tests.vertica.standin.wire import ServerError


def records(data: bytes, copy: Copy) -> Iterator[list[str | None]]:
    """Split a stream into records; an empty field that is not enclosed is NULL."""
    d, q = re.escape(copy.delimiter).encode(), re.escape(copy.enclosed).encode()
    bare = rb"((?:[^\\\n" + d + rb"]|\\.)*)(" + d + rb"|\n|\Z)"
    enclosed = q + rb"((?:[^\\" + q + rb"]|\\.)*)" + q + rb"(" + d + rb"|\n|\Z)"
    field = re.compile(enclosed + b"|" + bare if q else b"(?!)()()|" + bare, re.S)
    at, record, end = 0, list[str | None](), len(data)
    while at < end or record:
        found = field.match(data, at)
        if found is None:
            raise ServerError("COPY: input cannot be parsed", "22V04", 2035)
        text = found[1] if found[2] is not None and found[1] is not None else found[3]
        stop = found[2] if found[2] is not None else found[4]
        quoted = found[1] is not None and found[2] is not None
        record.append(_unescaped(text).decode() if text or quoted else None)
        at = found.end()
        if stop != copy.delimiter.encode():
            yield record
            record = []


def _unescaped(text: bytes) -> bytes:
    return re.sub(rb"\\(.)", rb"\1", text, flags=re.S) if b"\\" in text else text


def convert(data: bytes, copy: Copy, fields: Sequence[Field], hexadecimal: Sequence[bool]) -> list[list[Any]]:
    """Return the rows by column; one that does not fit is an error."""
    columns: list[list[Any]] = [[] for _ in fields]
    for number, record in enumerate(records(data, copy), 1):
        try:
            row = _row(record, fields, hexadecimal)
        except ValueError as error:
            raise ServerError(f"COPY: Input record {number} has been rejected ({error})", "22V04", 2035) from None
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return columns


def _row(record: list[str | None], fields: Sequence[Field], hexadecimal: Sequence[bool]) -> list[Any]:
    if len(record) < len(fields):
        raise ValueError("Too few columns found")
    if len(record) > len(fields):
        raise ValueError("Too many columns found")
    return [_value(v, f, x) for v, f, x in zip(record, fields, hexadecimal, strict=True)]


def _value(text: str | None, field: Field, hexadecimal: bool) -> Any:
    if text is None:
        if field.required:
            raise ValueError(f"Cannot set a NOT NULL column ({field.name}) to a NULL value")
        return None
    if field.type.duckdb == "BIGINT":
        if not re.fullmatch(r"[+-]?\d+", text):
            raise ValueError(f"Invalid integer format '{text}' for column ({field.name})")
        return int(text)
    data = bytes.fromhex(text) if hexadecimal else text.encode()
    if 0 < field.type.octets < len(data):
        raise ValueError(f"The {len(data)}-byte value is too wide for column ({field.name})")
    if field.type.duckdb == "BIT":
        return "".join(f"{byte:08b}" for byte in data)
    return data.decode(errors="ignore")
