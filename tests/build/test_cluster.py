"""The same code on a cluster: Spark's own one of two executors, in processes that do not have this package.

Executors run an interpreter that finds everything that setup.cfg asks for, but neither `mate` nor `baselines`:
what they import must have been shipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pyspark
import pytest

from mate.build.build import HashRequest
from tests.conftest import BuildIndex, DumpIndex

HASHES = (HashRequest("xash", 128), HashRequest("bf", 512), HashRequest("ht", 128))

DRIVER = """
import json, sys
from mate.build.build import BuildSettings, HashRequest, build
from mate.build.lake_target import LakeTarget
from mate.build.session import spark_session

def look(_):
    import os, sys, time
    import baselines, mate
    time.sleep(0.5)  # long enough for both executors to get some
    return mate.__file__, baselines.__file__, os.getcwd(), sys.executable

lake, store = sys.argv[1:]
settings = {"spark.executor.memory": "512m", "spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "2"}
with spark_session("local-cluster[2,1,1024]", settings) as spark:
    seen = spark.sparkContext.parallelize(range(8), 8).map(look).collect()
    hashes = (HashRequest("xash", 128), HashRequest("bf", 512), HashRequest("ht", 128))
    with LakeTarget(store) as target:
        build([lake], target, BuildSettings(hashes=hashes))
print(json.dumps(seen))
"""


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Enough distinct values in a file for every native module to be used, from the shipped package."""
    folder = tmp_path / "lake"
    folder.mkdir()
    for table in range(3):
        rows = [f"name {table} {n},Straße {n % 99},{n * 7}" for n in range(4_000)]
        (folder / f"t{table}.csv").write_text("\n".join(["name,street,number", *rows, ""]))
    (folder / "torn.parquet").write_bytes(b"PAR1")
    return folder


def bare_interpreter(folder: Path, without: str = "mate") -> Path:
    """Return an interpreter with all installed packages but this one and, if wanted, another."""
    packages = folder / "packages"
    packages.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(("mate", "__editable__", without)) and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    python = folder / "python"
    base = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec {base} -s "$@"\n')
    python.chmod(0o755)
    return python


def spark_home(folder: Path) -> Path:
    """Return the installed Spark under a folder of our own: the cluster keeps its logs beside its programs."""
    home = folder / "spark"
    home.mkdir()
    for path in Path(pyspark.__file__).parent.iterdir():
        if path.name != "work":
            (home / path.name).symlink_to(path)
    return home


def run_driver(folder: Path, program: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with its arguments in a process of its own, which starts a cluster with its files in a folder."""
    command, settings = [sys.executable, "-c", *program], {"SPARK_HOME": str(spark_home(folder)), **environment}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, **settings}
    )


def test_a_cluster_gets_the_package_and_builds_the_same_index(
    build_index: BuildIndex, dump_index: DumpIndex, lake: Path, tmp_path: Path
) -> None:
    python = bare_interpreter(tmp_path)
    bare = [str(python), "-c", "import pyarrow, mmh3; import mate"]
    found = subprocess.run(bare, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "No module named 'mate'" in found.stderr
    done = run_driver(tmp_path, [DRIVER, str(lake), str(tmp_path / "cluster.mate")], PYSPARK_PYTHON=str(python))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    seen = json.loads(done.stdout)
    assert all("mate-package" in path for mate, baselines, *_ in seen for path in (mate, baselines))
    assert len({folder for *_, folder, _ in seen}) == 2  # each executor works in a folder of its own
    build_index(lake, tmp_path / "local.mate", hashes=HASHES, master="none")
    cluster, local = dump_index(tmp_path / "cluster.mate"), dump_index(tmp_path / "local.mate")
    assert len(local["postings"]) == 3 * 3 * 4_000
    assert cluster == local


def test_executors_that_cannot_load_the_package_are_one_line(lake: Path, tmp_path: Path) -> None:
    python = bare_interpreter(tmp_path, without="pyarrow")
    command = ["index", str(lake), "--store", str(tmp_path / "x.mate"), "--master", "local-cluster[1,1,1024]"]
    memory = ["--spark", "spark.executor.memory=512m"]
    program = "import sys; from mate.cli.program import main; sys.exit(main())"
    done = run_driver(tmp_path, [program, *command, *memory], PYSPARK_PYTHON=str(python))
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "the executors cannot load this package, which is compiled for Python 3." in line
    assert line.endswith("ModuleNotFoundError: No module named 'pyarrow'")
    assert not (tmp_path / "x.mate").exists()
