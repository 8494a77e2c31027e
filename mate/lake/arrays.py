"""A file of named arrays: written once from front to back, read by memory-mapping.

Layout: magic, arrays at multiples of 64 bytes, a foot in JSON that describes them, and a tail with the foot's length
and checksum. Every array has a checksum of its own, so that damage is found and named.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from mate.errors import StoreError
from mate.lake import marks

Array: TypeAlias = npt.NDArray[Any]

MAGIC = b"MATEarr2"
ALIGNMENT = 64
_TAIL = len(MAGIC) + 12
_PIECE = 1 << 24


class ArrayWriter:
    """Writes arrays one after the other; `close` makes the file complete and durable."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("wb")
        self._stream.write(MAGIC)
        self._described: dict[str, dict[str, Any]] = {}

    def add(self, name: str, array: Array) -> None:
        """Append an array."""
        self._stream.write(bytes(-self._stream.tell() % ALIGNMENT))
        data = np.ascontiguousarray(array)
        self._described[name] = {
            "type": data.dtype.str,
            "shape": list(data.shape),
            "at": self._stream.tell(),
            "crc32": zlib.crc32(data.data.cast("B")) if data.size else 0,
        }
        if data.size:
            self._stream.write(data.data.cast("B"))

    def close(self, notes: Mapping[str, Any] | None = None) -> None:
        """Write the foot and force everything to disk."""
        foot = json.dumps({"arrays": self._described, "notes": dict(notes or {})}).encode()
        self._stream.write(foot)
        self._stream.write(len(foot).to_bytes(8, "little") + zlib.crc32(foot).to_bytes(4, "little") + MAGIC)
        self._stream.flush()
        os.fsync(self._stream.fileno())
        marks.trust(marks.identity(os.fstat(self._stream.fileno())))
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


class ArrayFile:
    """A file of arrays, memory-mapped. The mapping outlives the file's name: a reader keeps what it opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as stream:
                self._mapped = mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ)
                self._identity = marks.identity(os.fstat(stream.fileno()))
        except (OSError, ValueError) as error:
            raise StoreError(
                f"{path} cannot be read ({error}): mate check --repair rebuilds it from the cells"
            ) from None
        try:
            foot = _foot(self._mapped, path)
            self.notes: dict[str, Any] = dict(foot["notes"])
            self._described: dict[str, dict[str, Any]] = {name: dict(told) for name, told in foot["arrays"].items()}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise damaged(path, f"its foot cannot be read ({error})") from None

    @property
    def trusted(self) -> bool:
        """Whether this process has written the file, or one of this user has verified it on this machine."""
        return marks.is_trusted(self._identity)

    def trust(self) -> None:
        """Take the file for sound without reading it, in this process."""
        marks.trust(self._identity)

    def remember(self) -> None:
        """Note that the file was verified."""
        marks.remember(self._identity)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self._mapped)

    @property
    def names(self) -> list[str]:
        """Names of the arrays."""
        return list(self._described)

    def __getitem__(self, name: str) -> Array:
        try:
            described = self._described[name]
            shape = tuple(described["shape"])
            count = int(np.prod(shape, dtype=np.int64))
            data, at = (self._mapped, described["at"]) if count else (b"", 0)
            return np.frombuffer(data, described["type"], count, at).reshape(shape)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(self.path, f"the array {name} does not fit its description ({error})") from None

    def bytes_of(self, name: str) -> int:
        """Bytes that an array takes."""
        described = self._described[name]
        size: int = np.dtype(described["type"]).itemsize
        return int(np.prod(described["shape"], dtype=np.int64)) * size

    def problems(self) -> Iterator[str]:
        """Yield the names of the arrays whose bytes do not have their checksum."""
        for name, described in self._described.items():
            crc, at = 0, described["at"]
            end = at + self.bytes_of(name)
            for start in range(at, end, _PIECE):
                crc = zlib.crc32(memoryview(self._mapped)[start : min(start + _PIECE, end)], crc)
            if crc != described["crc32"]:
                yield name


def _foot(mapped: mmap.mmap, path: Path) -> dict[str, Any]:
    tail = mapped[-_TAIL:]
    if mapped[: len(MAGIC)] != MAGIC or tail[12:] != MAGIC:
        raise damaged(path, "its ends are not those of a file of arrays, or of another version's")
    length = int.from_bytes(tail[:8], "little")
    foot = mapped[max(0, len(mapped) - _TAIL - length) : len(mapped) - _TAIL]
    if zlib.crc32(foot) != int.from_bytes(tail[8:12], "little"):
        raise damaged(path, "its foot does not have its checksum")
    found: dict[str, Any] = json.loads(foot)
    return found


def damaged(path: Path, what: str) -> StoreError:
    """Return the error for a file that cannot be trusted."""
    return StoreError(f"{path} is damaged: {what}; mate check --repair rebuilds what follows from the cells")


def offset_type(most: int) -> type[np.unsignedinteger[Any]] | type[np.signedinteger[Any]]:
    """Return the type for offsets up to `most`: 32 bits where they do, 64 where they do not."""
    return np.uint32 if most < 2**32 else np.int64
