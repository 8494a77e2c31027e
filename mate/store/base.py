"""What a store must do. Algorithms know this page only, never a database.

An index holds, whatever the database:

- *tokens*: number, text and how many postings each token has;
- *postings*: one a cell that has a token: token, table, column, row; with the layout ``per_cell`` its row's super keys;
- *rows*: for each row its table, the numbers of its tokens by column, and its cells as they were read;
- *super keys*: one a row and hash function in the layout ``per_row``;
- *tables*, *columns*, *sources*, *rejects* and the *manifest*;
- if asked for, what JOSIE needs: see `mate.store.josie`.

Tables, rows and columns are numbered from 0. Rows are numbered through the whole index, table by table.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.errors import StoreError
from mate.hashing import Keys, SuperKeyHash, get
from mate.store.josie import JosieIndex
from mate.values.text import NORMALISATION_VERSION

if TYPE_CHECKING:
    from mate.store.flat import FlatIndex

FORMAT_VERSION = 1
LAYOUTS = ("per_cell", "per_row")

Ids: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HashSpec:
    """A hash function as the manifest records it."""

    name: str
    bits: int
    parameters: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, function: SuperKeyHash) -> Self:
        """Return the specification of a hash function."""
        return cls(function.name, function.bits, function.parameters)

    def function(self) -> SuperKeyHash:
        """Return the hash function itself."""
        return get(self.name, self.bits, **self.parameters)

    def __str__(self) -> str:
        options = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}:{self.bits}" + (f":{options}" if options else "")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index is made of and with; a query must hash and normalise exactly so."""

    hashes: tuple[HashSpec, ...]
    layout: str
    nulls: tuple[str, ...]
    tables: int
    columns: int
    rows: int
    cells: int
    """Cells that have a token, which is the number of postings."""
    distinct_tokens: int
    rejects: int
    cell_characters: int
    """A longer cell was kept but not indexed."""
    token_seed: int = 0
    label: str = ""
    """A word on the data where it matters, such as "synthetic"."""
    built: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    josie: bool = False
    """Whether the index has what JOSIE needs."""
    limits: dict[str, Any] = field(default_factory=dict)
    """How much of a table was taken in (`mate.limits.Limits`), so that later changes are read in the same way."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What a store remembers of the changes to it."""
    build: str = ""
    """A name that no other build has: what tells whether a file beside the index belongs to it."""
    normalisation: int = NORMALISATION_VERSION
    format: int = FORMAT_VERSION

    def to_json(self) -> str:
        """Return the manifest as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, where: str) -> Self:
        """Return the manifest of the store at `where`, refusing what this version cannot read right."""
        try:
            record = json.loads(text)
            if record["format"] != FORMAT_VERSION:
                raise StoreError(
                    f"{where} has format {record['format']}, this version of MATE reads format {FORMAT_VERSION}: "
                    + ("upgrade MATE" if record["format"] > FORMAT_VERSION else "build the index again")
                )
            if record["normalisation"] != NORMALISATION_VERSION:
                raise StoreError(
                    f"{where} was built with normalisation {record['normalisation']}, this version of MATE uses "
                    f"{NORMALISATION_VERSION}: build the index again"
                )
            if record["layout"] not in LAYOUTS:
                raise StoreError(f'{where} has the unknown layout "{record["layout"]}": build the index again')
            record["hashes"] = tuple(HashSpec(**spec) for spec in record["hashes"])
            record["nulls"] = tuple(record["nulls"])
            return cls(**record)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{where} has a manifest that cannot be read: {error}") from error

    def hash_number(self, name: str | None = None, bits: int | None = None) -> int:
        """Return the place of a hash function among those of the index, the first one unless asked otherwise."""
        for number, spec in enumerate(self.hashes):
            if (name is None or spec.name == name) and (bits is None or spec.bits == bits):
                return number
        asked = f"{name or 'hash function'}" + (f" with {bits} bits" if bits else "")
        raise StoreError(f"the index has no {asked}; it was built with: {', '.join(map(str, self.hashes)) or 'none'}")


class TokenEntries(NamedTuple):
    """Tokens of a query that the index knows: their place in the request, number and number of postings."""

    place: Ids
    token_id: Ids
    postings: Ids


class Postings(NamedTuple):
    """Posting list items, as parallel arrays."""

    token_id: Ids
    table_id: Ids
    column_id: Ids
    row_id: Ids


class Probes(NamedTuple):
    """Key tuples to look for: the token of the initial column, and the super key of the whole tuple."""

    token_id: Ids
    tuple_id: Ids
    keys: Keys


class Candidates(NamedTuple):
    """Postings paired with the key tuples whose super key their row covers."""

    tuple_id: Ids
    table_id: Ids
    column_id: Ids
    row_id: Ids


class Rows(NamedTuple):
    """Rows by number, ascending: ``token_id[offsets[i]:offsets[i + 1]]`` are the tokens of row i by column.

    A cell without a token has `mate.values.token_ids.NO_TOKEN`.
    """

    row_id: Ids
    offsets: Ids
    token_id: Ids


class TableCounts(NamedTuple):
    """Number of postings by table."""

    table_id: Ids
    postings: Ids


class Dictionary(NamedTuple):
    """Entries of the dictionary, ascending by number; one whose postings are all gone may be among them, with 0."""

    token_id: Ids
    token: pa.StringArray
    postings: Ids


class RowPlaces(NamedTuple):
    """Rows and the tables that they are in: table after table, and in a table in the order of its rows."""

    row_id: Ids
    table_id: Ids


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table of the index, for people."""

    table_id: int
    name: str
    source: str
    position: int
    line: int
    columns: tuple[str, ...]
    first_row: int
    rows: int
    """As built, rows follow each other from `first_row` on; of an index that was changed, ask `IndexStore.row_ids`."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What has happened to an index since it was built or compacted."""

    operations: int
    last: str
    """When the last one was done."""
    added_tables: int
    changed_tables: int
    removed_tables: int
    dead_rows: int
    """Rows of the index as built that are gone or replaced."""
    rows: int
    """Rows that were added or replaced."""
    bytes: int


