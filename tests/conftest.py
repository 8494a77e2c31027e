"""Settings for all tests, the one Spark session that they share, and a browser."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession

    from mate.build.build import Summary

# A shell starts what runs in the background with Ctrl-C ignored, and so would be the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What was verified is remembered for the user; tests leave nothing behind.
os.environ["MATE_CACHE"] = tempfile.mkdtemp(prefix="mate-tests-cache-")
atexit.register(shutil.rmtree, os.environ["MATE_CACHE"], True)

# No test asserts a time, however slow the machine.
settings.register_profile("default", deadline=None)
settings.load_profile("default")

BuildIndex: TypeAlias = "Callable[..., Summary]"
DumpIndex: TypeAlias = Callable[[Path], dict[str, list[tuple[Any, ...]]]]

SMALL_SESSION = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts Spark, so that `-m "not spark"` leaves it out."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed does not depend on the terminal that tests run in."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session that every build of this process uses; starting one costs more than most tests."""
    from mate.build.session import spark_session

    with spark_session("local[2]", SMALL_SESSION) as session:
        yield session


@pytest.fixture(scope="session")
def build_index(request: pytest.FixtureRequest) -> BuildIndex:
    """``build_index(paths, store, hashes=...)``: build and publish a lake as `mate index` does.

    With a master of Spark it uses the session of all tests.
    """
    from mate.build.build import BuildSettings, build
    from mate.build.lake_target import LakeTarget

    def run(paths: Iterable[Path | str] | Path | str, store: Path, **changes: Any) -> Summary:
        if changes.get("master", "none").startswith("local"):
            request.getfixturevalue("spark")
        given = [paths] if isinstance(paths, Path | str) else paths
        with LakeTarget(store) as target:
            return build(map(str, given), target, BuildSettings(**changes))

    return run


@pytest.fixture(scope="session")
def dump_index() -> DumpIndex:
    """``dump_index(store)``: everything that a lake holds as sorted records, to compare two lakes by."""
    from mate.lake.folder import open_folder
    from tests.lakes import dump

    return lambda store: dump(open_folder(store))


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of every experiment on a lake of a few small files: what reports and notebooks are made from."""
    from experiments.__main__ import main
    from tests.experiments.conftest import write_lake

    folder = tmp_path_factory.mktemp("measured")
    files, results = write_lake(folder / "files"), folder / "results"
    options = ["--lake", f"mine={files}", "--results", str(results), "--scale", "smoke", "--queries", "2"]
    assert main(["run", "--all", *options]) == 0
    return results


BROWSER_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-quic", "--no-first-run",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser with a profile of its own, which is thrown away."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs Chromium (Debian, Ubuntu: apt-get install chromium)")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=BROWSER_FLAGS)
        yield opened
        opened.close()
