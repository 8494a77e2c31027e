"""Files and folders that we write, where others may have put something in our way: no link is ever followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mate.errors import StoreError


def require_own(folder: Path) -> None:
    """Refuse a place that is a link or belongs to somebody else: what we write there could go anywhere."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise StoreError(f"{folder} is a link or somebody else's: remove it, or name another place")


def private_folder(folder: Path) -> None:
    """Make a folder that only we can read, unless we have made it before."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        require_own(folder)


def is_plain_file(path: Path) -> bool:
    """Tell whether this is a file, and not a link to one."""
    return stat.S_ISREG(path.lstat().st_mode)


def unfinished(path: Path) -> Path:
    """Return what a file is called while this process writes it."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file that is there under its name only when it is complete; a failure leaves what was there before.

    The file that is written first must be new, and a link under the final name is replaced, not followed.
    """
    part = unfinished(path)
    with part.open("xb") as stream:
        try:
            yield stream
            stream.flush()
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
