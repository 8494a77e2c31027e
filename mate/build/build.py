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

from mate import __version__
from mate.corpus import Limits
from mate.errors import CorpusError, MateError
from mate.hashing import CorpusStatistics, find, fit, get
from mate.build.cut import PHASE as LOOK
from mate.build.cut import cut_sources, large_files
from mate.build.engine import Dictionary, Engine, failure, start_engine
from mate.build.josie import SCHEMAS as JOSIE_SCHEMAS
from mate.build.josie import member_unit
from mate.build.keys import KeySettings, Offsets
from mate.build.progress import Progress, Silent
from mate.build.sources import SYNTHETIC, Source, Unit, find_sources, plan
from mate.build.stage import Staged, StageSettings
from mate.build.steps import key_units, placed, stage_units
from mate.store.base import LAYOUTS, HashSpec, Manifest
from mate.values.text import NULL_SPELLINGS, UNICODE_VERSION

_JOSIE = "josie index"

_SEEDS = 3
"""Token numbers are tried with so many seeds; that even one is needed is already very unlikely."""


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
    layout: str = "per_cell"
    format: str | None = None
    nulls: frozenset[str] = NULL_SPELLINGS
    limits: Limits = field(default_factory=Limits)
    strict: bool = False
    josie: bool = False
    """Whether the index gets what JOSIE needs, too."""
    master: str = "local[*]"
    spark: Mapping[str, str] = field(default_factory=dict)
    verbose: bool = False

    def check(self) -> None:
        """Raise an error for settings that make no sense, before any work is done."""
        if self.layout not in LAYOUTS:
            raise MateError(f'unknown layout "{self.layout}"; known: {", ".join(LAYOUTS)}')
        for request in self.hashes:
            request.check()


class Target(Protocol):
    """Where an index is built and published: what a store offers to the pipeline."""

    directory: Path
    """A folder of its own for the files of the build; on a cluster, one that all workers share."""

    def task(self, schemas: Mapping[str, Any]) -> Callable[[Iterable[tuple[str, Any]], Mapping[str, Any], int], Any]:
        """Return the function that runs in a Spark task and stores what it yields, of tables with these schemas."""

    def load(self, stored: list[Any], dictionary: str, staged: list[Staged], manifest: Manifest) -> None:
        """Finish the index from what the tasks stored."""

    def load_josie(self, stored: list[Any]) -> None:
        """Add the JOSIE index, from what the tasks stored of columns and their tokens (`mate.build.josie`)."""

    def publish(self) -> None:
        """Make the new index visible, all at once."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a build did."""

    manifest: Manifest
    files: int
    rejected_tables: int
    seconds: dict[str, float]


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
    clock = clock or _Clock()
    told = progress or Silent()
    with _explained(clock), ExitStack() as stack:
        with clock("start Spark"):
            engine = stack.enter_context(start_engine(settings.master, settings.spark, verbose=settings.verbose))
        if large_files(sources, engine.parallelism):
            with clock(LOOK):
                sources = cut_sources(sources, engine, settings.limits, told)
        units = plan(sources, engine.parallelism)
        staged, dictionary, merged, seed = _staged(engine, units, target, settings, told, clock)
        columns = sum(s.columns for s in staged) / sum(s.tables for s in staged)
        statistics = CorpusStatistics(merged.distinct, columns)
        specs = tuple(request.chosen(statistics) for request in settings.hashes)
        with clock("hash and post"):
            keys = KeySettings(specs, settings.layout)
            stored = key_units(engine, placed(staged), keys, target.task(keys.schemas()), told)
        members = []
        if settings.josie:
            with clock(_JOSIE):
                members = _members(engine, staged, target, told)
        manifest = _manifest(label, staged, statistics, specs, settings, seed, engine.name)
    told.start("sort and load", 1)
    with _explained(clock), clock("sort and load"):
        target.load(stored, dictionary, staged, manifest)
    if settings.josie:
        with _explained(clock), clock(_JOSIE):
            target.load_josie(members)
    with _explained(clock), clock("publish"):
        target.publish()
    told.update(1)
    return Summary(manifest, sum(s.files for s in staged), sum(s.rejected_tables for s in staged), clock.seconds)


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
    except OSError as error:
        raise failure(f"OSError: {error}", clock.phase) from error


