"""Which tables of an index were read from a file that is the query now."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from mate.errors import QueryError

if TYPE_CHECKING:
    from mate.lake.base import Index


class OwnTables:
    """The tables of an index by the file that they were read from: its place, or its content."""

    def __init__(self, index: Index) -> None:
        self._tables: dict[str, list[int]] = defaultdict(list)
        for table in index.tables():
            self._tables[table.source].append(table.table_id)
        self._by_place: dict[Path, list[str]] = defaultdict(list)
        self._by_content: dict[str, list[str]] = defaultdict(list)
        for record in index.sources():
            self._by_place[Path(record["source"]).resolve()].append(record["source"])
            self._by_content[record["sha256"]].append(record["source"])

    def of(self, path: str | None) -> frozenset[int]:
        """Return the tables that were read from this very file, or from one with the same content."""
        if path is None:
            raise QueryError('exclude="self" is for a query that is read from a file')
        with Path(path).open("rb") as stream:
            checksum = hashlib.file_digest(stream, "sha256").hexdigest()
        same = {*self._by_place.get(Path(path).resolve(), ()), *self._by_content.get(checksum, ())}
        return frozenset(number for source in same for number in self._tables.get(source, ()))
