"""Who runs the tasks of a build: Spark, or this process for a handful of small files. Both run the same functions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from mate.build.session import SparkError, spark_session
from mate.errors import MateError
from mate.extras import is_installed, pip_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

In = TypeVar("In")
Out = TypeVar("Out")
Task: TypeAlias = Callable[[In], tuple[Out, dict[str, int]]]
"""Returns a result, and counts that are shown."""

NO_SPARK = "none"
"""The master that means: no Spark, run here."""
AUTO = "auto"
"""The master that means: Spark for what is large, this process for what is not."""
HERE = "local[*]"

LARGE = 32 << 20
"""Bytes from which on Spark is worth its start."""


def choose_master(master: str, size: int) -> tuple[str, str]:
    """Return where to run tasks that read so many bytes, and why there."""
    if master != AUTO:
        return master, "as asked for (--master)"
    megabytes = f"{size / 1e6:,.1f} MB" if size < 1e8 else f"{size / 1e6:,.0f} MB"
    if size < LARGE:
        return NO_SPARK, f"{megabytes} are read in this process faster than Spark starts (--master local[*] for Spark)"
    if not is_installed("pyspark"):
        return NO_SPARK, f"{megabytes} would be worth Spark, which is not installed ({pip_line('spark')})"
    return HERE, f"{megabytes} are worth Spark's start (--master none to do without)"


class Progress(Protocol):
    """Something that shows progress."""

    def start(self, phase: str, total: int) -> None:
        """Begin a phase of `total` units of work."""

    def update(self, done: int, **counts: int) -> None:
        """Show how many units are done, and other counts."""


class NoProgress:
    """Shows nothing."""

    def start(self, phase: str, total: int) -> None:
        """Show nothing."""

    def update(self, done: int, **counts: int) -> None:
        """Show nothing."""


class LocalEngine:
    """Runs a task for each of many items, one after the other, in this process."""

    name = f"none (Python {sys.version_info.major}.{sys.version_info.minor})"
    is_spark = False
    parallelism = 1

    def run(self, items: Sequence[In], task: Task[In, Out], progress: Progress, phase: str) -> list[Out]:
        """Return the task's result for each item, in order; show progress with what the tasks have counted."""
        progress.start(phase, len(items))
        results: list[Out] = []
        counts: Counter[str] = Counter()
        for item in items:
            with failure_explained(phase):
                result, counted = task(item)
            results.append(result)
            counts.update(counted)
            progress.update(len(results), **counts)
        return results


class SparkEngine:
    """Runs each item as one Spark task."""

    is_spark = True

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.name = f"Spark {spark.version}"
        self.parallelism = spark.sparkContext.defaultParallelism

    def run(self, items: Sequence[In], task: Task[In, Out], progress: Progress, phase: str) -> list[Out]:
        """Return the same as `LocalEngine`; Spark retries tasks that die."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        context = self._spark.sparkContext
        done = context.accumulator(0)
        counts = {name: context.accumulator(0) for name in ("files", "tables", "cells")}

        def run(item: In) -> Out:
            result, counted = task(item)
            for name, value in counted.items():
                counts[name].add(value)
            done.add(1)
            return result

        progress.start(phase, len(items))
        with failure_explained(phase, Py4JError, PySparkException), ThreadPoolExecutor(1) as pool:
            job = pool.submit(lambda: context.parallelize(items, max(1, len(items))).map(run).collect())
            try:
                while not wait([job], timeout=0.2).done:
                    progress.update(done.value, **{name: count.value for name, count in counts.items()})
                progress.update(len(items), **{name: count.value for name, count in counts.items()})
                return job.result()
            except KeyboardInterrupt:
                context.cancelAllJobs()
                raise


Engine: TypeAlias = LocalEngine | SparkEngine


@contextmanager
def start_engine(master: str, settings: Mapping[str, str], *, verbose: bool) -> Iterator[Engine]:
    """Start the engine that `master` names."""
    if master == NO_SPARK:
        yield LocalEngine()
        return
    with spark_session(master, settings, verbose=verbose) as spark:
        yield SparkEngine(spark)


@contextmanager
def failure_explained(phase: str, *others: type[Exception]) -> Iterator[None]:
    """Turn what the operating system refuses, such as more of the disk, and other errors into one line."""
    expected: tuple[type[Exception], ...] = (OSError, MemoryError, *others)
    try:
        yield
    except expected as error:
        raise failure(f"{type(error).__name__}: {error}", phase) from error


def failure(text: str, phase: str) -> MateError:
    """Return what went wrong in a step as one line."""
    for marker in ("No space left on device", "Disk quota exceeded", "File too large"):
        if marker in text:
            return SparkError(f"the disk is full ({marker}); nothing was published, the old index is as it was")
    if "MemoryError" in text:
        return SparkError(
            f"there is not enough memory for the step '{phase}'; nothing was published, the old index is as it was. "
            "--memory makes segments smaller"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith(("mate.errors.", "OSError", "MemoryError", "pyarrow.lib."))]
    python = [line for line in lines if "Error: " in line and "Py4J" not in line and "PythonException" not in line]
    return SparkError(f"the step '{phase}' failed: {(causes or python or lines)[0]}")
