"""Remember which files of arrays are verified, so that a machine reads each of them through only once.

A file counts as verified if this machine has written or verified it. The cache has a mark of it then: an empty file in
a private folder, named after the device, inode, size and modification time of the verified file. Without a writable
cache, every process verifies for itself.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from mate.errors import StoreError
from mate.files import cache_folder, private_folder

FileIdentity: TypeAlias = tuple[int, int, int, int]

_in_this_process: set[FileIdentity] = set()


def identity(status: os.stat_result) -> FileIdentity:
    """Return what tells a file from another one, and from itself after a change."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def is_verified(file: FileIdentity) -> bool:
    """Tell whether this process, or an earlier one of the same user, has written or verified a file."""
    if file in _in_this_process:
        return True
    try:
        status = _mark(file).lstat()
    except OSError:
        return False
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        return False
    _in_this_process.add(file)
    return True


def skip_verification(file: FileIdentity) -> None:
    """Take a file for sound until this process ends."""
    _in_this_process.add(file)


def mark_verified(file: FileIdentity) -> None:
    """Remember, also for later processes, that a file is verified."""
    _in_this_process.add(file)
    mark = _mark(file)
    with suppress(OSError, StoreError):
        private_folder(mark.parent)
        mark.touch(mode=0o600, exist_ok=False)


def _mark(file: FileIdentity) -> Path:
    return cache_folder() / "verified" / hashlib.sha256(repr(file).encode()).hexdigest()
