"""Every statement that the Vertica index and its loader emit, and the tables that they are about.

An index is a *generation* of tables, ``postings_7`` and so on, that one build fills; changes are made in it.
Which one is in use is said by one record of ``manifest``: that is what publishing writes.

    postings_N      by token: the look-up; a second projection by row holds the super keys once per row (RLE)
    cells_N         by row: one record per cell, its token and its text, also where it has no token
    super_keys_N    by row, with the layout per_row only
    tokens_N        the dictionary, merged from ``token_counts_N``, which has that of every segment and is then dropped
    tables_N, columns_N, sources_N, rejects_N, load_log_N

Everything is segmented by row, never by token (frequent tokens would fill one node), so that postings and super keys
of a row meet on one node. Cells are records and not arrays or flexible tables, because every edition and version has
INT, VARCHAR and VARBINARY, and because a record per cell is what sorts and compresses in a column store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mate.index.manifest import HashSpec

NO_CELL = -2
"""Stands in token_id for a cell that is null; one without a token has -1. Neither is a token's number."""

PIECE = 8_000
"""Octets of a cell in one record; a longer cell takes several, so that no LONG type and no limit is needed."""

LAYOUTS = ("per_cell", "per_row")
"""Super keys in every posting, which a look-up finds at once, or once per row, which takes less room."""

PATH = "VARCHAR(65000)"
TEXT = "LONG VARCHAR(1048576)"
MANIFEST, BUILDS = "manifest", "builds"
TOKEN_COUNTS = "token_counts"
ROW_TABLES = ("postings", "cells", "super_keys")
"""Tables with a row_id."""
TABLES = (*ROW_TABLES, "tables", "columns", "tokens", TOKEN_COUNTS, "sources", "rejects", "load_log")
REPLICATED = "UNSEGMENTED ALL NODES"

MOST_CHARACTERS = 16_250
"""Characters of a token at most, of up to four octets each: a LONG VARCHAR cannot be compared or grouped by."""


