"""The benchmark of the page, with two users for a moment."""

import re
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.memory import available
from tests.api.conftest import write_files


@pytest.mark.skipif(not available(), reason="needs /proc")
def test_users_meet_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_files(tmp_path)
    assert main(["serve", "--store", str(folder / "lake.mate"), "--users", "2", "--seconds", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"2 users, \d+ answers, 0 errors", out)
    assert "/api/preview" in out
    assert len(out.splitlines()[-1].split(":")[1].split()) == 10
