"""What every index must do, compared with a model that knows only the files.

An index joins the suite by one entry in `INDEXES`: a function that builds one of a lake and opens it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from mate.build.build import HashRequest
from mate.build.changes.updates import Updates
from mate.errors import StoreError
from mate.lake.base import Index
from mate.lake.folder import open_folder
from mate.lake.records import TableInfo
from mate.values.token_ids import token_ids
from tests.lakes import sync
from tests.sql.conftest import write_csv
from tests.sql.places import EVERYWHERE, PLACES, database_index, open_database
from tests.sql.places import index as build_index
from tests.sql.small import built_lake

if TYPE_CHECKING:
    from tests.sql.conftest import Model

HASHES = (HashRequest("xash", 128), HashRequest("bf", 512), HashRequest("ht", 128), HashRequest("xash", 64))


def in_a_lake(files: Path, folder: Path) -> Index:
    return built_lake(files, folder / "lake.mate", hashes=HASHES)


def in_a_database(kind: str, layout: str, files: Path, _: Path) -> AbstractContextManager[Index]:
    return database_index(kind, layout, files, hashes=HASHES)


def changed_and_back(address: str, files: Path, folder: Path) -> None:
    """Change tables, add one and remove it, and let the index follow its files again."""
    updates = Updates(address, master="none")
    updates.update_cells(1, [(0, 0, "another value"), (3, 0, None)])
    updates.append_rows(2, [["word 3", None], ["no such word", "word 3"]])
    updates.remove_rows(3, [0, 5])
    extra = write_csv(folder / "extra.csv", ["a", "b"], [["word 3", "extra"]])
    updates.remove_tables([table.table_id for table in updates.add_tables([str(extra)]).added])
    sync(updates, [str(files)])


@contextmanager
def in_a_changed_lake(files: Path, folder: Path) -> Iterator[Index]:
    in_a_lake(files, folder).close()
    changed_and_back(str(folder / "lake.mate"), files, folder)
    with open_folder(folder / "lake.mate") as opened:
        yield opened


@contextmanager
def in_a_changed_database(kind: str, layout: str, files: Path, folder: Path) -> Iterator[Index]:
    with PLACES[kind](in_list=50, layout=layout) as address:
        build_index(files, address, hashes=HASHES)
        changed_and_back(address, files, folder)
        with open_database(address) as opened:
            yield opened


INDEXES: dict[str, Callable[[Path, Path], AbstractContextManager[Index]]] = {
    "lake": in_a_lake,
    **{f"{kind}-{layout}": partial(in_a_database, kind, layout) for kind, layout in EVERYWHERE},
    "lake-changed": in_a_changed_lake,
    **{f"{kind}-changed": partial(in_a_changed_database, kind, "per_row") for kind in PLACES},
}


@pytest.fixture(scope="module", params=INDEXES)
def index(request: pytest.FixtureRequest, lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with INDEXES[request.param](lake, tmp_path_factory.mktemp(request.param)) as opened:
        yield opened


# The dictionary


def counts(index: Index, texts: list[str]) -> list[int]:
    array = pa.array(texts, pa.string())
    found = index.posting_counts(token_ids(array), array)
    assert found.dtype == np.int64
    return [int(count) for count in found]


def test_every_token_of_the_lake_with_its_postings(index: Index, model: Model) -> None:
    vocabulary = sorted(model.postings)
    assert len(vocabulary) > 5_000
    assert counts(index, vocabulary) == [len(model.postings[text]) for text in vocabulary]


def test_tokens_that_are_not_there(index: Index, model: Model) -> None:
    known = len(model.postings["word 3"])
    asked = ["word 3", "no such word", "Word 3", "y" * (model.limit + 1), "word 3"]
    assert counts(index, asked) == [known, 0, 0, 0, known]
    assert counts(index, []) == []


def test_a_text_that_shares_its_number_with_another(index: Index) -> None:
    texts = pa.array(["another text"])
    assert index.posting_counts(token_ids(pa.array(["word 3"])), texts).tolist() == [0]


def test_cells_without_a_value_have_no_token(index: Index, model: Model) -> None:
    absent = [*model.absent, *(cell.strip().lower() for cell in model.absent)]
    assert set(counts(index, absent)) == {0}


# Cells


def test_cells_are_the_text_of_the_file(index: Index, model: Model) -> None:
    for number, table in enumerate(model.tables):
        assert index.cells(number, np.arange(len(table.rows))) == table.rows
    assert {cell for row in model.rows for cell in row} >= {*model.hostile, *model.absent}


def test_cells_of_some_rows_and_of_none(index: Index, model: Model) -> None:
    rows = model.tables[1].rows
    assert index.cells(1, np.array([9, 2, 9])) == [rows[9], rows[2], rows[9]]
    assert index.cells(1, np.array([], np.int64)) == []
    with pytest.raises(StoreError, match=r"has no table 1000; see: mate stats"):
        index.cells(1_000, np.array([0]))


# Tables, sources, rejects, manifest, sizes


def table_infos(model: Model) -> list[TableInfo]:
    return [
        TableInfo(number, t.path.stem, str(t.path), 0, 1, t.header, len(t.rows))
        for number, t in enumerate(model.tables)
    ]


def test_tables(index: Index, model: Model) -> None:
    expected = table_infos(model)
    assert index.tables() == expected
    assert index.tables([4, 1, 4, 10**9]) == [expected[1], expected[4]]
    assert index.tables([]) == []
    assert index.tables(np.arange(6_000)) == expected
    assert index.table(3) == expected[3]
    with pytest.raises(StoreError, match="has no table 1000"):
        index.table(1_000)


def test_tables_by_name_and_source(index: Index, model: Model) -> None:
    expected = table_infos(model)
    assert index.tables_named(expected[2].name) == [2]
    assert index.tables_named("no such table") == []
    assert index.tables_from([expected[4].source, "nowhere", expected[0].source]) == [0, 4]
    assert index.tables_from([]) == []


def test_rejects_name_the_file_the_kind_and_the_reason(index: Index, model: Model) -> None:
    rejects = index.rejects()
    assert all(set(reject) == {"source", "line", "kind", "reason", "count"} for reject in rejects)
    whole = {Path(reject["source"]).name: reject for reject in rejects if reject["kind"] == "file"}
    assert set(whole) == {"broken.parquet", "notes.xyz"}
    assert whole["notes.xyz"]["reason"] == "unsupported file type .xyz"
    long = Counter({Path(reject["source"]).name: reject["count"] for reject in rejects if reject["kind"] == "cell"})
    oversized = Counter(
        model.tables[model.table_of[row]].path.name
        for row, cells in enumerate(model.rows)
        for c in cells
        if len(c) > model.limit
    )
    assert long == oversized
    assert len(rejects) == len(whole) + len(long)


def test_some_rejects_and_sources(index: Index) -> None:
    assert index.rejects(2) == index.rejects()[:2]
    assert index.rejects(0) == []
    chosen = [reject["source"] for reject in index.rejects()][:2]
    assert index.rejects(sources=chosen) == [reject for reject in index.rejects() if reject["source"] in chosen]
    assert index.rejects(sources=[]) == []
    assert index.sources([*chosen, "nowhere"]) == [s for s in index.sources() if s["source"] in chosen]


def test_sources_name_every_file_with_its_checksum(index: Index, model: Model) -> None:
    found = {s["source"]: (s["bytes"], s["sha256"]) for s in index.sources()}
    assert found == model.sources()
    tables = {s["source"]: s["tables"] for s in index.sources()}
    assert tables == {source: int(source.endswith(".csv")) for source in model.sources()}
    assert {s["format"] for s in index.sources()} == {"delimited", "parquet", "unknown"}


def test_the_manifest_counts_what_is_there(index: Index, model: Model) -> None:
    manifest, found = index.manifest, index.manifest.counts
    assert found.tables == len(model.tables)
    assert manifest.next_table - found.tables in (0, 1)  # one may have been added, and removed again
    assert found.columns == sum(len(table.header) for table in model.tables)
    assert found.rows == len(model.rows)
    assert found.cells == sum(map(len, model.postings.values()))
    assert found.rejects == sum(reject["count"] for reject in index.rejects())
    assert manifest.distinct_tokens == len(model.postings)
    assert [manifest.hash_number(h.name, h.bits) for h in HASHES] == [0, 1, 2, 3]


def test_sizes(index: Index) -> None:
    assert index.sizes()["postings"] > 0
    assert min(index.sizes().values()) >= 0


# Several threads


def test_threads_get_the_same_answers(index: Index, model: Model) -> None:
    def ask(number: int) -> tuple[object, ...]:
        table = number % len(model.tables)
        rows = np.arange(number % 7, len(model.tables[table].rows), 7)
        texts = [f"word {n}" for n in range(number)]
        return counts(index, texts), index.cells(table, rows[:20]), index.tables([table])

    alone = [ask(number) for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(40))) == alone