def tables_in_use(layout: str, hashes: int) -> list[str]:
    """Return the tables that an index has when it is published."""
    absent = {TOKEN_COUNTS} if layout == "per_row" and hashes else {TOKEN_COUNTS, "super_keys"}
    return [name for name in TABLES if name not in absent]


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

    def create(self, octets: Sequence[int], layout: str, cell_characters: int) -> list[str]:
        """SQL that creates the tables; `octets` are the sizes of the super keys."""
        keys = [f"{key_column(n)} VARBINARY({size}) NOT NULL" for n, size in enumerate(octets)]
        per_cell = layout == "per_cell"
        statements = [
            _create(
                self.table("postings"),
                [
                    "token_id INT NOT NULL ENCODING RLE",
                    *(f"{name} INT NOT NULL" for name in _PLACE),
                    *(keys if per_cell else ()),
                ],
                "ORDER BY token_id, row_id, column_id SEGMENTED BY HASH(row_id) ALL NODES",
            ),
            self._create_cells(),
            *self._create_dictionary(cell_characters),
            *self._create_tables(),
            *self._create_records(),
        ]
        if per_cell and octets:
            statements.append(self._projection(len(octets)))
        elif octets:
            by_row = "ORDER BY row_id SEGMENTED BY HASH(row_id) ALL NODES"
            statements.append(_create(self.table("super_keys"), ["row_id INT NOT NULL", *keys], by_row))
        return statements

    def _create_cells(self) -> str:
        columns = [
            "row_id INT NOT NULL ENCODING RLE",
            *(f"{n} INT NOT NULL" for n in ("column_id", "piece", "token_id")),
        ]
        order = "ORDER BY row_id, column_id, piece SEGMENTED BY HASH(row_id) ALL NODES"
        return _create(self.table("cells"), [*columns, f"cell VARCHAR({PIECE})"], order)

    def _create_dictionary(self, cell_characters: int) -> list[str]:
        order = "ORDER BY token_id SEGMENTED BY HASH(token_id) ALL NODES"
        names = ("tokens", TOKEN_COUNTS)
        return [_create(self.table(name), token_columns(cell_characters), order) for name in names]

    def _create_tables(self) -> list[str]:
        return [
            _create(
                self.table("tables"),
                [
                    "table_id INT NOT NULL",
                    f"table_name {TEXT}",
                    f"source {PATH} NOT NULL",
                    *(f"{name} INT NOT NULL" for name in ("place", "line_number", "first_row", "row_count")),
                ],
                "ORDER BY table_id SEGMENTED BY HASH(table_id) ALL NODES",
            ),
            _create(
                self.table("columns"),
                ["table_id INT NOT NULL ENCODING RLE", "column_id INT NOT NULL", f"column_name {TEXT}"],
                "ORDER BY table_id, column_id SEGMENTED BY HASH(table_id) ALL NODES",
            ),
        ]

    def _create_records(self) -> list[str]:
        key = f"CONSTRAINT load_log_{self.number}_pk PRIMARY KEY (part_id) ENABLED"
        definitions = {
            "sources": [
                f"source {PATH} NOT NULL",
                "format_name VARCHAR(64)",
                "byte_count INT",
                "sha256 VARCHAR(64)",
                "table_count INT",
            ],
            "rejects": [
                f"source {PATH} NOT NULL",
                "line_number INT",
                "kind VARCHAR(64)",
                f"reason {PATH}",
                "occurrences INT",
            ],
            "load_log": ["part_id INT NOT NULL", "record_count INT NOT NULL", key],
        }
        return [_create(self.table(name), columns, REPLICATED) for name, columns in definitions.items()]

    def _projection(self, hashes: int) -> str:
        names = ["row_id", *map(key_column, range(hashes)), "table_id"]
        encoded = ", ".join(f"{name} ENCODING RLE" for name in names)
        return (
            f"CREATE PROJECTION {self.table('postings')}_by_row ({encoded}) AS SELECT {', '.join(names)}"
            f" FROM {self.table('postings')} ORDER BY row_id SEGMENTED BY HASH(row_id) ALL NODES KSAFE"
        )

    def drop(self, names: Iterable[str] = TABLES) -> list[str]:
        """SQL that removes tables, projections included."""
        return [f"DROP TABLE IF EXISTS {self.table(name)} CASCADE" for name in names]

    def count(self, name: str, where: str = "") -> str:
        """SQL that counts the records of a table."""
        return f"SELECT COUNT(*) FROM {self.table(name)}{where}"

    def log(self) -> str:
        """SQL that notes a loaded part: the second to do so fails."""
        return f"INSERT INTO {self.table('load_log')} (part_id, record_count) VALUES (%s, %s)"

    def merge_tokens(self, counts: str) -> str:
        """SQL that adds to the dictionary what the counts of tokens in another table sum up to."""
        names = ", ".join(_TOKEN)
        return (
            f"INSERT INTO {self.table('tokens')} ({names}) SELECT token_id, token, SUM(posting_count) FROM {counts}"
            " GROUP BY token_id, token HAVING SUM(posting_count) > 0"
        )

    def shared_numbers(self, where: str = "") -> str:
        """SQL that counts the numbers that more than one token has."""
        numbers = f"SELECT token_id FROM {self.table('tokens')}{where} GROUP BY token_id HAVING COUNT(*) > 1"
        return f"SELECT COUNT(*) FROM ({numbers}) AS shared"

    def analyze(self, name: str) -> str:
        """SQL that collects a table's statistics."""
        return f"SELECT ANALYZE_STATISTICS('{self.table(name)}')"


_PLACE = ("table_id", "column_id", "row_id")
_TOKEN = ("token_id", "token", "posting_count")


