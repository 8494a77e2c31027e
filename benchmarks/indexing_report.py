"""What builds of the indexing benchmark cost: tables, and straight lines through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks import memory
from benchmarks.growth import exponent, line
from benchmarks.indexing_build import Build

PAPER = {"cells": 8_300_000_000, "hours": 35, "cores": 128}
"""Section 7.1, "Index generation": the web tables, on a server with 128 cores."""

ROLES = {"driver": "driver Python", "jvm": "JVM", "executors": "executor JVMs", "workers": "Python workers"}


@dataclass(frozen=True)
class Fit:
    """Seconds as a straight line over cells."""

    series: str
    points: int
    fixed_seconds: float
    cells_per_second_per_core: float | None
    """At the margin: cells more, by seconds more, by cores. None where noise made the larger lake the faster."""
    cells_per_processor_second: float | None
    """The same by processor time: what a core would do that nothing else keeps busy, and that never waits."""
    seconds_exponent: float | None
    """Seconds grow as this power of the cells."""
    seconds_exponent_without_start: float | None
    """So do seconds without those of starting Spark."""
    memory_exponent: float | None
    """So does the peak of memory."""

    @property
    def times_paper(self) -> float | None:
        """The rate as a multiple of the paper's."""
        return self.cells_per_second_per_core and self.cells_per_second_per_core / paper_rate()


def paper_rate() -> float:
    """Return the paper's cells per second per core."""
    return PAPER["cells"] / (PAPER["hours"] * 3600) / PAPER["cores"]


def fit(builds: Sequence[Build]) -> list[Fit]:
    """Fit a line to all builds of a kind, and to each two sizes that follow each other."""
    fits = []
    for label in dict.fromkeys(b.label for b in builds):
        chosen = sorted((b for b in builds if b.label == label), key=lambda b: b.cells)
        kind = label or "given corpora, which differ in more than size"
        for group in [chosen, *(pairwise(chosen) if len(chosen) > 2 else ())]:
            names = "all" if group is chosen else " to ".join(f"{b.cells / 1e6:.1f} M" for b in group)
            if len({b.cells for b in group}) > 1:
                fits.append(_fit(f"{kind}: {names}", group))
    return fits


def _fit(series: str, builds: Sequence[Build]) -> Fit:
    fixed, slope = line([(b.cells, b.total) for b in builds])
    worked = [(b.cells, b.processor_total) for b in builds if b.processor_total]
    _, work = line(worked) if len(worked) == len(builds) else (0, 0)
    cores = builds[0].cores
    return Fit(
        series,
        len(builds),
        fixed,
        1 / slope / cores if slope > 0 else None,
        1 / work if work > 0 else None,
        exponent([(b.cells, b.total) for b in builds]),
        exponent([(b.cells, b.without_start) for b in builds]),
        exponent([(b.cells, b.peak_bytes.get("together", 0)) for b in builds]),
    )


def print_builds(builds: Sequence[Build], screen: Any) -> None:
    """Print one table with a column for each build."""
    from mate.cli.terminal import table

    screen.print(f"[bold]{_title(builds)}[/bold]")
    header = ("", *(b.corpus for b in builds))
    screen.print(table(header, list(_facts(builds))))
    if not memory.available():
        screen.print("Memory and processor time are measured on Linux only: this system has no /proc.")
    if any(b.label for b in builds):
        screen.print("synthetic: tables are made where files would be read; they are no real corpus.")


def _title(builds: Sequence[Build]) -> str:
    hashes = ", ".join(dict.fromkeys(name for b in builds for name in b.hashes))
    kinds = " and ".join(dict.fromkeys(b.label or "given corpora" for b in builds))
    return f"Index builds of {kinds} on {builds[0].cores} cores, {hashes}"


def _facts(builds: Sequence[Build]) -> Iterator[list[str]]:
    """Yield the lines of the table: what it is, then its value for each build."""

    def row(name: str, values: Sequence[float | None], places: int = 0) -> list[str]:
        return [name, *(_number(v, places) for v in values)]

    yield row("tables", [b.tables for b in builds])
    yield row("cells indexed", [b.cells for b in builds])
    yield row("distinct tokens", [b.distinct_tokens for b in builds])
    yield row("segments", [b.segments for b in builds])
    for phase in dict.fromkeys(phase for b in builds for phase in b.seconds):
        yield row(f"s, {phase}", [b.seconds.get(phase) for b in builds], 1)
    yield row("s, end to end", [b.total for b in builds], 1)
    if any(b.without_start < b.total for b in builds):
        yield row("s, without starting Spark", [b.without_start for b in builds], 1)
    yield row("load average before", [b.load[0] for b in builds], 1)
    yield row("load average after", [b.load[1] for b in builds], 1)
    yield row("cells/s", [b.rate for b in builds])
    yield row("cells/s/core", [b.rate / b.cores for b in builds])
    yield row(f"times the paper's {paper_rate():.0f}", [b.rate / b.cores / paper_rate() for b in builds], 1)
    for role, name in ROLES.items():
        if any(role in b.processor_seconds for b in builds):
            yield row(f"processor s, {name}", [b.processor_seconds.get(role) for b in builds], 1)
    yield row("processor s, all", [b.processor_total for b in builds], 1)
    yield row("cells/processor s", [b.processor_total and b.cells / b.processor_total for b in builds])
    for role, name in {**ROLES, "largest": "largest Python process", "together": "all at one time"}.items():
        if role != "executors" or any(role in b.peak_bytes for b in builds):
            yield row(f"peak MB, {name}", [b.peak_bytes.get(role, 0) / 1e6 or None for b in builds])
    yield row("bytes/cell, index", [sum(b.index_bytes.values()) / b.cells for b in builds], 2)
    for part in _parts(builds):
        yield row(f"bytes/cell, {part}", [b.index_bytes.get(part, 0) / b.cells for b in builds], 2)


def _number(value: float | None, places: int = 0) -> str:
    """Return a number for people; nothing for what was not measured."""
    return "" if value is None else f"{value:,.{places}f}"


def _parts(builds: Sequence[Build]) -> list[str]:
    """Return the parts of the index that take space, the largest first."""
    most: dict[str, float] = {}
    for b in builds:
        for part, size in b.index_bytes.items():
            most[part] = max(most.get(part, 0), size / b.cells)
    return sorted((part for part, size in most.items() if size >= 0.005), key=lambda p: -most[p])


def print_fits(fits: Sequence[Fit], screen: Any) -> None:
    """Print what starting costs and what the margin yields, beside the paper's figure."""
    from mate.cli.terminal import table

    header = ("seconds as a line over cells", "sizes", "fixed s", "cells/s/core at the margin", "times the paper's",
              "cells/processor s at the margin", "exponent of seconds", "without starting Spark",
              "of memory")  # fmt: skip
    if fits:
        rows = [
            (
                f.series,
                f.points,
                _number(f.fixed_seconds, 1),
                _number(f.cells_per_second_per_core),
                _number(f.times_paper, 1),
                _number(f.cells_per_processor_second),
                _number(f.seconds_exponent, 2),
                _number(f.seconds_exponent_without_start, 2),
                _number(f.memory_exponent, 2),
            )
            for f in fits
        ]
        screen.print(table(header, rows))
    per_second = PAPER["cells"] / PAPER["hours"] / 3600
    screen.print(
        f"paper: {PAPER['hours']} h for {PAPER['cells'] / 1e9:.1f} G cells on {PAPER['cores']} cores, end to end:"
        f" {per_second:,.0f} cells/s, {paper_rate():.0f} cells/s/core if it kept all of them busy"
        " (other data, other machine)"
    )
