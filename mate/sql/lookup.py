"""The statements of a search, the same for all databases but for the words of a dialect.

Numbers stand in statements as constants, which lets a planner skip what it need not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mate.lake.base import Ids
from mate.search.search import Search
from mate.sql.dialects.dialect import Dialect
from mate.sql.schema import BUCKET_SHIFT, Column, Generation, key_column
from mate.sql.super_keys import KeyForm


def among(column: str, ids: Ids) -> str:
    """Return the condition that a column is one of some numbers."""
    return f"{column} IN ({', '.join(map(str, ids.tolist()))})"


def among_sources(sources: Sequence[str], most: int) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield conditions that a source is one of some, up to so many each, and the values that take their places."""
    for start in range(0, len(sources), most):
        part = sources[start : start + most]
        yield f"source IN ({', '.join(['%s'] * len(part))})", part


def bucket_of(tokens: Ids) -> Ids:
    """Return the buckets of tokens."""
    return tokens >> BUCKET_SHIFT


def among_buckets(generation: Generation, column: str, tokens: Ids, most: int) -> list[str]:
    """Return the condition on the buckets of tokens, if postings are sorted by these and they are few."""
    buckets = np.unique(bucket_of(tokens))
    return [among(column, buckets)] if generation.buckets and 0 < len(buckets) <= most else []


def probe_columns(key_columns: int, form: KeyForm | None) -> list[Column]:
    """Return the columns of a table of probes."""
    keys = form.probe_columns(key_columns) if form else []
    return [Column("tuple_id"), *(Column(f"token{n}") for n in range(key_columns)), *keys]


def constant_probes(dialect: Dialect, columns: Sequence[Column], records: Sequence[pa.Array]) -> str:
    """Return a few key tuples as a sub-query of constants."""
    constants = (
        [f"{dialect.literal(column, value)} AS {column.name}" for value in values.to_pylist()]
        for column, values in zip(columns, records, strict=True)
    )
    selects = ("SELECT " + ", ".join(values) for values in zip(*constants, strict=True))
    return f"({' UNION ALL '.join(selects)})"


