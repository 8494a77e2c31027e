"""`mate index`, `search`, `stats` and `join` with a Vertica address, as with the folder of a lake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mate.build import sources
from mate.cli.program import main
from mate.corpus import Limits
from mate.errors import StoreError
from mate.index.lake import Lake
from mate.sql.vertica_sql import LAYOUTS
from tests.sql.conftest import write_csv
from tests.vertica.compare import same
from tests.vertica.conftest import HASHES, built_lake
from tests.vertica.places import index, open_vertica, place, vertica_index
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD


@pytest.fixture
def query(tmp_path: Path) -> Path:
    rows = [[f"NAME {n}", f"city {n % 7}", str(n)] for n in range(0, 60, 3)]
    return write_csv(tmp_path / "query.csv", ["who", "where", "own"], rows)


def answers(capsys: pytest.CaptureFixture[str], query: Path, store: str) -> object:
    assert main(["search", str(query), "--key", "who,where", "--store", store, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["results"]


def test_index_search_stats_and_join(
    server: StandIn, small_lake: Path, lake: Lake, query: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = server.address()
    given = ["--master", "none", "--hash", "xash", "--hash", "bf:512"]
    assert main(["index", str(small_lake), "--store", address, *given]) == 0
    assert "cells indexed" in capsys.readouterr().out
    found = answers(capsys, query, server.address("Mate"))  # names of schemas know no case
    assert found
    assert found == answers(capsys, query, lake.address)
    assert main(["stats", "--store", address]) == 0
    joined = str(tmp_path / "joined.csv")
    assert main(["join", str(query), "--key", "who,where", "--table", "0", "--store", address, "-o", joined]) == 0
    told = capsys.readouterr()
    assert "20 of them matched" in told.out
    assert PASSWORD not in told.out + told.err


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_index_holds_what_a_lake_holds(small_lake: Path, lake: Lake, layout: str) -> None:
    with vertica_index(small_lake, layout, hashes=HASHES) as found:
        assert found.manifest.layout == layout
        same(found, lake)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_several_segments_and_no_hash_function(
    small_lake: Path, tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables are numbered through the segments, and so are rows; dictionaries are merged."""
    monkeypatch.setattr(sources, "_LEAST_UNIT", 1)
    for hashes in (HASHES, ()):
        lake = built_lake(small_lake, tmp_path / f"{len(hashes)}.mate", hashes=hashes)
        with vertica_index(small_lake, layout, hashes=hashes, segments=4) as found:
            same(found, lake)
            loaded = f"SELECT COUNT(*) FROM {found.reader.table('load_log')}"
            assert found.reader.sessions.ask(lambda session, q=loaded: session.execute(q))[0][0] == 4  # type: ignore[misc]


def test_cells_that_are_longer_than_vertica_compares(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", ["a"], [["b"], ["c"]])
    with place() as address:
        with pytest.raises(StoreError, match="lower --max-cell"):
            index(tmp_path / "a.csv", address, limits=Limits(cell_characters=16_251))
        index(tmp_path / "a.csv", address, limits=Limits(cell_characters=16_250))
        with open_vertica(address) as found:
            assert found.manifest.counts.cells == 2
