"""Every statement that the store and the loader send is one that Vertica's grammar takes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mate.hashing.superkey import from_ints
from mate.store import open_store
from mate.store.base import LAYOUTS, IndexStore, Probes, as_ids
from mate.values.token_ids import token_id
from tests.vertica.conftest import HASHES
from tests.vertica.grammar import problems
from tests.vertica.places import index
from tests.vertica.standin import StandIn


def ask_everything(store: IndexStore) -> None:
    """Put every question, with few values and with many."""
    for count in (2, 40):
        ids = as_ids([token_id(f"name {n}") for n in range(count)])
        rows = np.arange(count)
        keys = from_ints([0] * count, 128)
        store.tokens(pa.array([f"name {n}" for n in range(count)]))
        store.postings(ids)
        for tables in (None, rows):
            store.candidates(Probes(ids, rows, keys), 0, tables)
            store.candidates(Probes(ids, rows, from_ints([0] * count, 512)), 1, tables)
            store.candidates(Probes(ids, rows, keys), None, tables)
        store.count_by_table(ids)
        store.count_by_table(ids, rows + 1)
        store.rows(rows)
        store.cells(rows)
        store.super_keys(rows)
        store.tables(rows)
        josie = store.josie()
        josie.lists_of(ids)
        josie.items(rows)
        josie.members(rows, 3)
        josie.columns(rows)
        josie.sets_of(rows)
    store.tables()
    store.tables_from(["one", "two"])
    store.rejects()
    store.rejects(3)
    store.sources()
    store.sizes()


def shape(statement: str) -> str:
    """Return a statement with long lists of values cut short."""
    return re.sub(r"(\d+)(, \d+){3,}", r"\1, 2", statement)


def test_every_statement_parses(server: StandIn, small_lake: Path) -> None:
    for layout in (*LAYOUTS, LAYOUTS[0]):
        index(small_lake, server.address(), layout=layout, hashes=HASHES, josie=True)
        with open_store(server.address(in_list=10)) as store:
            ask_everything(store)
    sent = sorted({shape(statement) for statement in server.statements})
    kinds = {statement.split()[0] for statement in sent}
    assert kinds == {"CREATE", "DROP", "COPY", "INSERT", "UPDATE", "DELETE", "SELECT", "COMMIT", "ROLLBACK"}
    assert {statement: found for statement in sent if (found := problems(statement))} == {}
    assert len(sent) > 150


@pytest.mark.parametrize(
    "statement",
    [
        "COPY mate.t (a) FROM STDIN NO COMMITMENT",
        "COPY mate.t (a) STDIN",
        "CREATE LOCAL TEMPORARY TABLE t (a INT) ON COMMIT FORGET ROWS",
        "CREATE TABLE mate.t (a INT) SEGMENTED BY ALL NODES",
        "SELECT unnest($1::BIGINT[])",
        "SELECT a FROM mate.t LEFT SEMI JOIN mate.s ON t.a = s.a",
        "SELECT from_hex('00') FROM mate.t",
        "CREATE INDEX i ON mate.t (a)",
        "SELECT a FROM mate.t WHERE a IN (SELECT",
    ],
)
def test_what_vertica_does_not_have_is_refused(statement: str) -> None:
    assert problems(statement)
