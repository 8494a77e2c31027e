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
from mate.build.segments import MOST_NUMBERED, SegmentPlan, Written, segment_task
from mate.build.sources import SYNTHETIC, ChangedError, Source, Unit, find_sources, plan_units, read_whole
from mate.build.stage import Staged, StageSettings, report_oversized, stage_unit
from mate.corpus import Limits, check_encoding
from mate.errors import CorpusError, MateError
from mate.hashing import CorpusStatistics, find, fit, get
from mate.lake.arrays import Array
from mate.lake.manifest import Counts, HashSpec, Manifest
from mate.values.text import NULL_SPELLINGS, UNICODE_VERSION

READ, WRITE = "read and tokenise", "write segments"

BYTES_PER_CELL = 40
"""Memory that writing a segment takes, per cell of it."""
LEAST_SEGMENT = 2_000_000
"""Cells below which another segment is not worth its task."""
MEMORY, LEAST_MEMORY = 2 << 30, 1 << 26
"""Bytes that a task may use to write a segment, unless told otherwise; and the least that makes sense."""
LOTS_PER_SEGMENT = 4
"""Lots that the tables of a large unit are staged in, for each segment that memory allows: so that segments fill up."""


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
    memory: int = MEMORY
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
        if self.limits.rows > MOST_NUMBERED:
            raise MateError(f"--max-rows takes at most {MOST_NUMBERED:,} rows per table, not {self.limits.rows:,}")
        check_memory(self.memory)
        if self.segments is not None and self.segments < 1:
            raise MateError(f"there must be at least one segment, not {self.segments}")


def check_memory(memory: int) -> None:
    """Refuse less memory than any task needs."""
    if memory < LEAST_MEMORY:
        raise MateError(f"--memory must be at least {LEAST_MEMORY >> 20}MB, not {memory:,} bytes")


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
            groups = group_units(staged, settings.memory, engine.parallelism, settings.segments)
            plans = plan_segments(groups, _numbers(staged))
            written, stored = _write(engine, plans, target, manifest, progress)
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
        how = stage_settings(settings.nulls, settings.limits, settings.memory)
        staged = stage_sources(engine, sources, directory, how, progress)
    _check(staged, settings)
    return staged


def most_cells(memory: int) -> int:
    """Return how many cells a task that may use so much memory puts into a segment of several tables."""
    return max(1, min(memory // BYTES_PER_CELL, MOST_NUMBERED))


def stage_settings(nulls: Iterable[str], limits: Limits, memory: int) -> StageSettings:
    """Return how sources are staged for segments that are written with so much memory."""
    return StageSettings(frozenset(nulls), limits, max(1, most_cells(memory) // LOTS_PER_SEGMENT))


def stage_sources(
    engine: Engine, sources: list[Source], directory: Path, settings: StageSettings, progress: Progress
) -> list[Staged]:
    """Read sources and make their tokens, unit by unit.

    A large file that somebody writes to meanwhile does not fit its parts: it is read again, in one piece.
    """
    folder = str(directory)

    def run(unit: Unit) -> tuple[list[Staged] | str, dict[str, int]]:
        try:
            lots = stage_unit(unit, folder, settings)
        except ChangedError as error:
            return error.source, {}
        return lots, {name: sum(getattr(lot, name) for lot in lots) for name in ("files", "tables", "cells")}

    units = {unit.number: unit for unit in plan_units(sources, engine.parallelism)}
    found: dict[int, list[Staged] | str] = {}
    pending = list(units.values())
    while pending:
        found.update(zip([unit.number for unit in pending], engine.run(pending, run, progress, READ), strict=True))
        changed = {lots for lots in found.values() if isinstance(lots, str)}
        pending = read_whole(units.values(), changed)
        units.update((unit.number, unit) for unit in pending)
    staged = [lot for number in sorted(found) for lot in found[number] if isinstance(lot, Staged)]
    report_oversized(staged, settings.limits)
    return staged


def _statistics(engine: Engine, staged: list[Staged], progress: Progress) -> CorpusStatistics:
    columns = sum(s.columns for s in staged) / sum(s.tables for s in staged)
    return CorpusStatistics(count_distinct(engine, staged, progress), columns)


def group_units(staged: list[Staged], memory: int, parallelism: int, segments: int | None = None) -> list[list[Staged]]:
    """Put units that follow each other together, each group for one segment; a table is never divided."""
    slots, most = sum(unit.slots for unit in staged), most_cells(memory)
    count = segments or max(-(-slots // most), min(parallelism, slots // LEAST_SEGMENT), 1)
    size, most = -(-slots // count), MOST_NUMBERED if segments else most
    groups: list[list[Staged]] = [[]]
    filled = own = 0
    for units in _undivided(staged):
        more = sum(unit.slots for unit in units)
        if groups[-1] and (filled + more // 2 > size * len(groups) or own + more > most):
            groups.append([])
            own = 0
        groups[-1] += units
        filled, own = filled + more, own + more
    return groups


def _undivided(staged: list[Staged]) -> list[list[Staged]]:
    """Put units together that hold parts of one table."""
    found: list[list[Staged]] = []
    for unit in staged:
        if unit.continues:
            found[-1].append(unit)
        else:
            found.append([unit])
    return found


def plan_segments(groups: list[list[Staged]], table_ids: Iterable[Array]) -> list[SegmentPlan]:
    """Plan a segment for each group; `table_ids` has the numbers of the tables, unit after unit."""
    ids = iter(table_ids)
    return [SegmentPlan(number, tuple(units), tuple(next(ids) for _ in units)) for number, units in enumerate(groups)]


def _numbers(staged: list[Staged]) -> Iterator[Array]:
    """Number the tables of all units; a table that began in the unit before comes first."""
    first = 0
    for unit in staged:
        yield np.arange(first - unit.continues, first + unit.tables)
        first += unit.tables


def _write(
    engine: Engine, plans: list[SegmentPlan], target: Target, manifest: Manifest, progress: Progress
) -> tuple[list[Written], list[Any]]:
    """Write every segment, each as a task of its own."""
    write, finish = segment_task(str(target.directory), manifest.hashes), target.task(manifest)

    def run(plan: SegmentPlan) -> tuple[tuple[Written, Any], dict[str, int]]:
        written, counted = write(plan)
        return (written, finish(written)), counted

    done = engine.run(plans, run, progress, WRITE)
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
