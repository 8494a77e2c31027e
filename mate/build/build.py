"""The offline phase from end to end: sources in, a published index out."""

from __future__ import annotations

import platform
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mate import __version__
from mate.build.cut import PHASE as LOOK
from mate.build.cut import cut_sources, large_files
from mate.build.distinct import PHASE as COUNT
from mate.build.distinct import count_distinct
from mate.build.engine import AUTO, Engine, choose_master, failure, start_engine
from mate.build.progress import Progress, Silent
from mate.build.segments import Share, Written, write_segment
from mate.build.sources import SYNTHETIC, Source, Unit, find_sources, plan
from mate.build.stage import Staged, StageSettings, report_oversized, stage_unit
from mate.corpus import Limits, check_encoding
from mate.errors import CorpusError, MateError
from mate.hashing import CorpusStatistics, find, fit, get
from mate.lake.manifest import Counts, HashSpec, Manifest
from mate.values.text import NULL_SPELLINGS, UNICODE_VERSION

READ, WRITE = "read and tokenise", "write segments"

BYTES_PER_CELL = 40
"""Memory that writing a segment takes, per cell of it."""
LEAST_SEGMENT = 2_000_000
"""Cells below which another segment is not worth its task."""


@dataclass(frozen=True, slots=True)
class HashRequest:
    """A hash function asked for; parameters that are not given are chosen for the corpus."""

    name: str = "xash"
    bits: int = 128
    parameters: dict[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Raise HashError at once for what cannot work later."""
        get(self.name, self.bits, **self.parameters)

    def chosen(self, corpus: CorpusStatistics) -> HashSpec:
        """Return the specification for a corpus."""
        if self.parameters:
            return HashSpec.of(get(self.name, self.bits, **self.parameters))
        return HashSpec.of(fit(self.name, self.bits, corpus))


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
    memory: int = 2 << 30
    """Bytes that a task may use to write a segment; a table that needs more makes a segment of its own."""
    segments: int | None = None
    """How many segments there are to be; as few as keep all cores busy and fit into memory unless given."""
    verbose: bool = False

    def check(self) -> None:
        """Raise an error for settings that make no sense, before any work is done."""
        for request in self.hashes:
            request.check()
        if self.limits.encoding is not None:
            check_encoding(self.limits.encoding)
        if self.memory < 1 << 26:
            raise MateError(f"--memory must be at least 64MB, not {self.memory:,} bytes")
        if self.segments is not None and self.segments < 1:
            raise MateError(f"there must be at least one segment, not {self.segments}")


class Target(Protocol):
    """Where an index is built and published."""

    directory: Path
    """A folder of its own for the files of the build; on a cluster, one that all workers share."""

    def check(self, settings: BuildSettings) -> None:
        """Raise an error, before anything is read, for settings that it cannot follow."""

    def task(self, manifest: Manifest) -> Callable[[Written], Any]:
        """Return what a task does with the segment that it has written; its result goes to `publish`.

        The manifest is that of the index to be, but for segments and counts.
        """

    def publish(self, manifest: Manifest, written: list[Written], stored: list[Any]) -> None:
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
    clock = _Clock()
    given = list(paths)
    with clock("find files"):
        sources = find_sources(given, settings.format, tasks=32)
    label = "synthetic" if any(path.startswith(SYNTHETIC) for path in given) else ""
    return build_sources(sources, target, settings, progress, label, clock)


def build_sources(
    sources: list[Source],
    target: Target,
    settings: BuildSettings,
    progress: Progress | None = None,
    label: str = "",
    clock: _Clock | None = None,
) -> Summary:
    """Index sources that are already at hand and publish them."""
    target.check(settings)
    clock, progress = clock or _Clock(), progress or Silent()
    master, why = choose_master(settings.master, sum(source.size for source in sources))
    with _explained(clock), ExitStack() as stack:
        with clock("start Spark"):
            engine = stack.enter_context(start_engine(master, settings.spark, verbose=settings.verbose))
        staged = _staged(engine, sources, target, settings, progress, clock)
        with clock(COUNT):
            statistics = _statistics(engine, staged, progress)
        hashes = tuple(request.chosen(statistics) for request in settings.hashes)
        manifest = _manifest(label, staged, statistics, hashes, settings, engine.name)
        with clock(WRITE):
            finish = target.task(manifest)
            shares = share_out(staged, settings, engine.parallelism)
            written, stored = _write(engine, shares, target, hashes, finish, progress)
    with _explained(clock), clock("publish"):
        records = tuple(segment.record for segment in written)
        manifest = replace(manifest, segments=records, counts=sum((r.counts for r in records), Counts()))
        target.publish(manifest, written, stored)
    seconds = {phase: spent for phase, spent in clock.seconds.items() if phase != "start Spark" or engine.is_spark}
    files, rejected = sum(s.files for s in staged), sum(s.rejected_tables for s in staged)
    return Summary(manifest, files, rejected, seconds, f"{engine.name}: {why}")


def _staged(
    engine: Engine,
    sources: list[Source],
    target: Target,
    settings: BuildSettings,
    progress: Progress,
    clock: _Clock,
) -> list[Staged]:
    """Read everything; large files in parts."""
    if large_files(sources, engine.parallelism):
        with clock(LOOK):
            sources = cut_sources(sources, engine, settings.limits, progress)
    with clock(READ):
        directory = target.directory / "staged"
        directory.mkdir(exist_ok=True)
        staged = stage_sources(engine, sources, directory, StageSettings(settings.nulls, settings.limits), progress)
    _check(staged, settings)
    return staged


def stage_sources(
    engine: Engine, sources: list[Source], directory: Path, settings: StageSettings, progress: Progress
) -> list[Staged]:
    """Read sources and make their tokens, unit by unit."""
    folder = str(directory)

    def run(unit: Unit) -> tuple[Staged, dict[str, int]]:
        staged = stage_unit(unit, folder, settings)
        return staged, {"files": staged.files, "tables": staged.tables, "cells": staged.cells}

    staged = engine.run(plan(sources, engine.parallelism), run, progress, READ)
    report_oversized(staged, settings.limits)
    return staged


def _statistics(engine: Engine, staged: list[Staged], progress: Progress) -> CorpusStatistics:
    columns = sum(s.columns for s in staged) / sum(s.tables for s in staged)
    return CorpusStatistics(count_distinct(engine, staged, progress), columns)


def share_out(staged: list[Staged], settings: BuildSettings, parallelism: int) -> list[Share]:
    """Number the tables of all units and share these out, each group for one segment."""
    return _numbered(group_units(staged, settings, parallelism))


def group_units(staged: list[Staged], settings: BuildSettings, parallelism: int) -> list[list[Staged]]:
    """Put units that follow each other together, each group for one segment; a table is never divided."""
    slots = sum(unit.slots for unit in staged)
    most = max(1, settings.memory // BYTES_PER_CELL)
    count = settings.segments or max(-(-slots // most), min(parallelism, slots // LEAST_SEGMENT), 1)
    size = -(-slots // count)
    groups: list[list[Staged]] = [[]]
    filled = 0
    for unit in staged:
        if groups[-1] and not unit.continues and filled + unit.slots // 2 > size * len(groups):
            groups.append([])
        groups[-1].append(unit)
        filled += unit.slots
    return groups


def _numbered(groups: list[list[Staged]]) -> list[Share]:
    """Number the tables and rows through all groups."""
    shares, first_table, first_row = [], 0, 0
    for number, units in enumerate(groups):
        ids = []
        for unit in units:
            first = first_table - unit.continues
            ids.append(np.arange(first, first_table + unit.tables))
            first_table += unit.tables
        shares.append(Share(number, tuple(units), tuple(ids), first_row))
        first_row += sum(unit.rows for unit in units)
    return shares


def _write(
    engine: Engine,
    shares: list[Share],
    target: Target,
    hashes: tuple[HashSpec, ...],
    finish: Callable[[Written], Any],
    progress: Progress,
) -> tuple[list[Written], list[Any]]:
    """Write every segment, each as a task of its own."""
    directory = str(target.directory)

    def run(share: Share) -> tuple[tuple[Written, Any], dict[str, int]]:
        written = write_segment(share, directory, hashes)
        return (written, finish(written)), {"cells": written.record.counts.cells}

    done = engine.run(shares, run, progress, WRITE)
    return [written for written, _ in done], [stored for _, stored in done]


class _Clock:
    """Seconds by phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, phase: str) -> _Clock:
        self.phase, self._start = phase, time.perf_counter()
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.seconds[self.phase] = self.seconds.get(self.phase, 0) + time.perf_counter() - self._start


