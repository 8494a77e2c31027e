"""Every statement about the JOSIE part of an index in Vertica.

Tasks load which token is in which column into a stage; the server makes the rest from it, step by step, each step one
INSERT ... SELECT over everything. The result is the very one that the embedded store gets from the same members:

    josie_tokens_N    by token
    josie_postings_N  by list: the inverted index
    josie_members_N   by set: the sets themselves
    josie_sets_N      by set; a second projection by table

Lists and sets are segmented by set, so that a long list is spread over all nodes and a set's positions are counted
where the set is. Two tokens share a list if they are in the same sets: decided by how many these are and by the sum of
the 128 bits that MD5 makes of each set's number, kept as two sums of 64 bits, which order the lists, too. A sum is held
in two whole numbers of 32 bits and a carry, because it has more bits than Vertica's INT.
"""

from __future__ import annotations

from collections.abc import Sequence

from mate.sql.vertica_sql import REPLICATED, Generation

STAGE, LOG = "josie_stage", "josie_log"
TABLES = ("josie_tokens", "josie_postings", "josie_members", "josie_sets")
WORK = (STAGE, LOG, "josie_pairs", "josie_signs", "josie_signed", "josie_lists")
"""Tables that a build needs for a while."""

_WORDS = ("low1", "low2", "high1", "high2")
_OCTETS = ((31, 29, 27, 25), (23, 21, 19, 17), (15, 13, 11, 9), (7, 5, 3, 1))
"""Where each word's octets are among the 32 digits of a digest: the numbers are read with their last octet first."""
_CARRY, _WORD = 32, 2**32 - 1

_COLUMNS: dict[str, tuple[str, ...]] = {
    STAGE: ("token_id", "table_id", "column_id"),
    LOG: ("part_id", "record_count"),
    "josie_pairs": ("set_id", "token_id"),
    "josie_signs": ("set_id", *_WORDS),
    "josie_signed": ("token_id", "list_length", *_WORDS),
    "josie_lists": ("list_id", "list_length", *_WORDS, "token_count", "token_id"),
    "josie_tokens": ("token_id", "list_id", "list_length"),
    "josie_postings": ("list_id", "set_id", "place", "set_size"),
    "josie_members": ("set_id", "list_id"),
    "josie_sets": ("set_id", "table_id", "column_id", "set_size"),
}
_PHYSICAL = {
    STAGE: "ORDER BY table_id, column_id, token_id SEGMENTED BY HASH(table_id, column_id) ALL NODES",
    LOG: REPLICATED,
    "josie_pairs": "ORDER BY token_id, set_id SEGMENTED BY HASH(set_id) ALL NODES",
    "josie_signs": "ORDER BY set_id SEGMENTED BY HASH(set_id) ALL NODES",
    "josie_signed": "ORDER BY token_id SEGMENTED BY HASH(token_id) ALL NODES",
    "josie_lists": "ORDER BY token_id SEGMENTED BY HASH(token_id) ALL NODES",
    "josie_tokens": "ORDER BY token_id SEGMENTED BY HASH(token_id) ALL NODES",
    "josie_postings": "ORDER BY list_id, set_id SEGMENTED BY HASH(set_id) ALL NODES",
    "josie_members": "ORDER BY set_id, list_id SEGMENTED BY HASH(set_id) ALL NODES",
    "josie_sets": "ORDER BY set_id SEGMENTED BY HASH(set_id) ALL NODES",
}
_REPEATED = {(STAGE, "table_id"), ("josie_postings", "list_id"), ("josie_members", "set_id")}
"""Columns that a table is sorted by and that repeat: run-length encoding keeps each value once."""


def columns(name: str) -> list[str]:
    """Return the columns of a table, all of them whole numbers."""
    return list(_COLUMNS[name])


def create_stage(generation: Generation) -> list[str]:
    """Return what creates the tables that the tasks fill."""
    key = f"CONSTRAINT {LOG}_{generation.number}_pk PRIMARY KEY (part_id) ENABLED"
    return [_create(generation, STAGE), _create(generation, LOG, key)]


def create(generation: Generation) -> list[str]:
    """Return what creates the tables that the server fills, and the projection of sets by table."""
    names = (*(name for name in WORK if name not in (STAGE, LOG)), *TABLES)
    sets = generation.table("josie_sets")
    by_table = (
        f"CREATE PROJECTION {sets}_by_table (table_id ENCODING RLE, set_id) AS SELECT table_id, set_id"
        f" FROM {sets} ORDER BY table_id, set_id SEGMENTED BY HASH(set_id) ALL NODES KSAFE"
    )
    return [*(_create(generation, name) for name in names), by_table]


def _create(generation: Generation, name: str, *constraints: str) -> str:
    encoded = (f"{c} INT NOT NULL{' ENCODING RLE' if (name, c) in _REPEATED else ''}" for c in _COLUMNS[name])
    return f"CREATE TABLE {generation.table(name)} ({', '.join([*encoded, *constraints])}) {_PHYSICAL[name]}"


