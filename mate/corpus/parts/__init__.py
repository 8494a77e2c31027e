"""Large files read in parts, so that one file is the work of many tasks; what is read is the same as from the whole.

A file goes through three steps. It is *cut* roughly. Each span is then *looked* at by itself, for what the others
must know of it: how many lines and rows it has, which columns, what is rejected. From that the parts are *settled*:
each knows its place in the file, and is read without the others.

Compressed files are not cut, since they unpack from their start only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from mate.corpus.formats import File
from mate.corpus.parts import delimited, parquet
from mate.corpus.parts.base import Correction, Cutting, Part, Parts, Span, changed
from mate.corpus.parts.records import cut_json, cut_shard
from mate.corpus.table import Chunk, Limits, Reject
from mate.errors import CorpusError

__all__ = ["CUTTERS", "Correction", "Cutting", "Part", "Parts", "Span", "changed", "cut_file", "look_at", "read_part"]

CUTTERS: dict[str, Callable[[str, BinaryIO, Limits, int], Cutting | None]] = {
    "delimited": delimited.cut,
    "dwtc": cut_shard,
    "json": cut_json,
    "parquet": parquet.cut,
}


def cut_file(file: File, limits: Limits, size: int) -> Cutting | None:
    """Cut a file into spans of about `size` bytes; None if it cannot be cut, or is not worth it."""
    if file.format is None:
        return None
    try:
        with Path(file.path).open("rb") as stream:
            cutting = CUTTERS[file.format](file.path, stream, limits, size)
    except MemoryError:
        raise
    except Exception:
        return None  # its reader says what is wrong
    return cutting if cutting and len(cutting.spans) > 1 else None


def look_at(file: File, cutting: Cutting, span: Span) -> Any:
    """Look at a span of a file that was cut."""
    with _opened(file) as stream:
        return cutting.look(stream, span)


def read_part(file: File, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
    """Yield what the whole file would yield where the part is."""
    with _opened(file) as stream:
        yield from part.read(stream, limits)


@contextmanager
def _opened(file: File) -> Iterator[BinaryIO]:
    """Open a file. Whatever goes wrong now did not at first, so the file has changed."""
    try:
        with Path(file.path).open("rb") as stream:
            yield stream
    except (MemoryError, CorpusError):
        raise
    except Exception as error:
        raise CorpusError(changed(file.path)) from error
