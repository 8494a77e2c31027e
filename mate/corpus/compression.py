"""Compressed files read as if they were plain: the reader sees bytes, whatever they were packed in."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import PurePath
from typing import BinaryIO, cast

import pyarrow as pa

from mate.corpus.lines import piece

MAGIC = {
    b"\x1f\x8b\x08": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
OPENERS: dict[str, Callable[[BinaryIO], io.BufferedIOBase]] = {
    "gzip": lambda stream: gzip.GzipFile(fileobj=stream),
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zstd": lambda stream: io.BufferedReader(pa.CompressedInputStream(stream, "zstd")),
}
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")

DAMAGE = (EOFError, zlib.error, lzma.LZMAError, OSError)
"""What reading a compressed stream raises when it is cut off or corrupt."""


def compression_of(head: bytes) -> str | None:
    """Name the compression that these first bytes announce, None for plain bytes."""
    name = next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)
    if name == "bz2" and head[4:10] != b"1AY&SY":  # a text may well begin with "BZh"
        return None
    return name


def plain(stream: BinaryIO) -> tuple[BinaryIO, str | None]:
    """Return the stream from its start, decompressed, and the name of its compression; the caller's stays open."""
    stream.seek(0)
    name = compression_of(stream.read(10))
    packed = piece(stream, 0)
    return cast(BinaryIO, OPENERS[name](packed)) if name else packed, name


def unpacked_name(path: str) -> PurePath:
    """Return a path without the ending of a compression: ``data/towns.csv.gz`` is ``data/towns.csv``."""
    name = PurePath(path)
    return name.with_suffix("") if name.suffix.lower() in SUFFIXES else name


def damage(error: BaseException, name: str | None) -> str:
    """Say in a few words what is wrong with a compressed stream."""
    if isinstance(error, EOFError) or "runcated" in str(error):
        return f"truncated {name} stream"
    return f"corrupt {name} stream" if name else f"cannot be read: {error}"


def unpacked_head(head: bytes, size: int = 65_536) -> bytes:
    """Decompress the first bytes of a file, as far as they go."""
    stream, _ = plain(io.BytesIO(head))
    data = b""
    with contextlib.suppress(*DAMAGE):
        while len(data) < size and (more := stream.read1(size - len(data))):  # type: ignore[attr-defined]
            data += more
    return data
