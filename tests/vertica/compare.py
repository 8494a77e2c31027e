"""Two indexes compared cell by cell, through the protocol that both meet."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from mate.hashing.superkey import to_ints
from mate.sql import vertica_josie_sql as josie_sql
from mate.sql import vertica_sql as sql
from mate.sql.vertica_address import VerticaAddress
from mate.sql.vertica_session import Session
from mate.store import IndexStore, Manifest
from mate.values.token_ids import NO_TOKEN


def plain(manifest: Manifest) -> Manifest:
    """Return a manifest without what tells when and by what it was built."""
    return replace(manifest, built="", build="", versions={})


def same(one: IndexStore, other: IndexStore) -> None:
    """Assert that two indexes hold the same, nothing twice and nothing missing."""
    assert plain(one.manifest) == plain(other.manifest)
    assert one.tables() == other.tables()
    assert one.sources() == other.sources()
    assert one.rejects() == other.rejects()
    every = np.arange(one.manifest.rows)
    for mine, theirs in zip(one.rows(every), other.rows(every), strict=True):
        assert mine.tolist() == theirs.tolist()
    cells = one.cells(every)
    assert cells == other.cells(every)
    for number in range(len(one.manifest.hashes)):
        assert to_ints(one.super_keys(every, number)) == to_ints(other.super_keys(every, number))
    known = np.unique(one.rows(every).token_id)
    known = known[known != NO_TOKEN]
    assert _counted(one, known) == _counted(other, known)
    texts = pa.array(sorted({c.casefold() for row in cells.values() for c in row if c}))
    for mine, theirs in zip(one.tokens(texts), other.tokens(texts), strict=True):
        assert mine.tolist() == theirs.tolist()


def _counted(store: IndexStore, tokens: np.ndarray) -> Counter[tuple[int, ...]]:
    found = store.postings(tokens)
    assert len(found.token_id) == store.manifest.cells
    return Counter(zip(*(column.tolist() for column in found), strict=True))


Records = dict[str, list[tuple[int, ...]]]


def josie_records(path: Path) -> Records:
    """Return the four tables of the JOSIE index in the embedded store; the order of columns is the same in both."""
    with duckdb.connect(str(path), read_only=True) as database:
        return {name: sorted(database.execute(f"FROM {name}").fetchall()) for name in josie_sql.TABLES}


def _josie_in_vertica(address: str) -> Records:
    where = VerticaAddress.parse(address)
    with Session(where, where.password()) as session:
        generation = sql.Generation(where.schema, session.execute(sql.published(where.schema))[0][0])
        found: Records = {}
        for name in josie_sql.TABLES:
            listed = ", ".join(josie_sql.columns(name))
            rows = session.execute(f"SELECT {listed} FROM {generation.table(name)}")
            found[name] = sorted(tuple(row) for row in rows)
        return found


def same_josie(address: str, path: Path) -> None:
    """Assert that the JOSIE index in Vertica is that of the embedded store, table by table, numbers included."""
    expected, found = josie_records(path), _josie_in_vertica(address)
    for name in josie_sql.TABLES:
        assert expected[name], name
        assert found[name] == expected[name], name
