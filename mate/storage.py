"""Files in an object store (``s3://bucket/folder``), through pyarrow's file systems or fsspec.

Credentials come from the environment (``AWS_ACCESS_KEY_ID``, a profile, a role), never from the address: addresses
appear in messages and indexes.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from mate.errors import StoreError
from mate.extras import require

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

BUCKETS = frozenset({"s3", "gs", "gcs", "abfs", "abfss"})
"""Object stores: folders are parts of names, and need not exist before a file."""
ARROW = BUCKETS | {"hdfs", "viewfs"}
FSSPEC = frozenset({"memory", "az", "sftp", "ssh", "smb", "webhdfs", "oss", "oci"})
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_SECRETS = frozenset({"access_key", "secret_key", "session_token", "password", "token", "sig"})
_CHUNK = 1 << 22


class Entry(NamedTuple):
    """A file in a store."""

    name: str
    """Relative to the folder that was listed."""
    size: int
    changed: int
    """Time of the last change in nanoseconds; 0 if the store has none."""


def is_remote(address: str) -> bool:
    """Tell whether an address is that of a store on a network."""
    return _scheme(address) in ARROW | FSSPEC


def _scheme(address: str) -> str:
    match = _SCHEME.match(address)
    return match[1].lower() if match else ""


def shown(address: str) -> str:
    """Return an address without its settings, for messages."""
    return address.partition("?")[0]


@dataclass(frozen=True)
class Place:
    """A folder or file in a store."""

    address: str
    """For messages."""
    files: FileSystem
    path: str

    @staticmethod
    @lru_cache(maxsize=16)
    def at(address: str) -> Place:
        """Return the place at an address."""
        from pyarrow import fs

        _refuse_secrets(address)
        with _one_line_errors(shown(address)):
            if _scheme(address) in ARROW:
                return Place(shown(address), *fs.FileSystem.from_uri(address))
            fsspec = require("fsspec", "fsspec", f"{_scheme(address)}://")
            files, path = fsspec.core.url_to_fs(address)
            return Place(shown(address), fs.PyFileSystem(fs.FSSpecHandler(files)), path)

    def __truediv__(self, name: str) -> Place:
        return Place(f"{self.address.rstrip('/')}/{name}", self.files, f"{self.path.rstrip('/')}/{name}")

    def info(self) -> Entry | None:
        """Describe the file here; None if there is none."""
        with _one_line_errors(self.address):
            info = self.files.get_file_info(self.path)
        return self._entry(info) if info.is_file else None

    def walk(self) -> list[Entry]:
        """List all files below, by name."""
        from pyarrow.fs import FileSelector

        with _one_line_errors(self.address):
            infos = self.files.get_file_info(FileSelector(self.path, recursive=True, allow_not_found=True))
        return sorted(self._entry(info) for info in infos if info.is_file)

    def _entry(self, info: FileInfo) -> Entry:
        return Entry(info.path[len(self.path.rstrip("/")) + 1 :], info.size or 0, info.mtime_ns or 0)

    def require_bucket(self) -> None:
        """Raise StoreError if there is no such bucket."""
        from pyarrow.fs import FileType

        bucket = self.path.partition("/")[0]
        if _scheme(self.address) in BUCKETS:
            with _one_line_errors(self.address):
                found = self.files.get_file_info(bucket)
            if found.type == FileType.NotFound:
                raise StoreError(f'{self.address}: there is no bucket "{bucket}", or it may not be read')

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        with _one_line_errors(self.address), self.files.open_input_stream(self.path, compression=None) as stream:
            yield stream

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        with _one_line_errors(self.address):
            if _scheme(self.address) not in BUCKETS:
                self.files.create_dir(self.path.rpartition("/")[0], recursive=True)
            with self.files.open_output_stream(self.path, compression=None) as stream:
                yield stream

    def read(self) -> bytes | None:
        """Read the file here; None if there is none."""
        with (
            _one_line_errors(self.address),
            suppress(FileNotFoundError),
            self.files.open_input_stream(self.path, compression=None) as stream,
        ):
            content: bytes = stream.read()
            return content
        return None

    def head(self, size: int) -> bytes:
        """Read the first bytes of the file here."""
        with self._reading() as stream:
            content: bytes = stream.read(size)
            return content

    def fetch(self, target: Path) -> None:
        """Download the file here."""
        with self._reading() as stream, target.open("wb") as own:
            shutil.copyfileobj(stream, own, _CHUNK)

    def put(self, source: Path) -> None:
        """Upload a local file."""
        with self._writing() as stream, source.open("rb") as own:
            shutil.copyfileobj(own, stream, _CHUNK)

    def write(self, content: bytes) -> None:
        """Replace the file here; an object store does it in one step."""
        with self._writing() as stream:
            stream.write(content)

    def remove(self) -> None:
        """Remove the file here, if there is one."""
        with _one_line_errors(self.address), suppress(FileNotFoundError):
            self.files.delete_file(self.path)

    def remove_folder(self) -> None:
        """Remove everything below."""
        with _one_line_errors(self.address):
            self.files.delete_dir(self.path)


@contextmanager
def _one_line_errors(address: str) -> Iterator[None]:
    """Turn the errors of a store into one line."""
    import pyarrow as pa

    try:
        yield
    except (OSError, ValueError, ImportError, pa.ArrowException) as error:
        message = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise StoreError(f"{address}: {message}") from None


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
