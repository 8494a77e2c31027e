"""JOSIE's own index of a whole lake, on disk: what it takes beside the inverted index that MATE has (section 7.1).

Searches here read the directory of a lake, which has most of it (`baselines.systems.column_sets`), so that systems
differ by their algorithms alone. Who has JOSIE and no lake builds this:

- *tokens*: their texts, and the number of each in the global order, rarest first;
- *posting lists*: for every token the sets that have it, each with the token's position in the set and the set's size;
- *sets*: for every column its tokens in the global order, and which table and column it is.

It has the fields of the tables that the authors of JOSIE keep in PostgreSQL, as plain arrays: numbers of 4 bytes, and
no tree over them. It has no rows: these are still asked of an inverted index.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from baselines.systems.column_sets import ListItems, SetMembers
from mate.lake.arrays import Array
from mate.lake.base import Ids
from mate.lake.columns import ranges
from mate.lake.folder import LakeFolder
from mate.lake.segment import SearchSegment
from mate.values.token_ids import token_ids

Numbers = npt.NDArray[np.uint32]


class JosieIndex(NamedTuple):
    """The arrays, and what `baselines.systems.josie` asks of sets."""

    token_id: Array
    """int64, ascending: what a text is found by. Two texts with the same id, if there ever are, count as one."""
    token_list: Array
    """uint32: the list of each token."""
    text_first: Array
    """Where the text of each token begins; one more at the end."""
    text: Array
    """uint8."""
    list_first: Array
    """Where each list begins; one more at the end."""
    list_set: Array
    list_position: Array
    list_size: Array
    """uint32: set, position in it, size of it, for each item of the lists."""
    set_first: Array
    """Where each set begins; one more at the end."""
    set_list: Array
    """uint32: the members of the sets, as numbers of lists."""
    set_table: Array
    """int64: the table of each set."""
    set_column: Array
    """uint32: its place in the table."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map an index that `write` wrote."""
        return cls(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in cls._fields))

    def write(self, folder: Path) -> int:
        """Write the index to a folder of its own; return its bytes there."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in zip(self._fields, self, strict=True):
            np.save(folder / f"{name}.npy", array)
        return sum(file.stat().st_size for file in folder.iterdir())

    @property
    def lists(self) -> int:
        """Number of posting lists: one for each token."""
        return len(self.list_first) - 1

    @property
    def sets(self) -> int:
        """Number of sets."""
        return len(self.set_first) - 1

    def places(self, tokens: Sequence[str]) -> Ids:
        """Return the places of those tokens that the index has."""
        ids = token_ids(pa.array(tokens, pa.string()))
        place = np.minimum(np.searchsorted(self.token_id, ids), len(self.token_id) - 1)
        found: Ids = place[self.token_id[place] == ids]
        return found

    def lists_of(self, tokens: Ids) -> Ids:
        """Return the posting lists of tokens, given by their places."""
        found: Ids = self.token_list[tokens].astype(np.int64)
        return found

    def lengths(self, list_ids: Ids) -> Ids:
        """Return how many sets lists have."""
        found: Ids = self.list_first[list_ids + 1] - self.list_first[list_ids]
        return found

    def items(self, list_ids: Ids) -> ListItems:
        """Read posting lists."""
        place, owner = ranges(self.list_first[list_ids], self.list_first[list_ids + 1])
        read = (array[place].astype(np.int64) for array in (self.list_set, self.list_position, self.list_size))
        return ListItems(list_ids[owner], *read)

    def members(self, set_ids: Ids, position: Ids) -> SetMembers:
        """Read sets, each from a position on."""
        place, owner = ranges(self.set_first[set_ids] + position, self.set_first[set_ids + 1])
        return SetMembers(set_ids[owner], self.set_list[place].astype(np.int64))


def build_josie_index(index: LakeFolder) -> JosieIndex:
    """Return JOSIE's index of all tables of a lake that are in use."""
    parts = [_columns(segment) for segment in index.segments]
    first = np.cumsum([0, *(len(part.table) for part in parts)])
    token_id, token, count = np.unique(
        np.concatenate([part.token_id for part in parts]), return_inverse=True, return_counts=True
    )
    set_id = np.concatenate([part.column + start for part, start in zip(parts, first, strict=False)])
    order = np.argsort(count, kind="stable")  # rarest first
    token_list = np.empty(len(order), np.int64)
    token_list[order] = np.arange(len(order))
    list_id = token_list[token]
    list_first, list_set, list_position, set_first, set_list = _inverted(list_id, set_id, len(order), int(first[-1]))
    text, text_first = _texts(index.segments, token_id)
    return JosieIndex(
        token_id,
        _small(token_list),
        text_first,
        text,
        list_first,
        _small(list_set),
        _small(list_position),
        _small(np.diff(set_first)[list_set]),
        set_first,
        _small(set_list),
        np.concatenate([part.table for part in parts]),
        _small(np.concatenate([part.place for part in parts])),
    )


class _Columns(NamedTuple):
    """The columns of a segment's tables in use, and their directory entries."""

    token_id: Array
    column: Ids
    table: Ids
    place: Ids


def _columns(segment: SearchSegment) -> _Columns:
    arrays = segment.arrays
    table = arrays.column_table.astype(np.int64)
    live = segment.live[table]
    number = np.cumsum(live) - 1
    first = arrays.entry_first.astype(np.int64)
    token = np.repeat(np.arange(len(arrays.token_id)), first[1:] - first[:-1])
    column = arrays.entry_column.astype(np.int64)
    kept = live[column]
    place = np.arange(len(table)) - arrays.table_column_first[table]
    return _Columns(arrays.token_id[token[kept]], number[column[kept]], arrays.table_id[table[live]], place[live])


def _inverted(list_id: Ids, set_id: Ids, lists: int, sets: int) -> tuple[Ids, Ids, Ids, Ids, Ids]:
    """Return the lists, by set, and the sets, by list: where each begins, its items, and for lists their positions."""
    set_first = np.append(0, np.cumsum(np.bincount(set_id, minlength=sets)))
    list_first = np.append(0, np.cumsum(np.bincount(list_id, minlength=lists)))
    by_set = np.lexsort((list_id, set_id))
    position = np.empty(len(set_id), np.int64)
    position[by_set] = np.arange(len(set_id)) - set_first[set_id[by_set]]
    by_list = np.lexsort((set_id, list_id))
    return list_first, set_id[by_list], position[by_list], set_first, list_id[by_set]


def _texts(segments: Sequence[SearchSegment], token_id: Array) -> tuple[Array, Array]:
    """Return the texts of tokens, given by their ids, as one buffer, and where each begins."""
    known, at = np.unique(np.concatenate([segment.arrays.token_id for segment in segments]), return_index=True)
    texts = pa.chunked_array([segment.texts(np.arange(len(segment.arrays.token_id))) for segment in segments])
    wanted = texts.take(pa.array(at[np.searchsorted(known, token_id)])).combine_chunks()
    _, first, data = wanted.buffers()
    return np.frombuffer(data, np.uint8), np.frombuffer(first, np.int64)[wanted.offset :][: len(wanted) + 1]


def _small(numbers: Ids) -> Numbers:
    return numbers.astype(np.uint32)
