"""A small part of the fuzzing, with fixed seeds; `make fuzz MINUTES=10` does more of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

COUNTS = {
    "readers": 200, "builds": 3, "lakes": 10, "queries": 25, "pages": 40, "tools": 20, "options": 8, "programs": 1,
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_no_input_breaks_anything(target: str, tmp_path: Path) -> None:
    """In a process of its own: what kills it is found as well."""
    command = [sys.executable, "-m", "tests.fuzz", "work", target, "0", str(COUNTS[target])]
    done = subprocess.run([*command, str(tmp_path / "at"), str(tmp_path)], capture_output=True, text=True, check=False)
    kept = [path.read_text() for path in tmp_path.glob("*.txt")]
    assert (done.returncode, done.stdout, kept) == (0, "", []), done.stderr[-2000:]
