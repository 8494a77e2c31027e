"""The offline phase from end to end: sources in, a published index out. `build_sources` has its steps in order."""

from __future__ import annotations

import platform
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from mate import __version__
from mate.build.dictionary import PHASE as COUNT
from mate.build.dictionary import count_distinct
from mate.build.engine import AUTO, Engine, NoProgress, Progress, choose_master, failure_explained, start_engine
from mate.build.parts import PHASE as LOOK
from mate.build.parts import cut_sources
from mate.build.segments import (
    MOST_NUMBERED,
    NewSegment,
    plan_segments,
    segment_task,
    stage_settings,
)
from mate.build.segments import PHASE as WRITE
from mate.build.sources import Source, SyntheticSource, find_sources
from mate.build.stage import PHASE as READ
from mate.build.stage import Lot, stage_sources
from mate.corpus import Limits, check_encoding
from mate.errors import CorpusError, MateError
from mate.hashing import CorpusStatistics, find, fit
from mate.lake.arrays import Array
from mate.lake.manifest import Counts, HashSpec, Manifest
from mate.values.text import NULL_SPELLINGS, UNICODE_VERSION

FIND, START, PUBLISH = "find files", "start Spark", "publish"
MEMORY = 2 << 30
LEAST_MEMORY = 1 << 26
"""Bytes that a task may use to write a segment: by default, and at least."""


class HashRequest(HashSpec):
    """A hash function asked for; parameters that are not given are chosen for the corpus."""

    def chosen(self, corpus: CorpusStatistics) -> HashSpec:
        """Return the specification for a corpus."""
        return HashSpec.of(self.function() if self.parameters else fit(self.name, self.bits, corpus))


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """Everything that decides what an index holds and how it is built."""

    hashes: tuple[HashRequest, ...] = (HashRequest(),)
    format: str | None = None
    nulls: frozenset[str] = NULL_SPELLINGS
    limits: Limits = field(default_factory=Limits)
    strict: bool = False
    master: str = AUTO
    """Where Spark runs; "none": no Spark; "auto": by the size of what is read."""
    spark: Mapping[str, str] = field(default_factory=dict)
    memory: int = MEMORY
    """Bytes that a task may use to write a segment; a table that needs more makes a segment of its own."""
    segments: int | None = None
    """How many segments to write; None: as few as keep all cores busy and fit into memory."""
    verbose: bool = False

    def check(self) -> None:
        """Raise an error for settings that make no sense, before any work is done."""
        for request in self.hashes:
            request.function()  # raises HashError at once for what cannot work later
        if self.limits.encoding is not None:
            check_encoding(self.limits.encoding)
        if self.limits.rows > MOST_NUMBERED:
            raise MateError(f"--max-rows takes at most {MOST_NUMBERED:,} rows per table, not {self.limits.rows:,}")
        check_memory(self.memory)
        if self.segments is not None and self.segments < 1:
            raise MateError(f"there must be at least one segment, not {self.segments}")


def check_memory(memory: int) -> None:
    """Refuse less memory than any task needs."""
    if memory < LEAST_MEMORY:
        raise MateError(f"--memory must be at least {LEAST_MEMORY >> 20}MB, not {memory:,} bytes")


def known_hash(text: str, bits: int) -> HashRequest:
    """Parse ``NAME[:BITS[:PARAMETER=VALUE,...]]``, as the command line takes it."""
    name, _, options = text.partition(":")
    size, _, options = options.partition(":")
    hashing = find(name)
    try:
        parameters = {k: _parameter(v) for k, _, v in (o.partition("=") for o in options.split(",") if o)}
        return HashRequest(name, int(size) if size else hashing.usual if hashing.by_width else bits, parameters)
    except ValueError:
        raise MateError(f"a hash is written NAME[:BITS[:PARAMETER=VALUE,...]], not {text!r}") from None


def _parameter(text: str) -> int | str:
    """Parse a value: a whole number, else a word."""
    if not text:
        raise ValueError("a parameter without a value")
    return int(text) if text.lstrip("-").isdigit() else text


def with_hashes(settings: BuildSettings, texts: list[str], bits: int) -> BuildSettings:
    """Return the settings with the hash functions written in `texts`."""
    return replace(settings, hashes=tuple(known_hash(text, bits) for text in texts)) if texts else settings


class Target(Protocol):
    """Where an index is built and published: a lake, or a database."""

    directory: Path
    """A folder for the files of the build; on a cluster, one that all workers share."""

    def check(self, settings: BuildSettings) -> None:
        """Raise an error, before anything is read, for settings that it cannot follow."""

    def loader(self, manifest: Manifest) -> Callable[[NewSegment], object] | None:
        """Return what a task does with a segment that it has written, if anything.

        The manifest is that of the new index, but for segments and counts.
        """

    def publish(self, manifest: Manifest, new_segments: list[NewSegment]) -> None:
        """Make the new index visible, all at once."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a build did."""

    manifest: Manifest
    files: int
    rejected_tables: int
    seconds: dict[str, float]
    engine: str
    """Where the tasks ran, and why there."""


