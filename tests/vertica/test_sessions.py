"""Sessions that a server does not have free, or ends."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mate.build.build import BuildSettings, build
from mate.lake.folder import LakeFolder
from mate.sql.dialects import session
from mate.sql.target import DatabaseTarget
from tests.sql.compare import same
from tests.sql.places import open_database
from tests.sql.small import HASHES
from tests.sql.test_exactly_once import at_the_same_time, loaded_twice
from tests.vertica.standin import StandIn


def test_a_server_without_a_free_session_is_waited_for(
    server: StandIn, small_lake: Path, small_folder: LakeFolder
) -> None:
    server.max_sessions = 3
    server.locks.timeout = 10.0
    loaded_twice(server, small_lake, partial(at_the_same_time, 4))
    assert server.most_sessions == 3
    with open_database(server.address()) as store:
        same(store, small_folder)


def test_the_session_that_holds_the_lock_is_never_idle(
    server: StandIn, small_lake: Path, small_folder: LakeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server ends idle sessions, and tasks load for longer than it waits."""
    server.idle_timeout = 1.0
    monkeypatch.setattr(session, "HEARTBEAT", 0.05)

    class Slow(DatabaseTarget):
        def publish(self, *given: Any) -> None:
            time.sleep(2 * server.idle_timeout)  # type: ignore[operator]
            super().publish(*given)

    with Slow(server.address()) as target:
        build([str(small_lake)], target, BuildSettings(master="none", hashes=HASHES))
    assert "SELECT 1" in server.statements
    with open_database(server.address()) as store:
        same(store, small_folder)