@contextmanager
def _explained(clock: _Clock) -> Iterator[None]:
    """Turn what the operating system refuses, such as more of the disk, into one line."""
    try:
        yield
    except (OSError, MemoryError) as error:
        raise failure(f"{type(error).__name__}: {error}", clock.phase) from error


@contextmanager
def failure_explained(work: str) -> Iterator[None]:
    """Turn what the operating system refuses during some work into one line."""
    try:
        yield
    except (OSError, MemoryError) as error:
        raise failure(f"{type(error).__name__}: {error}", work) from error


def _check(staged: list[Staged], settings: BuildSettings) -> None:
    rejects = sum(s.rejects for s in staged)
    if settings.strict and rejects:
        first = _first_reject(staged)
        raise CorpusError(f"{rejects:,} rejects and --strict was asked for; nothing was published. The first: {first}")
    if not sum(s.tables for s in staged):
        raise CorpusError(f"no table could be read; nothing was published. {_first_reject(staged)}")
    if not sum(s.cells for s in staged):
        raise CorpusError("no cell holds a value; nothing was published")


def _first_reject(staged: list[Staged]) -> str:
    for unit in staged:
        for reject in unit.records("rejects").slice(0, 1).to_pylist():
            line = f", line {reject['line']}" if reject["line"] else ""
            return f"{reject['source']}{line}: {reject['reason']}"
    return "every file is empty"


