"""What builds, searches and batches cost by size, fitted to measurements of several sizes.

A build is a start, work per cell that cores share, and what the driver does for each segment. Distinct tokens and
searches grow as powers of the number of cells. Lines are fitted by relative error: the smallest lake tells what
starting costs, the largest what a cell costs, and neither is drowned by the other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from benchmarks.growth import line
from mate.build.build import MEMORY
from mate.build.dictionary import PHASE as COUNT
from mate.build.segments import BYTES_PER_CELL, LEAST_SEGMENT
from mate.build.segments import PHASE as WRITE
from mate.build.stage import PHASE as READ
from mate.errors import MateError

SYSTEM = "column-first"
PERCENTILES = {"median": 50.0, "95 %": 95.0, "most": 100.0}
PARALLEL = (READ, COUNT, WRITE)
"""Phases that tasks share; what is left is the driver's."""
DICTIONARY = "dictionary"
"""The part of an index that grows with the distinct tokens of segments, not with cells."""
SPARK = "start Spark"
PUBLISH = "publish"
TASKS_PER_CORE = 2
"""Tasks of a batch for each core (`mate.api.batch`)."""

Record: TypeAlias = Mapping[str, Any]
Points: TypeAlias = Sequence[tuple[float, float]]


class Power(NamedTuple):
    """``factor * size ** exponent``."""

    factor: float
    exponent: float

    def __call__(self, size: float) -> float:
        """Return the cost at a size."""
        return float(self.factor * size**self.exponent)


class Line(NamedTuple):
    """``fixed + slope * size``."""

    fixed: float
    slope: float

    def __call__(self, size: float) -> float:
        """Return the cost at a size."""
        return self.fixed + self.slope * size


def fit_power(points: Points) -> Power:
    """Fit a power by least squares in logarithms; one size alone gives a constant."""
    kept = [(log(size), log(cost)) for size, cost in points if size > 0 and cost > 0]
    if not kept:
        return Power(0.0, 0.0)
    if len({size for size, _ in kept}) < 2:
        return Power(exp(sum(cost for _, cost in kept) / len(kept)), 0.0)
    fixed, slope = line(kept)
    return Power(exp(fixed), slope)


def fit_line(points: Points) -> Line:
    """Fit a line by least squares of the relative errors, with neither part below 0."""
    kept = [(size, cost) for size, cost in points if cost > 0]
    if not kept:
        return Line(0.0, 0.0)
    one, size = (np.array(values) for values in zip(*((1 / y, x / y) for x, y in kept), strict=True))
    fixed, slope = np.linalg.lstsq(np.stack([one, size], axis=1), np.ones(len(kept)), rcond=None)[0].tolist()
    if fixed < 0 or slope < 0 or len({x for x, _ in kept}) < 2:
        candidates = [Line(0.0, float(size.sum() / (size**2).sum())), Line(float(one.sum() / (one**2).sum()), 0.0)]
        return min(candidates, key=lambda found: sum((found(x) / y - 1) ** 2 for x, y in kept))
    return Line(fixed, slope)


