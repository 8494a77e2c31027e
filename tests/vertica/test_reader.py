"""A user with grants only: what docs/databases.md says is what is needed, before and after a rebuild."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate.build.changes.updates import Updates
from mate.errors import StoreError
from mate.search.systems import find_system
from mate.stores import open_index
from tests.sql.places import index
from tests.sql.small import PEOPLE_QUERY
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD

GRANTS = ("GRANT USAGE, SELECT ON SCHEMA mate TO reader", "GRANT TEMP ON DATABASE VMart TO reader")


@pytest.fixture
def reader(server: StandIn) -> str:
    """The address for a user whom nobody has granted anything."""
    server.run(f"CREATE USER reader IDENTIFIED BY '{PASSWORD}'")
    return server.address(user="reader")


def found_by(reader: str) -> list[int]:
    with open_index(reader) as found:
        assert found.sizes()["postings"] > 0
        return [result.joinability for result in find_system("column-first")(found, PEOPLE_QUERY, ["a", "b"])]


def test_a_reader_needs_grants_only_and_keeps_them_through_a_rebuild(server: StandIn, reader: str, files: Path) -> None:
    index(files, server.address())
    with pytest.raises(StoreError, match=r"Permission denied for schema mate .*ask the owner of the schema"):
        open_index(reader)
    server.run(*GRANTS)
    for _ in range(3):
        assert found_by(reader) == [30]
        index(files, server.address())
    assert found_by(reader) == [30]


def test_a_reader_changes_nothing(server: StandIn, reader: str, files: Path) -> None:
    index(files, server.address())
    server.run(*GRANTS)
    with pytest.raises(StoreError, match="Permission denied"):
        Updates(reader, master="none").remove_tables([0])
    with pytest.raises(StoreError, match="Permission denied"):
        index(files, reader)
    with open_index(reader) as found:
        assert len(found.tables()) == 2
        assert found.manifest.operations == 0


def test_temporary_tables_need_a_grant_on_the_database(server: StandIn, reader: str, files: Path) -> None:
    index(files, server.address())
    server.run(GRANTS[0])
    with pytest.raises(StoreError, match=r"Permission denied for database vmart .*ask the owner"):
        found_by(reader)


def test_a_schema_that_was_there_before_is_altered_before_the_first_build(
    server: StandIn, reader: str, files: Path
) -> None:
    server.run("CREATE SCHEMA mate", GRANTS[1])
    index(files, server.address())
    server.run(GRANTS[0])
    with pytest.raises(StoreError, match="Permission denied for relation manifest"):
        open_index(reader)
    server.run("DROP SCHEMA mate CASCADE", "CREATE SCHEMA mate", "ALTER SCHEMA mate DEFAULT INCLUDE PRIVILEGES")
    index(files, server.address())
    server.run(GRANTS[0])
    assert found_by(reader) == [30]


def test_a_builder_needs_a_schema_of_its_own_or_create_on_the_database(server: StandIn, files: Path) -> None:
    server.run(f"CREATE USER builder IDENTIFIED BY '{PASSWORD}'", "GRANT TEMP ON DATABASE VMart TO builder")
    builder = server.address(user="builder")
    with pytest.raises(StoreError, match="Permission denied for database vmart"):
        index(files, builder)
    server.run("GRANT CREATE ON DATABASE VMart TO builder")
    index(files, builder)
    assert Updates(builder, master="none").remove_tables([0])
    assert server.run("SELECT DISTINCT owner_name FROM v_catalog.tables") == [["builder"]]
