"""`mate index`, `search`, `stats` and `join` with a database's address, as with the folder of a lake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mate.build import parts, sources
from mate.build.build import BuildSettings, HashRequest, build
from mate.build.engine import LocalEngine
from mate.cli.program import main
from mate.corpus import Limits
from mate.errors import StoreError
from mate.lake.folder import LakeFolder
from mate.stores import open_target
from tests.sql.compare import same
from tests.sql.conftest import write_csv
from tests.sql.places import EVERYWHERE, PLACES, database_index, index, open_database
from tests.sql.small import HASHES, built_lake


@pytest.fixture
def query(tmp_path: Path) -> Path:
    rows = [[f"NAME {n}", f"city {n % 7}", str(n)] for n in range(0, 60, 3)]
    return write_csv(tmp_path / "query.csv", ["who", "where", "own"], rows)


def answers(capsys: pytest.CaptureFixture[str], query: Path, store: str, *more: str) -> object:
    assert main(["search", str(query), "--key", "who,where", "--store", store, "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)["results"]


def test_index_search_stats_and_join(
    empty_place: str,
    small_lake: Path,
    small_folder: LakeFolder,
    query: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["--master", "none", "--hash", "xash", "--hash", "bf:512"]
    assert main(["index", str(small_lake), "--store", empty_place, *given]) == 0
    assert "cells indexed" in capsys.readouterr().out
    found = answers(capsys, query, empty_place.replace("schema=mate", "schema=Mate"))  # names know no case
    assert found
    assert found == answers(capsys, query, small_folder.address)
    assert main(["stats", "--store", empty_place]) == 0
    joined = str(tmp_path / "joined.csv")
    assert main(["join", str(query), "--key", "who,where", "--table", "0", "--store", empty_place, "-o", joined]) == 0
    told = capsys.readouterr()
    assert "20 of them matched" in told.out
    assert "s3cret" not in told.out + told.err


@pytest.mark.parametrize(("kind", "layout"), EVERYWHERE)
def test_several_segments_and_no_hash_function(
    small_lake: Path, tmp_path: Path, kind: str, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables are numbered through the segments; dictionaries are merged."""
    monkeypatch.setattr(sources, "_LEAST_UNIT", 1)
    for hashes in (HASHES, ()):
        lake = built_lake(small_lake, tmp_path / f"{len(hashes)}.mate", hashes=hashes)
        with database_index(kind, layout, small_lake, hashes=hashes, segments=4) as found:
            assert found.manifest.layout == layout
            same(found, lake)
            loaded = f"SELECT COUNT(*) FROM {found.generation.name('load_log')}"
            assert found.pool.ask(lambda session, q=loaded: session.execute(q))[0][0] == 4  # type: ignore[misc]


def test_the_usual_hash_of_a_database(
    empty_place: str, small_lake: Path, small_folder: LakeFolder, query: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = "xash:128" if empty_place.startswith("vertica") else "fingerprint:16"
    for given, expected in ((["--bits", "512"], "xash:512"), ([], usual)):
        assert main(["index", str(small_lake), "--store", empty_place, "--master", "none", *given]) == 0
        (shown,) = (line for line in capsys.readouterr().out.splitlines() if "super keys" in line)
        assert expected in shown
    found = answers(capsys, query, empty_place, "--system", "mate")
    assert found
    assert found == answers(capsys, query, small_folder.address)


def test_cells_that_are_longer_than_vertica_compares(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", ["a"], [["b"], ["c"]])
    with PLACES["vertica"]() as address:
        with pytest.raises(StoreError, match="lower --max-cell"):
            index(tmp_path / "a.csv", address, limits=Limits(cell_characters=16_251))
        index(tmp_path / "a.csv", address, limits=Limits(cell_characters=16_250))
        with open_database(address) as found:
            assert found.manifest.counts.cells == 2


@pytest.mark.parametrize("kind", PLACES)
def test_keys_that_a_database_cannot_hold_are_refused(tmp_path: Path, kind: str) -> None:
    write_csv(tmp_path / "a.csv", ["a"], [["b"], ["c"]])
    with PLACES[kind]() as address:
        with pytest.raises(StoreError, match="fingerprint:21 is for lakes in a folder"):
            index(tmp_path / "a.csv", address, hashes=(HashRequest("fingerprint", 21),))
        if kind == "vertica":
            with pytest.raises(StoreError, match="lower --max-columns"):
                index(tmp_path / "a.csv", address, hashes=(HashRequest("wide", 20),), limits=Limits(columns=70_000))


@pytest.mark.parametrize(("kind", "layout"), EVERYWHERE)
def test_a_file_in_parts_is_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, layout: str) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "a.csv").write_text("town,n\n" + "".join(f"Köln {n % 9},{n}\n" for n in range(600)))
    (lake / "b.csv").write_text("town,n\nUlm,1\n")
    settings = BuildSettings(master="none", segments=3)
    whole = built_lake(lake, tmp_path / "whole.mate", hashes=settings.hashes)
    monkeypatch.setattr(parts, "LEAST_PART", 1_000)
    monkeypatch.setattr(sources, "_LEAST_UNIT", 1_000)
    monkeypatch.setattr(LocalEngine, "parallelism", 2)
    with PLACES[kind](layout=layout) as address:
        with open_target(address) as target:
            summary = build([str(lake)], target, settings)
        assert parts.PHASE in summary.seconds
        with open_database(address) as opened:
            same(opened, whole)
