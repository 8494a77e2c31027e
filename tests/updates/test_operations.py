"""Each operation by itself: what it reports, what it notes, what it refuses."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import mate.build.changes.change
from mate.build.changes.check import check
from mate.build.changes.naming import find_column, find_table
from mate.build.changes.updates import Updates
from mate.errors import MateError, StoreError, UpdateError
from mate.lake.folder import MANIFEST, SEGMENTS, LakeFolder, open_folder
from mate.lake.segment_folder import ParquetRecords
from mate.search.query import QueryTable
from mate.search.systems import find_system
from mate.values.token_ids import token_ids
from tests.lakes import ListSource, dump, postings_of, sync, write_csv
from tests.lakes import cells_of as cells
from tests.lakes import lake as index_of
from tests.updates.conftest import index

CITIES, PEOPLE = 0, 1
"""Files are numbered in the order of their names."""


def count(lake: LakeFolder, text: str) -> int:
    """Postings of a token in tables that are in use."""
    found = 0
    for segment in lake.segments:
        place = int(segment.places(token_ids(pa.array([text])), pa.array([text]))[0])
        found += sum(token == place for token, table, *_ in postings_of(segment.arrays) if lake.tables([table]))
    return found


def manifest_of(store: Path) -> bytes:
    return (store / MANIFEST).read_bytes()


def query(*rows: tuple[str, ...]) -> QueryTable:
    names = [f"k{n}" for n in range(len(rows[0]))]
    return QueryTable("query", pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=names))


def names(store: LakeFolder, *rows: tuple[str, ...]) -> list[tuple[str, int]]:
    table = query(*rows)
    return [(result.table.name, result.joinability) for result in find_system()(store, table, table.header)]


def test_a_new_table_is_found_beside_the_old_ones(store: Path, tmp_path: Path) -> None:
    new = write_csv(tmp_path / "more.csv", ["who", "where"], [["lee", "BONN"], ["Ada", "Kiel"]])
    report = Updates(str(store)).add_tables([str(new)])
    assert [(t.table_id, t.name, t.rows, t.columns) for t in report.added] == [(2, "more", 2, ("who", "where"))]
    assert (report.rows_added, report.rows_removed) == (2, 0)
    with open_folder(store) as index:
        assert names(index, ("Lee", "Bonn")) == [("people", 1), ("more", 1)]
        assert (index.manifest.operations, len(index.segments)) == (1, 2)
        assert [s["source"] for s in index.sources()][-1] == str(new)
        assert (index.manifest.counts.tables, index.manifest.next_table) == (3, 3)
        assert report.after
        assert report.after.counts == index.manifest.counts


def test_a_removed_table_is_gone_with_its_source(store: Path, lake: Path) -> None:
    report = Updates(str(store)).remove_tables([PEOPLE])
    assert [t.name for t in report.removed] == ["people"]
    with open_folder(store) as index:
        assert names(index, ("Lee", "Bonn")) == []
        assert count(index, "lee") == 0
        assert count(index, "bonn") == 1
        assert [Path(s["source"]).name for s in index.sources()] == ["cities.csv", "notes.xyz"]
        assert index.tables([PEOPLE]) == []
        assert len(index.rejects()) == 1
        for ask in (index.table, lambda table: index.cells(table, np.arange(1))):
            with pytest.raises(StoreError, match="has no table 1; see: mate stats --tables"):
                ask(PEOPLE)


def test_a_table_without_rows_can_be_filled_again(store: Path) -> None:
    updates = Updates(str(store))
    updates.remove_rows(PEOPLE, [0, 1])
    with open_folder(store) as index:
        assert index.table(PEOPLE).rows == 0
        assert cells(index, PEOPLE) == []
    updates.append_rows(PEOPLE, [["Ada", "Kiel", "1815"]])
    updates.add_column(PEOPLE, "x", ["y"])
    with open_folder(store) as index:
        assert cells(index, PEOPLE) == [["Ada", "Kiel", "1815", "y"]]
    updates.remove_rows(PEOPLE, [0])
    for change in (lambda: updates.remove_column(PEOPLE, 0), updates.compact, lambda: updates.remove_tables([CITIES])):
        change()
        with open_folder(store) as index:
            assert (index.table(PEOPLE).rows, cells(index, PEOPLE)) == (0, [])
        assert check(str(store)).sound


def test_everything_can_be_removed_and_added_again(store: Path, lake: Path) -> None:
    updates = Updates(str(store))
    updates.remove_tables([CITIES, PEOPLE])
    with open_folder(store) as index:
        assert (index.manifest.counts.tables, index.manifest.counts.cells) == (0, 0)
        assert index.tables() == []
        assert names(index, ("lee", "bonn")) == []
    updates.compact()
    report = updates.add_tables([str(lake / "people.csv")])
    assert [t.table_id for t in report.added] == [2]  # a number is never used again
    with open_folder(store) as index:
        assert names(index, ("lee", "bonn")) == [("people", 1)]


def test_cells_that_stay_the_same_are_no_change(store: Path) -> None:
    before = manifest_of(store)
    report = Updates(str(store)).update_cells(CITIES, [(0, 0, "Bonn")])
    assert (report.changed, report.rows_added) == ([], 0)
    assert Updates(str(store)).append_rows(CITIES, []).after is None
    assert manifest_of(store) == before


def test_rejects_and_limits_are_those_of_the_index(lake: Path, tmp_path: Path) -> None:
    from mate.corpus import Limits

    store = index(lake, tmp_path / "limited.mate", limits=Limits(cell_characters=5, rows=2))
    updates = Updates(str(store))
    new = write_csv(tmp_path / "long.csv", ["a", "b"], [["short", "much too long"], ["x", "y"], ["p", "q"]])
    updates.add_tables([str(new)])
    with open_folder(store) as opened:
        assert (count(opened, "short"), count(opened, "much too long"), count(opened, "p")) == (1, 0, 0)
        kinds = {reject["kind"] for reject in opened.rejects() if reject["source"] == str(new)}
        assert kinds == {"row", "cell"}
        assert opened.manifest.counts.rejects == sum(reject["count"] for reject in opened.rejects())
        before = len(opened.rejects())
    updates.update_cells(CITIES, [(0, 0, "much too long")])
    updates.update_cells(CITIES, [(0, 1, "x")])  # what was reported once is not reported again
    updates.add_column(CITIES, "new", ["short", "much too long, again"])
    updates.remove_column(CITIES, 1)
    with open_folder(store) as opened:
        assert cells(opened, CITIES)[0] == ["much too long", "short"]
        reasons = [reject["reason"] for reject in opened.rejects() if Path(reject["source"]).name == "cities.csv"]
        long = [reason for reason in reasons if "characters" in reason]
        assert [reason.partition("(")[2] for reason in long] == ["first in data row 1)", "first in data row 2)"]
        assert len(opened.rejects()) == before + 2
        assert opened.manifest.counts.rejects == sum(reject["count"] for reject in opened.rejects())


def test_an_index_without_changes_has_nothing_to_compact(store: Path) -> None:
    before = manifest_of(store)
    report = Updates(str(store)).compact()
    assert report.before == report.after
    assert manifest_of(store) == before


def test_compaction_leaves_one_segment_of_what_is_in_use(store: Path, tmp_path: Path) -> None:
    updates = Updates(str(store))
    for number in range(5):
        updates.add_tables([str(write_csv(tmp_path / f"more{number}.csv", ["a", "b"], [["x", str(number)]]))])
    updates.update_cells(CITIES, [(0, 0, "Köln")])
    updates.remove_tables([3, PEOPLE])
    with open_folder(store) as before:
        held = dump(before)
    report = updates.compact()
    assert report.before
    assert report.after
    assert (len(report.before.segments), len(report.after.segments)) == (6, 1)
    assert (report.before.operations, report.after.operations) == (7, 0)
    with open_folder(store) as after:
        assert dump(after) == held
        [record] = after.manifest.segments
        assert (record.superseded_tables, record.superseded_sources) == ((), ())
        assert record.counts == after.manifest.counts
        assert after.manifest == report.after
        texts = {row[0] for row in held["postings"]}
        assert after.manifest.distinct_tokens == len(texts)
    assert [path.name for path in (store / SEGMENTS).iterdir()] == [record.name]
    assert check(str(store)).sound


def test_compaction_leaves_large_whole_segments_alone(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mate.build.changes.change, "LEAST_SEGMENT", 10)
    with open_folder(store) as index:
        [large] = index.manifest.segments
        assert large.counts.cells == 12
    updates = Updates(str(store))
    for number in range(2):
        updates.add_tables([str(write_csv(tmp_path / f"more{number}.csv", ["a", "b"], [["x", str(number)]]))])
    after = updates.compact().after
    assert after
    assert [segment.name == large.name for segment in after.segments] == [True, False]
    assert updates.compact().after == after  # one small segment is nothing to merge


def test_sources_and_rejects_of_some_files_are_those_of_all(store: Path, lake: Path, tmp_path: Path) -> None:
    write_csv(lake / "people.csv", ["name", "city"], [["Lee", "Bonn"]])  # supersedes what the first segment has of it
    (lake / "torn.xyz").write_text("no table either")
    updates = Updates(str(store))
    sync(updates, [str(lake)])
    with open_folder(store) as index:
        assert len(index.segments) == 2
        for names in ([], [str(lake / "people.csv")], [str(lake / "torn.xyz"), str(lake / "notes.xyz"), "none"]):
            assert index.sources(names) == [r for r in index.sources() if r["source"] in names]
            assert index.rejects(sources=names) == [r for r in index.rejects() if r["source"] in names]
        assert len(index.rejects(sources=[str(lake / name) for name in ("torn.xyz", "notes.xyz")])) == 2
        assert len(index.sources([str(lake / "people.csv")])) == 1


def test_opening_reads_no_record(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = ParquetRecords.read

    def watched(self: ParquetRecords, columns: Any = None) -> Any:
        read.append(self._path.name)
        return real(self, columns)

    monkeypatch.setattr(ParquetRecords, "read", watched)
    with open_folder(store) as opened:
        assert read == []
        assert len(opened.sources()) == 3
        assert read == ["sources.parquet"]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A folder of twenty tables of ten cells."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(20):
        write_csv(folder / f"m{number:02d}.csv", ["a", "b"], [[f"x{n}", f"{number} {n}"] for n in range(5)])
    return folder


def test_a_large_change_and_compaction_write_as_many_segments_as_memory_asks_for(
    store: Path, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = index(store.parent / "lake", tmp_path / "other.mate")
    Updates(str(other)).add_tables([str(many)])
    monkeypatch.setattr(mate.build.segments, "BYTES_PER_CELL", (1 << 26) // 40)
    updates = Updates(str(store), memory=1 << 26)
    report = updates.add_tables([str(many)])
    assert len(report.added) == 20
    with open_folder(store) as few, open_folder(other) as whole:
        assert [segment.counts.cells for segment in few.manifest.segments] == [12, 40, 40, 40, 40, 40]
        assert len(whole.manifest.segments) == 2
        assert dump(few) == dump(whole)
    assert check(str(store)).sound
    for updated in (updates, Updates(str(other), memory=1 << 30)):
        updated.remove_tables([3, 4, 19])
        (many / "m07.csv").write_text("a,b\nnew,rows\nof,it\n")
        sync(updated, [str(many)])
        updated.compact()
        (many / "m07.csv").write_text("a,b\nother,rows\nof,it\n")
        sync(updated, [str(many)])
        updated.compact()
    with open_folder(store) as few, open_folder(other) as whole:
        assert max(segment.counts.cells for segment in few.manifest.segments) <= 40
        assert len(few.manifest.segments) > len(whole.manifest.segments) == 1
        assert dump(few) == dump(whole)
    assert updates.compact().after == updates.compact().before  # segments as large as memory allows are left alone
    assert check(str(store)).sound


def test_a_change_refuses_memory_that_is_no_use(store: Path) -> None:
    with pytest.raises(MateError, match="at least 64MB"):
        Updates(str(store), memory=1 << 20)


def test_a_segment_of_which_nothing_is_in_use_goes(store: Path, tmp_path: Path) -> None:
    updates = Updates(str(store))
    new = str(write_csv(tmp_path / "more.csv", ["a", "b"], [["x", "y"]]))
    [table] = updates.add_tables([new]).added
    updates.append_rows(table.table_id, [["p", "q"]])
    assert len(list((store / SEGMENTS).iterdir())) == 2
    updates.remove_tables([table.table_id])
    with open_folder(store) as index:
        assert len(index.segments) == len(list((store / SEGMENTS).iterdir())) == 1
        assert all(record["source"] != new for record in index.sources())


def test_a_source_of_several_tables(tmp_path: Path) -> None:
    lake = tmp_path / "web"
    lake.mkdir()
    table = '{"relation": [["a", "%s"], ["b", "1"]], "tableType": "RELATION", "hasHeader": true, "headerRowIndex": 0}\n'
    (lake / "web.json").write_text("".join(table % name for name in ("x", "y", "z")) + "{torn\n")
    store = index(lake, tmp_path / "web.mate")
    updates = Updates(str(store))
    updates.update_cells(1, [(0, 0, "other")])
    updates.remove_tables([0])
    with open_folder(store) as opened:
        [record] = opened.sources()
        assert (record["tables"], record["sha256"]) == (2, "")
        assert len(opened.rejects()) == opened.manifest.counts.rejects == 1
        assert opened.tables_from([str(lake / "web.json")]) == [1, 2]
    assert check(str(store)).sound
    updates.remove_tables([1, 2])
    with open_folder(store) as opened:
        assert (opened.sources(), opened.rejects(), opened.manifest.counts.rejects) == ([], [], 0)
    assert check(str(store)).sound


def test_tables_of_a_synthetic_lake_can_be_changed(store: Path) -> None:
    updates = Updates(str(store))
    report = updates.add_tables(["synthetic:tables=4,seed=3"])
    assert [table.table_id for table in report.added] == [2, 3, 4, 5]
    updates.remove_tables([2, 3])
    updates.append_rows(4, [["new"] * len(report.added[2].columns)])
    updates.compact()
    assert check(str(store)).sound


def test_many_changes_can_still_be_opened(store: Path) -> None:
    """Every change is a segment of its own; the files that are kept open must not run out."""
    updates = Updates(str(store))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) + 60, limits[1]))
    try:
        for number in range(40):
            updates.add_sources([ListSource([["x", str(number)]], f"more {number}", ("a", "b"))])
        with open_folder(store) as index:
            assert len(index.segments) == 41
            assert len(index.tables()) == 42
        updates.compact()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


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
    before = manifest_of(store)
    with pytest.raises(MateError, match=message) as error:
        operation(Updates(str(store)))
    assert "\n" not in str(error.value)
    assert manifest_of(store) == before
    assert sorted(path.name for path in store.iterdir()) == [".lock", MANIFEST, SEGMENTS]


def test_the_last_column_stays(store: Path) -> None:
    updates = Updates(str(store))
    updates.remove_column(CITIES, 0)
    with pytest.raises(UpdateError, match="cities has no other column: remove the table"):
        updates.remove_column(CITIES, 0)


def test_files_that_are_there_already(store: Path, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    updates = Updates(str(store))
    monkeypatch.chdir(lake)
    before = manifest_of(store)
    for path in (str(lake / "people.csv"), "people.csv", "../lake/people.csv", str(lake)):
        with pytest.raises(UpdateError, match=r"the index has .* already; mate sync takes its new content"):
            updates.add_tables([path])
    (lake / "empty.csv").write_text("")
    with pytest.raises(UpdateError, match="no table could be read; nothing was changed"):
        updates.add_tables(["empty.csv"])
    assert manifest_of(store) == before


def test_there_must_be_an_index(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "where.mate"
    with pytest.raises(StoreError, match="there is no index at"):
        Updates(str(missing)).remove_tables([0])
    assert list(tmp_path.iterdir()) == []


def test_segments_that_cannot_be_read_are_not_left_out(store: Path) -> None:
    Updates(str(store)).append_rows(PEOPLE, [["x", "y", "z"]])
    with open_folder(store) as opened:
        name = opened.manifest.segments[-1].name
    (store / SEGMENTS / name / "arrays").write_bytes(b"no arrays")
    for use in (lambda: open_folder(store), lambda: Updates(str(store)).remove_tables([CITIES])):
        with pytest.raises(StoreError, match=rf"{name}/arrays is damaged: .*; mate check --repair"):
            use()


def test_tables_and_columns_by_what_people_call_them(store: Path, lake: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    write_csv(more / "people.csv", ["a", "a", "2"], [["1", "2", "3"]])
    Updates(str(store)).add_tables([str(more)])
    with open_folder(store) as opened:
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


def test_a_table_of_very_many_rows(tmp_path: Path) -> None:
    """From 65,536 rows on postings take four bytes; a table may come to that and go back."""
    rows = [[f"v{number}", f"x{number % 300}"] for number in range(65_530)]
    tables = [rows, [["v1", "x1"]]]
    index_of(tmp_path / "a.mate", tables).close()
    updates = Updates(str(tmp_path / "a.mate"))
    updates.append_rows(0, [["new", f"row {number}"] for number in range(10)])
    updates.update_cells(0, [(65_539, 0, "last")])
    with open_folder(tmp_path / "a.mate") as opened:
        assert opened.cells(0, np.array([65_539, 0, 65_530])) == [["last", "row 9"], ["v0", "x0"], ["new", "row 0"]]
        assert names(opened, ("last", "row 9"), ("v1", "x1")) == [("table 0", 2), ("table 1", 1)]
    assert check(str(tmp_path / "a.mate")).sound
    updates.remove_rows(0, range(3, 65_530))
    with open_folder(tmp_path / "a.mate") as opened:
        assert (opened.table(0).rows, cells(opened, 0)[3]) == (13, ["new", "row 0"])
        assert names(opened, ("new", "row 3")) == [("table 0", 1)]
    assert check(str(tmp_path / "a.mate")).sound
