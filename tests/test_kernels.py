"""Machine code that is kept on disk goes with everything that it was made of."""

import os
import subprocess
import sys
from pathlib import Path

INNER = """
from enum import IntEnum
from mate.values.kernels import inner

FACTOR = {factor}

class Place(IntEnum):
    first = {place}

@inner
def times(value):
    return FACTOR * value {more}
"""

OUTER = """
from loops.inner_kernel import Place, times
from mate.values.kernels import kernel

@kernel
def answer(value):
    return times(value) + Place.first
"""


def answer(folder: Path) -> tuple[int, bool]:
    """Return what the kernel answers, and whether it was compiled for that."""
    code = "from loops.outer_kernel import answer as k; print(k(10), sum(k.stats.cache_misses.values()))"
    there = os.pathsep.join([str(folder), *filter(None, sys.path)])
    ran = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": there}, capture_output=True)
    assert ran.returncode == 0, ran.stderr.decode()
    value, missed = map(int, ran.stdout.split())
    return value, bool(missed)


def test_a_change_in_another_file_is_noticed(tmp_path: Path) -> None:
    package = tmp_path / "loops"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "outer_kernel.py").write_text(OUTER)
    parts = {"factor": 2, "place": 1, "more": ""}
    for change, expected in (({}, 21), ({"factor": 3}, 31), ({"more": "+ 5"}, 36), ({"place": 2}, 37)):
        parts |= change
        (package / "inner_kernel.py").write_text(INNER.format(**parts))
        assert answer(tmp_path) == (expected, True)
    assert answer(tmp_path) == (37, False)
