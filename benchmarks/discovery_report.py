"""What the discovery benchmark measured, as tables: by group, by query, and as the lake grows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from benchmarks.growth import exponent
from mate.cli.terminal import table

BASE = "column-first"
"""What the others are compared with."""
INEXACT = ("mcr-josie",)
"""May miss tables by design: not compared, its recall is shown instead."""

USEFUL = "column-first, useful"
"""Column-first with the order by usefulness."""
NOT_COMPARED = (*INEXACT, USEFUL)
"""Answer another question: their scores are not compared, and they are not counted as the fastest."""
READ = "read results"
"""Phase after the search: results are put in order when they are read."""
LEAST_SPEED = 0.8
"""Share of the speed of any other system that column-first is to have, on queries that take it longer than this:"""
WORTH_COMPARING = 0.005


class Group(NamedTuple):
    """Queries with fewer than so many distinct key tuples, and keys of so many columns."""

    size: str
    key_columns: int

    def __str__(self) -> str:
        return f"under {self.size}, {self.key_columns} column{'s' if self.key_columns > 1 else ''}"


@dataclass(frozen=True)
class Measurement:
    """One system's answer to one query."""

    group: Group
    query: str
    cardinality: int
    system: str
    seconds: float | None
    """None if it did not finish in time."""
    scores: list[int]
    phases: dict[str, float]
    counts: dict[str, int] = field(default_factory=dict)


HEADER = (
    *("group", "queries", "system", "median ms", "95 % ms", "most ms"),
    *("times column-first: median", "95 %", "most", "least", "unfinished", "recall"),
)
GROWTH_HEADER = ("group", "system", "lakes", "exponent of the median", "of the 95th percentile")


def summary(found: Sequence[Measurement], names: Sequence[str]) -> list[list[Any]]:
    """Return a row for every group and system, and for all queries together."""
    rows = []
    for label, of_group in _groups(found):
        base = {(r.group, r.query): r for r in of_group if r.system == (BASE if BASE in names else names[0])}
        for name in names:
            mine = [r for r in of_group if r.system == name]
            done = [r for r in mine if r.seconds is not None]
            if done:
                missed = recall(done, {key: r.scores for key, r in base.items()}) if name in INEXACT else ""
                figures = [*_times(done), *_ratios(done, base)]
                rows.append([label, len(mine), name, *figures, len(mine) - len(done), missed])
    return rows


def _groups(found: Sequence[Measurement]) -> Iterator[tuple[str, list[Measurement]]]:
    """Yield the queries by group, then all of them."""
    for group in dict.fromkeys(r.group for r in found):
        yield str(group), [r for r in found if r.group == group]
    yield "all", list(found)


def _times(done: Sequence[Measurement]) -> list[str]:
    times = np.array([r.seconds for r in done]) * 1e3
    return [f"{figure:,.2f}" for figure in (np.median(times), np.percentile(times, 95), times.max())]


def _ratios(done: Sequence[Measurement], base: dict[tuple[Group, str], Measurement]) -> list[str]:
    pairs = [(r.seconds, base[r.group, r.query].seconds) for r in done if (r.group, r.query) in base]
    ratios = np.array([own / other for own, other in pairs if own and other])
    if not len(ratios):
        return [""] * 4
    return [f"{f:,.2f}" for f in (np.median(ratios), np.percentile(ratios, 95), ratios.max(), ratios.min())]


def recall(found: Sequence[Measurement], exact: dict[tuple[Group, str], list[int]]) -> str:
    """Return the share of the exact answers that were found; those as good as its last are as good an answer."""
    wanted = reached = 0
    for result in found:
        best = exact.get((result.group, result.query), [])
        wanted += len(best)
        reached += min(len(best), sum(own >= best[-1] for own in result.scores)) if best else 0
    return f"{reached / wanted:.3f}" if wanted else ""


class Fastest(NamedTuple):
    """The fastest system of a query, and how many times as long column-first took."""

    best: Measurement
    base: Measurement | None

    @property
    def behind(self) -> float:
        """1 where column-first is the fastest."""
        return (self.base.seconds or 0) / (self.best.seconds or 1) if self.base else 1.0


def fastest(found: Sequence[Measurement]) -> list[Fastest]:
    """Return which system was the fastest, query by query; those that may miss tables do not count."""
    by_query: dict[tuple[Group, str], list[Measurement]] = {}
    for result in found:
        if result.seconds is not None and result.system not in NOT_COMPARED:
            by_query.setdefault((result.group, result.query), []).append(result)
    return [
        Fastest(min(results, key=lambda r: r.seconds or 0), next((r for r in results if r.system == BASE), None))
        for results in by_query.values()
    ]


