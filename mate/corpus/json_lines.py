"""JSON text of which every line is a record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from mate.errors import CorpusError

LONGEST_RECORD = 64 << 20
NESTED = "invalid JSON: nested too deeply or a number too long"

_NAMES = {list: "a list", dict: "an object", str: "a string", int: "a number", float: "a number", bool: "true or false"}


def numbered_lines(stream: BinaryIO, lines_before: int = 0) -> Iterator[tuple[int, bytes | None]]:
    """Yield lines with their number; None for one that is longer than any record should be."""
    number = lines_before
    while line := stream.readline(LONGEST_RECORD):
        number += 1
        if len(line) < LONGEST_RECORD or line.endswith(b"\n"):
            yield number, line
            continue
        while (rest := stream.readline(LONGEST_RECORD)) and not rest.endswith(b"\n"):
            pass
        yield number, None


def parse(record: bytes | None) -> dict[str, Any]:
    """Read one JSON object; anything else raises `CorpusError` with the reason."""
    if record is None:
        raise CorpusError(f"a record of more than {LONGEST_RECORD >> 20} MB")
    try:
        value = json.loads(record.rstrip(b"\r\n").decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise CorpusError(f"invalid UTF-8 at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise CorpusError(f"invalid JSON: {error.msg} at column {error.pos + 1}") from error
    except (RecursionError, ValueError) as error:
        raise CorpusError(NESTED) from error
    return as_object(value)


def as_object(value: object) -> dict[str, Any]:
    """Return a JSON value if it is an object."""
    if not isinstance(value, dict):
        raise CorpusError(f"{kind_of(value)} where an object is expected")
    return value


def kind_of(value: object) -> str:
    """Name a JSON value's type for people."""
    return "null" if value is None else _NAMES[type(value)]


def check_text(text: str) -> None:
    """Refuse half of a surrogate pair: JSON can escape one, text cannot hold it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ord(error.object[error.start])
        raise CorpusError(f"half a surrogate pair (\\u{half:04x}), which is not text") from error
