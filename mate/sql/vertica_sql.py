"""Every statement that the Vertica store and its loader emit, and the tables that they are about.

An index is a *generation* of tables, ``postings_7`` and so on, that one build fills; changes are made in it.
Which one is in use is said by one record of ``manifest``: that is what publishing writes.

    postings_N    by token: the look-up; a second projection by row holds the super keys once a row (RLE)
    cells_N       by row: one record a cell, its token and its text, also where it has no token
    super_keys_N  by row, with the layout per_row only
    tokens_N, tables_N, columns_N, sources_N, rejects_N, load_log_N

What JOSIE needs is in `vertica_josie_sql`.

Everything is segmented by row, never by token (frequent tokens would fill one node), so that postings and super keys
of a row meet on one node. Cells are records and not arrays or flexible tables, because every edition and version has
INT, VARCHAR and VARBINARY, and because a record a cell is what sorts and compresses in a column store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mate.store.base import HashSpec

NO_CELL = -2
"""Stands in token_id for a cell that is null; one without a token has -1. Neither is a token's number."""

PIECE = 8_000
"""Octets of a cell in one record; a longer cell takes several, so that no LONG type and no limit is needed."""

PATH = "VARCHAR(65000)"
TEXT = "LONG VARCHAR(1048576)"
MANIFEST, BUILDS = "manifest", "builds"
ROW_TABLES = ("postings", "cells", "super_keys", "tables", "columns")
TABLES = (*ROW_TABLES, "tokens", "sources", "rejects", "load_log")
REPLICATED = "UNSEGMENTED ALL NODES"
_VARCHAR_LIMIT = 65_000


def key_column(number: int) -> str:
    """Return the name of the column that holds one super key."""
    return f"key{number}"


@dataclass(frozen=True, slots=True)
class Generation:
    """The tables of one build."""

    schema: str
    number: int

    def table(self, name: str) -> str:
        """Return the full name of a table."""
        return f"{self.schema}.{name}_{self.number}"

    def create(self, octets: Sequence[int], layout: str) -> list[str]:
        """Return what creates the tables that the tasks fill; `octets` are the sizes of the super keys."""
        per_cell = layout == "per_cell"
        keys = [f"{key_column(n)} VARBINARY({size}) NOT NULL" for n, size in enumerate(octets)]
        by_row = "ORDER BY row_id SEGMENTED BY HASH(row_id) ALL NODES"
        by_table = "ORDER BY table_id SEGMENTED BY HASH(table_id) ALL NODES"
        postings = ["token_id INT NOT NULL ENCODING RLE", *(f"{n} INT NOT NULL" for n in _PLACE)]
        statements = [
            _create(
                self.table("postings"),
                postings + (keys if per_cell else []),
                "ORDER BY token_id, row_id, column_id SEGMENTED BY HASH(row_id) ALL NODES",
            ),
            _create(
                self.table("cells"),
                [
                    "row_id INT NOT NULL ENCODING RLE",
                    "column_id INT NOT NULL",
                    "piece INT NOT NULL",
                    "token_id INT NOT NULL",
                    f"cell VARCHAR({PIECE})",
                ],
                "ORDER BY row_id, column_id, piece SEGMENTED BY HASH(row_id) ALL NODES",
            ),
            _create(
                self.table("tables"),
                [
                    "table_id INT NOT NULL",
                    f"table_name {TEXT}",
                    f"source {PATH} NOT NULL",
                    "place INT NOT NULL",
                    "line_number INT NOT NULL",
                    "first_row INT NOT NULL",
                    "row_count INT NOT NULL",
                ],
                by_table,
            ),
            _create(
                self.table("columns"),
                ["table_id INT NOT NULL ENCODING RLE", "column_id INT NOT NULL", f"column_name {TEXT}"],
                "ORDER BY table_id, column_id SEGMENTED BY HASH(table_id) ALL NODES",
            ),
            _create(
                self.table("load_log"),
                [
                    "part_id INT NOT NULL",
                    "record_count INT NOT NULL",
                    f"CONSTRAINT load_log_{self.number}_pk PRIMARY KEY (part_id) ENABLED",
                ],
                REPLICATED,
            ),
        ]
        if per_cell and octets:
            statements.append(self._projection(len(octets)))
        elif octets:
            statements.append(_create(self.table("super_keys"), ["row_id INT NOT NULL", *keys], by_row))
        return statements

    def _projection(self, hashes: int) -> str:
        names = ["row_id", *map(key_column, range(hashes)), "table_id"]
        encoded = ", ".join(f"{name} ENCODING RLE" for name in names)
        return (
            f"CREATE PROJECTION {self.table('postings')}_by_row ({encoded}) AS SELECT {', '.join(names)}"
            f" FROM {self.table('postings')} ORDER BY row_id SEGMENTED BY HASH(row_id) ALL NODES KSAFE"
        )

    def create_rest(self, cell_characters: int) -> list[str]:
        """Return what creates the tables that the driver fills; a character has at most four octets."""
        return [
            _create(
                self.table("tokens"),
                ["token_id INT NOT NULL", f"token {_text(4 * cell_characters)} NOT NULL", "posting_count INT NOT NULL"],
                "ORDER BY token_id SEGMENTED BY HASH(token_id) ALL NODES",
            ),
            _create(
                self.table("sources"),
                [
                    f"source {PATH} NOT NULL",
                    "format_name VARCHAR(64)",
                    "byte_count INT",
                    "sha256 VARCHAR(64)",
                    "table_count INT",
                ],
                REPLICATED,
            ),
            _create(
                self.table("rejects"),
                [
                    f"source {PATH} NOT NULL",
                    "line_number INT",
                    "kind VARCHAR(64)",
                    f"reason {PATH}",
                    "occurrences INT",
                ],
                REPLICATED,
            ),
        ]

    def drop(self) -> list[str]:
        """Return what removes the tables, projections included."""
        return [f"DROP TABLE IF EXISTS {self.table(name)} CASCADE" for name in TABLES]

    def count(self, name: str, where: str = "") -> str:
        """Return what counts the records of a table."""
        return f"SELECT COUNT(*) FROM {self.table(name)}{where}"

    def log(self, name: str = "load_log") -> str:
        """Return what takes note of a loaded part: the second to do so fails."""
        return f"INSERT INTO {self.table(name)} (part_id, record_count) VALUES (%s, %s)"

    def analyze(self, name: str) -> str:
        """Return what collects a table's statistics."""
        return f"SELECT ANALYZE_STATISTICS('{self.table(name)}')"


