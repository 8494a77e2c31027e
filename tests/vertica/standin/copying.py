"""COPY FROM STDIN in the delimited format: options, escapes, enclosing quotes, lengths, rejected rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.vertica.standin.wire import ServerError

_STATEMENT = re.compile(
    r"COPY\s+(?P<table>[\w.\"]+)\s*(?:\((?P<columns>[^)]*)\))?\s*FROM\s+STDIN\b(?P<options>.*)", re.I | re.S
)
_LITERAL = r"E?'((?:[^']|'')*)'"


@dataclass(frozen=True)
class Field:
    """A column as it was declared."""

    name: str
    type: str
    length: int | None = None
    required: bool = False


@dataclass(frozen=True)
class Copy:
    """A COPY statement."""

    table: str
    columns: tuple[tuple[str, bool], ...]
    """Names, and whether the values are written in hexadecimal."""
    delimiter: str
    enclosed: str
    enforce_length: bool
    abort: bool
    commit: bool


def parse_copy(sql: str) -> Copy:
    """Take a statement apart."""
    found = _STATEMENT.fullmatch(sql.strip())
    if not found:
        raise ServerError('Syntax error at or near "COPY"', "42601", 4856)
    columns = [c.strip() for c in (found["columns"] or "").split(",") if c.strip()]
    options = found["options"]
    return Copy(
        found["table"].replace('"', ""),
        tuple((c.split()[0].strip('"'), "format 'hex'" in c.lower()) for c in columns),
        _option(options, "DELIMITER") or "|",
        _option(options, r"ENCLOSED\s+BY"),
        _has(options, "ENFORCELENGTH"),
        _has(options, r"ABORT\s+ON\s+ERROR"),
        not _has(options, r"NO\s+COMMIT"),
    )


def _option(text: str, name: str) -> str:
    found = re.search(rf"\b{name}\s+(?:AS\s+)?{_LITERAL}", text, re.I)
    return found[1].replace("''", "'").replace(r"\t", "\t") if found else ""


def _has(text: str, words: str) -> bool:
    return re.search(rf"\b{words}\b", text, re.I) is not None


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


def convert(
    data: bytes, copy: Copy, fields: Sequence[Field], hexadecimal: Sequence[bool]
) -> tuple[list[list[Any]], list[str]]:
    """Return the rows by column, and why the others were rejected."""
    columns: list[list[Any]] = [[] for _ in fields]
    rejected: list[str] = []
    for number, record in enumerate(records(data, copy), 1):
        try:
            row = _row(record, fields, hexadecimal, copy)
        except ValueError as error:
            rejected.append(f"Row {number}: {error}")
            if copy.abort:
                raise ServerError(f"COPY: Input record {number} has been rejected ({error})", "22V04", 2035) from None
            continue
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return columns, rejected


def _row(record: list[str | None], fields: Sequence[Field], hexadecimal: Sequence[bool], copy: Copy) -> list[Any]:
    if len(record) < len(fields):
        raise ValueError("Too few columns found")
    if len(record) > len(fields):
        raise ValueError("Too many columns found")
    return [_value(v, f, x, copy) for v, f, x in zip(record, fields, hexadecimal, strict=True)]


def _value(text: str | None, field: Field, hexadecimal: bool, copy: Copy) -> Any:
    if text is None:
        if field.required:
            raise ValueError(f"Cannot set a NOT NULL column ({field.name}) to a NULL value")
        return None
    if field.type == "BIGINT":
        if not re.fullmatch(r"[+-]?\d+", text):
            raise ValueError(f"Invalid integer format '{text}' for column ({field.name})")
        return int(text)
    data = bytes.fromhex(text) if hexadecimal else text.encode()
    if field.length is not None and len(data) > field.length:
        if copy.enforce_length:
            raise ValueError(f"The {len(data)}-byte value is too wide for column ({field.name})")
        data = data[: field.length]
    if field.type == "BIT":
        return "".join(f"{byte:08b}" for byte in data)
    return data.decode(errors="ignore")
