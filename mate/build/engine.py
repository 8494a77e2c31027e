"""Who runs the tasks of a build: Spark, or this very process for a handful of small files.

The steps themselves do not know: both engines run the same functions on the same units.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.errors import MateError
from mate.build.progress import Progress
from mate.build.session import SparkError, spark_session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

In = TypeVar("In")
Out = TypeVar("Out")

MOST_HERE = 8_000_000
"""Dictionary entries that are merged in the driver's memory (about 1 GB); from there on a shuffle pays."""

NO_SPARK = "none"
"""The master that means: no Spark, run here."""


class Dictionary(NamedTuple):
    """The tokens of the whole corpus."""

    distinct: int
    unique: bool
    """Whether every number stands for one text."""


class Engine(Protocol):
    """Runs a task for each of many items, and merges dictionaries."""

    name: str
    parallelism: int

    def run(
        self, items: Sequence[In], task: Callable[[In], tuple[Out, dict[str, int]]], told: Progress, phase: str
    ) -> list[Out]:
        """Return the task's result for each item, in order, telling how far it is."""

    def merge(self, parts: list[str], path: str) -> Dictionary:
        """Merge the units' dictionaries into one folder of Parquet files: number, text, postings."""


@contextmanager
def start_engine(master: str, settings: Mapping[str, str], *, verbose: bool) -> Iterator[Engine]:
    """Start the engine that `master` names."""
    if master == NO_SPARK:
        yield LocalEngine()
        return
    with spark_session(master, settings, verbose=verbose) as spark:
        yield SparkEngine(spark)


class LocalEngine:
    """One item after the other, in this process."""

    name = f"none (Python {sys.version_info.major}.{sys.version_info.minor})"
    parallelism = 1

    def run(
        self, items: Sequence[In], task: Callable[[In], tuple[Out, dict[str, int]]], told: Progress, phase: str
    ) -> list[Out]:
        """Run the tasks here."""
        told.start(phase, len(items))
        results: list[Out] = []
        sums: dict[str, int] = {}
        for item in items:
            try:
                result, counted = task(item)
            except OSError as error:
                raise failure(f"OSError: {error}", phase) from error
            results.append(result)
            for name, value in counted.items():
                sums[name] = sums.get(name, 0) + value
            told.update(len(results), **sums)
        return results

    def merge(self, parts: list[str], path: str) -> Dictionary:
        """Merge in memory."""
        return merge_here(parts, path)


def merge_here(parts: list[str], path: str) -> Dictionary:
    """Merge dictionaries in the memory of this process."""
    together = pa.concat_tables([pq.read_table(part) for part in parts])
    summed = together.group_by("token_id").aggregate([("token", "min"), ("token", "max"), ("postings", "sum")])
    Path(path).mkdir()
    names = {"token_min": "token", "token_max": "other", "postings_sum": "postings"}
    summed = summed.rename_columns([names.get(name, name) for name in summed.column_names])
    pq.write_table(summed, f"{path}/part-0.parquet", use_dictionary=False)
    return Dictionary(summed.num_rows, bool(pc.all(pc.equal(summed["token"], summed["other"])).as_py()))


class SparkEngine:
    """One Spark task an item."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.name = spark.version
        self.parallelism = spark.sparkContext.defaultParallelism

    def run(
        self, items: Sequence[In], task: Callable[[In], tuple[Out, dict[str, int]]], told: Progress, phase: str
    ) -> list[Out]:
        """Run the tasks on Spark; a task that dies is tried again there."""
        context = self._spark.sparkContext
        done = context.accumulator(0)
        counts = {name: context.accumulator(0) for name in ("files", "tables", "cells")}

        def run(item: In) -> Out:
            result, counted = task(item)
            for name, value in counted.items():
                counts[name].add(value)
            done.add(1)
            return result

        told.start(phase, len(items))
        with _explained(phase), ThreadPoolExecutor(1) as pool:
            job = pool.submit(lambda: context.parallelize(items, max(1, len(items))).map(run).collect())
            try:
                while not wait([job], timeout=0.2).done:
                    told.update(done.value, **{name: count.value for name, count in counts.items()})
                told.update(len(items), **{name: count.value for name, count in counts.items()})
                return job.result()
            except KeyboardInterrupt:
                context.cancelAllJobs()
                raise

    def merge(self, parts: list[str], path: str) -> Dictionary:
        """Merge with a shuffle, so that no machine needs to hold all tokens; a small dictionary here and now."""
        if sum(pq.read_metadata(part).num_rows for part in parts) <= MOST_HERE:
            return merge_here(parts, path)
        with _explained("dictionary"):
            return self._merge(parts, path)

    def _merge(self, parts: list[str], path: str) -> Dictionary:
        from pyspark.sql import functions as f

        merged = (
            self._spark.read.parquet(*map(_literal, parts))
            .groupBy("token_id")
            .agg(f.min("token").alias("token"), f.max("token").alias("other"), f.sum("postings").alias("postings"))
        )
        merged.write.parquet(path)
        counted = self._spark.read.parquet(_literal(path)).agg(
            f.count("*").alias("distinct"), f.count(f.expr("CASE WHEN token <> other THEN 1 END")).alias("shared")
        )
        row = counted.collect()[0]
        return Dictionary(row["distinct"], row["shared"] == 0)


def _literal(path: str) -> str:
    """Return a path as Spark must be given it, so that no character of it is taken for a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


@contextmanager
def _explained(phase: str) -> Iterator[None]:
    """Turn what Spark raises into one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise failure(str(error), phase) from error


def failure(text: str, phase: str) -> MateError:
    """Return what went wrong in a step as one line."""
    for marker in ("No space left on device", "Disk quota exceeded", "File too large"):
        if marker in text:
            return SparkError(f"the disk is full ({marker}); nothing was published, the old index is as it was")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith(("mate.errors.", "OSError", "MemoryError", "pyarrow.lib."))]
    python = [line for line in lines if "Error: " in line and "Py4J" not in line and "PythonException" not in line]
    return SparkError(f"the step '{phase}' failed: {(causes or python or lines)[0]}")