def _staged(
    engine: Engine, units: list[Unit], target: Target, settings: BuildSettings, told: Progress, clock: _Clock
) -> tuple[list[Staged], str, Dictionary, int]:
    """Read everything; begin again with another seed in the unlikely case that two tokens share a number."""
    for seed in range(_SEEDS):
        stage = StageSettings(settings.nulls, settings.limits, seed)
        with clock("read and tokenise"):
            directory = target.directory / f"stage-{seed}"
            directory.mkdir()
            staged = stage_units(engine, units, str(directory), stage, told)
        _check(staged, settings)
        with clock("dictionary"):
            dictionary = str(target.directory / f"dictionary-{seed}")
            merged = engine.merge([s.path("dictionary") for s in staged if s.cells], dictionary)
        if merged.unique:
            return staged, dictionary, merged, seed
    raise MateError(f"token numbers collide under {_SEEDS} seeds: please report this")


def _members(engine: Engine, staged: list[Staged], target: Target, told: Progress) -> list[Any]:
    """Collect which token is in which column."""
    store = target.task(JOSIE_SCHEMAS)

    def run(item: tuple[Staged, Offsets]) -> tuple[Any, dict[str, int]]:
        unit, offsets = item
        return store(member_unit(unit, offsets), JOSIE_SCHEMAS, unit.unit), {"cells": unit.cells}

    return engine.run(placed(staged), run, told, _JOSIE)


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
    import pyarrow.parquet as pq

    for unit in staged:
        for reject in pq.read_table(unit.path("rejects")).slice(0, 1).to_pylist():
            line = f", line {reject['line']}" if reject["line"] else ""
            return f"{reject['source']}{line}: {reject['reason']}"
    return "every file is empty"


def _manifest(
    label: str,
    staged: list[Staged],
    statistics: CorpusStatistics,
    specs: tuple[HashSpec, ...],
    settings: BuildSettings,
    seed: int,
    spark_version: str,
) -> Manifest:
    return Manifest(
        hashes=specs,
        layout=settings.layout,
        nulls=tuple(sorted(settings.nulls)),
        tables=sum(s.tables for s in staged),
        columns=sum(s.columns for s in staged),
        rows=sum(s.rows for s in staged),
        cells=sum(s.cells for s in staged),
        distinct_tokens=statistics.distinct_tokens,
        rejects=sum(s.rejects for s in staged),
        cell_characters=settings.limits.cell_characters,
        token_seed=seed,
        label=label,
        built=datetime.now(UTC).isoformat(timespec="seconds"),
        versions={**_versions(), "spark": spark_version},
        josie=settings.josie,
        limits=asdict(settings.limits),
        build=uuid.uuid4().hex,
    )


def _versions() -> dict[str, str]:
    found = {"mate": __version__, "python": platform.python_version(), "unicode": UNICODE_VERSION}
    for name in ("numpy", "pyarrow", "duckdb"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def known_hash(text: str, bits: int) -> HashRequest:
    """Parse ``NAME[:BITS[:PARAMETER=NUMBER,...]]``, as the command line takes it."""
    name, _, rest = text.partition(":")
    size, _, options = rest.partition(":")
    find(name)
    try:
        parameters = {k: int(v) for k, _, v in (o.partition("=") for o in options.split(",") if o)}
        return HashRequest(name, int(size) if size else bits, parameters)
    except ValueError:
        raise MateError(f"a hash is written NAME[:BITS[:PARAMETER=NUMBER,...]], not {text!r}") from None


def with_hashes(settings: BuildSettings, texts: list[str], bits: int) -> BuildSettings:
    """Return the settings with the hash functions written in `texts`."""
    return replace(settings, hashes=tuple(known_hash(text, bits) for text in texts)) if texts else settings
