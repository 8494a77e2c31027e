"""A Spark session that works on a laptop, prints nothing, and sends this package to a cluster."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mate.errors import MateError
from mate.extras import require
from mate.files import locked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULTS = {
    "spark.app.name": "mate",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
"""Settings of the caller override them."""

SHIPPED = ("mate", "baselines")
"""Packages that tasks import, with their native modules; a cluster's workers need only what setup.cfg lists."""

_ARCHIVE = "mate-package"
"""Folder that the packages are unpacked into, where an executor works."""
_DISTRIBUTION = "mate-discovery"
_PYTHONPATH = "spark.executorEnv.PYTHONPATH"
_SCRATCH = "mate-spark-"
_JAVA = 17


class SparkError(MateError):
    """Spark could not be started, or a job failed for good."""


def require_java() -> None:
    """Raise SparkError unless a Java that Spark can use is there."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    hint = f"install Java {_JAVA} (Debian, Ubuntu: apt-get install openjdk-{_JAVA}-jre-headless) or set JAVA_HOME"
    if java is None or not Path(java).exists():
        raise SparkError(f"Spark needs Java, and there is none{f' in JAVA_HOME={home}' if home else ''}: {hint}")
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'"((?:1\.)?(\d*)[^"]*)"', printed)
    if not version or int(version[2] or 0) < _JAVA:
        raise SparkError(f"Spark needs Java {_JAVA} or newer, {java} is {version[1] if version else 'unknown'}: {hint}")


@contextmanager
def spark_session(
    master: str = "local[*]", settings: Mapping[str, str] | None = None, *, verbose: bool = False
) -> Iterator[SparkSession]:
    """Start Spark and stop it afterwards, or use the session that runs in this process already."""
    require("pyspark", "spark", "a build or change on Spark")
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # A session is "active" only in the thread that started it; the context is one for the process.
    if SparkContext._active_spark_context is not None:
        yield SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        return
    require_java()
    # Workers must find the packages of this very interpreter.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    with _scratch_folder() as scratch:
        log = scratch / "spark.log"
        ships = not master.startswith("local[")
        # Everything that Spark leaves on this machine goes into one folder; a local session stays off the network.
        java = shlex.quote(f"-Djava.io.tmpdir={scratch}")
        options = {**DEFAULTS, "spark.local.dir": str(scratch), "spark.driver.extraJavaOptions": java}
        if master.startswith("local"):
            options |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        options |= settings or {}
        if ships:
            options[_PYTHONPATH] = ":".join(filter(None, [_ARCHIVE, options.get(_PYTHONPATH)]))
        quiet = nullcontext if verbose else partial(_quiet, log)
        try:
            with quiet(), _temporary_files_in(scratch):
                spark = SparkSession.builder.master(master).config(map=dict(options)).getOrCreate()
        except Exception as error:
            raise SparkError(f"Spark did not start with master {master}: {_reason(error, log)}") from error
        try:
            if ships:
                _ship(spark, scratch)
            yield spark
        finally:
            with quiet():
                spark.stop()


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """Yield a locked folder and remove it afterwards; also remove those of killed processes, which have no lock."""
    for left_over in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
        with suppress(OSError), locked(left_over, os.O_DIRECTORY) as lock:
            if os.fstat(lock).st_uid == os.geteuid():
                shutil.rmtree(left_over, ignore_errors=True)
    with ExitStack() as stack:
        while True:
            folder = Path(tempfile.mkdtemp(prefix=_SCRATCH))
            with suppress(BlockingIOError, FileNotFoundError):
                stack.enter_context(locked(folder, os.O_DIRECTORY))
                if folder.exists():  # else another process took it for a left-over before it was locked
                    break
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Let PySpark make its temporary folder here, too, while Java starts."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


@contextmanager
def _quiet(log: Path) -> Iterator[None]:
    """Send what Java prints to a file instead of the terminal."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with log.open("ab") as sink, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(terminal, 2)
            os.close(terminal)


def _reason(error: Exception, log: Path) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    logged = log.read_text(errors="replace").splitlines() if log.exists() else []
    causes = [line.strip() for line in logged if "Exception" in line or "ERROR" in line]
    return (causes or lines or [type(error).__name__])[0]


def _ship(spark: SparkSession, scratch: Path) -> None:
    """Send the packages to the executors, which unpack them: native modules cannot load from an archive."""
    spark.sparkContext.addArchive(f"{_package(scratch)}#{_ARCHIVE}")
    try:
        spark.sparkContext.parallelize([0], 1).map(_load).collect()
    except Exception as error:
        here = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
        reason = next((line.strip() for line in str(error).splitlines() if "Error: " in line), type(error).__name__)
        raise SparkError(
            f"the executors cannot load this package, which is compiled for {here}: they need the same, and numpy, "
            f"pyarrow and chardet: {reason}"
        ) from error


def _load(_: int) -> None:
    import mate.build.segments  # noqa: F401  (and with it numpy, pyarrow and the native modules of a build)


def _package(directory: Path) -> Path:
    """Zip the packages that tasks need, as they are installed here."""
    target = directory / f"{_ARCHIVE}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in SHIPPED:
            found = find_spec(name)
            if found is None or found.origin is None:
                continue
            root = Path(found.origin).parent
            for path in sorted(root.rglob("*")):
                if path.suffix in (".py", ".pyi", ".typed", ".csv", ".so"):
                    archive.write(path, Path(name, path.relative_to(root)))
        with suppress(PackageNotFoundError):  # hash functions are found by their entry points
            ours = distribution(_DISTRIBUTION)
            folder = f"{_DISTRIBUTION.replace('-', '_')}-{ours.version}.dist-info"
            for name in ("METADATA", "entry_points.txt"):
                archive.writestr(f"{folder}/{name}", ours.read_text(name) or "")
    return target
