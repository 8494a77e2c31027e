"""Whole builds: what an index holds, whatever the engine, the units and the layout; and what is refused."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Sequence
from math import comb, log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from mate.build import batches, build, stage
from mate.build.build import BuildSettings, HashRequest, known_hash
from mate.build.duckdb_target import DuckDBTarget
from mate.build.engine import Engine, LocalEngine, SparkEngine, failure
from mate.build.progress import Silent
from mate.build.sources import Source, Unit
from mate.corpus import Limits
from mate.errors import CorpusError, HashError, MateError, StoreError
from mate.store import open_store
from mate.values.text import NULL_SPELLINGS
from mate.values.token_ids import token_ids

BuildIndex = Callable[..., build.Summary]
DumpIndex = Callable[[Path], dict[str, list[tuple[Any, ...]]]]

HASHES = (HashRequest("xash", 128), HashRequest("bf", 512), HashRequest("ht", 128))
ENGINES = {"spark": "local[2]", "none": "none"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve tables of three columns that share values."""
    folder = tmp_path_factory.mktemp("lake")
    for table in range(12):
        rows = [f"name {table * n},city {n % 5},{table + n}" for n in range(40)]
        (folder / f"t{table:02d}.csv").write_text("\n".join(["name,city,number", *rows, ""]))
    return folder


