"""Uploaded tables: read once, kept in memory under a name that nobody can guess, forgotten when there are too many."""

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
"""Endings of file names, and that of the private file which they are read from."""
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")
"""How compressed files begin: a small one may become too much."""


@dataclass(frozen=True)
class Upload:
    """A table that was uploaded, and the name of its file: a label, never a path."""

    file: str
    table: mate.QueryTable


class Queries:
    """The tables that were uploaded; usable from several threads."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._kept: OrderedDict[str, Upload] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, name: str, content: bytes) -> tuple[str, Upload]:
        """Read an uploaded file; return the name to find it by, and the table."""
        upload = read_upload(name, content, self._limits)
        number = secrets.token_urlsafe(16)
        with self._lock:
            self._kept[number] = upload
            while len(self._kept) > self._limits.kept_queries or (
                len(self._kept) > 1 and self._bytes() > self._limits.kept_bytes
            ):
                self._kept.popitem(last=False)
        return number, upload

    def find(self, number: str) -> Upload:
        """Return a table that was uploaded."""
        with self._lock:
            if number not in self._kept:
                raise NotFoundError("the uploaded table is not kept any more; upload it again")
            self._kept.move_to_end(number)
            return self._kept[number]

    def _bytes(self) -> int:
        return sum(upload.table.columns.nbytes for upload in self._kept.values())


def read_upload(name: str, content: bytes, limits: ServerLimits) -> Upload:
    """Read a table from the bytes of a file; its name is a label and tells the format, it is never a path."""
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
    """Raise an error if a small Parquet file stands for a large table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowException, OSError):  # pyarrow has both for damaged files
        return  # its reader says what is wrong with it
    check_size(metadata.num_rows, metadata.num_columns, limits)
    unpacked = sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
    if unpacked > limits.kept_bytes:
        raise TooLargeError(f"the table has {unpacked:,} bytes; this page takes up to {limits.kept_bytes:,}")
