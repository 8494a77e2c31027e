"""What is looked at row by row: every posting once, no value missed, probes that rows do not hold."""

from pathlib import Path

import numpy as np
import pytest

from experiments.__main__ import main
from experiments.lakes import ALL_HASHES
from experiments.records import load
from experiments.regenerate.row_filter import draw, looks_like, type_of
from experiments.stored_keys import missed, postings
from mate.build.build import BuildSettings, HashRequest, build
from mate.lake.base import Ids
from mate.stores import open_index, open_target
from tests.experiments.conftest import Experiments
from tests.lakes import lake
from tests.search.memory_lake import MemoryLake


def test_postings_of_narrow_and_wide_tables() -> None:
    """A table of 65,536 rows has postings of four bytes."""
    tall = [[f"{row % 7}", f"{row % 3}"] for row in range(65_536)]
    lake = MemoryLake.of([[["a", "b"], ["b", None]], tall])
    segment = lake.segments[0]
    found: list[tuple[Ids, Ids]] = list(postings(segment))
    rows, tokens = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    texts = segment.texts(tokens).to_pylist()
    assert len(rows) == 3 + 2 * 65_536
    cells = [{"a", "b"}, {"b"}, *({first, second} for first, second in tall)]
    assert all(text in cells[row] for row, text in zip(rows.tolist()[::97], texts[::97], strict=True))
    assert sorted(texts[i] for i in np.flatnonzero(rows < 2)) == ["a", "b", "b"]


def test_types_and_looks() -> None:
    assert [type_of(v) for v in ("1,5", "a b", "a1", "")] == ["digits", "letters", "digits and letters", "letters"]
    assert looks_like("muhammad", ["lee", "mohammad"])
    assert not looks_like("muhammad", ["mohammed!", "abcdefgh"])


def test_an_experiment(experiments: Experiments, results: Path) -> None:
    assert experiments("row-filter") == 0
    frame = load(results, "row-filter")
    kept = frame[frame["kind"] == "kept"]
    assert len(kept) == len(ALL_HASHES.hashes)
    assert kept["missed"].sum() == 0
    assert (kept["checked"] > 1000).all()
    covered = frame[(frame["kind"] == "covered") & (frame["by"] == "all")]
    assert covered["share"].between(0, 1).all()
    assert set(frame[frame["kind"] == "length"]["bits"]) == {128, 512}


@pytest.mark.parametrize("name", ["wide:20", "fingerprint:12", "fingerprint:16", "xash:128"])
def test_stored_keys_of_any_size_miss_nothing_unless_spoiled(tmp_path: Path, name: str) -> None:
    """Tables of several widths, so that the keys of rows have several sizes."""
    tables = [
        [[f"{w} {row} {c}" if (row + c) % 4 else None for c in range(w)] for row in range(9)] for w in (1, 3, 7, 30)
    ]
    family, bits = name.split(":")
    with lake(tmp_path / "x.mate", tables, [HashRequest(family, int(bits))]) as index:
        (spec,), (segment,) = index.manifest.hashes, index.segments
        checked, wrong = missed(spec.function(), segment, segment.keys[0])
        assert (checked, wrong) == (sum(cell is not None for rows in tables for row in rows for cell in row), 0)
        spoiled = np.zeros_like(segment.keys[0])
        assert missed(spec.function(), segment, spoiled) == (checked, checked)


def test_the_experiment_on_an_index_with_keys_by_width(files: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.mate"
    requests = (HashRequest("wide", 20), HashRequest("fingerprint", 16))
    with open_target(str(own)) as target:
        build([str(files)], target, BuildSettings(requests, master="none"))
    results = tmp_path / "results"
    assert main(["run", "row-filter", "--store", str(own), "--results", str(results), "--scale", "smoke"]) == 0
    frame = load(results, "row-filter")
    kept = frame[frame["kind"] == "kept"]
    assert kept["missed"].tolist() == [0, 0]
    assert (frame[(frame["kind"] == "covered") & (frame["by"] == "all")]["share"] < 0.01).all()


def test_probes_are_not_held(experiments: Experiments, results: Path) -> None:
    (address,) = (results / "lakes").glob("*/*.mate")
    with open_index(str(address)) as index:
        probes = draw(index, 50)
    assert len(probes.value) >= 50
    for row, value in enumerate(probes.value.to_pylist()):
        assert value not in probes.rows.cells[probes.rows.offsets[row] : probes.rows.offsets[row + 1]].to_pylist()


@pytest.mark.parametrize("experiment", ["own-table"])
def test_without_the_own_table(experiments: Experiments, results: Path, experiment: str) -> None:
    assert experiments(experiment) == 0
    frame = load(results, experiment)
    assert not frame["own_table"].any()
    pairs = zip(frame["origin"], frame["answer_tables"], strict=True)
    assert all(origin not in tables for origin, tables in pairs)
