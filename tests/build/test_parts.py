"""Large files as the work of many tasks: the index is the same, table by table, whether they are cut or not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mate.build import parts, segments, stage
from mate.build import sources as pipeline_sources
from mate.build.build import HashRequest
from mate.build.changes.check import check
from mate.build.changes.updates import Updates
from mate.build.engine import LocalEngine, NoProgress
from mate.build.parts import FilePart
from mate.build.sources import FileSource, Source, find_sources, plan_units
from mate.corpus import Limits, delimited
from mate.corpus.lines import line_start
from mate.errors import CorpusError
from mate.lake.folder import open_folder
from tests.conftest import BuildIndex, DumpIndex
from tests.lakes import sync

PART = 2_000


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut files of a few thousand bytes, also in this process."""
    monkeypatch.setattr(parts, "LEAST_PART", PART)
    monkeypatch.setattr(pipeline_sources, "_LEAST_UNIT", PART)
    monkeypatch.setattr(pipeline_sources, "_MOST_UNIT", PART)
    monkeypatch.setattr(LocalEngine, "parallelism", 2)


def csv_text(rows: int) -> str:
    lines = ["Towns of the land;;;", "town;year;motto;n"]
    for n in range(rows):
        motto = f'"line one of {n}\nline ""two""; {n}"' if n % 5 == 0 else f"motto {n % 17}"
        lines.append(f"Köln {n % 31};{1990 + n % 30};{motto};{n}")
        if n % 41 == 7:
            lines.append("")
        if n % 67 == 9:
            lines.append(f"too;many;cells;in;line;{n}")
        if n % 53 == 11:
            lines.append(f"x;y;{'long ' * 30};{n}")
        if n % 89 == 3:
            lines.append(f'a;b;"stray;{n}')
    return "\n".join([*lines, "____", "Stand: 2020", ""])