@dataclass(frozen=True)
class Lookup:
    """The statements of one search. `where` is a condition on p.table_id, or empty."""

    dialect: Dialect
    generation: Generation
    search: Search
    form: KeyForm | None
    """Form of the super keys that filter rows, if any do."""
    relation: str
    """The key tuples (`probe_columns`): name of a temporary table, or a sub-query of constants."""
    in_list: int
    """Up to so many numbers stand in a statement as constants: a planner knows how frequent these are."""

    @property
    def _others(self) -> list[int]:
        """The key columns but the initial one."""
        return [column for column in range(self.search.token_ids.shape[1]) if column != self.search.initial]

    def _tokens_of(self, *columns: int) -> str:
        """Return the tokens of key columns: constants, or a query for those in the temporary table."""
        tokens = np.unique(self.search.token_ids[:, columns])
        if len(tokens) <= self.in_list or self.relation.startswith("("):
            return ", ".join(map(str, tokens.tolist()))
        return " UNION ".join(f"SELECT token{n} FROM {self.relation}" for n in columns)

    @property
    def _key(self) -> str:
        """The super key of a row, as the row filter has it."""
        assert self.search.hash_number is not None
        return f"{'s' if self.generation.has_super_keys else 'p'}.{key_column(self.search.hash_number)}"

    def _postings(self, where: str) -> str:
        """Return FROM and WHERE for pairs of an initial posting and a key tuple, those that pass the row filter."""
        initial, postings = self.search.initial, self.generation.name("postings")
        conditions = [f"p.token_id IN ({self._tokens_of(initial)})", *([where] if where else [])]
        conditions += among_buckets(self.generation, "p.bucket", self.search.token_ids[:, initial], self.in_list)
        tables = f"{postings} AS p"
        for n in self._others if self.search.intersects else ():
            holding = f"o.token_id IN ({self._tokens_of(n)})"
            rows = f"SELECT DISTINCT o.table_id, o.row_id FROM {postings} AS o WHERE {holding}"
            tables += f" INNER JOIN ({rows}) AS h{n} ON h{n}.table_id = p.table_id AND h{n}.row_id = p.row_id"
        tables += f" INNER JOIN {self.relation} AS q ON p.token_id = q.token{initial}"
        if self.form is not None:
            if self.generation.has_super_keys:
                keys = self.generation.name("super_keys")
                tables += f" INNER JOIN {keys} AS s ON s.table_id = p.table_id AND s.row_id = p.row_id"
            conditions.append(self.form.condition(self.dialect, self._key, self._others))
        return f" FROM {tables} WHERE {' AND '.join(conditions)}"

    def _candidates(self, where: str) -> str:
        """Return a sub-query for the pairs that pass the row filter, with the other tokens of the key tuple."""
        others = "".join(f", q.token{n}" for n in self._others)
        return f"(SELECT p.table_id, p.row_id, p.column_id, q.tuple_id{others}{self._postings(where)}) AS f"

    def _in_row(self, column: int) -> str:
        """Return the condition that a cell `c` is in the row, and has the value of a key column."""
        cell = f"c{column}"
        return f"{cell}.table_id = f.table_id AND {cell}.row_id = f.row_id AND {cell}.token_id = f.token{column}"

    def row_counts(self, where: str) -> str:
        """SQL that counts, by table, the rows that pass the row filter, as its bound and as what is to be read of it.

        Without a filter, these are the rows with postings of the initial column's values (L_t of section 6.2).
        """
        counts = f"SELECT p.table_id, COUNT(DISTINCT p.row_id) AS bound{self._postings(where)} GROUP BY p.table_id"
        return f"SELECT b.table_id, b.bound, b.bound AS found, 0 AS height, 0 AS width FROM ({counts}) AS b"

    def bounds(self, where: str, limit: int) -> str:
        """SQL for the tables whose rows hold the most key tuples: how many, in how many rows; height and width.

        That bounds the joinability, whose mapping has to be the same for all rows; mostly it is equal. Height and
        width say what it takes to read the table.
        """
        cells = self.generation.name("cells")
        exists = [f"EXISTS (SELECT 1 FROM {cells} AS c{n} WHERE {self._in_row(n)})" for n in self._others]
        best = (
            "SELECT f.table_id, COUNT(DISTINCT f.tuple_id) AS bound, COUNT(*) AS found"
            f" FROM {self._candidates(where)}{' WHERE ' if exists else ''}{' AND '.join(exists)}"
            f" GROUP BY f.table_id ORDER BY bound DESC, f.table_id LIMIT {limit}"
        )
        return (
            f"SELECT b.table_id, b.bound, b.found, t.row_count AS height, COUNT(*) AS width FROM ({best}) AS b"
            f" INNER JOIN {self.generation.name('tables')} AS t ON t.table_id = b.table_id"
            f" INNER JOIN {self.generation.name('columns')} AS c ON c.table_id = b.table_id"
            " GROUP BY b.table_id, b.bound, b.found, t.row_count"
        )

    def mappings(self, where: str) -> str:
        """SQL for the key tuples that rows hold, and the columns that hold them, once each: joinability needs that."""
        columns = {self.search.initial: "f.column_id", **{n: f"c{n}.column_id" for n in self._others}}
        selected = ", ".join(f"{columns[n]} AS column{n}" for n in sorted(columns))
        joins = (f" INNER JOIN {self.generation.name('cells')} AS c{n} ON {self._in_row(n)}" for n in self._others)
        tables = [where.replace("p.table_id", f"c{n}.table_id") for n in self._others if self.dialect.sorts_cells]
        return (
            f"SELECT DISTINCT f.table_id, f.tuple_id, {selected} FROM {self._candidates(where)}{''.join(joins)}"
            f"{' WHERE ' if tables else ''}{' AND '.join(tables)}"
        )

    def cells(self, where: str, *, with_keys: bool = False) -> str:
        """SQL for the query's tokens in the rows that pass the row filter, with their places and the row's super key.

        The condition is given for cells, too, where these are sorted by table.
        """
        key = f", {self.form.selected(self.dialect, self._key)} AS row_key" if with_keys and self.form else ""
        tables = f" AND {where.replace('p.table_id', 'c.table_id')}" if self.dialect.sorts_cells else ""
        token = self.dialect.not_indexed.format(column="c.token_id")
        wanted = self._tokens_of(*range(self.search.token_ids.shape[1]))
        return (
            f"SELECT c.table_id, c.row_id, c.column_id, c.token_id{', r.row_key' if key else ''}"
            f" FROM {self.generation.name('cells')} AS c"
            f" INNER JOIN (SELECT DISTINCT p.table_id, p.row_id{key}{self._postings(where)}) AS r"
            " ON c.table_id = r.table_id AND c.row_id = r.row_id"
            f" WHERE c.piece = 0 AND {token} IN ({wanted}){tables}"
        )