_PLACE = ("table_id", "column_id", "row_id")


def columns(name: str, hashes: int, layout: str) -> list[str]:
    """Return the columns of a table in the order in which they are loaded."""
    keys = [key_column(n) for n in range(hashes)]
    return {
        "postings": ["token_id", *_PLACE, *(keys if layout == "per_cell" else [])],
        "cells": ["row_id", "column_id", "piece", "token_id", "cell"],
        "super_keys": ["row_id", *keys],
        "tables": ["table_id", "table_name", "source", "place", "line_number", "first_row", "row_count"],
        "columns": ["table_id", "column_id", "column_name"],
        "tokens": ["token_id", "token", "posting_count"],
        "sources": ["source", "format_name", "byte_count", "sha256", "table_count"],
        "rejects": ["source", "line_number", "kind", "reason", "occurrences"],
    }[name]


def copy(table: str, names: Iterable[str]) -> str:
    """Return what streams records into a table: no row is cut or dropped silently, and nothing is committed."""
    listed = ", ".join(f"{name} FORMAT 'hex'" if _is_key(name) else name for name in names)
    return f"COPY {table} ({listed}) FROM STDIN ENCLOSED BY '''' ENFORCELENGTH ABORT ON ERROR NO COMMIT"


def _is_key(name: str) -> bool:
    return name == "query_key" or (name.startswith("key") and name[3:].isdigit())


def _create(table: str, definitions: list[str], physical: str) -> str:
    return f"CREATE TABLE {table} ({', '.join(definitions)}) {physical}"


def _text(octets: int) -> str:
    return f"VARCHAR({octets})" if octets <= _VARCHAR_LIMIT else f"LONG VARCHAR({min(octets, 32_000_000)})"