def shard(tables: int) -> str:
    lines = []
    for n in range(tables):
        relation = [["town", f"Ulm {n}", "Bonn", "x" * 150], ["year", "2020", str(n)]]
        record = {"relation": relation, "pageTitle": f"Page {n}", "headerPosition": "FIRST_ROW"}
        lines.append(json.dumps({**record, "tableType": "LAYOUT" if n % 7 == 3 else "RELATION"}))
        if n % 9 == 4:
            lines.append("{torn")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of every format that is cut, among small ones and one that cannot be cut."""
    folder = tmp_path_factory.mktemp("lake")
    for name in ("a", "d", "h"):
        (folder / f"{name}.csv").write_text(f"town,year\nBonn,2020\n{name},2021\n")
    (folder / "b.csv").write_text(csv_text(400))
    (folder / "c.json").write_text(shard(60))
    (folder / "e.csv").write_text("\n".join(["town,n", *(f"Ulm {n % 7},{n}" for n in range(900))]))
    records = [{"town": f"Bonn {n}", "n": n} | ({"late": n} if n > 250 else {}) for n in range(300)]
    (folder / "f.jsonl").write_text("\n".join(["{}", *map(json.dumps, records), "{torn", "[1]"]))
    columns = {"town": [f"Köln {n % 9} {n}" for n in range(900)], "n": list(range(900))}
    pq.write_table(pa.table(columns), folder / "g.parquet", row_group_size=100)
    (folder / "i.csv").write_bytes("town,n\nUlm,1\n".encode("utf-16") + "Bonn,2\n".encode("utf-16-le") * 400)
    return folder


SETTINGS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "limits": {"limits": Limits(cell_characters=100, rows=333, chunk_cells=30)},
    "in segments": {"segments": 4, "hashes": (HashRequest("xash", 128), HashRequest("ht", 128))},
    "in little memory": {"memory": 1 << 26},
}


def cut_up(found: list[Source]) -> list[Source]:
    return parts.cut_sources(found, LocalEngine(), Limits(), NoProgress())


def unit_each(sources: list[Source], parallelism: int) -> list[list[Source]]:
    return [[source] for source in sources]


def in_threes(sources: list[Source], parallelism: int) -> list[list[Source]]:
    return [sources[first : first + 3] for first in range(0, len(sources), 3)]


@pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("units", [plan_units, unit_each, in_threes])
def test_an_index_of_parts_is_the_index_of_the_whole(
    build_index: BuildIndex,
    dump_index: DumpIndex,
    lake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    changes: dict[str, Any],
    units: Callable[[list[Source], int], list[list[Source]]],
) -> None:
    whole = build_index(lake, tmp_path / "whole.mate", master="none", **{**changes, "segments": 1})
    request.getfixturevalue("small_parts")
    if "memory" in changes:
        monkeypatch.setattr(segments, "BYTES_PER_CELL", (1 << 26) // 100)  # 100 cells per segment, 25 per lot
    planned: list[list[Source]] = []

    def watched(sources: list[Source], parallelism: int) -> list[list[Source]]:
        planned.extend(units(sources, parallelism))
        return planned

    monkeypatch.setattr(stage, "plan_units", watched)
    cut = build_index(lake, tmp_path / "parts.mate", master="none", **changes)
    cut_files = {source.name for unit in planned for source in unit if isinstance(source, FilePart)}
    assert {Path(name).name for name in cut_files} == {"b.csv", "c.json", "e.csv", "f.jsonl", "g.parquet"}
    assert dump_index(tmp_path / "parts.mate") == dump_index(tmp_path / "whole.mate")
    assert (len(cut.manifest.segments) > 1) == ("segments" in changes or "memory" in changes)
    for name in ("counts", "distinct_tokens", "hashes", "next_table"):
        assert getattr(cut.manifest, name) == getattr(whole.manifest, name)
    assert (cut.files, cut.rejected_tables) == (whole.files, whole.rejected_tables)
    if "memory" in changes:
        assert len(cut.manifest.segments) > 10
        with open_folder(tmp_path / "parts.mate") as index:
            for segment in index.segments:
                cells = np.diff(segment.arrays.table_row_first) * np.diff(segment.arrays.table_column_first)
                assert cells.sum() <= max(100, cells.max() + 2 * 25)  # a table is never divided
        assert check(str(tmp_path / "parts.mate")).sound


def test_the_same_on_spark(
    build_index: BuildIndex, dump_index: DumpIndex, lake: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    whole = build_index(lake, tmp_path / "whole.mate", master="local[2]")
    assert parts.PHASE not in whole.seconds
    request.getfixturevalue("small_parts")
    cut = build_index(lake, tmp_path / "parts.mate", master="local[2]", segments=3)
    assert parts.PHASE in cut.seconds
    assert dump_index(tmp_path / "parts.mate") == dump_index(tmp_path / "whole.mate")


@pytest.mark.usefixtures("small_parts")
def test_a_file_is_noted_once_with_its_checksum(build_index: BuildIndex, lake: Path, tmp_path: Path) -> None:
    build_index(lake, tmp_path / "lake.mate", master="none")
    with open_folder(tmp_path / "lake.mate") as index:
        noted = {Path(record["source"]).name: record for record in index.sources()}
        assert len(index.sources()) == len(noted) == 9
        tables = {path: list(index.tables_from([str(lake / path)])) for path in noted}
    for name, record in noted.items():
        data = (lake / name).read_bytes()
        assert (record["bytes"], record["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert record["tables"] == len(tables[name]) == (51 if name == "c.json" else 1)


@pytest.mark.usefixtures("small_parts")
def test_places_in_the_middle_of_cells_are_found_out(
    build_index: BuildIndex, dump_index: DumpIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f'{n},"cell\n{n},that looks\n{n},like rows\n{"," * (n % 3)}"' for n in range(200)]
    (tmp_path / "a.csv").write_text("\n".join(["n,text", *rows, ""]))
    monkeypatch.setattr(delimited, "row_start", lambda stream, _, at, __: line_start(stream, at))
    [source] = find_sources([tmp_path / "a.csv"])
    rounds: list[int] = []
    run = LocalEngine.run

    def watched(self: LocalEngine, items: Any, *rest: Any) -> Any:
        rounds.append(len(items))
        return run(self, items, *rest)

    monkeypatch.setattr(LocalEngine, "run", watched)
    assert len(cut_up([source])) > 2
    assert len(rounds) > 3
    build_index(tmp_path / "a.csv", tmp_path / "parts.mate", master="none")
    monkeypatch.setattr(parts, "LEAST_PART", 1 << 20)
    build_index(tmp_path / "a.csv", tmp_path / "whole.mate", master="none")
    assert dump_index(tmp_path / "parts.mate") == dump_index(tmp_path / "whole.mate")
    monkeypatch.setattr(parts, "LEAST_PART", PART)
    monkeypatch.setattr(parts, "MOST_ROUNDS", 0)
    assert cut_up([source]) == [source]


@pytest.mark.usefixtures("small_parts")
def test_sources_keep_their_order_and_small_ones_stay_whole(lake: Path) -> None:
    found = find_sources([lake, "synthetic:tables=5,seed=3"])
    cut_sources = cut_up(found)
    names = list(dict.fromkeys(source.name for source in cut_sources))
    assert names == [source.name for source in found]
    for source in found:
        own = [part for part in cut_sources if part.name == source.name]
        if own == [source]:
            continue
        assert isinstance(source, FileSource)
        file_parts = [part for part in own if isinstance(part, FilePart)]
        assert file_parts == own
        *first, last = [part.provenance for part in file_parts]
        assert not any(first)
        assert last
        assert (last.format, last.sha256) == (source.format, source.checksum())
        assert abs(sum(part.size for part in own) - source.size) < len(own)


def test_nothing_is_cut_where_one_task_runs_at_a_time(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LEAST_PART", PART)
    found = find_sources([lake])
    monkeypatch.setattr(LocalEngine, "parallelism", 2)
    assert cut_up(found) == found  # units of at least a megabyte
    monkeypatch.setattr(pipeline_sources, "_LEAST_UNIT", PART)
    monkeypatch.setattr(pipeline_sources, "_MOST_UNIT", PART)
    assert any(isinstance(source, FilePart) for source in cut_up(found))
    monkeypatch.setattr(LocalEngine, "parallelism", 1)
    assert cut_up(found) == found


def folder_of(folder: Path, names: str) -> Path:
    folder.mkdir()
    for name in names:
        (folder / f"{name}.csv").write_text(csv_text(300))
    return folder


def before_units_are_planned(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something to the files between the look at them and the reading of their parts."""
    planned = stage.plan_units

    def plan(sources: list[Source], parallelism: int) -> list[list[Source]]:
        monkeypatch.setattr(stage, "plan_units", planned)
        act()
        return planned(sources, parallelism)

    monkeypatch.setattr(stage, "plan_units", plan)


