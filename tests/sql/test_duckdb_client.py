"""What only an embedded database has: a file with a name, and one process that holds it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import duckdb
import pytest

from mate.build.changes.updates import Updates
from mate.errors import StoreError
from mate.sql.dialects import duckdb as dialect
from tests.sql.conftest import write_csv
from tests.sql.places import index, open_database


@pytest.fixture
def address(tmp_path: Path) -> str:
    write_csv(tmp_path / "a.csv", ["a", "b"], [["x", "y"], ["z", "w"]])
    address = f"duckdb:{tmp_path}/lake.duckdb?patience=0"
    index(tmp_path / "a.csv", address)
    return address


@pytest.mark.parametrize("name", ["mate.duckdb", "MATE.db", "it's 100%.duckdb", "main.duckdb", "temp.duckdb"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    """Also that of the schema in it, for which DuckDB would take it."""
    write_csv(tmp_path / "a.csv", ["a", "b"], [["x", "y"], ["z", "w"]])
    address = f"duckdb:{tmp_path}/{name}"
    index(tmp_path / "a.csv", address)
    Updates(address, master="none").update_cells(0, [(0, 0, "new")])
    with open_database(address) as found:
        assert found.manifest.operations == 1
        assert found.sizes()["postings"] > 0


def test_readers_go_on_when_the_file_cannot_be_opened_to_write(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process reads it: who wants to write has to wait, and has not spoiled it for those who read here."""

    def refused(path: str, *, writes: bool) -> duckdb.DuckDBPyConnection:
        if writes:
            raise duckdb.IOException("IO Error: Could not set lock on file")
        return attached(path, writes=writes)

    attached = dialect._attached
    monkeypatch.setattr(dialect, "_attached", refused)
    with ExitStack() as stack:
        both = [stack.enter_context(open_database(address)) for _ in range(2)]
        with pytest.raises(StoreError, match="another process has the file open"):
            Updates(address, master="none").remove_tables([0])
        for opened in both:
            assert len(opened.tables()) == 1
