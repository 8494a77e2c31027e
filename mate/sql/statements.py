"""Every statement on the tables of an index, the same for all databases but for what a dialect puts in.

Numbers stand in statements as constants, which lets a planner skip what it need not read; texts are bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mate.lake.base import Ids
from mate.sql.dialects.base import Dialect
from mate.sql.row_keys import KeyForm
from mate.sql.schema import BUCKET_SHIFT, BUILDS, MANIFEST, Column, Generation, Shape, key_column

# What all generations share


def published(schema: str) -> str:
    """SQL that reads the manifests, the one in use first."""
    return f"SELECT load_id, change_id, manifest FROM {schema}.{MANIFEST} ORDER BY load_id DESC"


def published_numbers(schema: str) -> str:
    """SQL for the generations that have a manifest, the one in use first."""
    return f"SELECT load_id FROM {schema}.{MANIFEST} ORDER BY load_id DESC"


def publish(schema: str) -> str:
    """SQL that makes a generation the one in use."""
    return f"INSERT INTO {schema}.{MANIFEST} (load_id, change_id, manifest) VALUES (%s, 0, %s)"


def retire(schema: str) -> str:
    """SQL that forgets old generations."""
    return f"DELETE FROM {schema}.{MANIFEST} WHERE load_id < %s"


def rewrite_manifest(schema: str) -> str:
    """SQL that replaces the manifest of the generation in use."""
    return f"UPDATE {schema}.{MANIFEST} SET manifest = %s, change_id = change_id + 1 WHERE load_id = %s"


def last_change(generation: Generation, more: str = "") -> str:
    """SQL for the number of the last change of a generation; no record if it is not there any more."""
    return f"SELECT change_id{more} FROM {generation.schema}.{MANIFEST} WHERE load_id = {generation.number}"


def any_build(schema: str) -> str:
    """SQL that counts the records of builds, of which one is there to be updated where tables cannot be locked."""
    return f"SELECT COUNT(*) FROM {schema}.{BUILDS}"


def first_build(schema: str) -> str:
    """SQL that adds this record."""
    return f"INSERT INTO {schema}.{BUILDS} (load_id) VALUES (0)"


# Building and changing


def count(table: str, where: str = "") -> str:
    """SQL that counts the records of a table."""
    return f"SELECT COUNT(*) FROM {table}{where}"


def log_part(generation: Generation) -> str:
    """SQL that notes a loaded part: the second to do so fails."""
    return f"INSERT INTO {generation.table('load_log')} (part_id, record_count) VALUES (%s, %s)"


def merge_tokens(generation: Generation, counts: str) -> str:
    """SQL that adds to the dictionary what the counts of tokens in another table sum up to."""
    return (
        f"INSERT INTO {generation.table('tokens')} (token_id, token, posting_count)"
        f" SELECT token_id, token, SUM(posting_count) FROM {counts}"
        " GROUP BY token_id, token HAVING SUM(posting_count) > 0"
    )


def shared_numbers(generation: Generation, where: str = "") -> str:
    """SQL that counts the numbers that more than one token has."""
    numbers = f"SELECT token_id FROM {generation.table('tokens')}{where} GROUP BY token_id HAVING COUNT(*) > 1"
    return f"SELECT COUNT(*) FROM ({numbers}) AS shared"


def take_gone(generation: Generation, touched: str, tables: str) -> str:
    """SQL that notes the tokens of the tables that go, with what they lose; `tables` is a condition on table_id."""
    return (
        f"INSERT INTO {touched} (token_id, token, posting_count) SELECT g.token_id, t.token, -g.lost FROM"
        f" (SELECT token_id, COUNT(*) AS lost FROM {generation.table('cells')}"
        f" WHERE {tables} AND piece = 0 AND token_id >= 0 GROUP BY token_id) AS g"
        f" INNER JOIN {generation.table('tokens')} AS t ON t.token_id = g.token_id"
    )


def take_present(generation: Generation, touched: str) -> str:
    """SQL that notes what the dictionary has of the tokens noted already."""
    return (
        f"INSERT INTO {touched} (token_id, token, posting_count) SELECT token_id, token, posting_count"
        f" FROM {generation.table('tokens')} WHERE token_id IN (SELECT token_id FROM {touched})"
    )


def delete(table: str, condition: str) -> str:
    """SQL that deletes records."""
    return f"DELETE FROM {table} WHERE {condition}"


# Look-ups


def among(column: str, ids: Ids) -> str:
    """Return the condition that a column is one of some numbers."""
    return f"{column} IN ({', '.join(map(str, ids.tolist()))})"


def among_temporary(column: str, name: str, of: str = "id") -> str:
    """Return the condition that a column is one of the values in a temporary table."""
    return f"{column} IN (SELECT {of} FROM {name})"


def among_bound(column: str, values: int) -> str:
    """Return the condition that a column is one of so many bound values."""
    return f"{column} IN ({', '.join(['%s'] * values)})"


def widths(generation: Generation) -> str:
    """SQL for the numbers of columns that tables have, each once."""
    counts = f"SELECT COUNT(*) AS width FROM {generation.table('columns')} GROUP BY table_id"
    return f"SELECT DISTINCT width FROM ({counts}) AS counts"


IDS = "mate_ids"
"""Temporary table of numbers to look up."""
NAMES = "mate_names"
"""Temporary table of sources."""
TOUCHED = "mate_touched"
"""Temporary table of a change's tokens: new, old and gone ones."""