def _manifest(
    label: str,
    staged: list[Staged],
    statistics: CorpusStatistics,
    hashes: tuple[HashSpec, ...],
    settings: BuildSettings,
    spark_version: str,
) -> Manifest:
    return Manifest(
        hashes=hashes,
        nulls=tuple(sorted(settings.nulls)),
        counts=Counts(),
        distinct_tokens=statistics.distinct_tokens,
        limits=asdict(settings.limits),
        label=label,
        built=now(),
        versions={**_versions(), "spark": spark_version},
        build=uuid.uuid4().hex,
        next_table=sum(unit.tables for unit in staged),
    )


def now() -> str:
    """Return the time, as manifests have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _versions() -> dict[str, str]:
    found = {"mate": __version__, "python": platform.python_version(), "unicode": UNICODE_VERSION}
    for name in ("numpy", "pyarrow"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def known_hash(text: str, bits: int) -> HashRequest:
    """Parse ``NAME[:BITS[:PARAMETER=VALUE,...]]``, as the command line takes it."""
    name, _, rest = text.partition(":")
    size, _, options = rest.partition(":")
    hashing = find(name)
    try:
        parameters = {k: _value(v) for k, _, v in (o.partition("=") for o in options.split(",") if o)}
        return HashRequest(name, int(size) if size else hashing.usual if hashing.by_width else bits, parameters)
    except ValueError:
        raise MateError(f"a hash is written NAME[:BITS[:PARAMETER=VALUE,...]], not {text!r}") from None


def _value(text: str) -> int | str:
    """Return a parameter that a person wrote: a whole number, else a word."""
    if not text:
        raise ValueError("a parameter without a value")
    return int(text) if text.lstrip("-").isdigit() else text


def with_hashes(settings: BuildSettings, texts: list[str], bits: int) -> BuildSettings:
    """Return the settings with the hash functions written in `texts`."""
    return replace(settings, hashes=tuple(known_hash(text, bits) for text in texts)) if texts else settings
