"""`mate vertica-check` on the stand-in: everything holds, and what does not is told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mate.cli.program import main
from mate.sql.dialects.session import Session
from mate.sql.vertica_check import Trials, check_vertica
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD
from tests.vertica.standin.wire import ServerError


def checked(server: StandIn, folder: Path, code: int) -> dict[str, dict[str, Any]]:
    """Run the command, and return what it wrote into its file, by trial."""
    file = folder / "found.json"
    assert main(["vertica-check", server.address(), "-o", str(file)]) == code
    return {finding["trial"]: finding for finding in json.loads(file.read_text())}


def schemas_left(server: StandIn) -> list[list[str]]:
    return server.run("SELECT schema_name FROM v_catalog.schemata WHERE schema_name LIKE 'mate%'")


def test_everything_holds_and_is_written_down(
    server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = checked(server, tmp_path, 0)
    assert len(found) == 8
    assert all(finding["held"] for finding in found.values())
    told = capsys.readouterr()
    assert PASSWORD not in told.out + told.err + str(found)
    assert schemas_left(server) == []
    plans = found["plans of the main queries"]["detail"].split("\n\n")
    assert len(plans) == 4
    for plan in plans:
        assert plan.startswith("EXPLAIN SELECT ")
        assert re.search(r"^[1-9]\d* records in \d+ ms$", plan, re.M)


def test_what_does_not_hold_is_told(server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server that drops temporary tables with a transaction that is rolled back."""

    def fault(event: str, _: Any, detail: str) -> None:
        if event == "statement" and detail == "SELECT COUNT(*) FROM mate_check_numbers":
            raise ServerError('Relation "mate_check_numbers" does not exist', "42V01", 4566)

    with server.faulty(fault):
        found = checked(server, tmp_path, 1)
    assert [trial for trial in found if not found[trial]["held"]] == ["temporary table after rollback"]
    assert "FAILED" in capsys.readouterr().out


def refusing(part: str) -> Callable[[str, Any, str], None]:
    def fault(event: str, _: Any, detail: str) -> None:
        if event == "statement" and detail.startswith(part):
            raise ServerError("Permission denied for database VMart", "42501", 4367)

    return fault


def test_a_user_who_may_not_create_a_schema_gets_a_file(server: StandIn, tmp_path: Path) -> None:
    """No trial holds only because there is nothing to try it on."""
    with server.faulty(refusing("CREATE SCHEMA")):
        found = checked(server, tmp_path, 1)
    assert len(found) == 8
    held = {trial for trial, finding in found.items() if finding["held"]}
    assert held == {"version", "temporary table after rollback", "nothing is left"}
    assert "Permission denied" in found["index answers like a lake"]["detail"]
    assert "there is no index" in found["enforced key"]["detail"]


def test_a_schema_that_cannot_be_dropped_is_told_in_the_file(server: StandIn, tmp_path: Path) -> None:
    with server.faulty(refusing("DROP SCHEMA")):
        found = checked(server, tmp_path, 1)
    assert len(found) == 8
    assert not found["nothing is left"]["held"]


def test_an_interrupted_check_leaves_a_file_and_no_schema(
    server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(trials: Trials, session: Session) -> str:
        session.execute(f"LOCK TABLE {trials.schema}.builds IN EXCLUSIVE MODE")
        raise KeyboardInterrupt

    monkeypatch.setattr(Trials, "enforced_key", interrupted)
    assert "rollback of a copy" in checked(server, tmp_path, 130)
    assert schemas_left(server) == []


def test_a_file_that_cannot_be_written_is_told_before_anything_is_tried(
    server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["vertica-check", server.address(), "-o", str(tmp_path / "none" / "found.json")]) == 2
    assert "none: name another file with -o" in capsys.readouterr().err
    assert server.statements == []


def test_who_stops_asking_leaves_no_schema(server: StandIn) -> None:
    findings = check_vertica(server.address())
    assert [next(findings).trial for _ in range(3)][-1] == "plans of the main queries"
    findings.close()
    assert schemas_left(server) == []


def test_another_database_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vertica-check", "duckdb:lake.duckdb"]) == 2
    assert "this checks a Vertica server" in capsys.readouterr().err
