"""Which files of arrays were verified: by this process, or by another one of the same user on this machine.

A file is known by its device, inode, size and time of change. The marks are empty files in a private folder; where
none can be written, every process verifies for itself.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from mate.errors import StoreError
from mate.files import private_folder

CACHE = "MATE_CACHE_DIR"
"""Environment variable that names the folder for marks; else they are in the user's cache folder."""
MOST_MARKS = 20_000
"""Above this many marks all are removed: segments come and go."""

Identity: TypeAlias = tuple[int, int, int, int]

_known: set[Identity] = set()
"""Files that this process has written or verified, or has found the mark of."""


def identity(found: os.stat_result) -> Identity:
    """Return what tells a file from another one, and from itself after a change."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def trust(file: Identity) -> None:
    """Remember for this process that a file needs no verification."""
    _known.add(file)


def is_trusted(file: Identity) -> bool:
    """Tell whether this process, or an earlier one of this user, has written or verified a file."""
    if file in _known:
        return True
    try:
        found = _mark(file).lstat()
    except OSError:
        return False
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        return False
    _known.add(file)  # every search asks
    return True


def remember(file: Identity) -> None:
    """Note for this and later processes that a file was verified."""
    _known.add(file)
    mark = _mark(file)
    with suppress(OSError, StoreError):
        mark.parent.parent.mkdir(parents=True, exist_ok=True)
        private_folder(mark.parent)
        _make_room(mark.parent)
        mark.touch(mode=0o600, exist_ok=False)


def _make_room(folder: Path) -> None:
    marks = list(folder.iterdir())
    for old in marks if len(marks) >= MOST_MARKS else ():
        old.unlink(missing_ok=True)


def _mark(file: Identity) -> Path:
    given = os.environ.get(CACHE)
    home = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "mate"
    return home / "verified" / hashlib.sha256(repr(file).encode()).hexdigest()