def columns(name: str, hashes: int, layout: str) -> list[str]:
    """Return the columns of a table in the order in which they are loaded."""
    keys = [key_column(n) for n in range(hashes)]
    return {
        "postings": ["token_id", *_PLACE, *(keys if layout == "per_cell" else [])],
        "cells": ["row_id", "column_id", "piece", "token_id", "cell"],
        "super_keys": ["row_id", *keys],
        "tables": ["table_id", "table_name", "source", "place", "line_number", "first_row", "row_count"],
        "columns": ["table_id", "column_id", "column_name"],
        "tokens": list(_TOKEN),
        TOKEN_COUNTS: list(_TOKEN),
        "sources": ["source", "format_name", "byte_count", "sha256", "table_count"],
        "rejects": ["source", "line_number", "kind", "reason", "occurrences"],
    }[name]


def copy(table: str, names: Iterable[str]) -> str:
    """SQL that streams records into a table: no row is cut or dropped silently, and nothing is committed."""
    listed = ", ".join(f"{name} FORMAT 'hex'" if _is_key(name) else name for name in names)
    return f"COPY {table} ({listed}) FROM STDIN ENCLOSED BY '''' ENFORCELENGTH ABORT ON ERROR NO COMMIT"


def _is_key(name: str) -> bool:
    return name == "query_key" or (name.startswith("key") and name[3:].isdigit())


def _create(table: str, definitions: list[str], physical: str) -> str:
    return f"CREATE TABLE {table} ({', '.join(definitions)}) {physical}"


def token_columns(cell_characters: int) -> list[str]:
    """Return the columns of a dictionary."""
    return ["token_id INT NOT NULL", f"token VARCHAR({4 * cell_characters}) NOT NULL", "posting_count INT NOT NULL"]


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
    """SQL that creates the schema."""
    return f"CREATE SCHEMA IF NOT EXISTS {schema}"


def create_shared(schema: str) -> list[str]:
    """SQL that creates the tables of manifests and of builds under way."""
    return [
        f"CREATE TABLE IF NOT EXISTS {schema}.{MANIFEST} (load_id INT NOT NULL, manifest {TEXT} NOT NULL,"
        f" CONSTRAINT manifest_pk PRIMARY KEY (load_id) ENABLED) {REPLICATED}",
        f"CREATE TABLE IF NOT EXISTS {schema}.{BUILDS} (load_id INT NOT NULL) {REPLICATED}",
    ]


def published(schema: str) -> str:
    """SQL that reads the manifests, the one in use first."""
    return f"SELECT load_id, manifest FROM {schema}.{MANIFEST} ORDER BY load_id DESC"


def publish(schema: str) -> str:
    """SQL that makes a generation the one in use."""
    return f"INSERT INTO {schema}.{MANIFEST} (load_id, manifest) VALUES (%s, %s)"


def retire(schema: str) -> str:
    """SQL that forgets old generations."""
    return f"DELETE FROM {schema}.{MANIFEST} WHERE load_id < %s"


def count_builds(schema: str) -> str:
    """SQL that counts the records of builds, of which there must be one to lock."""
    return f"SELECT COUNT(*) FROM {schema}.{BUILDS}"


def first_build(schema: str) -> str:
    """SQL that adds the record to lock."""
    return f"INSERT INTO {schema}.{BUILDS} (load_id) VALUES (0)"


def lock_builds(schema: str) -> str:
    """SQL that only one session at a time can do: an update holds its table until the transaction ends."""
    return f"UPDATE {schema}.{BUILDS} SET load_id = %s"


# Changes


def delete(table: str, column: str, temporary_table: str, key: str = "id") -> str:
    """SQL that deletes the records whose column has one of the values in a temporary table."""
    return f"DELETE FROM {table} WHERE {column} IN (SELECT {key} FROM {temporary_table})"


def rewrite_manifest(schema: str) -> str:
    """SQL that replaces the manifest of the generation in use."""
    return f"UPDATE {schema}.{MANIFEST} SET manifest = %s WHERE load_id = %s"


