"""Addresses of databases: what they mean, what is refused, and how safe a connection is unless one says otherwise."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from mate.cli.program import main
from mate.errors import StoreError
from mate.sql import load
from mate.sql.address import Address, is_this_machine, kind_of
from mate.sql.dialects import postgresql, vertica
from mate.stores import is_database


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("vertica://me@host/db", "vertica"),
        ("VERTICA://me@host/db", "vertica"),
        ("PostgreSQL://me@host/db", "postgresql"),
        ("postgres://me@host/db", "postgresql"),
        ("DuckDB:lake.duckdb", "duckdb"),
        ("lake.mate", None),
        ("C:lake.mate", None),
        ("./vertica", None),
    ],
)
def test_schemes_know_no_case(text: str, kind: str | None) -> None:
    assert kind_of(text) == kind
    assert is_database(text) == (kind is not None)


def test_what_an_address_means() -> None:
    found = Address.parse("Vertica://me%40work@Host:5434/VMart?schema=Lake&backup=two,three:99&timeout=3&balance=no")
    assert (found.user, found.host, found.port, found.database) == ("me@work", "host", 5434, "VMart")
    assert (found.schema, found.backup, found.timeout) == ("lake", (("two", 5433), ("three", 99)), 3.0)
    assert not found.balance
    assert str(found) == "vertica://me@work@host:5434/VMart?schema=lake"
    assert Address.parse("duckdb:a/b.duckdb?layout=per_row").layout == "per_row"
    assert str(Address.parse("duckdb:a/b.duckdb")) == "duckdb:a/b.duckdb"
    assert Address.parse("postgresql://me@%2Fvar%2FRun/db").host == "/var/Run"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgresql:host", "a PostgreSQL address looks like this: postgresql://user@host:5432/database"),
        ("postgresql://host/db", "needs user, host and database"),
        ("postgresql://me@host/db?sslmode=require", 'unknown option "sslmode" in the PostgreSQL address; did you mean'),
        ("postgresql://me@host/db?schema=pg_catalog", "not a plain name"),
        ("postgresql://me@host/db?backup=two", 'unknown option "backup"'),
        ("duckdb:", "a DuckDB address names a file"),
        ("duckdb:lake.duckdb?tlsmode=require", 'unknown option "tlsmode"'),
        ("vertica:host", "looks like this: vertica://user@host:5433/database"),
        ("vertica://me@host", "needs user, host and database"),
        ("vertica://me@host:port/db", "cannot be read"),
        ("vertica://me@host/db?schema=v_catalog", "not a plain name"),
        ("vertica://me@host/db?tlsmode=yes", "unknown tlsmode"),
        ("vertica://me@host/db?schem=a", 'unknown option "schem" .* did you mean "schema"'),
        ("vertica://me@host/db?in_list=few", "in_list=few in the Vertica address is not a number"),
        ("vertica://me@host/db?connections=0", "must be above 0"),
        ("vertica://me@host/db?layout=per_col", 'unknown layout "per_col"; did you mean "per_cell"'),
        ("vertica://me@host/db?auth=magic", 'unknown auth "magic"'),
        ("vertica://me@host/db?schema=a;b", "is not a plain name"),
    ],
)
def test_an_address_that_cannot_work(address: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        Address.parse(address)


@pytest.mark.parametrize(
    ("address", "variable"),
    [
        ("VERTICA://me:hunter2@host/db", "VERTICA_PASSWORD"),
        ("vertica://me:@host/db", "VERTICA_PASSWORD"),
        ("postgres://me@host/db?PASSWORD=hunter2", "PGPASSWORD"),
    ],
)
def test_a_password_is_refused_and_not_repeated(
    address: str, variable: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stats", "--store", address]) == 2
    printed = capsys.readouterr().err
    assert "must not hold a password" in printed
    assert variable in printed
    assert "hunter2" not in printed


def mode(scheme: str, host: str, options: str = "") -> object:
    address = Address.parse(f"{scheme}://me@{host}/db{options}")
    if scheme == "vertica":
        return vertica.options(address)["tlsmode"]
    return postgresql.options(address)["sslmode"]


@pytest.mark.parametrize("scheme", ["vertica", "postgresql"])
def test_connections_are_encrypted_unless_they_stay_on_this_machine(scheme: str) -> None:
    assert mode(scheme, "db.example.org") == "require"
    assert mode(scheme, "10.0.0.1") == "require"
    assert mode(scheme, "db.example.org", "?tls_cafile=ca.pem") == "verify-full"
    assert mode(scheme, "db.example.org", "?tls_cafile=ca.pem&tlsmode=require") == "require"
    assert [mode(scheme, host) for host in ("localhost", "127.0.0.1", "[::1]")] == ["prefer"] * 3
    assert not is_this_machine("localhost.example.org")


def test_a_backup_node_elsewhere_makes_a_connection_one_that_leaves_this_machine() -> None:
    assert mode("vertica", "localhost", "?backup=127.0.0.1,db.example.org") == "require"
    assert mode("vertica", "localhost", "?backup=127.0.0.1:99") == "prefer"
    elsewhere = Address.parse("vertica://me@localhost/db?backup=db.example.org")
    assert vertica.options(elsewhere)["connection_load_balance"]


def test_connecting_is_given_up_soon_and_answers_are_waited_for() -> None:
    assert vertica.options(Address.parse("vertica://me@host/db"))["connection_timeout"] == 10
    given = postgresql.options(Address.parse("postgresql://me@host/db"))
    assert given["connect_timeout"] == 10
    assert "statement_timeout" not in given["options"]
    asked = Address.parse("postgresql://me@host/db?timeout=2.5")
    assert "-c statement_timeout=2500" in postgresql.options(asked)["options"]


def test_other_ways_to_log_in() -> None:
    token = Address.parse("vertica://me@host/db?auth=oauth&workload=search")
    given = vertica.options(replace(token, password="secret token"))
    assert given["oauth_access_token"] == "secret token"
    assert given["workload"] == "search"
    assert "password" not in given
    kerberos = Address.parse("vertica://me@host/db?auth=kerberos&kerberos_service=vertica&kerberos_host=h")
    given = vertica.options(kerberos)
    assert (given["kerberos_service_name"], given["kerberos_host_name"]) == ("vertica", "h")
    assert given["connection_load_balance"]


def test_slots_are_in_a_folder_that_nobody_else_gets_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    address = Address.parse("vertica://me@host/db?connections=2")
    with load.loading_permit(address):
        [folder] = tmp_path.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o777)
    with load.loading_permit(address):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    elsewhere = tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    with pytest.raises(StoreError, match="belongs to somebody else"), load.loading_permit(address):
        pass


def test_a_file_is_loaded_by_one_task_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks that wait for the file itself would give up after a while."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    waits: list[float] = []

    class WaitedError(Exception):
        pass

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        raise WaitedError

    monkeypatch.setattr(load.time, "sleep", sleep)
    monkeypatch.chdir(tmp_path)
    with load.loading_permit(Address.parse("duckdb:lake.duckdb")):
        with (
            pytest.raises(WaitedError),
            load.loading_permit(Address.parse(f"duckdb:{tmp_path}/lake.duckdb?connections=8")),
        ):
            pass
        with load.loading_permit(Address.parse("duckdb:other.duckdb")):
            assert len(waits) == 1
    server = Address.parse("vertica://me@host/db?connections=2")
    with load.loading_permit(server), load.loading_permit(server):
        assert len(waits) == 1
