"""Whole builds: what a lake holds, whatever the engine, the units and the number of segments; and what is refused."""

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
import pytest

from mate.build import build, dictionary, segments, stage
from mate.build.build import BuildSettings, HashRequest, known_hash
from mate.build.changes.check import check
from mate.build.dictionary import count_distinct
from mate.build.engine import HERE, LARGE, Engine, LocalEngine, NoProgress, SparkEngine, choose_master, failure
from mate.build.lake_target import LakeTarget
from mate.build.sources import Source, Unit
from mate.corpus import Limits
from mate.errors import CorpusError, HashError, MateError
from mate.lake.folder import LakeFolder, open_folder
from mate.values.text import NULL_SPELLINGS
from mate.values.token_ids import token_ids
from tests.lakes import cells_of

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
    store = tmp_path_factory.mktemp("published") / "lake.mate"
    build_index(lake, store, hashes=HASHES, master="local[2]")
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
    store = tmp_path / "lake.mate"
    summary = build_index([lake, tmp_path / "more.csv", tmp_path / "more.zzz"], store, master=master)
    manifest, counts = summary.manifest, summary.manifest.counts
    assert (counts.tables, counts.columns, counts.rows) == (13, 38, 12 * 40 + 3)
    assert counts.cells == 12 * 40 * 3 + 2
    names = {f"name {table * n}" for table in range(12) for n in range(40)}
    numbers = {str(table + n) for table in range(12) for n in range(40)}
    assert manifest.distinct_tokens == len(names) + 5 + len(numbers)
    assert (counts.rejects, summary.rejected_tables, summary.files) == (1, 1, 14)
    assert manifest.nulls == tuple(sorted(NULL_SPELLINGS))
    assert set(manifest.versions) >= {"mate", "python", "unicode", "numpy", "pyarrow", "spark"}
    assert set(summary.seconds) >= {"find files", "read and tokenise", "count distinct tokens", "write segments"}
    with open_folder(store) as index:
        assert index.manifest == manifest
        assert index.manifest.next_table == 13
        assert sum(index.sizes().values()) == sum(p.stat().st_size for p in store.rglob("*") if p.is_file())


def one_unit(sources: list[Source], parallelism: int) -> list[Unit]:
    return [Unit(0, tuple(sources))]


def unit_each(sources: list[Source], parallelism: int) -> list[Unit]:
    return [Unit(number, (source,)) for number, source in enumerate(sources)]


def uneven(sources: list[Source], parallelism: int) -> list[Unit]:
    return [Unit(0, tuple(sources[:1])), Unit(1, tuple(sources[1:8])), Unit(2, tuple(sources[8:]))]


@pytest.mark.parametrize(
    ("plan", "segments", "changes"),
    [
        *((plan, segments, {}) for plan in (one_unit, unit_each, uneven) for segments in (1, 4, 16)),
        *((plan, 3, {"master": "local[2]"}) for plan in (unit_each, uneven)),
        (one_unit, 1, {"limits": Limits(chunk_cells=30)}),  # ten rows, so that tables come in pieces
    ],
)
def test_the_result_does_not_depend_on_units_batches_and_segments(
    build_index: BuildIndex,
    dump_index: DumpIndex,
    lake: Path,
    published: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plan: Callable[[list[Source], int], list[Unit]],
    segments: int,
    changes: dict[str, Any],
) -> None:
    monkeypatch.setattr(stage, "plan_units", plan)
    monkeypatch.setattr(stage, "BATCH_CELLS", 50)
    summary = build_index(
        lake, tmp_path / "lake.mate", hashes=HASHES, segments=segments, **{"master": "none"} | changes
    )
    most = {one_unit: 1, unit_each: 12, uneven: 3}[plan]
    assert len(summary.manifest.segments) == min(segments, most) or plan is uneven
    assert dump_index(tmp_path / "lake.mate") == dump_index(published)


