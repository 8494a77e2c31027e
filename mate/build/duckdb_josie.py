"""The JOSIE index made by DuckDB from the members that the tasks wrote: sorting and grouping are what it is good at.

Two tokens share a posting list if they are in the same sets. That is decided by the sums of two independent 64-bit
numbers of their sets and by how many these are; it goes wrong for one pair of tokens in 2^128.
"""

from __future__ import annotations

import duckdb

from mate.errors import StoreError

_STEPS = (
    # A table's rows may be spread over batches, so that a column's token comes more than once.
    "CREATE TEMP TABLE members AS SELECT DISTINCT token_id, table_id, column_id FROM {members}",
    "CREATE TABLE josie_sets AS SELECT row_number() OVER () - 1 AS set_id, table_id, column_id, size"
    " FROM (SELECT table_id, column_id, count(*) AS size FROM members GROUP BY ALL ORDER BY table_id, column_id)",
    "CREATE TEMP TABLE sets AS SELECT *, sum(size) OVER (ROWS UNBOUNDED PRECEDING) - size AS start,"
    " md5_number_lower(set_id::VARCHAR)::HUGEINT AS low, md5_number_upper(set_id::VARCHAR)::HUGEINT AS high"
    " FROM josie_sets",
    "CREATE TEMP TABLE signed AS SELECT m.token_id, count(*) AS length, sum(s.low) AS low, sum(s.high) AS high,"
    " FROM members AS m JOIN sets AS s ON s.table_id = m.table_id AND s.column_id = m.column_id GROUP BY m.token_id",
    # The global order. One token of each list stands for all of them from here on.
    "CREATE TEMP TABLE lists AS SELECT row_number() OVER () - 1 AS list_id, * FROM (SELECT length, low, high,"
    " count(*) AS tokens, min(token_id) AS token_id FROM signed GROUP BY ALL ORDER BY length, low, high)",
    "CREATE TABLE josie_tokens AS SELECT t.token_id, l.list_id, t.length FROM signed AS t"
    " JOIN lists AS l ON l.length = t.length AND l.low = t.low AND l.high = t.high ORDER BY t.token_id",
    "CREATE TEMP TABLE ordered AS SELECT s.set_id, l.list_id, l.tokens, s.start, s.size FROM members AS m"
    " JOIN lists AS l ON l.token_id = m.token_id"
    " JOIN sets AS s ON s.table_id = m.table_id AND s.column_id = m.column_id ORDER BY s.set_id, l.list_id",
    "DROP TABLE members",
    "CREATE TABLE josie_members AS SELECT set_id, list_id FROM ordered",
    # A running sum over all sets, less where the set starts: much faster than a window for each set.
    "CREATE TABLE josie_postings AS SELECT list_id, set_id, position, size FROM (SELECT list_id, set_id,"
    " (sum(tokens) OVER (ROWS UNBOUNDED PRECEDING) - start - 1)::BIGINT AS position, size FROM ordered)"
    " ORDER BY list_id, set_id",
    "DROP TABLE ordered",
)

_CHECKS = {
    "the number of tokens": "SELECT count(*) FROM tokens ANTI JOIN josie_tokens USING (token_id)",
    "the last position in a set": "SELECT count(*) FROM (SELECT 1 FROM josie_postings GROUP BY set_id"
    " HAVING min(position) < 0 OR max(position) <> any_value(size) - 1)",
}


def create(database: duckdb.DuckDBPyConnection, members: str) -> None:
    """Create the tables of the JOSIE index from a relation with the columns token_id, table_id, column_id."""
    for step in _STEPS:
        database.execute(step.format(members=members))
    for what, check in _CHECKS.items():
        [(wrong,)] = database.execute(check).fetchall()
        if wrong:
            raise StoreError(f"the JOSIE index is not sound: {what} is wrong in {wrong:,} places; please report this")
