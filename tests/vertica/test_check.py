"""`mate vertica-check` on the stand-in: everything holds, and what does not is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mate.cli.program import main
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD
from tests.vertica.standin.wire import ServerError


def test_everything_holds_and_is_written_down(
    server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    assert main(["vertica-check", server.address(), "-o", str(file)]) == 0, capsys.readouterr().out
    found = {finding["trial"]: finding for finding in json.loads(file.read_text())}
    assert len(found) == 11
    assert all(finding["held"] for finding in found.values())
    assert "COUNT(DISTINCT f.tuple_id)" in found["plans of the main queries"]["detail"]
    told = capsys.readouterr()
    assert PASSWORD not in told.out + told.err + file.read_text()
    left = server.database.execute("SELECT COUNT(*) FROM v_catalog.tables WHERE table_schema LIKE 'mate%'").fetchall()
    assert left == [(0,)]


def test_what_does_not_hold_is_told(server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server without NOWAIT."""

    def fault(event: str, _: Any, detail: str) -> None:
        if event == "statement" and "NOWAIT" in detail:
            raise ServerError('Syntax error at or near "NOWAIT"', "42601", 4856)

    file = tmp_path / "found.json"
    with server.faulty(fault):
        assert main(["vertica-check", server.address(), "-o", str(file)]) == 1
    failed = [finding for finding in json.loads(file.read_text()) if not finding["held"]]
    assert [finding["trial"] for finding in failed] == ["lock that is not waited for"]
    assert "FAILED" in capsys.readouterr().out


def test_another_database_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vertica-check", "duckdb:lake.duckdb"]) == 2
    assert "this checks a Vertica server" in capsys.readouterr().err
