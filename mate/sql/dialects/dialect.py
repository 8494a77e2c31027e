"""The words of a database: types, physical design, catalogue, and expressions that are not the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from mate.hashing import Keys
from mate.hashing.superkey import to_bytes
from mate.lake.base import Ids
from mate.sql.schema import Column, Content, Generation, TableDefinition


class Dialect:
    """What a database is asked in its own words. Names in braces are filled in."""

    buckets: ClassVar[bool] = False
    """Whether postings are sorted by a coarse bucket of their token first."""
    sorts_cells: ClassVar[bool] = True
    """Whether cells are found by scanning those of a table, and not row by row in an index."""
    most_characters: ClassVar[int | None] = None
    """Limit on the characters of a token."""
    most_octets: ClassVar[int | None] = None
    """Limit on the octets of a super key."""
    usual_hash: ClassVar[str] = "fingerprint:16"
    """Filters rows unless a hash is asked for: measured, no other is faster (docs/hashes.md)."""

    types: ClassVar[dict[Content, str]]
    column_suffix: ClassVar[str] = ""
    """Stands behind a column whose equal values follow each other."""
    enforced: ClassVar[str] = ""
    """Stands behind a primary key."""
    create_schema: ClassVar[str] = "CREATE SCHEMA IF NOT EXISTS {schema}"
    create_temporary: ClassVar[str] = "CREATE TEMPORARY TABLE IF NOT EXISTS {name} ({columns})"
    """Creates a table of the session, which keeps its records after a commit."""
    analyze_temporary: ClassVar[str] = ""
    """Tells the planner what a temporary table holds."""

    key_literal: ClassVar[str]
    """A super key, given in hexadecimal digits, as a constant."""
    key_value: ClassVar[str] = "{column}"
    """A super key as it is read."""
    contains: ClassVar[str] = "POSITION({part} IN {text}) > 0"
    not_indexed: ClassVar[str] = "{column}"
    """A column of whole numbers in a condition that must not be answered by an index."""

    table_names: ClassVar[str] = "SELECT table_name FROM information_schema.tables WHERE LOWER(table_schema) = %s"
    schema_exists: ClassVar[str] = "SELECT COUNT(*) FROM information_schema.schemata WHERE LOWER(schema_name) = %s"
    readers: ClassVar[str] = ""
    """Finds who may read the index, where tables do not inherit that from their schema."""
    accepted: ClassVar[str] = ""
    """Counts the records that the last load took, where the client is not told."""
    keep_session: ClassVar[str] = ""
    """Lets a session wait within a transaction while others work."""

    def sizes(self, schema: str, tables: Sequence[str]) -> str:
        """SQL for the names of tables of a schema, and their bytes."""
        raise NotImplementedError

    def storage(self, table: TableDefinition) -> str:
        """Return how the records of a table are sorted and spread over nodes."""
        return ""

    def after_load(self, generation: Generation, distinct_share: float) -> list[str]:
        """SQL, outside of a transaction, that makes tables ready; `distinct_share` is distinct tokens per posting."""
        return []

    def type_of(self, column: Column) -> str:
        """Return the type of a column."""
        return self.types[column.content]

    def definition(self, column: Column) -> str:
        """Return a column as a table is created with it."""
        suffix = self.column_suffix if column.repeats else ""
        return f"{column.name} {self.type_of(column)}{' NOT NULL' if column.required else ''}{suffix}"

    def create_table(self, name: str, table: TableDefinition) -> str:
        """SQL that creates a table unless it exists."""
        parts = [self.definition(column) for column in table.columns]
        if table.unique:
            parts.append(f"CONSTRAINT {name.rpartition('.')[2]}_pk PRIMARY KEY ({table.unique}){self.enforced}")
        return f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(parts)}){self.storage(table)}"

    def create_temporary_table(self, name: str, columns: Sequence[Column]) -> str:
        """SQL that creates a temporary table unless it exists."""
        return self.create_temporary.format(name=name, columns=", ".join(map(self.definition, columns)))

    def literal(self, column: Column, value: Any) -> str:
        """Return a constant: no character of a fingerprint is a quote."""
        if column.content is Content.KEY:
            return self.key_literal.format(key=value.hex())
        return f"'{value}'" if column.content is Content.TEXT else str(value)


def key_array(words: Keys, sizes: Ids | None = None) -> pa.LargeBinaryArray:
    """Return super keys as a column of records: rows of a matrix, or so many words each."""
    sizes = np.full(len(words), words.shape[1]) if sizes is None else sizes
    ends = np.concatenate([[0], np.cumsum(8 * sizes)]).astype(np.int64)
    return pa.Array.from_buffers(
        pa.large_binary(), len(sizes), [None, pa.py_buffer(ends), pa.py_buffer(to_bytes(words))]
    )


def hexadecimal(keys: pa.LargeBinaryArray) -> pa.StringArray:
    """Return super keys as hexadecimal digits."""
    return pa.array([key.hex() for key in keys.to_pylist()], pa.string())