def segments_of(cells: float, cores: int) -> int:
    """Return how many segments a build of so many cells writes, as `mate.build.segments.plan_segments` plans them."""
    return int(max(-(-cells // (MEMORY // BYTES_PER_CELL)), min(cores, cells // LEAST_SEGMENT), 1))


@dataclass(frozen=True)
class BuildModel:
    """Seconds and bytes of a build."""

    start: Line
    """What the driver does before and after: a fixed part, and one per cell (removing files, counting)."""
    work: dict[str, Line]
    """Seconds of one core by phase."""
    per_segment: float
    """Seconds that the driver takes to publish a segment."""
    tokens: Power
    """Distinct tokens by cells."""
    bytes_per_token: float
    """In the dictionaries of segments."""
    bytes_per_cell: dict[str, float]
    """Of all other parts."""

    def seconds(self, cells: float, cores: int, segments: int | None = None) -> float:
        """Return the seconds of a build on one machine with so many cores."""
        count = segments or segments_of(cells, cores)
        parallel = sum(work(cells) / _busy(phase, cores, count) for phase, work in self.work.items())
        return self.start(cells) + parallel + self.per_segment * count

    def index_bytes(self, cells: float, segments: int) -> float:
        """Return the bytes of an index: each segment has a dictionary of its own."""
        dictionaries = segments * self.tokens(cells / segments) * self.bytes_per_token
        return dictionaries + cells * sum(self.bytes_per_cell.values())


def _busy(phase: str, cores: int, segments: int) -> int:
    """Return how many cores a phase keeps busy: a segment is written by one of them."""
    return min(cores, segments) if phase == WRITE else cores


def cores_of(build: Record) -> int:
    """Return how many tasks ran at a time: one without Spark."""
    return int(build["cores"]) if SPARK in build["seconds"] else 1


def fit_build(builds: Sequence[Record]) -> BuildModel:
    """Fit the model of a build to builds of several sizes."""
    driver, work = [], defaultdict(list)
    for build in builds:
        cells, seconds = build["cells"], build["seconds"]
        for phase in PARALLEL:
            work[phase].append((cells, seconds.get(phase, 0.0) * _busy(phase, cores_of(build), build["segments"])))
        own = sum(spent for phase, spent in seconds.items() if phase not in (*PARALLEL, PUBLISH))
        driver.append((cells, own))
    tokens = fit_power([(build["cells"], build["distinct_tokens"]) for build in builds])
    parts = dict.fromkeys(part for build in builds for part in build["index_bytes"] if part != DICTIONARY)
    return BuildModel(
        start=fit_line(driver),
        work={phase: fit_line(points) for phase, points in work.items()},
        per_segment=_ratio((b["seconds"].get(PUBLISH, 0.0), b["segments"]) for b in builds),
        tokens=tokens,
        bytes_per_token=_ratio(
            (b["index_bytes"].get(DICTIONARY, 0), b["segments"] * tokens(b["cells"] / b["segments"])) for b in builds
        ),
        bytes_per_cell={part: _ratio((b["index_bytes"].get(part, 0), b["cells"]) for b in builds) for part in parts},
    )


def _ratio(pairs: Iterable[tuple[float, float]]) -> float:
    """Return the mean of ratios."""
    return float(np.mean([cost / size if size else 0.0 for cost, size in pairs]))


@dataclass(frozen=True)
class SearchModel:
    """Seconds of a search: preparing the query, which does not depend on the lake, and a power of the cells."""

    prepare: float
    growth: dict[str, Power]
    """By percentile of the queries."""

    def seconds(self, cells: float) -> dict[str, float]:
        """Return the seconds by percentile."""
        return {name: self.prepare + power(cells) for name, power in self.growth.items()}


def fit_search(lakes: Sequence[Record]) -> SearchModel:
    """Fit the model of a search to lakes of several sizes."""
    prepare = [one["phases"].get("prepare", 0.0) for lake in lakes for one in _searches(lake)]
    if not prepare:
        raise MateError(f"the searches have no measurement of {SYSTEM}")
    fixed = float(np.median(prepare))
    measured = [(lake["cells"], percentiles(lake)) for lake in lakes]
    growth = {name: fit_power([(cells, found[name] - fixed) for cells, found in measured]) for name in PERCENTILES}
    return SearchModel(fixed, growth)


def percentiles(lake: Record) -> dict[str, float]:
    """Return the seconds of all searches in a lake, by percentile."""
    seconds = [one["seconds"] for one in _searches(lake)]
    return {name: float(np.percentile(seconds, percent)) for name, percent in PERCENTILES.items()}


def _searches(lake: Record) -> list[Record]:
    return [one for one in lake["measurements"] if one["system"] == SYSTEM and one["seconds"] is not None]


@dataclass(frozen=True)
class BatchModel:
    """Processor seconds of a query in a share of the segments: what it costs anywhere, and a power of its cells."""

    prepare: float
    growth: Power

    def cost(self, cells: float) -> float:
        """Return what a query costs in a share of so many cells."""
        return self.prepare + self.growth(cells)

    def per_second(self, cells: float, cores: int) -> float:
        """Return the queries per second of so many cores, all of them busy."""
        shares = min(TASKS_PER_CORE * cores, segments_of(cells, cores))
        return cores / (shares * self.cost(cells / shares))


def fit_batch(batches: Sequence[Record], search: SearchModel) -> BatchModel:
    """Fit the model of a batch; one size of share alone takes the exponent of searches."""
    points = [point for batch in batches for point in batch_points(batch)]
    above = [(cells, cost - search.prepare) for cells, cost in points if cost > search.prepare]
    if len({cells for cells, _ in above}) > 1:
        return BatchModel(search.prepare, fit_power(above))
    median = search.growth["median"]
    if not above:
        return BatchModel(search.prepare, median)
    [cells], cost = {cells for cells, _ in above}, float(np.mean([cost for _, cost in above]))
    return BatchModel(search.prepare, Power(cost / cells**median.exponent, median.exponent))


def batch_points(batch: Record) -> list[tuple[float, float]]:
    """Return cells of a share and processor seconds per query and share, for each way that a batch was answered."""
    found = []
    for way in batch["ways"]:
        if way["way"] != "one by one":
            shares = min(TASKS_PER_CORE * cores, batch["segments"]) if (cores := spark_cores(way["way"])) else 1
            found.append((batch["lake"]["cells"] / shares, way["processor_seconds"] / way["queries"] / shares))
    return found


def spark_cores(master: str) -> int:
    """Return how many cores an address of Spark names; 0 for none."""
    match = re.fullmatch(r"local(?:\[(\d+)\]|-cluster\[(\d+),\s*(\d+),.*\])", master)
    return 0 if match is None else int(match[1]) if match[1] else int(match[2]) * int(match[3])


class LeftOut(NamedTuple):
    """A figure of the largest size, predicted from the others."""

    figure: str
    cells: int
    sizes: int
    """How many smaller sizes it was predicted from."""
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Predicted by measured, less 1."""
        return self.predicted / self.measured - 1


def leave_out_largest(builds: Sequence[Record], lakes: Sequence[Record]) -> list[LeftOut]:
    """Fit without the largest size, and predict it; nothing where fewer than two sizes are left."""
    return [*_predicted(builds, _build_figures), *_predicted(lakes, _search_figures)]


Figures: TypeAlias = Callable[[Sequence[Record], Record], dict[str, tuple[float, float]]]


def _predicted(records: Sequence[Record], figures: Figures) -> list[LeftOut]:
    sizes = sorted({record["cells"] for record in records})
    if len(sizes) < 3:
        return []
    rest = [record for record in records if record["cells"] < sizes[-1]]
    largest = [record for record in records if record["cells"] == sizes[-1]]
    return [
        LeftOut(name, sizes[-1], len(sizes) - 1, predicted, measured)
        for record in largest
        for name, (predicted, measured) in figures(rest, record).items()
    ]


def _build_figures(rest: Sequence[Record], largest: Record) -> dict[str, tuple[float, float]]:
    model, cells, segments = fit_build(rest), largest["cells"], largest["segments"]
    size = sum(largest["index_bytes"].values())
    return {
        "build, s": (model.seconds(cells, cores_of(largest), segments), sum(largest["seconds"].values())),
        "distinct tokens": (model.tokens(cells), largest["distinct_tokens"]),
        "bytes per cell": (model.index_bytes(cells, segments) / cells, size / cells),
    }


def _search_figures(rest: Sequence[Record], largest: Record) -> dict[str, tuple[float, float]]:
    predicted, measured = fit_search(rest).seconds(largest["cells"]), percentiles(largest)
    return {f"search, ms, {name}": (1e3 * predicted[name], 1e3 * measured[name]) for name in PERCENTILES}