def build(paths: Iterable[str], target: Target, settings: BuildSettings, progress: Progress | None = None) -> Summary:
    """Index everything under `paths` and publish it."""
    settings.check()
    seconds: dict[str, float] = {}
    with _timed(seconds, FIND):
        sources = find_sources(paths, settings.format)
    summary = build_sources(sources, target, settings, progress)
    return replace(summary, seconds=seconds | summary.seconds)


def build_sources(
    sources: list[Source], target: Target, settings: BuildSettings, progress: Progress | None = None
) -> Summary:
    """Index sources and publish them."""
    target.check(settings)
    seconds: dict[str, float] = {}
    progress = progress or NoProgress()
    master, reason = choose_master(settings.master, sum(source.size for source in sources))
    with ExitStack() as stack:
        with _timed(seconds, START):
            engine = stack.enter_context(start_engine(master, settings.spark, verbose=settings.verbose))
        with _timed(seconds, LOOK):
            parts = cut_sources(sources, engine, settings.limits, progress)
        if parts is sources:
            del seconds[LOOK]
        with _timed(seconds, READ):
            lots = _stage(engine, parts, target, settings, progress)
        with _timed(seconds, COUNT):
            columns = sum(lot.columns for lot in lots) / sum(lot.tables for lot in lots)
            statistics = CorpusStatistics(count_distinct(engine, lots, progress), columns)
        with _timed(seconds, WRITE):
            label = "synthetic" if any(isinstance(source, SyntheticSource) for source in sources) else ""
            manifest = _manifest(lots, statistics, settings, label, engine.name)
            plans = plan_segments(lots, _table_ids(lots), settings.memory, engine.parallelism, settings.segments)
            task = segment_task(target.directory, manifest.hashes, target.loader(manifest))
            new_segments = engine.run(plans, task, progress, WRITE)
    with _timed(seconds, PUBLISH):
        records = tuple(segment.record for segment in new_segments)
        manifest = replace(manifest, segments=records, counts=sum((r.counts for r in records), Counts()))
        target.publish(manifest, new_segments)
    if not engine.is_spark:
        del seconds[START]
    files, rejected = sum(lot.files for lot in lots), sum(lot.rejected_tables for lot in lots)
    return Summary(manifest, files, rejected, seconds, f"{engine.name}: {reason}")


def _stage(
    engine: Engine, sources: list[Source], target: Target, settings: BuildSettings, progress: Progress
) -> list[Lot]:
    """Read and tokenise everything; refuse to go on if there is nothing, or a reject where none may be."""
    directory = target.directory / "staged"
    directory.mkdir(exist_ok=True)
    how = stage_settings(settings.nulls, settings.limits, settings.memory)
    lots = stage_sources(engine, sources, directory, how, progress)
    rejects = sum(lot.rejects for lot in lots)
    if settings.strict and rejects:
        first = _first_reject(lots)
        raise CorpusError(f"{rejects:,} rejects and --strict was asked for; nothing was published. The first: {first}")
    if not sum(lot.tables for lot in lots):
        raise CorpusError(f"no table could be read; nothing was published. {_first_reject(lots)}")
    if not sum(lot.cells for lot in lots):
        raise CorpusError("no cell holds a value; nothing was published")
    return lots


def _first_reject(lots: list[Lot]) -> str:
    for lot in lots:
        for reject in lot.records("rejects").slice(0, 1).to_pylist():
            line = f", line {reject['line']}" if reject["line"] else ""
            return f"{reject['source']}{line}: {reject['reason']}"
    return "every file is empty"


def _manifest(
    lots: list[Lot], statistics: CorpusStatistics, settings: BuildSettings, label: str, engine: str
) -> Manifest:
    """Return the manifest of the new index, but for segments and counts."""
    versions = {"mate": __version__, "python": platform.python_version(), "unicode": UNICODE_VERSION}
    return Manifest(
        hashes=tuple(request.chosen(statistics) for request in settings.hashes),
        nulls=tuple(sorted(settings.nulls)),
        counts=Counts(),
        distinct_tokens=statistics.distinct_tokens,
        limits=asdict(settings.limits),
        label=label,
        built=now(),
        versions={**versions, "numpy": np.__version__, "pyarrow": pa.__version__, "spark": engine},
        build=uuid.uuid4().hex,
        next_table=sum(lot.tables for lot in lots),
    )


def now() -> str:
    """Return the time, as manifests have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _table_ids(lots: list[Lot]) -> Iterator[Array]:
    """Number the tables of all lots; a table that begins in the lot before comes first."""
    first = 0
    for lot in lots:
        yield np.arange(first - lot.continues, first + lot.tables)
        first += lot.tables


@contextmanager
def _timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    """Note the seconds of a phase."""
    start = time.perf_counter()
    with failure_explained(phase):
        yield
    seconds[phase] = time.perf_counter() - start
