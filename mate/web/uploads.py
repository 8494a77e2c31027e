"""Uploaded tables: read once and kept in memory, the most recently used ones, under names that nobody can guess."""

from __future__ import annotations

import secrets
import tempfile
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import mate
from mate.errors import MateError
from mate.web.errors import NotFoundError, TooLargeError, WebError
from mate.web.limits import ServerLimits

ENDINGS = {".csv": ".csv", ".tsv": ".csv", ".txt": ".csv", ".parquet": ".parquet", ".pq": ".parquet", ".json": ".json"}
"""Endings of file names, each with the ending of the temporary file that is read."""
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")
"""First bytes of compressed files: a small one may expand to too much."""


@dataclass(frozen=True)
class Upload:
    """An uploaded table, and the name of its file: a label, never a path."""

    file: str
    table: mate.QueryTable


class Uploads:
    """The uploaded tables; safe to use from several threads."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._uploads: OrderedDict[str, Upload] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, name: str, content: bytes) -> tuple[str, Upload]:
        """Read an uploaded file; return its table and the identifier to find it by."""
        upload = read_upload(name, content, self._limits)
        identifier = secrets.token_urlsafe(16)
        with self._lock:
            self._uploads[identifier] = upload
            while len(self._uploads) > self._limits.kept_queries or (
                len(self._uploads) > 1 and self._bytes() > self._limits.kept_bytes
            ):
                self._uploads.popitem(last=False)
        return identifier, upload

    def find(self, identifier: str) -> Upload:
        """Return an uploaded table."""
        with self._lock:
            if identifier not in self._uploads:
                raise NotFoundError("the uploaded table is no longer in memory; upload it again")
            self._uploads.move_to_end(identifier)
            return self._uploads[identifier]

    def _bytes(self) -> int:
        return sum(upload.table.columns.nbytes for upload in self._uploads.values())


def read_upload(name: str, content: bytes, limits: ServerLimits) -> Upload:
    """Read a table from the bytes of a file; its name is a label that tells the format."""
    label = PurePosixPath(name.replace("\\", "/")).name or "upload.csv"
    ending = PurePosixPath(label).suffix.lower()
    if ending not in ENDINGS:
        raise WebError(f"{label[:80]} cannot be read: upload {', '.join(ENDINGS)}")
    if content.startswith(PACKED):
        raise WebError(f"{label[:80]} is compressed; unpack it first")
    with tempfile.TemporaryDirectory(prefix="mate-") as folder:
        path = Path(folder) / f"query{ENDINGS[ending]}"
        path.write_bytes(content)
        try:
            if ENDINGS[ending] == ".parquet":
                _check_parquet(path, limits)
            table = mate.read(path, most_bytes=limits.kept_bytes)
        except MateError as error:
            raise type(error)(str(error).replace(str(path), label[:80])) from None
    check_size(table.columns.num_rows, table.columns.num_columns, limits)
    return Upload(label, replace(table, name=PurePosixPath(label).stem, source=None))


def check_size(rows: int, columns: int, limits: ServerLimits) -> None:
    """Raise an error if a table is too large to be searched with here."""
    if rows * columns > limits.query_cells:
        raise TooLargeError(
            f"the table has {rows * columns:,} cells; this page takes up to {limits.query_cells:,}: use mate search"
        )


def _check_parquet(path: Path, limits: ServerLimits) -> None:
    """Raise an error if a small Parquet file contains a large table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowException, OSError):  # pyarrow raises both for damaged files
        return  # mate.read says what is wrong with it
    check_size(metadata.num_rows, metadata.num_columns, limits)
    unpacked = sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
    if unpacked > limits.kept_bytes:
        raise TooLargeError(f"the table has {unpacked:,} bytes; this page takes up to {limits.kept_bytes:,}")