class IndexStore(ABC):
    """A published index, open for reading. Usable from several threads at a time."""

    address: str
    manifest: Manifest
    changes: Changes | None = None
    """What was changed since the index was built, if anything was."""
    flat: FlatIndex | None = None
    """The arrays beside the index, if it has them: a search reads them directly."""
    flat_lacks: Ids = np.empty(0, np.int64)
    """Tables that were changed since the arrays were written: a search asks the store for them."""

    @abstractmethod
    def tokens(self, texts: pa.StringArray) -> TokenEntries:
        """Look tokens up in the dictionary; those that the index does not have are left out."""

    @abstractmethod
    def postings(self, token_ids: Ids) -> Postings:
        """Return all postings of these tokens."""

    @abstractmethod
    def candidates(self, probes: Probes, hash_number: int | None, tables: Ids | None = None) -> Candidates:
        """Return the postings of the probes' tokens whose row covers the probe's key (all of them without a hash).

        Only those of certain tables, if given.
        """

    @abstractmethod
    def count_by_table(self, token_ids: Ids, weights: Ids | None = None) -> TableCounts:
        """Count the postings of these tokens by table, without fetching them; each as often as its weight says."""

    @abstractmethod
    def rows(self, row_ids: Ids) -> Rows:
        """Return the tokens of rows; duplicates are returned once."""

    @abstractmethod
    def cells(self, row_ids: Ids) -> dict[int, list[str | None]]:
        """Return rows as they were read, by number."""

    @abstractmethod
    def super_keys(self, row_ids: Ids, hash_number: int = 0) -> Keys:
        """Return the super keys of rows, in the order asked for."""

    @abstractmethod
    def tables(self, table_ids: Ids | None = None) -> list[TableInfo]:
        """Return tables by number, ascending; all of them unless some are asked for."""

    @abstractmethod
    def tables_from(self, sources: Sequence[str]) -> Ids:
        """Return the numbers of the tables that were read from these sources."""

    @abstractmethod
    def rejects(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed: source, line, kind, reason, count."""

    @abstractmethod
    def sources(self) -> list[dict[str, Any]]:
        """Return the files that were read: source, format, bytes, sha256, tables."""

    def tables_named(self, name: str) -> Ids:
        """Return the numbers of the tables that have this name."""
        return as_ids([table.table_id for table in self.tables() if table.name == name])

    def sources_named(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return what `sources` tells of some files only."""
        wanted = set(names)
        return [record for record in self.sources() if record["source"] in wanted]

    def rejects_from(self, sources: Sequence[str]) -> list[dict[str, Any]]:
        """Return what `rejects` tells of some files only."""
        wanted = set(sources)
        return [record for record in self.rejects() if record["source"] in wanted]

    def row_ids(self, table_ids: Ids) -> RowPlaces:
        """Return the rows of tables, in their order."""
        tables = self.tables(table_ids)
        ranges = [np.arange(table.first_row, table.first_row + table.rows) for table in tables]
        owners = np.repeat(as_ids([table.table_id for table in tables]), [table.rows for table in tables])
        return RowPlaces(np.concatenate(ranges) if ranges else as_ids([]), owners)

    def dictionary(self, token_ids: Ids) -> Dictionary:
        """Look tokens up by number; those that the index does not have are left out."""
        raise StoreError(f"{self.address} cannot be changed: its dictionary is not looked up by number")

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Return bytes on disk, in all and by part where the database tells."""

    def josie(self) -> JosieIndex:
        """Return the JOSIE part of the index."""
        raise StoreError(f"{self.address} was built without what JOSIE needs: build it again with mate index --josie")

    @abstractmethod
    def close(self) -> None:
        """Release the database."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_store(address: str) -> IndexStore:
    """Open a published index by its address: the path of a DuckDB file, or ``vertica://...``."""
    if is_vertica(address):
        from mate.sql.vertica import VerticaStore

        return VerticaStore(address)
    from mate.store.layered import open_embedded

    return open_embedded(address)


def is_vertica(address: str) -> bool:
    """Tell whether an index is in Vertica, which needs the client that the extra "vertica" installs."""
    from importlib.util import find_spec

    if not address.startswith("vertica:"):
        return False
    if find_spec("vertica_python") is None:
        raise StoreError("Vertica needs its client: pip install 'mate-discovery[vertica]'")
    return True


def as_ids(values: Sequence[int] | npt.NDArray[Any]) -> Ids:
    """Return numbers as the array type that stores take."""
    return np.ascontiguousarray(values, dtype=np.int64)
