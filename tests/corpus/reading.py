"""What a reader has found, in plain values."""

from __future__ import annotations

import io

from mate.corpus import Chunk, File, Limits, Reject, read

Found = list[Chunk | Reject]


def read_bytes(format: str, data: bytes, limits: Limits | None = None, source: str = "towns") -> Found:
    """Read the bytes of a file as a format."""
    return list(read(File(source, format), limits, lambda: io.BytesIO(data)))


def header_of(found: Found) -> list[str]:
    """Return the names of the columns."""
    return list(next(item.table.header for item in found if isinstance(item, Chunk)))


def cells_of(found: Found) -> list[str | None]:
    """Return the cells of all tables, one after the other."""
    return [cell for item in found if isinstance(item, Chunk) for cell in item.cells.to_pylist()]


def rows_of(found: Found) -> list[list[str | None]]:
    """Return the rows of the only table."""
    cells = cells_of(found)
    width = len(header_of(found)) if cells else 1
    return [cells[at : at + width] for at in range(0, len(cells), width)]


def rejects_of(found: Found) -> list[tuple[int | None, str, str, int]]:
    """Return place, kind, reason and number of all rejects."""
    return [(item.line, item.kind, item.reason, item.count) for item in found if isinstance(item, Reject)]
