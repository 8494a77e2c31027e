"""Spark on this machine: Java, one session per process, nothing left in the temporary folder."""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distribution
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mate.build import engine, session
from mate.build.session import SparkError, require_java, spark_session
from mate.errors import MissingPackageError


def java(folder: Path, version: str) -> str:
    """Put a program that says it is this version of Java into a folder; return the folder."""
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    program.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_java_that_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    require_java()


@pytest.mark.parametrize("version", ["1.8.0_292", "11.0.2", "odd"])
def test_java_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    with pytest.raises(SparkError, match=rf"needs Java 17 or newer, .* is {version}: install Java 17"):
        require_java()


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkError, match=r"Spark needs Java, and there is none in JAVA_HOME=.*: install"):
        require_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkError, match="Spark needs Java, and there is none: install"):
        require_java()


def test_a_running_session_is_used_and_left_running(spark: SparkSession) -> None:
    with spark_session("local[7]") as found:
        assert found.sparkContext is spark.sparkContext
    assert spark.range(3).count() == 3


def test_a_running_session_is_used_from_another_thread(spark: SparkSession) -> None:
    def use() -> int:
        with spark_session("local[7]") as found:
            assert found.sparkContext is spark.sparkContext
            return found.range(4).count()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(use).result() == 4
    assert spark.range(3).count() == 3


def test_the_scratch_folder_is_gone_afterwards_and_so_are_those_of_killed_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left_over, in_use, other = (tmp_path / name for name in ("mate-spark-dead", "mate-spark-live", "mate-other"))
    for folder in (left_over, in_use, other):
        folder.mkdir()
        (folder / "file").write_text("x")
    lock = os.open(in_use, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with session._scratch_folder() as scratch:
        assert {path.name for path in tmp_path.iterdir()} == {"mate-spark-live", "mate-other", scratch.name}
        with session._scratch_folder() as second:  # another process would not touch the first one either
            assert scratch.is_dir()
            assert second != scratch
    assert {path.name for path in tmp_path.iterdir()} == {"mate-spark-live", "mate-other"}
    os.close(lock)


def test_the_shipped_package_holds_the_code_and_its_entry_points(tmp_path: Path) -> None:
    with zipfile.ZipFile(session._package(tmp_path)) as archive:
        names = set(archive.namelist())
        metadata = f"mate_discovery-{distribution('mate-discovery').version}.dist-info"
        assert {"mate/__init__.py", "mate/build/stage.py", "baselines/hashes/bloom.py"} <= names
        assert {f"{metadata}/METADATA", f"{metadata}/entry_points.txt"} <= names
        assert b"bf = baselines.hashes.bloom:BloomFilter" in archive.read(f"{metadata}/entry_points.txt")
    assert not any("__pycache__" in name or name.startswith("tests") for name in names)


def test_without_spark_a_large_build_stays_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "is_installed", lambda name: False)
    master, why = engine.choose_master(engine.AUTO, 10 * engine.LARGE)
    assert master == engine.NO_SPARK
    assert why.endswith("would be worth Spark, which is not installed (pip install 'mate-discovery[spark]')")


def test_spark_that_is_asked_for_and_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with (
        pytest.raises(MissingPackageError, match=r"needs pyspark: pip install 'mate-discovery\[spark\]'"),
        engine.start_engine("local[1]", {}, verbose=False),
    ):
        pass
