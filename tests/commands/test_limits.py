"""Options at and beyond their limits: one clear line, no traceback, no memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.commands.conftest import Run, assert_refused

HUGE = "9" * 30
SEARCH = ["search", "sensors.csv", "--key", "city,day"]
REFUSED = [
    ([*SEARCH, "-k", HUGE], "-k takes a whole number from 1 on"),
    ([*SEARCH, "-k", "-5"], "-k takes a whole number from 1 on"),
    ([*SEARCH, "-k", "١"], "-k takes a whole number from 1 on"),
    (["remove", "--table", "weather", "--row", "1-999999999999"], "weather has no row 7; it has 6 rows"),
    (["remove", "--table", "weather", "--row", f"1-{HUGE}"], "--row takes a number from 1 on, or two such as 8-20"),
    (["remove", "--table", "weather", "--row", "²"], "--row takes a number from 1 on, or two such as 8-20"),
    (["remove", "--table", "weather", "--row", "5-2"], "--row takes a number from 1 on, or two such as 8-20"),
    (["remove", "--table", "²"], 'the index has no table "²"'),
    (["remove", "--table", "weather", "--column", "²"], 'weather has no column "²"'),
    (["remove", "--table", "weather", "--column", HUGE], f'weather has no column "{HUGE}"'),
    (["update", "--table", "0", "--row", HUGE, "--column", "1", "--value", "x"], "--row takes a whole number"),
    (["update", "--table", "0", "--row", "²", "--column", "1", "--value", "x"], "--row takes a whole number"),
    (["stats", "--tables", "--limit", HUGE], "--limit takes a whole number from 0 on"),
    (["check", "--limit", HUGE], "--limit takes a whole number from 0 on"),
    (["index", "lake", "--bits", HUGE], "--bits takes a whole number from 1 on"),
    (["index", "lake", "--memory", f"{HUGE}GB"], "--memory takes a size such as 2GB"),
    (["index", "lake", "--max-rows", str(2**31)], "--max-rows takes a whole number from 1 to 2,147,483,647"),
    (["add", "lake", "--memory", "63MB"], "--memory must be at least 64MB"),
    (["compact", "--memory", "63MB"], "--memory must be at least 64MB"),
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=lambda given: str(given)[-25:])
def test_numbers_that_make_no_sense(run: Run, arguments: list[str], message: str) -> None:
    found = run(*arguments, "--store", "new.mate" if arguments[0] == "index" else "lake.mate")
    assert_refused(found, message)
    assert len(found[2]) < 200


@pytest.mark.parametrize("parameters", ["bf:128:hashes=²", f"bf:128:hashes={HUGE}", f"xash:128:alpha={HUGE}"])
def test_parameters_of_hashes(run: Run, parameters: str) -> None:
    assert_refused(run("hash", "lee", "--hash", parameters), "")


@pytest.mark.usefixtures("folder")
def test_a_large_k_allocates_nothing() -> None:
    """With 3 GB of address space at most, as many tables come as there are."""
    script = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({3 << 30}, {3 << 30}));"
        "import sys; from mate.cli.program import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = [*SEARCH, "-k", "100000000", "--store", "lake.mate", "--json"]
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count('"joinability"') == 2