@dataclass(frozen=True)
class Probes:
    """The key tuples of a search as a relation: their number, token ids and, if rows are filtered, what for."""

    relation: str
    """Name of a temporary table, or a sub-query of constants."""
    tokens: Ids
    """One row per key tuple, one column per key column."""
    initial: int
    hash_number: int | None
    form: KeyForm | None = None
    """Form of the super keys that filter rows."""
    buckets: Sequence[int] = ()
    """Buckets of the initial column's tokens, if postings have buckets and these are few."""
    intersects: bool = False
    """Whether a row needs a value of every key column, in any combination."""
    most_listed: int = 0
    """Up to so many tokens stand in a statement as constants: a planner knows how frequent these are."""

    def tokens_of(self, *columns: int) -> str:
        """The tokens of key columns: constants, or a query for those in the temporary table."""
        tokens = np.unique(self.tokens[:, columns])
        if len(tokens) <= self.most_listed or self.relation.startswith("("):
            return ", ".join(map(str, tokens.tolist()))
        return " UNION ".join(f"SELECT token{n} FROM {self.relation}" for n in columns)

    @property
    def rest(self) -> list[int]:
        """The other key columns."""
        return [column for column in range(self.tokens.shape[1]) if column != self.initial]


def probe_columns(key_columns: int, form: KeyForm | None) -> list[Column]:
    """Return the columns of a table of probes."""
    keys = form.probe_columns(key_columns) if form else []
    return [Column("tuple_id"), *(Column(f"token{n}") for n in range(key_columns)), *keys]


def constant_probes(dialect: Dialect, columns: Sequence[Column], records: Sequence[pa.Array]) -> str:
    """Return a few key tuples as a sub-query of constants."""
    tuples = (
        ", ".join(f"{dialect.literal(c, value)} AS {c.name}" for c, value in zip(columns, record, strict=True))
        for record in zip(*(column.to_pylist() for column in records), strict=True)
    )
    return f"({' UNION ALL '.join(f'SELECT {constants}' for constants in tuples)})"