def recorded(found: Sequence[Measurement]) -> dict[str, list[dict[str, Any]]]:
    """Return all measurements, and which system was the fastest for each query, as plain data."""
    measurements = [{**asdict(r), "group": str(r.group), "key_columns": r.group.key_columns} for r in found]
    best = [
        {"group": str(e.best.group), "query": e.best.query, "system": e.best.system, "column_first_behind": e.behind}
        for e in fastest(found)
    ]
    return {"measurements": measurements, "fastest": best}


def winners(found: Sequence[Measurement]) -> Iterator[Any]:
    """Yield how often each system was the fastest, and the queries where column-first was not."""
    best = fastest(found)
    counts = Counter(entry.best.system for entry in best).most_common()
    yield f"fastest, of {len(best)} queries: " + ", ".join(f"{name} {count}" for name, count in counts)
    if any(entry.base for entry in best):
        yield verdict(best)
    behind = sorted((entry for entry in best if entry.behind > 1), key=lambda entry: -entry.behind)
    if behind:
        header = ("column-first is behind", "query", "key tuples", "fastest", "ms", "column-first ms", "times")
        yield table(header, [_behind(entry) for entry in behind])


def verdict(best: Sequence[Fastest]) -> str:
    """Say how slow column-first is at worst beside the fastest system, on queries that are worth comparing."""
    slow = [entry for entry in best if entry.base and (entry.base.seconds or 0) > WORTH_COMPARING]
    limit = f"{WORTH_COMPARING * 1e3:g} ms"
    if not slow:
        return f"no query takes column-first longer than {limit}"
    worst = max(slow, key=lambda entry: entry.behind)
    speed = 1 / worst.behind
    told = f"{len(slow)} queries over {limit}: column-first has {speed:.2f} of the speed of the fastest system at worst"
    return f"{told} (query {worst.best.query}); at least {LEAST_SPEED:g}: {'yes' if speed >= LEAST_SPEED else 'NO'}"


def results_read(found: Sequence[Measurement]) -> Iterator[str]:
    """Yield what reading the results of column-first in order takes beside the search."""
    times = [r.phases[READ] * 1e3 for r in found if r.system == BASE and READ in r.phases]
    if times:
        yield (
            f"reading the results in order, not part of the times above: {np.median(times):,.2f} ms at the median, "
            f"{np.percentile(times, 95):,.2f} ms at 95 %"
        )


def order(found: Sequence[Measurement]) -> Iterator[str]:
    """Yield what the order by usefulness costs, search and reading the results, beside that by joinability."""
    base = {(r.group, r.query): _with_reading(r) for r in found if r.system == BASE}
    useful = [r for r in found if r.system == USEFUL and base.get((r.group, r.query))]
    if useful:
        ratios = [_with_reading(r) / base[r.group, r.query] for r in useful]
        rounds, tables = ([r.counts[name] for r in useful] for name in ("rounds", "tables_measured"))
        yield (
            f"the order by usefulness takes {np.median(ratios):.2f} times as long at the median, "
            f"{np.percentile(ratios, 95):.2f} times at 95 %; rounds: {np.mean(rounds):.2f}, at most {max(rounds)}; "
            f"tables measured: {np.median(tables):,.0f} at the median, at most {max(tables):,}"
        )


def _with_reading(result: Measurement) -> float:
    return (result.seconds or 0) + result.phases.get(READ, 0)


def _behind(entry: Fastest) -> tuple[Any, ...]:
    best, base = entry.best, entry.base
    assert base is not None
    times = (f"{(r.seconds or 0) * 1e3:,.2f}" for r in (best, base))
    return str(best.group), best.query, best.cardinality, best.system, *times, f"{entry.behind:.2f}"


def exponents(results: Sequence[tuple[int, Sequence[Measurement]]], names: Sequence[str]) -> list[list[Any]]:
    """Return by which power of the number of cells times grow, by group and system: none for one size of lake."""
    if len({cells for cells, _ in results}) < 2:
        return []
    by_group: dict[str, list[tuple[int, list[Measurement]]]] = {}
    for cells, found in results:
        for label, of_group in _groups(found):
            by_group.setdefault(label, []).append((cells, of_group))
    rows = []
    for label, lakes in by_group.items():
        for name in names:
            times = [(cells, _seconds(found, name)) for cells, found in lakes]
            known = [(cells, values) for cells, values in times if len(values)]
            grown = [exponent([(cells, float(np.percentile(v, p))) for cells, v in known]) for p in (50, 95)]
            if grown[0] is not None:
                rows.append([label, name, len(known), *(f"{e:.2f}" for e in grown)])
    return rows


def _seconds(found: Sequence[Measurement], name: str) -> list[float]:
    return [r.seconds for r in found if r.system == name and r.seconds is not None]
