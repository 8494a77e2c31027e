"""The stand-in held to vertica-python's own integration tests, which encode what a real server does.

The client's wheel ships them. They run unmodified; those in `calibrated.txt` must pass. The others need what the
stand-in does not have: `not_calibrated.tsv` says of each what that is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from xml.etree import ElementTree

import vertica_python

from tests.vertica.standin import StandIn
from tests.vertica.standin.server import DATABASE, PASSWORD, USER

PINNED = Path(__file__).with_name("calibrated.txt").read_text(encoding="utf-8").split()
EXCLUDED = dict(
    line.split("\t") for line in Path(__file__).with_name("not_calibrated.tsv").read_text(encoding="utf-8").splitlines()
)
"""Why tests are left out, by a pattern of their names."""
OPTIONS = f"-q -p no:cacheprovider -p no:xdist -c {os.devnull}".split()
TESTS = Path(vertica_python.__file__).parent / "tests" / "integration_tests"


def outcomes(report: Path) -> dict[str, str]:
    """Return what became of each test, by file, class and name."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        file, suite = Path(case.attrib["file"]).stem, case.attrib["classname"].split(".")[-1]
        found[f"{file}::{suite}::{case.attrib['name']}"] = case[0].tag if len(case) else "passed"
    return found


def test_the_clients_own_integration_tests_pass(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    chosen = [str(TESTS / name.replace("::", ".py::", 1)) for name in PINNED]
    options = [*OPTIONS, "-o", "junit_family=xunit1", "--rootdir", str(tmp_path), f"--junit-xml={report}"]
    with StandIn(lock_timeout=5) as server:
        connection = {"HOST": "127.0.0.1", "PORT": str(server.port), "USER": USER, "DATABASE": DATABASE}
        connection |= {"PASSWORD": PASSWORD, "LOG_DIR": str(tmp_path / "log")}
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, *chosen],
            env={**os.environ, **{f"VP_TEST_{name}": value for name, value in connection.items()}},
            cwd=tmp_path,
            capture_output=True,
            check=False,
            timeout=120,
        )
    found = outcomes(report)
    assert {name: found.get(name, "not run") for name in PINNED} == dict.fromkeys(PINNED, "passed")


def test_every_other_one_is_left_out_for_a_reason(tmp_path: Path) -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, "--collect-only", "--rootdir", str(TESTS), str(TESTS)],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    nodes = [line.split("::") for line in listed.stdout.splitlines() if line.count("::") == 2]
    collected = {f"{Path(file).stem}::{suite}::{name}" for file, suite, name in nodes}
    left_out = {pattern: {name for name in collected if fnmatchcase(name, pattern)} for pattern in EXCLUDED}
    assert [pattern for pattern, names in left_out.items() if not names or not EXCLUDED[pattern].strip()] == []
    excluded = set().union(*left_out.values())
    assert excluded & set(PINNED) == set()
    assert excluded | set(PINNED) == collected
    assert len(PINNED) == len(set(PINNED)) >= 65