@dataclass(frozen=True)
class Lookup:
    """The look-ups of one search."""

    dialect: Dialect
    generation: Generation
    shape: Shape
    probes: Probes

    def _table(self, name: str) -> str:
        return self.generation.table(name)

    @property
    def _key(self) -> str:
        """The super key of a row, as the row filter has it."""
        assert self.probes.hash_number is not None
        return f"{'s' if self.shape.has_super_keys else 'p'}.{key_column(self.probes.hash_number)}"

    def _holding(self, posting: str, column: int) -> str:
        """Return the condition that a posting is of a value of a key column."""
        return f"{posting}.token_id IN ({self.probes.tokens_of(column)})"

    def _postings(self, where: str) -> tuple[str, list[str]]:
        """Return FROM and conditions for the postings of the initial column's values, each of which is read once,
        however many key tuples share its value."""
        probes = self.probes
        conditions = [self._holding("p", probes.initial), *([where] if where else [])]
        if probes.buckets:
            conditions.append(f"p.bucket IN ({', '.join(map(str, probes.buckets))})")
        join = f"{self._table('postings')} AS p"
        for n in probes.rest if probes.intersects else ():
            held = (
                f"SELECT DISTINCT o.table_id, o.row_id FROM {self._table('postings')} AS o"
                f" WHERE {self._holding('o', n)}"
            )
            join += f" INNER JOIN ({held}) AS h{n} ON h{n}.table_id = p.table_id AND h{n}.row_id = p.row_id"
        return join, conditions

    def _unfiltered(self, where: str) -> str:
        """Return FROM and WHERE for the postings of the initial column's values."""
        join, conditions = self._postings(where)
        return f" FROM {join} WHERE {' AND '.join(conditions)}"

    def _pairs(self, where: str) -> str:
        """Return FROM and WHERE for the pairs of posting and key tuple that pass the row filter."""
        probes = self.probes
        join, conditions = self._postings(where)
        join += f" INNER JOIN {probes.relation} AS q ON p.token_id = q.token{probes.initial}"
        if probes.form is not None:
            if self.shape.has_super_keys:
                keys = self._table("super_keys")
                join += f" INNER JOIN {keys} AS s ON s.table_id = p.table_id AND s.row_id = p.row_id"
            conditions.append(probes.form.condition(self.dialect, self._key, probes.rest))
        return f" FROM {join} WHERE {' AND '.join(conditions)}"

    def _candidates(self, where: str) -> str:
        """Return FROM and WHERE for the postings that pass the row filter, some more than once."""
        return self._unfiltered(where) if self.probes.form is None else self._pairs(where)

    def table_counts(self, where: str) -> str:
        """SQL that counts, by table, the postings of the initial column's values (L_t of section 6.2)."""
        return f"SELECT p.table_id, COUNT(*){self._unfiltered(where)} GROUP BY p.table_id"

    def _passed(self, where: str) -> str:
        """Return the postings that pass the row filter, each with a key tuple and its other tokens, as a sub-query."""
        rest = "".join(f", q.token{n}" for n in self.probes.rest)
        return f"(SELECT p.table_id, p.row_id, p.column_id, q.tuple_id{rest}{self._pairs(where)}) AS f"

    def _held(self, column: int) -> str:
        """Return the condition that a cell `c` is in the row, and has the value of a key column."""
        return (
            f"c{column}.table_id = f.table_id AND c{column}.row_id = f.row_id AND c{column}.token_id = f.token{column}"
        )

    def bounds(self, where: str, limit: int) -> str:
        """SQL that counts, by table, the key tuples that some row holds, and their rows, of the best tables.

        That bounds the joinability, whose mapping has to be the same for all rows; mostly it is equal. How many rows
        and columns a table has comes along, so that nobody has to ask before they are read.
        """
        held = [
            f"EXISTS (SELECT 1 FROM {self._table('cells')} AS c{n} WHERE {self._held(n)})" for n in self.probes.rest
        ]
        best = (
            "SELECT f.table_id, COUNT(DISTINCT f.tuple_id) AS bound, COUNT(*) AS pairs"
            f" FROM {self._passed(where)}{' WHERE ' if held else ''}{' AND '.join(held)}"
            f" GROUP BY f.table_id ORDER BY bound DESC, f.table_id LIMIT {limit}"
        )
        return (
            f"SELECT b.table_id, b.bound, b.pairs, t.row_count, COUNT(*) AS width FROM ({best}) AS b"
            f" INNER JOIN {self._table('tables')} AS t ON t.table_id = b.table_id"
            f" INNER JOIN {self._table('columns')} AS c ON c.table_id = b.table_id"
            " GROUP BY b.table_id, b.bound, b.pairs, t.row_count"
        )

    def mappings(self, where: str) -> str:
        """SQL for the key tuples that rows hold, and the columns that hold their values: each combination once.

        That is all that joinability depends on, however many rows repeat a key tuple.
        """
        columns = {self.probes.initial: "f.column_id", **{n: f"c{n}.column_id" for n in self.probes.rest}}
        selected = ", ".join(f"{columns[n]} AS column{n}" for n in sorted(columns))
        joins = (f" INNER JOIN {self._table('cells')} AS c{n} ON {self._held(n)}" for n in self.probes.rest)
        tables = [where.replace("p.table_id", f"c{n}.table_id") for n in self.probes.rest if self.dialect.sorts_cells]
        return (
            f"SELECT DISTINCT f.table_id, f.tuple_id, {selected} FROM {self._passed(where)}{''.join(joins)}"
            f"{' WHERE ' if tables else ''}{' AND '.join(tables)}"
        )

    def rows(self, where: str) -> str:
        """SQL for the rows that pass the row filter, with their super keys."""
        assert self.probes.form is not None
        key = self.probes.form.selected(self.dialect, self._key)
        return f"SELECT DISTINCT p.table_id, p.row_id, {key}{self._pairs(where)}"

    def cells(self, where: str) -> str:
        """SQL for the query's tokens in the rows that pass the row filter, with their places.

        `where` is a condition on p.table_id. It is given for cells, too, where these are sorted by table.
        """
        rows = f"SELECT DISTINCT p.table_id, p.row_id{self._candidates(where)}"
        tables = f" AND {where.replace('p.table_id', 'c.table_id')}" if self.dialect.sorts_cells else ""
        token = self.dialect.filtered("c.token_id")
        wanted = self.probes.tokens_of(*range(self.probes.tokens.shape[1]))
        return (
            f"SELECT c.table_id, c.row_id, c.column_id, c.token_id FROM {self._table('cells')} AS c"
            f" INNER JOIN ({rows}) AS r ON c.table_id = r.table_id AND c.row_id = r.row_id"
            f" WHERE c.piece = 0 AND {token} IN ({wanted}){tables}"
        )


def bucket_of(tokens: Ids) -> Ids:
    """Return the buckets of tokens."""
    return tokens >> BUCKET_SHIFT