def test_memory_decides_how_many_segments_there_are(
    build_index: BuildIndex, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "plan_units", unit_each)
    monkeypatch.setattr(segments, "BYTES_PER_CELL", (1 << 26) // 300)  # the least memory is enough for 300 cells
    for memory, most in ((1 << 26, 300), (1 << 27, 600), (1 << 30, 4_800)):
        manifest = build_index(lake, tmp_path / "lake.mate", master="none", memory=memory).manifest
        assert len(manifest.segments) == -(-12 // (most // 120))  # of twelve tables with 120 cells
        assert max(segment.counts.cells for segment in manifest.segments) <= most


def test_memory_bounds_the_segments_of_one_large_file(
    build_index: BuildIndex,
    dump_index: DumpIndex,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    master: str,
) -> None:
    lines = []
    for table in range(60):
        rows = 30 if table == 33 else 2 + table % 3
        relation = [["town", *(f"Ulm {table + n}" for n in range(rows))], ["n", *(str(n) for n in range(rows))]]
        lines.append(json.dumps({"relation": relation, "headerPosition": "FIRST_ROW", "tableType": "RELATION"}))
    path = tmp_path / "shard.json.gz"
    path.write_bytes(gzip.compress("\n".join([*lines, "{torn"]).encode()))
    build_index(path, tmp_path / "whole.mate", master="none")
    monkeypatch.setattr(segments, "BYTES_PER_CELL", (1 << 26) // 40)
    parts = build_index(path, tmp_path / "parts.mate", master=master, memory=1 << 26).manifest
    assert sorted(segment.counts.cells for segment in parts.segments)[-2] <= 40 < 60
    [large] = [segment.counts for segment in parts.segments if segment.counts.cells > 40]
    assert 60 <= large.cells < 60 + 10  # the large table, and what was staged before it
    assert len(parts.segments) <= 2 * -(-parts.counts.cells // 40)
    assert dump_index(tmp_path / "parts.mate") == dump_index(tmp_path / "whole.mate")
    assert check(str(tmp_path / "parts.mate")).sound


def test_tables_beyond_what_can_be_numbered_are_refused_and_segments_cut(
    build_index: BuildIndex, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "MOST_NUMBERED", 250)
    monkeypatch.setattr(stage, "plan_units", unit_each)
    with monkeypatch.context() as patch:
        patch.setattr(build, "MOST_NUMBERED", 250)
        for chosen in (None, 1):
            limits = Limits(rows=250)
            manifest = build_index(lake, tmp_path / "lake.mate", limits=limits, segments=chosen).manifest
            assert [segment.counts.cells for segment in manifest.segments] == [240] * 6
    write(tmp_path / "tall", t="\n".join(["a", *["x"] * 251, ""]))
    with pytest.raises(MateError, match=r"t\.csv: the table t has 251 rows .* can number 250 .*--max-rows"):
        build_index(tmp_path / "tall", tmp_path / "new.mate", master="none")
    write(tmp_path / "various", t="\n".join(["a,b,c", *(f"x{n},y{n},z{n}" for n in range(84)), ""]))
    with pytest.raises(MateError, match=r"t has 84 rows and its segment 252 distinct values"):
        build_index(tmp_path / "various", tmp_path / "new.mate", master="none")
    assert not (tmp_path / "new.mate").exists()


def test_segments_keep_all_cores_busy_if_they_are_worth_it(
    build_index: BuildIndex, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "plan_units", unit_each)
    monkeypatch.setattr(LocalEngine, "parallelism", 4)
    for least, expected in ((10_000, 1), (700, 2), (10, 4)):
        monkeypatch.setattr(segments, "LEAST_SEGMENT", least)
        assert len(build_index(lake, tmp_path / "lake.mate", master="none").manifest.segments) == expected


def test_a_table_of_very_many_columns_and_rows_of_all_widths(build_index: BuildIndex, tmp_path: Path) -> None:
    wide = [[f"v{(row * column) % 50}" for column in range(3_000)] for row in range(3)]
    header = ",".join(f"c{n}" for n in range(3_000))
    files = write(tmp_path / "lake", wide="\n".join([header, *map(",".join, wide), ""]), one="a\nx\ny\n")
    build_index(files, tmp_path / "a.mate", limits=Limits(columns=4_000))
    index = open_folder(tmp_path / "a.mate")
    assert cells_of(index, 1) == wide
    assert [len(table.columns) for table in index.tables()] == [1, 3_000]
    assert postings(index, "v7") == sum(cell == "v7" for row in wide for cell in row)
    build_index(files, tmp_path / "a.mate")
    assert len(open_folder(tmp_path / "a.mate").tables()) == 1  # over the usual limit


def test_a_build_goes_where_its_size_asks_for() -> None:
    assert choose_master("local[3]", LARGE)[0] == "local[3]"
    assert choose_master("none", 100 * LARGE)[0] == "none"
    for size, master in ((0, "none"), (LARGE - 1, "none"), (LARGE, HERE), (100 * LARGE, HERE)):
        found, why = choose_master("auto", size)
        assert found == master
        assert "MB" in why


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    return SparkEngine(request.getfixturevalue("spark")) if request.param == "spark" else LocalEngine()


def staged_ids(folder: Path, units: Sequence[Sequence[int]]) -> list[stage.Lot]:
    found = []
    for number, ids in enumerate(units):
        np.unique(np.array(ids, np.int64)).tofile(folder / f"{number}.ids")
        counts = dict.fromkeys(("tables", "columns", "slots", "rejects", "rejected_tables"), 1)
        found.append(stage.Lot(str(folder / str(number)), 1, cells=len(ids), distinct=len(set(ids)), **counts))
    return found


@pytest.mark.parametrize("per_task", [1, 3, 100])
def test_distinct_tokens_are_counted_exactly_range_by_range(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, per_task: int
) -> None:
    monkeypatch.setattr(dictionary, "IDS_PER_TASK", per_task)
    edge = 2**63 // 7
    units = [[0, 5, 2**63 - 1, edge], [5, edge + 1, edge, edge - 1], [], [2**63 - 1, 0, 1 << 62]]
    assert count_distinct(engine, staged_ids(tmp_path, units), NoProgress()) == len({i for ids in units for i in ids})


def test_a_unit_without_a_value_or_a_table_among_others(build_index: BuildIndex, tmp_path: Path, master: str) -> None:
    lake = write(tmp_path / "lake", a="x,y\n,\nn/a,-\n", b="", c="x,y\nlee,us\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "plan_units", unit_each)
        summary = build_index(lake, tmp_path / "lake.mate", master=master)
    counts = summary.manifest.counts
    assert (counts.tables, counts.rows, counts.cells) == (2, 3, 2)
    with open_folder(tmp_path / "lake.mate") as index:
        assert [cells_of(index, number) for number in (0, 1)] == [[["", ""], ["n/a", "-"]], [["lee", "us"]]]
        assert [(table.name, table.rows) for table in index.tables()] == [("a", 2), ("c", 1)]


# Hash functions and their parameters


def test_parameters_are_chosen_for_the_corpus(published: Path) -> None:
    with open_folder(published) as index:
        manifest = index.manifest
    alpha = next(alpha for alpha in range(1, 129) if comb(128, alpha) > manifest.distinct_tokens)
    assert [spec.parameters for spec in manifest.hashes] == [{"alpha": alpha}, {"hashes": round(512 / 3 * log(2))}, {}]
    assert alpha == 2


def test_parameters_that_are_given_hold(build_index: BuildIndex, lake: Path, tmp_path: Path) -> None:
    requests = (HashRequest("xash", 64, {"alpha": 7}), HashRequest("bf", 128, {"hashes": 6}))
    manifest = build_index(lake, tmp_path / "a.mate", master="none", hashes=requests).manifest
    assert list(map(str, manifest.hashes)) == ["xash:64:alpha=7", "bf:128:hashes=6"]


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("xash", HashRequest("xash", 256)),
        ("xash:128", HashRequest("xash", 128)),
        ("xash:128:alpha=5", HashRequest("xash", 128, {"alpha": 5})),
        ("bf::hashes=6", HashRequest("bf", 256, {"hashes": 6})),
        ("xash::rotation=off", HashRequest("xash", 256, {"rotation": "off"})),
        ("wide", HashRequest("wide", 20)),
        ("fingerprint:12", HashRequest("fingerprint", 12)),
    ],
)
def test_a_hash_as_it_is_written(text: str, request_: HashRequest) -> None:
    assert known_hash(text, 256) == request_


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("xash:many", "a hash is written NAME"),
        ("xash:128:alpha", "a hash is written NAME"),
        ("xash:128:alpha=x", "alpha must be a whole number from 1"),
        ("xash::rotation=up", "rotation must be one of length, off, not 'up'"),
        ("xsah", 'did you mean "xash"'),
        ("", 'unknown hash ""; known: '),
    ],
)
def test_a_hash_that_is_written_wrong(text: str, message: str) -> None:
    with pytest.raises(MateError, match=message):
        known_hash(text, 128).function()


def postings(index: LakeFolder, text: str) -> int:
    return int(index.posting_counts(token_ids(pa.array([text])), pa.array([text]))[0])


def test_an_index_without_super_keys(build_index: BuildIndex, lake: Path, tmp_path: Path) -> None:
    build_index(lake, tmp_path / "a.mate", hashes=())
    with open_folder(tmp_path / "a.mate") as index:
        assert index.manifest.hashes == ()
        assert [list(segment.keys) for segment in index.segments] == [[]]
        assert postings(index, "city 3") == 12 * 8


# Tokens that share an id


def narrow_ids(texts: pa.StringArray) -> Any:
    """`token_ids` of four bits."""
    return token_ids(texts) & 15


@pytest.mark.parametrize("plan", [one_unit, unit_each])
@pytest.mark.parametrize("segments", [1, 3])
def test_tokens_that_share_an_id_are_told_apart(
    build_index: BuildIndex,
    dump_index: DumpIndex,
    lake: Path,
    published: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plan: Callable[[list[Source], int], list[Unit]],
    segments: int,
) -> None:
    monkeypatch.setattr(stage, "token_ids", narrow_ids)
    monkeypatch.setattr(stage, "plan_units", plan)
    alike = [HashRequest(spec.name, spec.bits, spec.parameters) for spec in open_folder(published).manifest.hashes]
    store = tmp_path / "a.mate"
    assert build_index(lake, store, hashes=tuple(alike), segments=segments).manifest.distinct_tokens == 16
    found, right = dump_index(store), dump_index(published)
    for name in ("postings", "codes"):
        found[name], right[name] = ([(r[0], *r[2:]) for r in records.pop(name)] for records in (found, right))
    assert found == right
    with open_folder(store) as index:
        texts = pa.array(["city 3", "name 7", "39", "not there", "city 4"])
        expected = [sum(r[0] == text for r in right["postings"]) for text in texts.to_pylist()]
        assert index.posting_counts(narrow_ids(texts), texts).tolist() == expected
        assert expected[3] == 0
        assert min(expected[:3]) > 0
    assert check(str(store)).sound


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
    summary = build_index(folder, tmp_path / "a.mate", master=master)
    with open_folder(tmp_path / "a.mate") as index:
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
    assert summary.manifest.counts.rejects == sum(reject["count"] for reject in rejects) == 14
    assert summary.rejected_tables == 11


def test_limits_are_reported_when_they_bite(build_index: BuildIndex, tmp_path: Path, master: str) -> None:
    lake = write(
        tmp_path / "lake",
        long="a,b\n" + "".join(f"{n},x\n" for n in range(10)),
        wide="a,b,c,d\n1,2,3,4\n",
        cell="a,b\nabcdef,x\n",
    )
    limits = Limits(cell_characters=5, columns=3, rows=4)
    manifest = build_index(lake, tmp_path / "a.mate", limits=limits, master=master).manifest
    with open_folder(tmp_path / "a.mate") as index:
        rejects = [(Path(r["source"]).stem, r["kind"], r["line"], r["count"]) for r in index.rejects()]
        assert cells_of(index, 0) == [["abcdef", "x"]]
        assert postings(index, "abcdef") == 0
    assert rejects == [("cell", "cell", None, 1), ("long", "row", 6, 6), ("wide", "file", None, 1)]
    assert (manifest.counts.tables, manifest.counts.rows, manifest.counts.rejects) == (2, 5, 8)
    assert manifest.cell_characters == 5


def test_strict_publishes_nothing_if_anything_was_rejected(
    build_index: BuildIndex, tmp_path: Path, master: str
) -> None:
    lake = write(tmp_path / "lake", a="a,b\n1,2\n", b="a,b\n1,2\n1,2,3\n")
    with pytest.raises(CorpusError, match=r"1 rejects and --strict.*b\.csv, line 3: 3 cells where the header has 2"):
        build_index(lake, tmp_path / "a.mate", strict=True, master=master)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lake"]
    (lake / "b.csv").unlink()
    assert build_index(lake, tmp_path / "a.mate", strict=True, master=master).manifest.counts.tables == 1


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
        build_index(lake, tmp_path / "a.mate", master=master)
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
        ({"memory": 1 << 20}, MateError, "--memory must be at least 64MB"),
        ({"segments": 0}, MateError, "at least one segment"),
        ({"limits": Limits(rows=2**31)}, MateError, r"at most 2,147,483,647 rows .*, not 2,147,483,648"),
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
    with pytest.raises(error, match=message), LakeTarget(tmp_path / "a.mate") as target:
        build.build([str(lake)], target, BuildSettings(**changes))
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "start_engine", never)
    (tmp_path / "broken").symlink_to("nowhere")
    for path, reason in ((tmp_path / "missing", "no such file or folder"), (tmp_path / "broken", "a link to nothing")):
        with pytest.raises(CorpusError, match=reason) as error:
            build.build([str(path)], LakeTarget(tmp_path / "a.mate"), BuildSettings())
        assert str(path) in str(error.value)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_path_that_may_not_be_read_is_a_reject(tmp_path: Path, kind: str) -> None:
    lake = write(tmp_path / "lake", good="a,b\n1,2\n")
    closed = lake / "closed"
    closed.write_text("a,b\n1,2\n") if kind == "file" else closed.mkdir()
    closed.chmod(0)
    tmp_path.chmod(0o777)
    with as_ordinary_user(tmp_path), LakeTarget(tmp_path / "a.mate") as target:
        build.build([str(lake)], target, BuildSettings(master="none"))
    closed.chmod(0o755)
    [reject] = open_folder(tmp_path / "a.mate").rejects()
    assert reject["source"] == str(closed)
    assert reject["reason"].endswith("cannot be read: Permission denied")


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
        engine.run([1], task, NoProgress(), "read and tokenise")
    assert str(error.value) == "the step 'read and tokenise' failed: OSError: [Errno 5] Input/output error"


def test_tasks_answer_in_order_and_progress_is_shown(engine: Engine) -> None:
    class RecordedProgress:
        def __init__(self) -> None:
            self.phases: list[tuple[str, int]] = []
            self.last: tuple[int, dict[str, int]] = (0, {})

        def start(self, phase: str, total: int) -> None:
            self.phases.append((phase, total))

        def update(self, done: int, **counts: int) -> None:
            self.last = (done, {name: count for name, count in counts.items() if count})

    progress = RecordedProgress()
    found = engine.run(list(range(9)), lambda item: (item * item, {"cells": item}), progress, "squares")
    assert found == [n * n for n in range(9)]
    assert progress.phases == [("squares", 9)]
    assert progress.last == (9, {"cells": 36})


@pytest.mark.parametrize("marker", ["No space left on device", "Disk quota exceeded"])
def test_a_full_disk_is_called_so_whoever_noticed_it(marker: str) -> None:
    text = f"An error occurred while calling o93.parquet.\n: org.apache.spark.SparkException: x\n  Caused by: {marker}"
    assert "the disk is full" in str(failure(text, "dictionary"))
    assert "disk is full" not in str(failure("OSError: /mnt/disk1/x: bad", "dictionary"))
