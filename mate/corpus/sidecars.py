"""Names of the files that a download keeps beside the tables: checksums, a list of sources, unfinished files.

`python -m experiments fetch` writes them. None is a table, so a folder is indexed without them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path

CHECKSUMS = "checksums.sha256"
SOURCES = "sources.csv"
SOURCES_COLUMNS = ("file", "url", "title", "licence", "dataset", "checksum", "size", "status", "reason")

_PART = ".part"


def part_of(name: str) -> str:
    """Return the name that a file has until every byte of it has arrived."""
    return f"{name}{_PART}"


def note_of(part: str) -> str:
    """Return the name of the note about an unfinished file; it is hidden, so that nobody takes it for a table."""
    return f".{part}.json"


def is_part(name: str) -> bool:
    """Tell whether a name is that of an unfinished file."""
    return name.endswith(_PART)


def sidecar_files(folder: Path, names: Collection[str]) -> set[str]:
    """Return which of a folder's files a download has written for itself.

    These are the list of checksums; unfinished files, if there is such a list or a note about them; and a
    ``sources.csv`` with the columns of a download. A ``sources.csv`` with other columns is somebody's table.
    """
    downloaded = CHECKSUMS in names
    found = {name for name in names if name == CHECKSUMS or (is_part(name) and (downloaded or note_of(name) in names))}
    if SOURCES in names and _first_line(folder / SOURCES) == ",".join(SOURCES_COLUMNS):
        found.add(SOURCES)
    return found


def _first_line(path: Path) -> str:
    with contextlib.suppress(OSError), path.open("rb") as stream:
        return stream.readline(1_000).decode("utf-8", "replace").strip()
    return ""
