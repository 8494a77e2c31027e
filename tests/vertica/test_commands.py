"""`mate index`, `search`, `stats` and `join` with a Vertica address, as with a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mate.cli.program import main
from mate.store import IndexStore, open_store
from tests.store.conftest import write_csv
from tests.vertica.compare import same
from tests.vertica.conftest import HASHES
from tests.vertica.places import index, place
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
    server: StandIn,
    small_lake: Path,
    embedded: IndexStore,
    query: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = server.address()
    given = ["--master", "none", "--hash", "xash", "--hash", "bf:512"]
    assert main(["index", str(small_lake), "--store", address, *given]) == 0
    assert "cells indexed" in capsys.readouterr().out
    found = answers(capsys, query, server.address("Mate"))  # names of schemas know no case
    assert found
    assert found == answers(capsys, query, embedded.address)
    assert main(["stats", "--store", address]) == 0
    joined = str(tmp_path / "joined.csv")
    assert main(["join", str(query), "--key", "who,where", "--table", "0", "--store", address, "-o", joined]) == 0
    told = capsys.readouterr()
    assert "20 of them matched" in told.out
    assert PASSWORD not in told.out + told.err


@pytest.mark.parametrize("layout", ["per_cell", "per_row"])
def test_an_index_holds_what_the_embedded_one_holds(small_lake: Path, embedded: IndexStore, layout: str) -> None:
    with place() as address:
        index(small_lake, address, layout=layout, hashes=HASHES)
        with open_store(address) as store:
            if layout == "per_cell":
                same(store, embedded)
            assert store.cells(store.rows(store.tables_from([]))[0]) == {}
            assert store.manifest.layout == layout
