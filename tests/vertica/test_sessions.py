"""A server that has no free session is waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from mate.lake.folder import LakeFolder
from tests.sql.compare import same
from tests.sql.places import open_database
from tests.sql.test_exactly_once import loaded_twice
from tests.vertica.standin import StandIn


def test_a_server_without_a_free_session_is_waited_for(server: StandIn, small_lake: Path, lake: LakeFolder) -> None:
    server.max_sessions = 3
    server.locks.timeout = 10.0

    def crowd(load: Callable[[], int]) -> None:
        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    loaded_twice(server, small_lake, crowd)
    assert server.most_sessions == 3
    with open_database(server.address()) as store:
        same(store, lake)
