"""A database that runs full while an index is loaded: one clear error, nothing half-published, the old index answers.

What a server says is taken from published logs: a volume without space is error 2927 with SQLSTATE 53100; a quota is
error 10765, whose SQLSTATE is not documented, so that only the number is looked at.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from mate.cli.program import main
from mate.errors import StoreError
from mate.lake.folder import LakeFolder
from tests.sql.compare import same
from tests.sql.places import index, open_database
from tests.sql.small import HASHES
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD
from tests.vertica.standin.wire import ServerError
from tests.vertica.test_errors import postings_of, tables

VOLUME = "[/data/VMart/v_vmart_node0001_data]"
DISK = (f"Could not write to {VOLUME}: Volume {VOLUME} has insufficient space.", "53100", 2927)
QUOTA = ("Disk Quota Exceeded for the Schema object mate", "53000", 10765)
PLACES = [
    ("copy data", ".cells_2", 3),  # in the middle of the records
    ("copy data", ".postings_2", 3),
    ("copy data", ".token_counts_2", 1),
    ("statement", "CREATE TABLE IF NOT EXISTS mate.cells_2", 1),
    ("statement", "CREATE TABLE IF NOT EXISTS mate.postings_2", 1),
    ("statement", "INSERT INTO mate.tokens_2", 1),
    ("statement", "INSERT INTO mate.manifest", 1),
]


class Full:
    """Runs full the n-th time that something happens, and stays so: nothing can be created, inserted or copied."""

    def __init__(self, event: str, part: str, times: int, error: tuple[str, str, int]) -> None:
        self.event, self.part, self.left, self.error = event, part, times, error
        self.refused = 0

    def __call__(self, event: str, _: Any, detail: str) -> None:
        self.left -= event == self.event and self.part in detail
        writes = event == "copy data" or (
            event == "statement" and detail.startswith(("CREATE", "COPY", "INSERT", "UPDATE"))
        )
        if self.left <= 0 and writes:
            self.refused += 1
            raise ServerError(*self.error)


@pytest.mark.parametrize(("event", "part", "times"), PLACES, ids=[part for _, part, _ in PLACES])
@pytest.mark.parametrize("error", [DISK, QUOTA], ids=["disk", "quota"])
def test_a_database_that_runs_full(
    server: StandIn,
    small_lake: Path,
    small_folder: LakeFolder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    event: str,
    part: str,
    times: int,
    error: tuple[str, str, int],
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr("mate.sql.dialects.vertica.RECORDS", 200)
    address = server.address()
    index(small_lake, address, hashes=HASHES)
    before = tables(server)
    full = Full(event, part, times, error)
    with server.faulty(full):
        assert main(["index", str(small_lake), "--store", address, "--master", "none"]) == 2
        with open_database(address) as store:  # a search by few values needs no room
            assert postings_of(store, "name 1") == 8
    assert full.refused
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"the database has no room left: {error[0]} (error {error[2]}, SQLSTATE {error[1]}); make room" in told
    assert "the index in use is as it was" in told
    assert PASSWORD not in told + caplog.text
    assert tables(server) == before
    with open_database(address) as store:
        same(store, small_folder)


def test_after_room_was_made_a_build_goes_through(server: StandIn, small_lake: Path, small_folder: LakeFolder) -> None:
    """The first build of a schema leaves nothing behind but what all builds share."""
    address = server.address()
    with server.faulty(Full("copy data", ".cells_1", 1, DISK)), pytest.raises(StoreError, match="no room left"):
        index(small_lake, address, hashes=HASHES)
    assert tables(server) == {"builds", "manifest"}
    with pytest.raises(StoreError, match="there is no index"):
        open_database(address)
    index(small_lake, address, hashes=HASHES)
    with open_database(address) as store:
        same(store, small_folder)
