"""Each operation by itself: what it reports, what it notes, what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mate.build.naming import find_column, find_table
from mate.build.updates import Updates
from mate.errors import MateError, QueryError, StoreError, UpdateError
from mate.hashing import covers
from mate.search.discovery import search
from mate.search.joins import enrich
from mate.search.query import QueryTable
from mate.store import IndexStore, open_store
from mate.store.base import as_ids
from mate.store.changes import changes_path
from tests.store.conftest import write_csv
from tests.updates.conftest import index

CITIES, PEOPLE = 0, 1
"""Files are numbered in the order of their names."""


def cells(store: IndexStore, table: int) -> list[list[str | None]]:
    rows = store.row_ids(as_ids([table])).row_id
    found = store.cells(rows)
    return [found[row] for row in rows.tolist()]


def count(store: IndexStore, text: str) -> int:
    return int(store.tokens(pa.array([text])).postings.sum())


def query(*rows: tuple[str, ...]) -> QueryTable:
    names = [f"k{n}" for n in range(len(rows[0]))]
    return QueryTable("query", pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=names))


def names(store: IndexStore, *rows: tuple[str, ...]) -> list[tuple[str, int]]:
    table = query(*rows)
    return [(result.table.name, result.joinability) for result in search(store, table, table.header)]


def test_a_new_table_is_found_beside_the_old_ones(store: Path, tmp_path: Path) -> None:
    new = write_csv(tmp_path / "more.csv", ["who", "where"], [["lee", "BONN"], ["Ada", "Kiel"]])
    report = Updates(str(store)).add_tables([str(new)])
    assert [(t.table_id, t.name, t.rows, t.columns) for t in report.added] == [(2, "more", 2, ("who", "where"))]
    assert (report.rows_added, report.rows_removed) == (2, 0)
    with open_store(str(store)) as index:
        assert names(index, ("Lee", "Bonn")) == [("people", 1), ("more", 1)]
        assert index.changes is not None
        assert (index.changes.operations, index.changes.added_tables, index.changes.rows) == (1, 1, 2)
        assert [s["source"] for s in index.sources()][-1] == str(new)
        assert index.manifest.tables == 3


def test_a_removed_table_is_gone_with_its_source(store: Path, lake: Path) -> None:
    report = Updates(str(store)).remove_tables([PEOPLE])
    assert [t.name for t in report.removed] == ["people"]
    with open_store(str(store)) as index:
        assert names(index, ("Lee", "Bonn")) == []
        assert count(index, "lee") == 0
        assert count(index, "bonn") == 1
        assert [Path(s["source"]).name for s in index.sources()] == ["cities.csv", "notes.xyz"]
        assert index.tables(as_ids([PEOPLE])) == []
        assert len(index.rejects()) == 1
        with pytest.raises(QueryError, match="the index has no table 1; its tables are 0 to 0"):
            enrich(index, query(("Lee", "Bonn")), ["k0", "k1"], PEOPLE)


def test_rows_are_numbered_as_the_table_is_now(store: Path) -> None:
    updates = Updates(str(store))
    updates.append_rows(CITIES, [["Mainz", "RP"], [None, ""]])
    updates.remove_rows(CITIES, [0, 2])
    updates.update_cells(CITIES, [(1, 0, "Köln"), (1, 1, "NW"), (0, 1, "x")])
    with open_store(str(store)) as index:
        assert cells(index, CITIES) == [["Ulm", "x"], ["Köln", "NW"], [None, ""]]
        [table] = index.tables(as_ids([CITIES]))
        assert (table.rows, table.first_row) == (3, 1)
        assert names(index, ("köln", "nw")) == [("cities", 1)]
        assert names(index, ("mainz", "rp")) == names(index, ("bonn", "nw")) == []


def test_the_super_keys_of_a_wider_row_are_those_before_and_the_new_hash(store: Path) -> None:
    with open_store(str(store)) as index:
        rows = index.row_ids(as_ids([CITIES])).row_id
        before, function = index.super_keys(rows), index.manifest.hashes[0].function()
    values = ["West", None, "North"]
    Updates(str(store)).add_column(CITIES, "region", values)
    with open_store(str(store)) as index:
        assert (index.super_keys(rows) == (before | function.hash(["west", "", "north"]))).all()
        assert index.tables(as_ids([CITIES]))[0].columns == ("city", "state", "region")
        assert names(index, ("bonn", "west")) == [("cities", 1)]
    Updates(str(store)).remove_column(CITIES, 2)
    with open_store(str(store)) as index:
        assert (index.super_keys(rows) == before).all()
        assert covers(before, index.super_keys(rows)).all()


def test_a_table_without_rows_can_be_filled_again(store: Path) -> None:
    updates = Updates(str(store))
    updates.remove_rows(PEOPLE, [0, 1])
    with open_store(str(store)) as index:
        assert index.tables(as_ids([PEOPLE]))[0].rows == 0
        assert cells(index, PEOPLE) == []
    updates.append_rows(PEOPLE, [["Ada", "Kiel", "1815"]])
    updates.add_column(PEOPLE, "x", ["y"])
    with open_store(str(store)) as index:
        assert cells(index, PEOPLE) == [["Ada", "Kiel", "1815", "y"]]
        assert index.tables(as_ids([PEOPLE]))[0].first_row == index.row_ids(as_ids([PEOPLE])).row_id[0]


def test_everything_can_be_removed_and_added_again(store: Path, lake: Path) -> None:
    updates = Updates(str(store))
    updates.remove_tables([CITIES, PEOPLE])
    with open_store(str(store)) as index:
        assert (index.manifest.tables, index.manifest.cells, index.manifest.distinct_tokens) == (0, 0, 0)
        assert index.tables() == []
        assert names(index, ("lee", "bonn")) == []
    updates.compact()
    report = updates.add_tables([str(lake / "people.csv")])
    assert [t.table_id for t in report.added] == [2]  # a number is never used again
    with open_store(str(store)) as index:
        assert names(index, ("lee", "bonn")) == [("people", 1)]


def test_cells_that_stay_the_same_are_no_change(store: Path) -> None:
    report = Updates(str(store)).update_cells(CITIES, [(0, 0, "Bonn")])
    assert (report.changed, report.rows_added) == ([], 0)
    assert not changes_path(store).exists()
    assert Updates(str(store)).append_rows(CITIES, []).after is None


def test_rejects_and_limits_are_those_of_the_index(lake: Path, tmp_path: Path) -> None:
    from mate.corpus import Limits

    store = index(lake, tmp_path / "limited.duckdb", limits=Limits(cell_characters=5, rows=2))
    updates = Updates(str(store))
    new = write_csv(tmp_path / "long.csv", ["a", "b"], [["short", "much too long"], ["x", "y"], ["p", "q"]])
    updates.add_tables([str(new)])
    with open_store(str(store)) as opened:
        assert (count(opened, "short"), count(opened, "much too long"), count(opened, "p")) == (1, 0, 0)
        kinds = {reject["kind"] for reject in opened.rejects() if reject["source"] == str(new)}
        assert kinds == {"row", "cell"}
        assert opened.manifest.rejects == sum(reject["count"] for reject in opened.rejects())
        before = len(opened.rejects())
    updates.update_cells(CITIES, [(0, 0, "much too long")])
    updates.update_cells(CITIES, [(0, 1, "x")])  # what was reported once is not reported again
    updates.add_column(CITIES, "new", ["short", "much too long, again"])
    updates.remove_column(CITIES, 1)
    with open_store(str(store)) as opened:
        assert cells(opened, CITIES)[0] == ["much too long", "short"]
        reasons = [reject["reason"] for reject in opened.rejects() if Path(reject["source"]).name == "cities.csv"]
        long = [reason for reason in reasons if "characters" in reason]
        assert [reason.partition("(")[2] for reason in long] == ["first in data row 1)", "first in data row 2)"]
        assert len(opened.rejects()) == before + 2
        assert opened.manifest.rejects == sum(reject["count"] for reject in opened.rejects())


def test_the_index_of_josie_is_refused_until_it_is_built_anew(lake: Path, tmp_path: Path) -> None:
    store = index(lake, tmp_path / "josie.duckdb", josie=True)
    updates = Updates(str(store))
    updates.append_rows(CITIES, [["Mainz", "RP"]])
    with open_store(str(store)) as opened:
        assert not opened.manifest.josie
        with pytest.raises(StoreError, match=r"older than the changes to it: mate compact --store .* builds it anew"):
            opened.josie()
    updates.compact()
    with open_store(str(store)) as opened:
        assert opened.josie().sets == 5
        mainz = opened.tokens(pa.array(["mainz"])).token_id
        assert opened.josie().lists_of(mainz).length.tolist() == [1]
    updates.append_rows(CITIES, [["Trier", "RP"]])
    updates.compact(josie=False)
    with open_store(str(store)) as opened, pytest.raises(StoreError, match="built without what JOSIE needs"):
        opened.josie()


def test_an_index_without_changes_has_nothing_to_compact(store: Path) -> None:
    before = store.read_bytes()
    report = Updates(str(store)).compact()
    assert report.before == report.after
    assert store.read_bytes() == before


def test_a_new_build_makes_old_changes_void(store: Path, lake: Path) -> None:
    Updates(str(store)).remove_tables([PEOPLE])
    stale = changes_path(store).read_bytes()
    index(lake, store)
    assert not changes_path(store).exists()
    changes_path(store).write_bytes(stale)  # as if the build had been killed before it removed them
    with open_store(str(store)) as opened:
        assert opened.changes is None
        assert opened.manifest.tables == 2
    Updates(str(store)).append_rows(CITIES, [["Mainz", "RP"]])
    with open_store(str(store)) as opened:
        assert len(cells(opened, CITIES)) == 4
        assert opened.manifest.tables == 2


def test_a_token_whose_number_is_taken_is_refused(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(str(store)) as opened:
        taken = int(opened.tokens(pa.array(["bonn"])).token_id[0])
    import mate.build.batches as batches

    real = batches.token_ids
    monkeypatch.setattr(
        batches,
        "token_ids",
        lambda texts, seed: np.where(pa.compute.equal(texts, "new").to_numpy(False), taken, real(texts, seed)),
    )
    updates = Updates(str(store))
    with pytest.raises(StoreError, match=r"a new token has the number of another one .*: build the index again"):
        updates.append_rows(CITIES, [["new", "x"]])
    monkeypatch.setattr(batches, "token_ids", lambda texts, seed: np.full(len(texts), 2**50))
    with pytest.raises(StoreError, match="a new token has the number of another one"):
        updates.append_rows(CITIES, [["one", "other"]])
    assert not changes_path(store).exists()


REFUSED: dict[str, tuple[Any, str]] = {
    "no table": (lambda u: u.remove_tables([0, 7]), "the index has no table 7; see: mate stats --tables"),
    "no row": (lambda u: u.remove_rows(CITIES, [1, 3]), "cities has no row 4; it has 3 rows"),
    "negative": (lambda u: u.update_cells(CITIES, [(-1, 0, "x")]), "cities has no row 0"),
    "no column": (lambda u: u.update_cells(CITIES, [(0, 2, "x")]), "cities has no column 3; it has 2"),
    "narrow": (lambda u: u.append_rows(CITIES, [["x", "y"], ["x"]]), "row 2 of the new rows has 1 cells; cities has 2"),
    "short": (lambda u: u.add_column(CITIES, "x", ["y"]), "the new column has 1 values; cities has 3 rows"),
    "column": (lambda u: u.remove_column(CITIES, 5), "cities has no column 6"),
    "surrogate": (lambda u: u.append_rows(CITIES, [["\ud800", "y"]]), "value 0 holds a lone surrogate"),
    "name": (lambda u: u.add_column(CITIES, "\ud800", ["x"] * 3), "value 0 holds a lone surrogate"),
    "number": (lambda u: u.update_cells(CITIES, [(0, 0, 7)]), "value 0 is not a string but int"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_makes_no_sense_is_refused_and_changes_nothing(store: Path, what: str) -> None:
    operation, message = REFUSED[what]
    with pytest.raises(MateError, match=message) as error:
        operation(Updates(str(store)))
    assert "\n" not in str(error.value)
    assert not changes_path(store).exists()
    assert sorted(path.name for path in store.parent.iterdir() if path.name.startswith(".")) == []


def test_the_last_column_stays(store: Path) -> None:
    updates = Updates(str(store))
    updates.remove_column(CITIES, 0)
    with pytest.raises(UpdateError, match="cities has no other column: remove the table"):
        updates.remove_column(CITIES, 0)


def test_files_that_are_there_already(store: Path, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    updates = Updates(str(store))
    monkeypatch.chdir(lake)
    for path in (str(lake / "people.csv"), "people.csv", "../lake/people.csv", str(lake)):
        with pytest.raises(UpdateError, match=r"the index has .* already; mate sync takes its new content"):
            updates.add_tables([path])
    (lake / "empty.csv").write_text("")
    with pytest.raises(UpdateError, match="no table could be read; nothing was changed"):
        updates.add_tables(["empty.csv"])
    assert not changes_path(store).exists()


def test_there_must_be_an_index(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "where.duckdb"
    with pytest.raises(StoreError, match="there is no index at"):
        Updates(str(missing)).remove_tables([0])
    assert list(tmp_path.iterdir()) == []


def test_changes_that_cannot_be_read_are_not_left_out(store: Path) -> None:
    Updates(str(store)).remove_tables([PEOPLE])
    changes_path(store).write_bytes(b"not DuckDB")
    with pytest.raises(StoreError, match=r"lake\.duckdb\.changes cannot be opened"):
        open_store(str(store))
    with pytest.raises(StoreError, match=r"lake\.duckdb\.changes cannot be opened"):
        Updates(str(store)).remove_tables([CITIES])


def test_tables_and_columns_by_what_people_call_them(store: Path, lake: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    write_csv(more / "people.csv", ["a", "a", "2"], [["1", "2", "3"]])
    Updates(str(store)).add_tables([str(more)])
    with open_store(str(store)) as opened:
        assert find_table(opened, "1").name == find_table(opened, str(lake / "people.csv")).name == "people"
        assert find_table(opened, "cities").table_id == CITIES
        with pytest.raises(UpdateError, match=r'"people" may be any of 2 tables, say which by number: 1 .*, 2 '):
            find_table(opened, "people")
        with pytest.raises(UpdateError, match='the index has no table "9"'):
            find_table(opened, "9")
        table = find_table(opened, "2")
    assert [find_column(table, given) for given in ("1", "2", "3")] == [0, 2, 2]
    with pytest.raises(UpdateError, match='several columns "a", say which by number: 1, 2'):
        find_column(table, "a")
    with pytest.raises(UpdateError, match='people has no column "x"; it has: a, a, 2'):
        find_column(table, "x")


def test_an_index_from_before_builds_had_names_can_be_changed(store: Path) -> None:
    import json

    import duckdb

    with duckdb.connect(str(store)) as database:
        [(text,)] = database.execute("SELECT value FROM manifest").fetchall()
        kept = {name: value for name, value in json.loads(text).items() if name not in ("build", "limits", "notes")}
        database.execute("UPDATE manifest SET value = $1", [json.dumps(kept)])
    updates = Updates(str(store))
    updates.append_rows(CITIES, [["Mainz", "RP"]])
    updates.update_cells(CITIES, [(3, 0, "Trier")])
    with open_store(str(store)) as opened:
        assert cells(opened, CITIES)[3] == ["Trier", "RP"]
        assert names(opened, ("trier", "rp")) == [("cities", 1)]
    updates.compact()
    with open_store(str(store)) as opened:
        assert cells(opened, CITIES)[3] == ["Trier", "RP"]
        assert opened.manifest.build
