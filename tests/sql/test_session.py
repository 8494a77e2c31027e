"""Sessions that threads share: none is left when an index is closed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mate.errors import StoreError
from mate.sql.address import Address
from mate.sql.dialects import open_session
from mate.sql.session_pool import SessionPool
from tests.sql.places import PLACES


@pytest.fixture(params=PLACES)
def address(request: pytest.FixtureRequest) -> Iterator[Address]:
    with PLACES[request.param]() as place:
        where = Address.parse(place)
        open_session(where, writes=True).close()  # creates DuckDB's file
        yield where


def test_a_session_that_is_in_use_when_all_are_closed_is_closed_when_it_is_given_back(address: Address) -> None:
    """As is that of a search which goes on while its index is closed."""
    sessions = SessionPool(address)
    with sessions.session() as busy:
        sessions.close()
        assert [list(row) for row in busy.execute("SELECT 1")] == [[1]]
    with pytest.raises(StoreError):
        busy.execute("SELECT 1")
    assert sessions.ask(lambda session: session.execute("SELECT 2")[0][0]) == 2
