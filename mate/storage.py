"""Files in an object store: ``s3://bucket/folder`` and the like, through pyarrow's file systems or fsspec.

Who may read and write there is a matter of the environment (``AWS_ACCESS_KEY_ID`` and the like, a profile, a role),
never of the address: an address is shown in messages and kept in indexes.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from mate.errors import StoreError
from mate.extras import require

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

BUCKETS = frozenset({"s3", "gs", "gcs", "abfs", "abfss"})
"""Stores whose folders are parts of names: nothing has to be made before a file."""
ARROW = BUCKETS | {"hdfs", "viewfs"}
FSSPEC = frozenset({"memory", "az", "sftp", "ssh", "smb", "webhdfs", "oss", "oci"})
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_SECRETS = frozenset({"access_key", "secret_key", "session_token", "password", "token", "sig"})
_PIECE = 1 << 22
_LONGEST = 300
"""Characters of what a store says that are shown."""


class Entry(NamedTuple):
    """A file in a store."""

    name: str
    """Relative to the place that was asked."""
    size: int
    changed: int
    """When, in nanoseconds; 0 if the store does not say."""


class Fetched(NamedTuple):
    """What a file was when it was fetched."""

    size: int
    crc32: int
    sha256: str


def is_remote(address: str) -> bool:
    """Tell whether an address is one of a store that is reached over a network."""
    return _scheme(address) in ARROW | FSSPEC


def _scheme(address: str) -> str:
    match = _SCHEME.match(address)
    return match[1].lower() if match else ""


def shown(address: str) -> str:
    """Return an address as messages have it: without its settings."""
    return address.partition("?")[0]


@dataclass(frozen=True)
class Place:
    """A folder in a store, or a file."""

    address: str
    """As messages have it."""
    files: FileSystem
    path: str

    @classmethod
    def at(cls, address: str) -> Place:
        """Return the place that an address names."""
        _refuse_secrets(address)
        return _place(address)

    def __truediv__(self, name: str) -> Place:
        return Place(f"{self.address.rstrip('/')}/{name}", self.files, f"{self.path.rstrip('/')}/{name}")

    def info(self) -> Entry | None:
        """Return what is known of the file here, None if there is none."""
        with self._explained():
            found = self.files.get_file_info(self.path)
        return self._entry(found) if found.is_file else None

    def walk(self) -> list[Entry]:
        """Return all files below, by name; only names and sizes are asked for."""
        from pyarrow.fs import FileSelector

        with self._explained():
            found = self.files.get_file_info(FileSelector(self.path, recursive=True, allow_not_found=True))
        return sorted(self._entry(info) for info in found if info.is_file)

    def _entry(self, info: FileInfo) -> Entry:
        return Entry(info.path[len(self.path.rstrip("/")) + 1 :], info.size or 0, info.mtime_ns or 0)

    def require_bucket(self) -> None:
        """Raise StoreError if the bucket is not there, before anything is made for it."""
        from pyarrow.fs import FileType

        bucket = self.path.partition("/")[0]
        if _scheme(self.address) in BUCKETS:
            with self._explained():
                found = self.files.get_file_info(bucket)
            if found.type == FileType.NotFound:
                raise StoreError(f'{self.address}: there is no bucket "{bucket}", or it may not be read')

    def read(self) -> bytes | None:
        """Return the bytes of the file here, None if there is none."""
        with self._explained():
            try:
                with self.files.open_input_stream(self.path, compression=None) as stream:
                    content: bytes = stream.read()
                    return content
            except FileNotFoundError:
                return None

    def head(self, size: int) -> bytes:
        """Return the first bytes of the file here."""
        with self._explained(), self.files.open_input_stream(self.path, compression=None) as stream:
            content: bytes = stream.read(size)
            return content

    def fetch(self, target: Path) -> Fetched:
        """Copy the file here to a file of ours; return what it was."""
        size, crc32, sha256 = 0, 0, hashlib.sha256()
        with (
            self._explained(),
            self.files.open_input_stream(self.path, compression=None) as stream,
            target.open("wb") as own,
        ):
            while piece := stream.read(_PIECE):
                own.write(piece)
                size, crc32 = size + len(piece), zlib.crc32(piece, crc32)
                sha256.update(piece)
        return Fetched(size, crc32, sha256.hexdigest())

    def put(self, source: Path) -> None:
        """Copy a file of ours here."""
        self._make_folder()
        with (
            self._explained(),
            source.open("rb") as own,
            self.files.open_output_stream(self.path, compression=None) as stream,
        ):
            while piece := own.read(_PIECE):
                stream.write(piece)

    def write(self, content: bytes) -> None:
        """Replace the file here; where a store is one of objects, all at once."""
        self._make_folder()
        with self._explained(), self.files.open_output_stream(self.path, compression=None) as stream:
            stream.write(content)

    def _make_folder(self) -> None:
        if _scheme(self.address) not in BUCKETS:
            with self._explained():
                self.files.create_dir(self.path.rpartition("/")[0], recursive=True)

    def remove(self) -> None:
        """Remove the file here, if it still is."""
        with self._explained(), suppress(FileNotFoundError):
            self.files.delete_file(self.path)

    def remove_folder(self) -> None:
        """Remove everything below."""
        with self._explained():
            self.files.delete_dir(self.path)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what a store refuses into one line."""
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException) as error:
            said = (str(error).strip().splitlines() or [type(error).__name__])[0][:_LONGEST]
            raise StoreError(f"{self.address}: {said}") from None


def _refuse_secrets(address: str) -> None:
    try:
        parts = urlsplit(address)
        secret = "@" in parts.netloc or _SECRETS & {name.lower() for name, _ in parse_qsl(parts.query)}
    except ValueError:
        raise StoreError("this is no address of a store") from None
    if secret:
        raise StoreError(
            f"an address of {parts.scheme}:// with a secret in it: leave it out, and give it by the environment, such "
            "as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )


@lru_cache(maxsize=16)
def _place(address: str) -> Place:
    import pyarrow as pa
    from pyarrow import fs

    try:
        if _scheme(address) in ARROW:
            return Place(shown(address), *fs.FileSystem.from_uri(address))
        fsspec = require("fsspec", "fsspec", f"{_scheme(address)}://")
        files, path = fsspec.core.url_to_fs(address)
        return Place(shown(address), fs.PyFileSystem(fs.FSSpecHandler(files)), path)
    except (OSError, ValueError, ImportError, pa.ArrowException) as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0][:_LONGEST]
        raise StoreError(f"{shown(address)}: {said}") from None
