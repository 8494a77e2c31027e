"""Large files, cut into parts before units are planned, so that one file is the work of many tasks.

The file is hashed once and looked at once, then its parts are read. Its size and times are noted before; a part that
is read from a file that no longer has them raises `FileChangedError`, and the file is read again in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from mate.build.engine import Engine, Progress
from mate.build.sources import FileSource, Item, Provenance, Source, Stamp, unit_size
from mate.corpus import File, Limits
from mate.corpus.formats import cut_file
from mate.corpus.lines import Span
from mate.corpus.parts import Correction, Cutting, Look, Part, Parts, changed
from mate.errors import CorpusError

PHASE = "look at large files"
LEAST_PART = 8 << 20
"""Bytes below which a part is not worth a task."""
MOST_ROUNDS = 12
"""How often spans of a file may turn out to be cut in the wrong place until it is read whole."""


class FileChangedError(CorpusError):
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
    provenance: Provenance | None
    """Of the whole file: with its last part."""

    @property
    def name(self) -> str:
        """The path of the file."""
        return self.whole.name

    def read(self, limits: Limits) -> Iterator[Item]:
        """Yield what the whole file would give here; raise `FileChangedError` if it is no longer that file."""
        try:
            with Path(self.name).open("rb") as stream:
                yield from self.part.read(stream, limits)
        except MemoryError:
            raise
        except Exception as error:  # it could be read before
            raise FileChangedError(self.name) from error
        if self.whole.stamp() != self.stamp:
            raise FileChangedError(self.name)
        if self.provenance:
            yield self.provenance


def cut_sources(sources: list[Source], engine: Engine, limits: Limits, progress: Progress) -> list[Source]:
    """Return the sources with their large files cut into parts; none is cut where only one task runs at a time."""
    size = max(unit_size(sources, engine.parallelism), LEAST_PART)
    large = [source for source in sources if isinstance(source, FileSource) and source.size >= 2 * size]
    if not large or engine.parallelism == 1:
        return sources
    stamps = [source.stamp() for source in large]
    cuttings = engine.run(large, lambda source: (cut_file(source.file, limits, size), {}), progress, PHASE)
    files = [
        _LargeFile(source, cutting, stamp, looks=list(cutting.spans))
        for source, stamp, cutting in zip(large, stamps, cuttings, strict=True)
        if cutting
    ]
    _look(files, engine, progress)
    parts = {id(file.source): file.parts() for file in files}
    return [part for source in sources for part in parts.get(id(source), [source])]


@dataclass
class _LargeFile:
    """A file on its way to parts."""

    source: FileSource
    cutting: Cutting
    stamp: Stamp | None
    looks: list[Any]
    """One per span."""
    sha256: str = ""
    settled: Parts | None = None
    rounds: int = 0

    def settle(self) -> Correction | None:
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
        size = self.source.size // len(self.settled.parts)
        whole = Provenance(self.source.format, self.source.size, self.sha256, self.settled.tables)
        *parts, last = (FilePart(self.source, part, size, self.stamp, None) for part in self.settled.parts)
        return [*parts, replace(last, provenance=whole)]


def _look(files: Sequence[_LargeFile], engine: Engine, progress: Progress) -> None:
    """Hash every file and look at its spans, and then again at those that turn out to be cut in the wrong place."""
    unhashed = list(files)
    pending = [(file, Correction(n, n + 1, span)) for file in files for n, span in enumerate(file.cutting.spans)]
    while pending:
        calls: list[Callable[[], Any]] = [file.source.checksum for file in unhashed]
        calls += (partial(_look_at, file.source.file, file.cutting, wanted.span) for file, wanted in pending)
        answers = iter(engine.run(calls, lambda call: (call(), {}), progress, PHASE))
        for file in unhashed:
            file.sha256 = next(answers)
        for (file, wanted), look in zip(pending, answers, strict=True):
            file.looks[wanted.first : wanted.stop] = [look]
        unhashed = []
        pending = [(file, again) for file in files if not file.settled and (again := file.settle())]


def _look_at(file: File, cutting: Cutting, span: Span) -> Look | None:
    """Look at a span; return nothing if the file has changed."""
    try:
        with Path(file.path).open("rb") as stream:
            return cutting.look(stream, span)
    except MemoryError:
        raise
    except Exception:  # it could be read before
        return None


def with_whole_files(unit: list[Source], names: Set[str]) -> list[Source]:
    """Return a unit with these files in one piece, each where its last part was."""
    sources: list[Source] = []
    for source in unit:
        if not isinstance(source, FilePart) or source.name not in names:
            sources.append(source)
        elif source.provenance:
            sources.append(FileSource.of(source.whole.file))
    return sources
