"""Every statement that the store and the loader send is one that Vertica's grammar takes."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from baselines.systems import scr
from mate.build.changes.updates import Updates
from mate.lake.base import Index
from mate.search.evidence.ranking import RANKINGS
from mate.search.query import QueryTable
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.systems import BUILT_IN, find_system
from mate.sql.schema import LAYOUTS
from mate.values.token_ids import token_ids
from tests.sql.places import index, open_database
from tests.sql.small import HASHES
from tests.vertica.grammar import problems
from tests.vertica.standin import StandIn


def ask_everything(opened: Index) -> None:
    """Put every question, with few values and with many."""
    for count in (2, 40):
        texts = pa.array([f"name {n}" for n in range(count)])
        opened.posting_counts(token_ids(texts), texts)
        query = QueryTable("query", pa.table({"a": texts, "b": [f"city {n % 7}" for n in range(count)]}))
        for name, rank in product(BUILT_IN, RANKINGS):
            settings = SearchSettings(rank=rank, filters=FilterSettings(hash_name="bf"))
            assert len(find_system(name)(opened, query, ["a", "b"], settings=settings).found[0].matches.row)
        assert scr.SYSTEM(opened, query, ["a", "b"]).results[0].matches
        opened.cells(0, np.arange(count))
        opened.tables(np.arange(count))
    opened.tables()
    opened.tables_from(["one", "two"])
    opened.rejects()
    opened.rejects(3)
    opened.rejects(sources=["one"])
    opened.sources()
    opened.sources(["one"])
    opened.sizes()


def shape(statement: str) -> str:
    """Return a statement with all numbers and long texts alike, and each list as one of two: what is parsed alike."""
    statement = re.sub(r"'(0x[0-9a-f]+|\{.*\})'", "'x'", statement, flags=re.DOTALL)
    statement = re.sub(r"\d+", "1", statement)
    statement = re.sub(r"\(1(, 1)*\)", "(1, 1)", statement)
    return re.sub(r"(SELECT 1 AS tuple_id.*?)( UNION ALL \1)+", r"\1 UNION ALL \1", statement)


def test_every_statement_parses(server: StandIn, small_lake: Path) -> None:
    for layout in LAYOUTS:
        index(small_lake, server.address(layout=layout), hashes=HASHES)
        for in_list in (10, 2):
            with open_database(server.address(in_list=in_list)) as opened:
                ask_everything(opened)
        change = Updates(server.address(in_list=2), master="none")
        change.update_cells(5, [(0, 0, "another name")])
        change.remove_tables([0, 1, 2])
    index(small_lake, server.address())  # the first of three is removed
    sent = sorted({shape(statement) for statement in server.statements})
    kinds = {statement.split()[0] for statement in sent}
    changing = {"CREATE", "DROP", "COPY", "INSERT", "UPDATE", "DELETE"}
    assert kinds == changing | {"SELECT", "LOCK", "COMMIT", "ROLLBACK"}
    assert {statement: found for statement in sent if (found := problems(statement))} == {}
    assert len(sent) > 100


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