def steps(generation: Generation) -> list[str]:
    """Return what makes the index from the stage, in this order."""
    at = generation.table
    queries = {
        "josie_sets": (
            "SELECT ROW_NUMBER() OVER (ORDER BY table_id, column_id) - 1, table_id, column_id, set_size"
            " FROM (SELECT table_id, column_id, COUNT(DISTINCT token_id) AS set_size"
            f" FROM {at(STAGE)} GROUP BY table_id, column_id) AS c"
        ),
        "josie_signs": (
            f"SELECT set_id, {', '.join(map(_word, _OCTETS))}"
            f" FROM (SELECT set_id, MD5(CAST(set_id AS VARCHAR)) AS digest FROM {at('josie_sets')}) AS d"
        ),
        # A table's rows may be spread over batches and tasks, so that a column's token comes more than once.
        "josie_pairs": (
            f"SELECT DISTINCT s.set_id, m.token_id FROM {at(STAGE)} AS m INNER JOIN {at('josie_sets')} AS s"
            " ON s.table_id = m.table_id AND s.column_id = m.column_id"
        ),
        "josie_signed": (
            f"SELECT token_id, list_length, {_carried('low')}, {_carried('high')}"
            f" FROM (SELECT p.token_id, COUNT(*) AS list_length, {_each('SUM(g.{0}) AS {0}')}"
            f" FROM {at('josie_pairs')} AS p INNER JOIN {at('josie_signs')} AS g ON g.set_id = p.set_id"
            " GROUP BY p.token_id) AS t"
        ),
        # The global order. One token of each list stands for all of them from here on.
        "josie_lists": (
            f"SELECT ROW_NUMBER() OVER (ORDER BY list_length, {_each('{0}')}) - 1, list_length, {_each('{0}')},"
            f" token_count, token_id FROM (SELECT list_length, {_each('{0}')}, COUNT(*) AS token_count,"
            f" MIN(token_id) AS token_id FROM {at('josie_signed')} GROUP BY list_length, {_each('{0}')}) AS t"
        ),
        "josie_tokens": (
            f"SELECT t.token_id, l.list_id, t.list_length FROM {at('josie_signed')} AS t"
            f" INNER JOIN {at('josie_lists')} AS l ON l.list_length = t.list_length"
            f" AND {_each('l.{0} = t.{0}', ' AND ')}"
        ),
        "josie_members": (
            f"SELECT p.set_id, l.list_id FROM {at('josie_pairs')} AS p"
            f" INNER JOIN {at('josie_lists')} AS l ON l.token_id = p.token_id"
        ),
        "josie_postings": (
            "SELECT m.list_id, m.set_id,"
            " SUM(l.token_count) OVER (PARTITION BY m.set_id ORDER BY m.list_id ROWS UNBOUNDED PRECEDING) - 1,"
            f" s.set_size FROM {at('josie_members')} AS m"
            f" INNER JOIN {at('josie_lists')} AS l ON l.list_id = m.list_id"
            f" INNER JOIN {at('josie_sets')} AS s ON s.set_id = m.set_id"
        ),
    }
    return [f"INSERT INTO {at(name)} ({', '.join(_COLUMNS[name])}) {query}" for name, query in queries.items()]


def _word(octets: Sequence[int]) -> str:
    return f"HEX_TO_INTEGER({' || '.join(f'SUBSTR(digest, {octet}, 2)' for octet in octets)})"


def _carried(number: str) -> str:
    """Return the two words of a sum, of which only the upper one may be longer than 32 bits."""
    return f"{number}1 + ({number}2 >> {_CARRY}), {number}2 & {_WORD}"


def _each(template: str, between: str = ", ") -> str:
    return between.join(template.format(word) for word in _WORDS)


def checks(generation: Generation) -> dict[str, str]:
    """Return what counts the places where the index is not sound, each with a name for what is wrong."""
    at = generation.table
    return {
        "the number of tokens": (
            f"SELECT COUNT(*) FROM {at('tokens')} AS t LEFT JOIN {at('josie_tokens')} AS j"
            " ON j.token_id = t.token_id WHERE j.token_id IS NULL"
        ),
        "the last position in a set": (
            f"SELECT COUNT(*) FROM (SELECT set_id FROM {at('josie_postings')} GROUP BY set_id"
            " HAVING MIN(place) < 0 OR MAX(place) <> MAX(set_size) - 1) AS s"
        ),
    }


def drop(generation: Generation, names: Sequence[str] = (*TABLES, *WORK)) -> list[str]:
    """Return what removes the tables, or those that only the build needed."""
    return [f"DROP TABLE IF EXISTS {generation.table(name)} CASCADE" for name in names]


def count_lists(generation: Generation) -> str:
    """Return what tells how many lists there are."""
    return f"SELECT COALESCE(MAX(list_id) + 1, 0) FROM {generation.table('josie_postings')}"