def octets_of(hashes: Iterable[HashSpec]) -> list[int]:
    """Return the sizes of the super keys of hash functions."""
    return [spec.bits // 8 for spec in hashes]


# What all generations share. Names are compared in lower case, as the server itself does when it is given one.

ACCEPTED = "SELECT GET_NUM_ACCEPTED_ROWS()"
SCHEMA_EXISTS = "SELECT COUNT(*) FROM v_catalog.schemata WHERE LOWER(schema_name) = %s"
TABLE_NAMES = "SELECT table_name FROM v_catalog.tables WHERE LOWER(table_schema) = %s"
BYTES = (
    "SELECT anchor_table_name, SUM(used_bytes) FROM v_monitor.projection_storage"
    " WHERE LOWER(anchor_table_schema) = %s GROUP BY anchor_table_name"
)


def create_schema(schema: str) -> str:
    """Return what creates the schema."""
    return f"CREATE SCHEMA IF NOT EXISTS {schema}"


def create_shared(schema: str) -> list[str]:
    """Return what creates the tables of manifests and of builds under way."""
    return [
        f"CREATE TABLE IF NOT EXISTS {schema}.{MANIFEST} (load_id INT NOT NULL, manifest {TEXT} NOT NULL,"
        f" CONSTRAINT manifest_pk PRIMARY KEY (load_id) ENABLED) {REPLICATED}",
        f"CREATE TABLE IF NOT EXISTS {schema}.{BUILDS} (load_id INT NOT NULL) {REPLICATED}",
    ]


def published(schema: str) -> str:
    """Return what reads the manifests, the one in use first."""
    return f"SELECT load_id, manifest FROM {schema}.{MANIFEST} ORDER BY load_id DESC"


def publish(schema: str) -> str:
    """Return what makes a generation the one in use."""
    return f"INSERT INTO {schema}.{MANIFEST} (load_id, manifest) VALUES (%s, %s)"


def retire(schema: str) -> str:
    """Return what forgets old generations."""
    return f"DELETE FROM {schema}.{MANIFEST} WHERE load_id < %s"


def count_builds(schema: str) -> str:
    """Return what counts the records of builds, of which there must be one to lock."""
    return f"SELECT COUNT(*) FROM {schema}.{BUILDS}"


def first_build(schema: str) -> str:
    """Return what adds the record to lock."""
    return f"INSERT INTO {schema}.{BUILDS} (load_id) VALUES (0)"


def lock_builds(schema: str) -> str:
    """Return what only one session at a time can do: an update holds its table until the transaction ends."""
    return f"UPDATE {schema}.{BUILDS} SET load_id = %s"


# Changes


def delete(table: str, column: str, temporary_table: str, key: str = "id") -> str:
    """Return what deletes the records whose column has one of the values in a temporary table."""
    return f"DELETE FROM {table} WHERE {column} IN (SELECT {key} FROM {temporary_table})"


def rewrite_manifest(schema: str) -> str:
    """Return what replaces the manifest of the generation in use."""
    return f"UPDATE {schema}.{MANIFEST} SET manifest = %s WHERE load_id = %s"


def highest(table: str, column: str) -> str:
    """Return what finds the highest number in a column, -1 if there is none."""
    return f"SELECT COALESCE(MAX({column}), -1) FROM {table}"


# Look-ups


def temporary(name: str, definitions: Sequence[str]) -> str:
    """Return what creates a table of this session, empty again after each transaction, on every node."""
    return (
        f"CREATE LOCAL TEMPORARY TABLE IF NOT EXISTS {name} ({', '.join(definitions)})"
        f" ON COMMIT DELETE ROWS {REPLICATED}"
    )


IDS, CHOSEN, WEIGHTED = "mate_ids", "mate_chosen", "mate_weighted"
TOUCHED, NAMES = "mate_touched", "mate_names"
"""Tokens and sources that a change touches."""


def probes(octets: int) -> str:
    """Return the name of the temporary table of probes with keys of this size."""
    return f"mate_probes_{octets}"


def temporary_columns(name: str) -> list[str]:
    """Return the definitions of a temporary table."""
    if name == WEIGHTED:
        return ["id INT NOT NULL", "weight INT NOT NULL"]
    if name == NAMES:
        return [f"source {PATH} NOT NULL"]
    if name in (IDS, CHOSEN, TOUCHED):
        return ["id INT NOT NULL"]
    return ["token_id INT NOT NULL", "tuple_id INT NOT NULL", f"query_key VARBINARY({name.split('_')[-1]}) NOT NULL"]


def among(column: str, count: int) -> str:
    """Return the condition that a column is one of so many bound values."""
    return f"{column} IN ({', '.join(['%s'] * count)})"


def among_temporary(column: str, name: str) -> str:
    """Return the condition that a column is one of the numbers in a temporary table."""
    return f"{column} IN (SELECT id FROM {name})"


def candidates(generation: Generation, hash_number: int, octets: int, layout: str, chosen: str) -> str:
    """Return the look-up with the row filter pushed down: the row's super key has every bit of the query's."""
    keys = "p" if layout == "per_cell" else "s"
    join = "" if keys == "p" else f" INNER JOIN {generation.table('super_keys')} AS s ON s.row_id = p.row_id"
    column = f"{keys}.{key_column(hash_number)}"
    return (
        f"SELECT q.tuple_id, p.table_id, p.column_id, p.row_id FROM {generation.table('postings')} AS p"
        f" INNER JOIN {probes(octets)} AS q ON p.token_id = q.token_id{join}"
        f" WHERE ({column} & q.query_key) = q.query_key" + (f" AND {chosen}" if chosen else "")
    )


def weighted_counts(generation: Generation) -> str:
    """Return what sums the weights of postings by table."""
    return (
        f"SELECT p.table_id, SUM(q.weight) FROM {generation.table('postings')} AS p"
        f" INNER JOIN {WEIGHTED} AS q ON p.token_id = q.id GROUP BY p.table_id"
    )
