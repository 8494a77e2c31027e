"""A file of named arrays: written once from front to back, read by memory-mapping.

Layout: magic, arrays at multiples of 64 bytes, a footer in JSON that describes them, and a tail with the footer's
length and checksum. Every array has a checksum of its own, so that an error can name the damaged one.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mate.errors import StoreError
from mate.lake.verified import identity, mark_verified

Array: TypeAlias = npt.NDArray[Any]

MAGIC = b"MATEarr2"
ALIGNMENT = 64
_TAIL = len(MAGIC) + 12


def write_arrays(path: Path, arrays: Iterable[tuple[str, Array]], notes: Mapping[str, Any]) -> None:
    """Write named arrays one after the other, as they are made; the file is complete and durable then."""
    described: dict[str, dict[str, Any]] = {}
    with path.open("wb") as stream:
        stream.write(MAGIC)
        for name, array in arrays:
            stream.write(bytes(-stream.tell() % ALIGNMENT))
            data = _bytes(array)
            described[name] = {
                "type": array.dtype.str,
                "shape": list(array.shape),
                "at": stream.tell(),
                "crc32": zlib.crc32(data),
            }
            stream.write(data)
        footer = json.dumps({"arrays": described, "notes": dict(notes)}).encode()
        stream.write(footer)
        stream.write(len(footer).to_bytes(8, "little") + zlib.crc32(footer).to_bytes(4, "little") + MAGIC)
        stream.flush()
        os.fsync(stream.fileno())
        mark_verified(identity(os.fstat(stream.fileno())))


class ArrayFile:
    """A file of arrays, memory-mapped: a reader keeps what it opened even if the file is removed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as stream:
                self._mapped = mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ)
                self.identity = identity(os.fstat(stream.fileno()))
        except (OSError, ValueError) as error:
            raise StoreError(
                f"{path} cannot be read ({error}): mate check --repair rebuilds it from the cells"
            ) from None
        try:
            footer = self._footer()
            self.notes: dict[str, Any] = dict(footer["notes"])
            self._described = {name: dict(array) for name, array in footer["arrays"].items()}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise damaged(path, f"its footer cannot be read ({error})") from None

    def _footer(self) -> dict[str, Any]:
        mapped, tail = self._mapped, self._mapped[-_TAIL:]
        if mapped[: len(MAGIC)] != MAGIC or tail[12:] != MAGIC:
            raise damaged(self.path, "it does not begin and end as a file of arrays of this version does")
        end = len(mapped) - _TAIL
        footer = mapped[max(0, end - int.from_bytes(tail[:8], "little")) : end]
        if zlib.crc32(footer) != int.from_bytes(tail[8:12], "little"):
            raise damaged(self.path, "its footer does not have its checksum")
        content: dict[str, Any] = json.loads(footer)
        return content

    def __getitem__(self, name: str) -> Array:
        try:
            described = self._described[name]
            shape = tuple(described["shape"])
            count = int(np.prod(shape, dtype=np.int64))
            data, at = (self._mapped, described["at"]) if count else (b"", 0)
            return np.frombuffer(data, described["type"], count, at).reshape(shape)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(self.path, f"the array {name} does not fit its description ({error})") from None

    def problems(self) -> Iterator[str]:
        """Yield the names of arrays whose bytes do not have their checksum."""
        for name, described in self._described.items():
            if zlib.crc32(_bytes(self[name])) != described["crc32"]:
                yield name


def _bytes(array: Array) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def damaged(path: Path, what: str) -> StoreError:
    """Return the error for a damaged file."""
    return StoreError(f"{path} is damaged: {what}; mate check --repair rebuilds what follows from the cells")


def offset_type(most: int) -> type[np.unsignedinteger[Any]] | type[np.signedinteger[Any]]:
    """Return the type for offsets up to `most`: 32 bits where they do, 64 where they do not."""
    return np.uint32 if most < 2**32 else np.int64