def take_gone(generation: Generation, touched_tokens: str) -> str:
    """SQL that notes the tokens of the rows that go, with what they lose."""
    return (
        f"INSERT INTO {touched_tokens} (token_id, token, posting_count) SELECT p.token_id, t.token, -COUNT(*)"
        f" FROM {generation.table('postings')} AS p INNER JOIN {generation.table('tokens')} AS t"
        f" ON t.token_id = p.token_id WHERE {among_temporary('p.row_id', IDS)} GROUP BY p.token_id, t.token"
    )


def take_present(generation: Generation, touched_tokens: str) -> str:
    """SQL that notes what the dictionary has of the tokens noted already."""
    return (
        f"INSERT INTO {touched_tokens} (token_id, token, posting_count) SELECT token_id, token, posting_count"
        f" FROM {generation.table('tokens')} WHERE token_id IN (SELECT token_id FROM {touched_tokens})"
    )


# Look-ups


def temporary(name: str, definitions: Sequence[str]) -> str:
    """SQL that creates a table of this session, empty again after each transaction, on every node."""
    return (
        f"CREATE LOCAL TEMPORARY TABLE IF NOT EXISTS {name} ({', '.join(definitions)})"
        f" ON COMMIT DELETE ROWS {REPLICATED}"
    )


IDS, CHOSEN, NAMES, WEIGHTED = "mate_ids", "mate_chosen", "mate_names", "mate_weighted"
"""Temporary tables: numbers to look up, numbers of tables, sources, tokens with how many key tuples have each."""


def probes(octets: int) -> str:
    """Return the name of the temporary table of probes with keys of this size."""
    return f"mate_probes_{octets}"


def touched(cell_characters: int) -> str:
    """Return the name of the temporary table of a change's tokens: new, old and gone ones."""
    return f"mate_touched_{cell_characters}"


def temporary_columns(name: str) -> list[str]:
    """Return the definitions of a temporary table."""
    if name == WEIGHTED:
        return ["id INT NOT NULL", "weight INT NOT NULL"]
    if name == NAMES:
        return [f"source {PATH} NOT NULL"]
    if name in (IDS, CHOSEN):
        return ["id INT NOT NULL"]
    kind, size = name.rsplit("_", 1)
    if kind == touched(0).rsplit("_", 1)[0]:
        return token_columns(int(size))
    return ["token_id INT NOT NULL", f"query_key VARBINARY({size}) NOT NULL"]


def among(column: str, count: int) -> str:
    """Return the condition that a column is one of so many bound values."""
    return f"{column} IN ({', '.join(['%s'] * count)})"


def among_temporary(column: str, name: str) -> str:
    """Return the condition that a column is one of the numbers in a temporary table."""
    return f"{column} IN (SELECT id FROM {name})"


def candidate_rows(generation: Generation, hash_number: int, octets: int, layout: str, chosen: str) -> str:
    """SQL for rows that pass the row filter, with their super keys: these have every bit of a probe's."""
    keys = "p" if layout == "per_cell" else "s"
    join = "" if keys == "p" else f" INNER JOIN {generation.table('super_keys')} AS s ON s.row_id = p.row_id"
    column = f"{keys}.{key_column(hash_number)}"
    return (
        f"SELECT DISTINCT p.table_id, p.row_id, {column} FROM {generation.table('postings')} AS p"
        f" INNER JOIN {probes(octets)} AS q ON p.token_id = q.token_id{join}"
        f" WHERE ({column} & q.query_key) = q.query_key" + (f" AND {chosen}" if chosen else "")
    )


def table_counts(generation: Generation) -> str:
    """SQL that counts by table the postings of weighted tokens, and sums their weights."""
    return (
        f"SELECT p.table_id, COUNT(*), SUM(q.weight) FROM {generation.table('postings')} AS p"
        f" INNER JOIN {WEIGHTED} AS q ON p.token_id = q.id GROUP BY p.table_id"
    )