@pytest.mark.parametrize("master", ["none", "local[2]"])
@pytest.mark.usefixtures("small_parts")
def test_a_file_that_changes_meanwhile_is_read_again(
    build_index: BuildIndex, dump_index: DumpIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str
) -> None:
    folder = folder_of(tmp_path / "lake", "abc")
    before_units_are_planned(monkeypatch, lambda: (folder / "b.csv").write_text(csv_text(200)))
    build_index(folder, tmp_path / "a.mate", master=master)
    monkeypatch.setattr(parts, "LEAST_PART", 1 << 20)
    build_index(folder, tmp_path / "whole.mate", master="none")
    assert dump_index(tmp_path / "a.mate") == dump_index(tmp_path / "whole.mate")


@pytest.mark.usefixtures("small_parts")
def test_a_file_that_goes_meanwhile_is_a_reject(
    build_index: BuildIndex, dump_index: DumpIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path / "lake", "ab")
    before_units_are_planned(monkeypatch, (folder / "a.csv").unlink)
    build_index(folder, tmp_path / "a.mate", master="none")
    found = dump_index(tmp_path / "a.mate")
    assert str(folder / "b.csv") in str(found["tables"])
    assert str(folder / "a.csv") not in str(found["tables"])
    assert str(folder / "a.csv") in str(found["rejects"])


@pytest.mark.usefixtures("small_parts")
def test_a_file_that_changes_while_it_is_looked_at_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text(csv_text(300))
    [source] = find_sources([tmp_path / "a.csv"])

    def fails(*_: object) -> None:
        raise CorpusError("a.csv was changed while it was read")

    assert len(cut_up([source])) > 1
    monkeypatch.setattr(delimited.DelimitedCutting, "look", fails)
    assert cut_up([source]) == [source]


@pytest.mark.usefixtures("small_parts")
def test_strict_counts_rejects_of_parts(build_index: BuildIndex, lake: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"rejects and --strict was asked for"):
        build_index(lake / "b.csv", tmp_path / "a.mate", master="none", strict=True)


@pytest.mark.usefixtures("small_parts")
def test_what_was_rejected_of_a_file_in_several_segments_goes_with_it(
    build_index: BuildIndex, lake: Path, tmp_path: Path
) -> None:
    """Parts of a file of many tables are in several segments, the record of the file in the last of them."""
    store, file = tmp_path / "a.mate", tmp_path / "c.json"
    file.write_text((lake / "c.json").read_text())
    build_index([file, lake / "a.csv"], store, master="none", segments=4)
    with open_folder(store) as index:
        holding = [segment for segment in index.segments if segment.folder.rejects_file.read().num_rows]
        assert len(holding) > 1
        assert sum(segment.folder.sources_file.read().num_rows for segment in index.segments) == 2
    file.write_text(shard(2))
    sync(Updates(str(store)), [str(tmp_path / "c.json")])
    with open_folder(store) as index:
        assert index.rejects() == []
        assert index.manifest.counts.rejects == 0
    assert check(str(store)).sound
