"""Large files, cut into parts before the units are planned, so that one of them is the work of many tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mate.build.engine import Engine
from mate.build.progress import Progress
from mate.build.sources import FilePart, FileSource, Source, Stamp, unit_size
from mate.corpus import Limits
from mate.corpus.parts import Again, Cutting, Parts, Span, cut_file, look_at
from mate.errors import CorpusError

PHASE = "look at large files"
LEAST_PART = 8 << 20
"""Bytes below which a part is not worth a task."""
MOST_ROUNDS = 12
"""Looks that may turn out to fit no others, of one file; one that is so hard to cut is read whole."""


def part_size(sources: list[Source], parallelism: int) -> int:
    """Return how large parts should be."""
    return max(unit_size(sources, parallelism), LEAST_PART)


def large_files(sources: list[Source], parallelism: int) -> list[FileSource]:
    """Return the files that are worth cutting, which is none where only one task runs at a time."""
    least = 2 * part_size(sources, parallelism)
    files = [source for source in sources if isinstance(source, FileSource) and source.size >= least]
    return files if parallelism > 1 else []


def cut_sources(sources: list[Source], engine: Engine, limits: Limits, progress: Progress) -> list[Source]:
    """Return the sources with their large files cut into parts, as far as they can be cut."""
    large = large_files(sources, engine.parallelism)
    stamps = [source.stamp() for source in large]
    cuttings = engine.run(large, _cut_task(limits, part_size(sources, engine.parallelism)), progress, PHASE)
    found = zip(large, stamps, cuttings, strict=True)
    files = [_File(source, cutting, stamp=stamp) for source, stamp, cutting in found if cutting]
    _look(files, [_Ask(file.source, None, None) for file in files], engine, progress)
    parts = {id(file.source): file.sources() for file in files}
    return [part for source in sources for part in parts.get(id(source), [source])]


class _Ask(NamedTuple):
    """One thing that a task finds out: what a span holds, or the checksum of the whole file."""

    source: FileSource
    cutting: Cutting | None
    span: Span | None


@dataclass
class _File:
    """A file on its way to parts."""

    source: FileSource
    cutting: Cutting
    looks: list[Any] = field(default_factory=list)
    sha256: str = ""
    stamp: Stamp | None = None
    settled: Parts | None = None
    rounds: int = 0

    def ask(self, span: Span) -> _Ask:
        return _Ask(self.source, self.cutting, span)

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

    def sources(self) -> list[Source]:
        """Return the parts, or the file itself if there are none."""
        parts = self.settled.parts if self.settled else ()
        if len(parts) < 2 or not self.settled:
            return [self.source]
        size, tables, rows = self.source.size // len(parts), self.settled.tables, self.settled.rows
        return [
            FilePart(self.source, part, size, number == len(parts), self.sha256, tables, rows, self.stamp)
            for number, part in enumerate(parts, start=1)
        ]


def _look(files: Sequence[_File], checksums: list[_Ask], engine: Engine, progress: Progress) -> None:
    """Look at every span, and then again at those that turn out to be cut in the wrong place."""
    asks = [*checksums, *(file.ask(span) for file in files for span in file.cutting.spans)]
    answers = iter(engine.run(asks, _look_task, progress, PHASE)) if asks else iter(())
    for file in files:
        file.sha256 = next(answers)
    for file in files:
        file.looks = [next(answers) for _ in file.cutting.spans]
    while again := [(file, found) for file in files if not file.settled and (found := file.settle())]:
        looks = engine.run([file.ask(found.span) for file, found in again], _look_task, progress, PHASE)
        for (file, found), look in zip(again, looks, strict=True):
            file.looks[found.first : found.stop] = [look]


def _cut_task(limits: Limits, size: int) -> Callable[[FileSource], tuple[Cutting | None, dict[str, int]]]:
    def run(source: FileSource) -> tuple[Cutting | None, dict[str, int]]:
        return cut_file(source.file, limits, size), {}

    return run


def _look_task(ask: _Ask) -> tuple[Any, dict[str, int]]:
    if ask.cutting is None or ask.span is None:
        return ask.source.checksum(), {}
    try:
        return look_at(ask.source.file, ask.cutting, ask.span), {}
    except CorpusError:
        return None, {}
