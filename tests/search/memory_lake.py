"""A lake whose segments are made in memory, of rows: everything that a search needs, in a millisecond."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from mate.hashing import Keys
from mate.lake.base import Ids
from mate.lake.columns import column_codes, column_dictionary
from mate.lake.folder import LakeFolder
from mate.lake.layout import Shapes
from mate.lake.manifest import Counts, HashSpec, Manifest
from mate.lake.records import TableInfo
from mate.lake.segment import SearchSegment, memory_segment
from mate.lake.super_keys import super_keys
from mate.values.text import NULL_SPELLINGS, token
from mate.values.token_ids import token_ids

Rows = Sequence[Sequence[str | None]]

# So few values would give XASH an alpha of 1, which is the length alone.
XASH = HashSpec("xash", 128, {"alpha": 5})


def segment(
    tables: Mapping[int, Rows], hashes: Sequence[HashSpec] = (XASH,), gone: Sequence[int] = ()
) -> SearchSegment:
    """Return a segment of tables by number, some of which are superseded."""
    cells = [
        (number, place, column, cell and token(cell))
        for number in sorted(tables)
        for place, row in enumerate(tables[number])
        for column, cell in enumerate(row)
    ]
    texts = pa.array([text for *_, text in cells], pa.string())
    ids = np.where(np.asarray(texts.is_valid()), token_ids(texts.fill_null("")), -1)
    by_id = dict(zip(ids.tolist(), texts.to_pylist(), strict=True))
    made = memory_segment(*np.array([cell[:3] for cell in cells], np.int64).reshape(-1, 3).T, ids)
    keys = [_super_keys(spec, made, by_id) for spec in hashes]
    encoded = [by_id[number].encode() for number in made.arrays.token_id.tolist()]
    arrays = made.arrays._replace(
        text_first=np.cumsum([0, *map(len, encoded)]).astype(np.uint32),
        text=np.frombuffer(b"".join(encoded), np.uint8),
    )
    live = ~np.isin(arrays.table_id, np.array(gone, np.int64))
    return replace(made, arrays=arrays, keys=keys, live=live, row_number=None)


def _super_keys(spec: HashSpec, made: SearchSegment, by_id: Mapping[int, str]) -> Keys:
    """Return the super keys of a segment's rows, as a build makes them."""
    arrays = made.arrays
    shapes = Shapes(arrays.table_id, np.diff(arrays.table_row_first), np.diff(arrays.table_column_first))
    columns = range(int(arrays.table_column_first[-1]))
    tokens = [column_dictionary(arrays, column) for column in columns]
    codes = [column_codes(arrays, column).astype(np.int64) for column in columns]
    cells = [np.append(-1, own)[code] for own, code in zip(tokens, codes, strict=True)]
    texts = pa.array([by_id[number] for number in arrays.token_id.tolist()], pa.string())
    return super_keys(spec.function(), shapes, np.concatenate(cells), [texts])


class MemoryLake(LakeFolder):
    """Tables in one segment or more; what a later segment has, too, is superseded in the earlier ones."""

    def __init__(
        self,
        *parts: Mapping[int, Rows],
        hashes: Sequence[HashSpec] = (XASH,),
        removed: Sequence[int] = (),
        headers: Mapping[int, Sequence[str]] | None = None,
        names: Mapping[int, str] | None = None,
    ) -> None:
        self._headers, self._names = headers or {}, names or {}
        segments = []
        for place, tables in enumerate(parts):
            later = {number for other in parts[place + 1 :] for number in other}
            segments.append(segment(tables, hashes, [*later & set(tables), *removed]))
        self._rows = {n: rows for tables in parts for n, rows in tables.items() if n not in removed}
        manifest = Manifest(tuple(hashes), tuple(NULL_SPELLINGS), Counts(tables=len(self._rows)), 1_000)
        super().__init__("memory", manifest, segments)  # type: ignore[arg-type]

    @classmethod
    def of(cls, tables: Sequence[Rows], parts: int = 1, **options: object) -> MemoryLake:
        """Return a lake of tables, dealt out to so many segments."""
        dealt = [{n: rows for n, rows in enumerate(tables) if n % parts == part} for part in range(parts)]
        return cls(*(tables for tables in dealt if tables), **options)  # type: ignore[arg-type]

    def tables(self, table_ids: Sequence[int] | Ids | None = None) -> list[TableInfo]:
        wanted = self._rows if table_ids is None else {int(n) for n in table_ids} & set(self._rows)
        return [self._info(number) for number in sorted(wanted)]

    def _info(self, number: int) -> TableInfo:
        rows = self._rows[number]
        header, name = tuple(self._headers.get(number, [""] * len(rows[0]))), self._names.get(number, f"table {number}")
        return TableInfo(number, name, name, number, 1, header, len(rows))

    def cells(self, table_id: int, rows: Ids) -> list[list[str | None]]:
        return [list(self._rows[table_id][row]) for row in rows.tolist()]
