"""Files and folders of this machine; links that others may have put where we write are never followed."""

from __future__ import annotations

import fcntl
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mate.errors import StoreError


def cache_folder() -> Path:
    """Return the folder for what can be made again: ``$MATE_CACHE``, else ``mate`` in the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("MATE_CACHE") or Path(home) / "mate")


def require_own(folder: Path) -> None:
    """Refuse a folder that is a link or belongs to another user: what we write there could go anywhere."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise StoreError(f"{folder} is a link or somebody else's: remove it, or name another place")


def private_folder(folder: Path) -> None:
    """Make a folder that only this user can read, or check one that is there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        require_own(folder)


def is_plain_file(path: Path) -> bool:
    """Tell whether a path is a file, and not a link to one."""
    return stat.S_ISREG(path.lstat().st_mode)


@contextmanager
def locked(path: Path, flags: int, *, wait: bool = False) -> Iterator[int]:
    """Open a file or folder and hold its lock, which ends with the process; raise BlockingIOError if others hold it."""
    lock = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield lock
    finally:
        os.close(lock)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file that gets its name when it is complete; a failure leaves the old one.

    The temporary file must be new. A link under the final name is replaced, not followed.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with part.open("xb") as stream:
        try:
            yield stream
            stream.flush()
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def file_crc32(path: Path) -> int:
    """Return the CRC-32 of a file."""
    crc = 0
    with path.open("rb") as stream:
        while piece := stream.read(1 << 24):
            crc = zlib.crc32(piece, crc)
    return crc
