"""Large files, cut into parts before units are planned, so that one file is the work of many tasks.

The file is hashed once and looked at once, then its parts are read. Its size and times are noted before; a part that
is read from a file that no longer has them raises `ChangedError`, and the file is read again in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mate.build.engine import Engine
from mate.build.progress import Progress
from mate.build.sources import FileSource, Item, Provenance, Source, Unit, file_size, unit_size
from mate.corpus import Limits
from mate.corpus.parts import Again, Cutting, Part, Parts, Span, changed, cut_file, look_at, read_part
from mate.errors import CorpusError

PHASE = "look at large files"
LEAST_PART = 8 << 20
"""Bytes below which a part is not worth a task."""
MOST_ROUNDS = 12
"""How often spans of a file may turn out to be cut in the wrong place until it is read whole."""

Stamp = tuple[int, ...]


def file_stamp(path: str) -> Stamp | None:
    """Return the size, the times of change and the inode of a file: they differ once it was written to."""
    try:
        stat = Path(path).stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


class ChangedError(CorpusError):
    """A file that is read in parts is no longer what it was when it was looked at."""

    def __init__(self, source: str) -> None:
        super().__init__(changed(source))
        self.source = source


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a large file."""

    whole: FileSource
    part: Part
    size: int
    stamp: Stamp | None
    """That of the file when it was looked at."""
    shares_table: bool
    """Whether the whole file is one table."""
    provenance: Provenance | None
    """Of the whole file: with its last part."""

    @property
    def name(self) -> str:
        """The path of the file."""
        return self.whole.name

    def read(self, limits: Limits) -> Iterator[Item]:
        """Yield what the whole file would give here; raise `ChangedError` if it is no longer that file."""
        try:
            yield from read_part(self.whole.file, self.part, limits)
        except CorpusError as error:
            raise ChangedError(self.name) from error
        if file_stamp(self.name) != self.stamp:
            raise ChangedError(self.name)
        if self.provenance:
            yield self.provenance


def part_size(sources: list[Source], parallelism: int) -> int:
    """Return how large parts should be."""
    return max(unit_size(sources, parallelism), LEAST_PART)


def large_files(sources: list[Source], parallelism: int) -> list[FileSource]:
    """Return the files that are worth cutting; none where only one task runs at a time."""
    least = 2 * part_size(sources, parallelism)
    files = [source for source in sources if isinstance(source, FileSource) and source.size >= least]
    return files if parallelism > 1 else []


def cut_sources(sources: list[Source], engine: Engine, limits: Limits, progress: Progress) -> list[Source]:
    """Return the sources with their large files cut into parts, as far as they can be cut."""
    large = large_files(sources, engine.parallelism)
    stamps = [file_stamp(source.name) for source in large]
    cuttings = engine.run(large, _cut_task(limits, part_size(sources, engine.parallelism)), progress, PHASE)
    files = [
        _LargeFile(source, cutting, stamp)
        for source, stamp, cutting in zip(large, stamps, cuttings, strict=True)
        if cutting
    ]
    _look(files, engine, progress)
    parts = {id(file.source): file.parts() for file in files}
    return [part for source in sources for part in parts.get(id(source), [source])]


class _Question(NamedTuple):
    """What a task finds out: what a span holds; without a span, the checksum of the whole file."""

    source: FileSource
    cutting: Cutting
    span: Span | None = None


@dataclass
class _LargeFile:
    """A file on its way to parts."""

    source: FileSource
    cutting: Cutting
    stamp: Stamp | None
    sha256: str = ""
    looks: list[Any] = field(default_factory=list)
    settled: Parts | None = None
    rounds: int = 0

    def settle(self) -> Again | None:
        """Settle the parts, or return what must be looked at again; nothing if it changed while it was looked at."""
        if None in self.looks:
            return None
        found = self.cutting.settle(self.looks)
        if isinstance(found, Parts):
            self.settled = found
            return None
        self.rounds += 1
        return found if self.rounds <= MOST_ROUNDS else None

    def parts(self) -> list[Source]:
        """Return the parts, or the file itself if it cannot be cut."""
        if not self.settled or len(self.settled.parts) < 2:
            return [self.source]
        parts, shares_table = self.settled.parts, self.settled.rows is not None
        size = self.source.size // len(parts)
        whole = Provenance(self.source.format, self.source.size, self.sha256, self.settled.tables)
        provenances = [*[None] * (len(parts) - 1), whole]
        return [
            FilePart(self.source, part, size, self.stamp, shares_table, provenance)
            for part, provenance in zip(parts, provenances, strict=True)
        ]


def _look(files: Sequence[_LargeFile], engine: Engine, progress: Progress) -> None:
    """Look at every span, and then again at those that turn out to be cut in the wrong place."""
    if not files:
        return
    checksums = [_Question(file.source, file.cutting) for file in files]
    spans = [_Question(file.source, file.cutting, span) for file in files for span in file.cutting.spans]
    answers = iter(engine.run([*checksums, *spans], _look_task, progress, PHASE))
    for file in files:
        file.sha256 = next(answers)
    for file in files:
        file.looks = [next(answers) for _ in file.cutting.spans]
    while again := [(file, found) for file in files if not file.settled and (found := file.settle())]:
        questions = [_Question(file.source, file.cutting, found.span) for file, found in again]
        for (file, found), look in zip(again, engine.run(questions, _look_task, progress, PHASE), strict=True):
            file.looks[found.first : found.stop] = [look]


def _cut_task(limits: Limits, size: int) -> Callable[[FileSource], tuple[Cutting | None, dict[str, int]]]:
    def run(source: FileSource) -> tuple[Cutting | None, dict[str, int]]:
        return cut_file(source.file, limits, size), {}

    return run


def _look_task(question: _Question) -> tuple[Any, dict[str, int]]:
    if question.span is None:
        return question.source.checksum(), {}
    try:
        return look_at(question.source.file, question.cutting, question.span), {}
    except CorpusError:
        return None, {}


def units_to_repeat(units: Iterable[Unit], names: Set[str]) -> list[Unit]:
    """Return the units that hold parts of these files, with each file in one piece where its first part was."""
    repeated: list[Unit] = []
    seen: set[str] = set()
    for unit in units:
        if not any(isinstance(source, FilePart) and source.name in names for source in unit.sources):
            continue
        sources: list[Source] = []
        for source in unit.sources:
            if not isinstance(source, FilePart) or source.name not in names:
                sources.append(source)
            elif source.name not in seen:
                seen.add(source.name)
                sources.append(FileSource(source.whole.file, file_size(source.name)))
        repeated.append(Unit(unit.number, tuple(sources)))
    return repeated