@pytest.fixture(scope="module")
def published(build_index: BuildIndex, lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the lake as Spark builds it."""
    store = tmp_path_factory.mktemp("published") / "lake.duckdb"
    build_index(lake, store, hashes=HASHES)
    return store


@pytest.fixture(params=ENGINES.values(), ids=ENGINES)
def master(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


# What an index holds


def test_counts(build_index: BuildIndex, lake: Path, tmp_path: Path, master: str) -> None:
    (tmp_path / "more.csv").write_text("a,b\nname 7,\n,\nNAME  7,n/a\n")
    (tmp_path / "more.zzz").write_text("no table")
    store = tmp_path / "lake.duckdb"
    summary = build_index([lake, tmp_path / "more.csv", tmp_path / "more.zzz"], store, master=master)
    manifest = summary.manifest
    assert (manifest.tables, manifest.columns, manifest.rows) == (13, 38, 12 * 40 + 3)
    assert manifest.cells == 12 * 40 * 3 + 2
    names = {f"name {table * n}" for table in range(12) for n in range(40)}
    numbers = {str(table + n) for table in range(12) for n in range(40)}
    assert manifest.distinct_tokens == len(names) + 5 + len(numbers)
    assert (manifest.rejects, summary.rejected_tables, summary.files) == (1, 1, 14)
    assert manifest.nulls == tuple(sorted(NULL_SPELLINGS))
    assert set(manifest.versions) >= {"mate", "python", "unicode", "numpy", "pyarrow", "duckdb", "spark"}
    assert set(summary.seconds) >= {"find files", "read and tokenise", "dictionary", "hash and post", "publish"}
    with open_store(str(store)) as index:
        assert index.manifest == manifest


def test_both_layouts_and_engines_hold_the_same(
    build_index: BuildIndex, dump_index: DumpIndex, lake: Path, published: Path, tmp_path: Path, master: str
) -> None:
    store = tmp_path / "per_row.duckdb"
    build_index(lake, store, hashes=HASHES, layout="per_row", master=master)
    per_cell, per_row = dump_index(published), dump_index(store)
    keys = {row[0]: row[1:] for row in per_row.pop("super_keys")}
    assert [(*posting[:4], *keys[posting[3]]) for posting in per_row.pop("postings")] == per_cell.pop("postings")
    assert per_row == per_cell


def one_unit(sources: list[Source], parallelism: int) -> list[Unit]:
    return [Unit(0, tuple(sources))]


def unit_each(sources: list[Source], parallelism: int) -> list[Unit]:
    return [Unit(number, (source,)) for number, source in enumerate(sources)]


def uneven(sources: list[Source], parallelism: int) -> list[Unit]:
    return [Unit(0, tuple(sources[:1])), Unit(1, tuple(sources[1:8])), Unit(2, tuple(sources[8:]))]


@pytest.mark.parametrize("plan", [one_unit, unit_each, uneven])
def test_the_result_does_not_depend_on_the_units(
    build_index: BuildIndex,
    dump_index: DumpIndex,
    lake: Path,
    published: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plan: Callable[[list[Source], int], list[Unit]],
    master: str,
) -> None:
    monkeypatch.setattr(build, "plan", plan)
    build_index(lake, tmp_path / "lake.duckdb", hashes=HASHES, master=master)
    assert dump_index(tmp_path / "lake.duckdb") == dump_index(published)


def test_the_result_does_not_depend_on_the_batches(
    build_index: BuildIndex,
    dump_index: DumpIndex,
    lake: Path,
    published: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stage, "BATCH_CELLS", 50)
    limits = Limits(chunk_cells=30)  # ten rows, so that tables come in pieces
    build_index(lake, tmp_path / "lake.duckdb", hashes=HASHES, master="none", limits=limits)
    assert dump_index(tmp_path / "lake.duckdb") == dump_index(published)


def test_a_unit_without_a_value_or_a_table_among_others(build_index: BuildIndex, tmp_path: Path, master: str) -> None:
    lake = write(tmp_path / "lake", a="x,y\n,\nn/a,-\n", b="", c="x,y\nlee,us\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "plan", unit_each)
        summary = build_index(lake, tmp_path / "lake.duckdb", master=master)
    assert (summary.manifest.tables, summary.manifest.rows, summary.manifest.cells) == (2, 3, 2)
    with open_store(str(tmp_path / "lake.duckdb")) as index:
        assert index.cells(np.arange(3)) == {0: ["", ""], 1: ["n/a", "-"], 2: ["lee", "us"]}
        assert [(table.name, table.first_row) for table in index.tables()] == [("a", 0), ("c", 2)]


# Hash functions and their parameters


def test_parameters_are_chosen_for_the_corpus(published: Path) -> None:
    with open_store(str(published)) as index:
        manifest = index.manifest
    alpha = next(alpha for alpha in range(1, 129) if comb(128, alpha) > manifest.distinct_tokens)
    assert [spec.parameters for spec in manifest.hashes] == [{"alpha": alpha}, {"hashes": round(512 / 3 * log(2))}, {}]
    assert alpha == 2


def test_parameters_that_are_given_hold(build_index: BuildIndex, lake: Path, tmp_path: Path) -> None:
    requests = (HashRequest("xash", 64, {"alpha": 7}), HashRequest("bf", 128, {"hashes": 6}))
    manifest = build_index(lake, tmp_path / "a.duckdb", master="none", hashes=requests).manifest
    assert list(map(str, manifest.hashes)) == ["xash:64:alpha=7", "bf:128:hashes=6"]


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("xash", HashRequest("xash", 256)),
        ("xash:128", HashRequest("xash", 128)),
        ("xash:128:alpha=5", HashRequest("xash", 128, {"alpha": 5})),
        ("bf::hashes=6", HashRequest("bf", 256, {"hashes": 6})),
    ],
)
def test_a_hash_as_it_is_written(text: str, request_: HashRequest) -> None:
    assert known_hash(text, 256) == request_


@pytest.mark.parametrize("text", ["xash:many", "xash:128:alpha", "xash:128:alpha=x", "xsah", ""])
def test_a_hash_that_is_written_wrong(text: str) -> None:
    with pytest.raises(MateError):
        known_hash(text, 128)


def test_an_index_without_super_keys(build_index: BuildIndex, lake: Path, tmp_path: Path) -> None:
    for layout in ("per_cell", "per_row"):
        build_index(lake, tmp_path / "a.duckdb", master="none", hashes=(), layout=layout)
        with open_store(str(tmp_path / "a.duckdb")) as index:
            assert index.manifest.hashes == ()
            assert index.tokens(pa.array(["city 3"])).postings.tolist() == [12 * 8]


# Token numbers that collide


def colliding(seeds: Sequence[int]) -> Callable[[pa.StringArray, int], Any]:
    """Return `token_ids` under which, with some seeds, two certain tokens share a number."""

    def numbers(texts: pa.StringArray, seed: int = 0) -> Any:
        ids = token_ids(texts, seed)
        if seed in seeds:
            shared = [text in ("berlin", "paris") for text in texts.to_pylist()]
            ids[np.array(shared, bool)] = 77
        return ids

    return numbers


@pytest.mark.parametrize(
    "files",
    [{"a": "x,y\nBerlin,1\nParis,2\n"}, {"a": "x,y\nBerlin,1\n", "b": "x,y\nParis,1\n"}],
    ids=["in one file", "in two units"],
)
def test_colliding_numbers_lead_to_another_seed(
    build_index: BuildIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]
) -> None:
    monkeypatch.setattr(batches, "token_ids", colliding([0, 1]))
    monkeypatch.setattr(build, "plan", unit_each)
    lake = write(tmp_path / "lake", **files)
    manifest = build_index(lake, tmp_path / "a.duckdb", master="none").manifest
    assert manifest.token_seed == 2
    with open_store(str(tmp_path / "a.duckdb")) as index:
        found = index.tokens(pa.array(["paris", "berlin"]))
        assert found.postings.tolist() == [1, 1]
        assert found.token_id.tolist() == token_ids(pa.array(["paris", "berlin"]), 2).tolist()
        assert index.postings(found.token_id[:1]).row_id.tolist() == [1]


def test_numbers_that_collide_under_every_seed_are_an_error(
    build_index: BuildIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "token_ids", colliding(range(10)))
    lake = write(tmp_path / "lake", a="x,y\nBerlin,1\nParis,2\n")
    with pytest.raises(MateError, match="collide under 3 seeds"):
        build_index(lake, tmp_path / "a.duckdb", master="none")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lake"]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, spark: SparkSession) -> Engine:
    return SparkEngine(spark) if request.param == "spark" else LocalEngine()


@pytest.mark.parametrize(
    ("parts", "distinct", "unique"),
    [
        ([[(1, "a", 2), (2, "b", 1)], [(1, "a", 5)]], 2, True),
        ([[(1, "a", 2)], [(1, "b", 5), (2, "c", 1)]], 2, False),
        ([[(1, "a", 2), (1, "b", 2)]], 1, False),
    ],
    ids=["sound", "across units", "inside a unit"],
)
def test_merging_dictionaries_sums_postings_and_sees_shared_numbers(
    engine: Engine,
    tmp_path: Path,
    parts: list[list[tuple[int, str, int]]],
    distinct: int,
    unique: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mate.build.engine.MOST_HERE", 0)  # Spark merges even these with a shuffle
    paths = []
    for number, entries in enumerate(parts):
        records = [dict(zip(batches.TOKENS_SCHEMA.names, entry, strict=True)) for entry in entries]
        paths.append(str(tmp_path / f"{number}.parquet"))
        pq.write_table(pa.Table.from_pylist(records, batches.TOKENS_SCHEMA), paths[-1])
    assert engine.merge(paths, str(tmp_path / "merged")) == (distinct, unique)
    merged = pq.read_table(tmp_path / "merged").to_pylist()
    sums = {number: 0 for entries in parts for number, _, _ in entries}
    for number, _, postings in (entry for entries in parts for entry in entries):
        sums[number] += postings
    assert {entry["token_id"]: entry["postings"] for entry in merged} == sums


# What is not taken in


SHARD = {
    "relation": [["city", "Berlin", "Paris"], ["country", "DE", "FR"]],
    "hasHeader": True,
    "headerPosition": "FIRST_ROW",
    "tableType": "RELATION",
}
BAD_FILES: dict[str, tuple[bytes, list[tuple[str, int | None, str]]]] = {
    "empty.csv": (b"", [("file", None, "empty file")]),
    "blank.csv": (b"\n\n \n", [("file", None, "empty file")]),
    "header.csv": (b"a,b\n", [("file", None, "no data rows")]),
    "binary.csv": (bytes(range(256)) * 8, [("file", None, "binary content")]),
    "page.csv": (b"<html><body>no</body></html>", [("file", None, "an HTML page")]),
    "cut.csv.gz": (gzip.compress(b"a,b\n1,2\n" * 500)[:-9], [("file", None, "truncated gzip stream")]),
    "torn.parquet": (b"PAR1 and no more", [("file", None, "not a readable Parquet file")]),
    "torn.json": (b'[{"a": 1}, {"a":', [("file", None, "invalid JSON")]),
    "picture.png": (b"\x89PNG", [("file", None, "unsupported file type .png")]),
    "shard.json": (
        b"\n".join([json.dumps(SHARD).encode(), b"{torn", json.dumps({"relation": []}).encode(), b""]),
        [("record", 2, "invalid JSON"), ("record", 3, "empty relation")],
    ),
    "wide.csv": (b"a,b\n1,2\n1,2,3,4\n3,4\n", [("row", 3, "4 cells where the header has 2")]),
    "quote.csv": (b'a,b\n1,"x\n2,y\n', [("row", 2, "stray quote")]),
    "long.csv": (b"a,b\n1," + b"z" * 1_001 + b"\n", [("cell", None, "cell longer than 1,000 characters")]),
}


def test_every_kind_of_bad_file_is_a_reject_and_stops_nothing(
    build_index: BuildIndex, tmp_path: Path, master: str
) -> None:
    folder = write(tmp_path / "lake", good="a,b\n1,2\n")
    for name, (content, _) in BAD_FILES.items():
        (folder / name).write_bytes(content)
    summary = build_index(folder, tmp_path / "a.duckdb", master=master)
    with open_store(str(tmp_path / "a.duckdb")) as index:
        rejects, tables = index.rejects(), [Path(table.source).stem for table in index.tables()]
    expected = [
        (str(folder / name), kind, line, reason)
        for name, (_, found) in sorted(BAD_FILES.items())
        for kind, line, reason in found
    ]
    assert [(r["source"], r["kind"], r["line"]) for r in rejects] == [reject[:3] for reject in expected]
    for reject, (*_, reason) in zip(rejects, expected, strict=True):
        assert reason in reject["reason"]
        assert "\n" not in reject["reason"]
    assert tables == ["good", "long", "quote", "shard", "wide"]
    assert summary.manifest.rejects == sum(reject["count"] for reject in rejects) == 14
    assert summary.rejected_tables == 11


def test_limits_are_reported_when_they_bite(build_index: BuildIndex, tmp_path: Path, master: str) -> None:
    lake = write(
        tmp_path / "lake",
        long="a,b\n" + "".join(f"{n},x\n" for n in range(10)),
        wide="a,b,c,d\n1,2,3,4\n",
        cell="a,b\nabcdef,x\n",
    )
    limits = Limits(cell_characters=5, columns=3, rows=4)
    manifest = build_index(lake, tmp_path / "a.duckdb", limits=limits, master=master).manifest
    with open_store(str(tmp_path / "a.duckdb")) as index:
        rejects = [(Path(r["source"]).stem, r["kind"], r["line"], r["count"]) for r in index.rejects()]
        assert index.cells(np.arange(1)) == {0: ["abcdef", "x"]}
        assert len(index.tokens(pa.array(["abcdef"])).place) == 0
    assert rejects == [("cell", "cell", None, 1), ("long", "row", 6, 6), ("wide", "file", None, 1)]
    assert (manifest.tables, manifest.rows, manifest.rejects, manifest.cell_characters) == (2, 5, 8, 5)


def test_strict_publishes_nothing_if_anything_was_rejected(
    build_index: BuildIndex, tmp_path: Path, master: str
) -> None:
    lake = write(tmp_path / "lake", a="a,b\n1,2\n", b="a,b\n1,2\n1,2,3\n")
    with pytest.raises(CorpusError, match=r"1 rejects and --strict.*b\.csv, line 3: 3 cells where the header has 2"):
        build_index(lake, tmp_path / "a.duckdb", strict=True, master=master)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lake"]
    (lake / "b.csv").unlink()
    assert build_index(lake, tmp_path / "a.duckdb", strict=True, master=master).manifest.tables == 1


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no file found"),
        ({"a": "", "b": ""}, r"no table could be read; nothing was published\. .*a\.csv: empty file"),
        ({"a": "a,b\n,\nn/a,\n"}, "no cell holds a value"),
    ],
    ids=["no file", "no table", "no value"],
)
def test_a_folder_without_anything_to_index_is_one_clear_error(
    build_index: BuildIndex, tmp_path: Path, files: dict[str, str], message: str, master: str
) -> None:
    lake = write(tmp_path / "lake", **files)
    with pytest.raises(CorpusError, match=message) as error:
        build_index(lake, tmp_path / "a.duckdb", master=master)
    assert "\n" not in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lake"]


def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("the engine was started")


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"hashes": (HashRequest("xahs"),)}, HashError, 'did you mean "xash"'),
        ({"hashes": (HashRequest("xash", 100),)}, HashError, "no 100-bit version"),
        ({"hashes": (HashRequest("xash", 128, {"alpha": 99}),)}, HashError, "alpha must be"),
        ({"hashes": (HashRequest("xash", 128, {"beta": 1}),)}, HashError, "does not take these parameters"),
        ({"layout": "per_table"}, MateError, 'unknown layout "per_table"; known: per_cell, per_row'),
        ({"format": "xml"}, CorpusError, 'unknown format "xml"'),
    ],
)
def test_what_cannot_work_is_refused_before_the_engine_starts(
    lake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    error: type[MateError],
    message: str,
) -> None:
    monkeypatch.setattr(build, "start_engine", never)
    with pytest.raises(error, match=message), DuckDBTarget(tmp_path / "a.duckdb") as target:
        build.build([str(lake)], target, BuildSettings(**changes))
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "start_engine", never)
    (tmp_path / "broken").symlink_to("nowhere")
    for path in (tmp_path / "missing", tmp_path / "broken"):
        with pytest.raises(CorpusError, match="no such file or folder") as error:
            build.build([str(path)], DuckDBTarget(tmp_path / "a.duckdb"), BuildSettings())
        assert str(path) in str(error.value)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_path_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(build, "start_engine", never)
    lake = write(tmp_path / "lake", a="a,b\n1,2\n")
    closed = lake if kind == "folder" else lake / "a.csv"
    closed.chmod(0)
    tmp_path.chmod(0o755)
    with as_ordinary_user(tmp_path), pytest.raises(CorpusError, match="Permission denied") as error:
        build.build([str(lake)], DuckDBTarget(tmp_path / "a.duckdb"), BuildSettings())
    closed.chmod(0o755)
    assert str(closed) in str(error.value)


class as_ordinary_user:  # noqa: N801
    """Nothing is closed to root: do without its powers for a moment, in folders that others may enter."""

    def __init__(self, folder: Path) -> None:
        self.folders = [
            parent for parent in folder.parents if parent.stat().st_uid == os.getuid() and parent != Path("/")
        ]
        self.modes = [parent.stat().st_mode for parent in self.folders]

    def __enter__(self) -> None:
        if os.geteuid() == 0:
            for folder, mode in zip(self.folders, self.modes, strict=True):
                folder.chmod(mode | 0o011)
            os.seteuid(65_534)

    def __exit__(self, *_: object) -> None:
        if os.getuid() == 0:
            os.seteuid(0)
            for folder, mode in zip(self.folders, self.modes, strict=True):
                folder.chmod(mode)


# What goes wrong in a task


def test_a_task_that_fails_is_one_line(engine: Engine) -> None:
    def task(item: int) -> tuple[int, dict[str, int]]:
        raise OSError(5, "Input/output error")

    with pytest.raises(MateError) as error:
        engine.run([1], task, Silent(), "read and tokenise")
    assert str(error.value) == "the step 'read and tokenise' failed: OSError: [Errno 5] Input/output error"


def test_tasks_answer_in_order_and_progress_is_told(engine: Engine) -> None:
    class Told:
        def __init__(self) -> None:
            self.phases: list[tuple[str, int]] = []
            self.last: tuple[int, dict[str, int]] = (0, {})

        def start(self, phase: str, total: int) -> None:
            self.phases.append((phase, total))

        def update(self, done: int, **counts: int) -> None:
            self.last = (done, {name: count for name, count in counts.items() if count})

    told = Told()
    found = engine.run(list(range(9)), lambda item: (item * item, {"cells": item}), told, "squares")
    assert found == [n * n for n in range(9)]
    assert told.phases == [("squares", 9)]
    assert told.last == (9, {"cells": 36})


@pytest.mark.parametrize("marker", ["No space left on device", "Disk quota exceeded"])
def test_a_full_disk_is_called_so_whoever_noticed_it(marker: str) -> None:
    text = f"An error occurred while calling o93.parquet.\n: org.apache.spark.SparkException: x\n  Caused by: {marker}"
    assert "the disk is full" in str(failure(text, "dictionary"))
    assert "disk is full" not in str(failure("OSError: /mnt/disk1/x: bad", "dictionary"))


def test_a_store_error_is_not_taken_for_a_spark_error(lake: Path, tmp_path: Path) -> None:
    class Broken(DuckDBTarget):
        def publish(self) -> None:
            raise StoreError("no way")

    with pytest.raises(StoreError, match="no way"), Broken(tmp_path / "a.duckdb") as target:
        build.build([str(lake)], target, BuildSettings(master="none"))
    assert list(tmp_path.iterdir()) == []
