"""Query sets: seeded, of the size they claim, without duplicates, stored."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.errors import ExperimentError, RecordError
from experiments.lakes import of_folder
from experiments.queries import Shape, sample_queries
from experiments.query_sets import KEY_SIZES, SetSpec, listed, obtain, read
from mate.lake.base import Index
from mate.search.query import key_tuples
from mate.stores import open_index
from tests.lakes import lake


@pytest.fixture(scope="module")
def index(indexed: Path, files: Path) -> Iterator[Index]:
    with open_index(of_folder("mine", files).address(indexed)) as opened:
        yield opened


def small(count: int = 4, seed: int = 1, **changes: object) -> SetSpec:
    return SetSpec("mine (100)", "sampled", count, seed, 10, 100, others=((2, 10),), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(5))
def test_sampled_sets_keep_their_promises(index: Index, tmp_path: Path, seed: int) -> None:
    queries = obtain(tmp_path, "mine", small(seed=seed), index).queries
    assert len(queries) == 4
    assert len({query.origin for query in queries}) == 4
    infos = {table.table_id: table for table in index.tables()}
    for query in queries:
        tuples = key_tuples(query.table, query.key, frozenset(index.manifest.nulls))
        assert 10 <= query.cardinality == len(tuples) < 100
        assert len(query.key) == 2
        places = [int(name.rpartition("[")[2].rstrip("]")) for name in query.key]
        assert places == sorted(places)
        assert query.table.columns.num_rows == infos[query.origin].rows


def test_the_seed_decides(index: Index, tmp_path: Path) -> None:
    names = [
        [query.name for query in obtain(tmp_path / folder, "mine", small(seed=seed), index).queries]
        for folder, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert names[0] == names[1] != names[2]


def test_a_table_is_in_one_set_only(index: Index, tmp_path: Path) -> None:
    little = obtain(tmp_path, "mine", SetSpec("mine (10)", "sampled", 20, 1, 2, 10), index).queries
    large = obtain(tmp_path, "mine", small(20), index).queries
    assert little
    assert large
    assert not {query.origin for query in little} & {query.origin for query in large}


def test_tables_with_the_same_content_are_taken_once(tmp_path: Path) -> None:
    same = [[f"a{i}", f"b{i}"] for i in range(20)]
    with lake(tmp_path / "x.mate", [same, same, same[::-1], [["x", str(i)] for i in range(20)]]) as index:
        queries = list(sample_queries(index, 5, Shape(2, 100, whole=True)))
        assert len(queries) == 1  # the fourth table has a column that never varies
        assert not list(sample_queries(index, 5, Shape(2, 100, whole=True), without={0, 1, 2}))


def test_stored_queries_are_read_and_not_made_again(index: Index, tmp_path: Path) -> None:
    first = obtain(tmp_path, "mine", small(), index)
    written = first.path.stat().st_mtime_ns
    again = obtain(tmp_path, "mine", small(), index)
    assert first.path.stat().st_mtime_ns == written
    assert [(q.name, q.key, q.cardinality) for q in again.queries] == [
        (q.name, q.key, q.cardinality) for q in first.queries
    ]
    assert all(a.table.columns.equals(b.table.columns) for a, b in zip(first.queries, again.queries, strict=True))
    first.path.write_bytes(b"")
    with pytest.raises(RecordError, match=r"queries in .* cannot be read"):
        obtain(tmp_path, "mine", small(), index)


def test_keys_grow_column_by_column(index: Index, tmp_path: Path) -> None:
    queries = obtain(tmp_path, "mine", SetSpec("mine key size", "key size", 2, 1, 10, 5_000), index).queries
    assert [len(query.key) for query in queries] == [*KEY_SIZES, *KEY_SIZES]
    assert all(queries[i].key == queries[8].key[: i + 2] for i in range(9))
    assert len({query.origin for query in queries}) == 2


def test_school_takes_the_tables_with_both_columns(tmp_path: Path) -> None:
    rows = [[f"school {i % 5}", f"type {i % 3}"] for i in range(20)]
    headers = [["SCHOOL NAME", "Program type "], ["School Name", "Type"], ["x", "y"]]
    with lake(tmp_path / "x.mate", [rows] * 3, headers=headers) as index:
        (query,) = obtain(tmp_path, "school", SetSpec("School", "school", 1, 1), index).queries
    assert query.origin == 0
    assert query.cardinality == 15
    assert query.table.columns.column(0)[0].as_py() == "type 0"
    assert query.table.columns.column(1)[0].as_py() == "school 0"


def test_school_is_filled_up_with_tables_that_name_schools(tmp_path: Path) -> None:
    rows = [[f"school {i % 5}", f"type {i % 3}", "same"] for i in range(20)]
    more = [[f"school {i % 7}", f"grade {i % 4}", "same"] for i in range(20)]
    one = [["one school", f"{i}", "same"] for i in range(20)]
    headers = [
        ["School Name", "Program Type", "z"],
        ["x", "y", "z"],
        ["School Name ", "Grade", "z"],
        ["school name", "n", "z"],
    ]
    with lake(tmp_path / "x.mate", [rows, rows, more, one], headers=headers) as index:
        found = obtain(tmp_path, "school", SetSpec("School", "school", 10, 1), index).queries
    assert [query.origin for query in found] == [0, 2]
    assert [name.split(" [")[0] for name in found[1].key] == ["Grade", "School Name "]


def test_query_files_that_do_not_fit_are_left_out(
    index: Index, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "kaggle").mkdir()
    (tmp_path / "kaggle/good.csv").write_text("name,year\nname 1,1991\nname 2,1992\n")
    (tmp_path / "kaggle/bad.csv").write_text("name,visits\nx,1\n")
    (tmp_path / "queries.csv").write_text(
        "set,path,key_columns\nkaggle,kaggle/good.csv,Name;year\nkaggle,kaggle/bad.csv,name;country\n"
        "kaggle,kaggle/none.csv,\nother,x.csv,a;b\n"
    )
    spec = SetSpec("Kaggle", "kaggle", 10, 1, folder=str(tmp_path / "kaggle"))
    (query,) = obtain(tmp_path, "mine", spec, index).queries
    assert (query.name, query.key, query.cardinality, query.origin) == ("good.csv", ("name", "year"), 2, -1)
    assert "bad.csv is left out" in caplog.text
    released = SetSpec("released WT (10)", "released", 1, 1, folder=str(tmp_path / "kaggle"))
    assert len(obtain(tmp_path, "mine", released, index).queries) == 1


def test_kaggle_needs_a_list_of_keys(tmp_path: Path) -> None:
    (tmp_path / "kaggle").mkdir()
    with pytest.raises(ExperimentError, match=r"no queries\.csv"):
        listed(tmp_path / "kaggle", "kaggle", "Kaggle")
    (tmp_path / "queries.csv").write_text("set,file\nkaggle,x.csv\n")
    with pytest.raises(ExperimentError, match="path and key_columns"):
        listed(tmp_path / "kaggle", "kaggle", "Kaggle")


def test_hostile_cells_survive(tmp_path: Path) -> None:
    rows: list[list[str | None]] = [
        ["a\x1fb", 'c"\n', "é"],
        ["'; --", None, "日本"],
        ["", "x\x00y", "\u2028"],
        ["q", "r", "s"],
    ]
    with lake(tmp_path / "x.mate", [rows]) as index:
        made = obtain(tmp_path, "x", SetSpec("x (10)", "sampled", 1, 1, 2, 10), index)
    (query,) = made.queries
    stored = read(made.path)[0]
    assert stored.table.columns.equals(query.table.columns)
