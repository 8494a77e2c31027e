"""Hash functions end to end: an index with the super keys of all, Algorithm 1 with each of them on the same queries.

In a database every contestant has an index of its own: a posting there carries the super keys of its row, and those of
others would be read along.

Searches have the paper's settings (`experiments.definitions.Method`). SCR, without a row filter, says what there is to
filter. The parameters of a hash function are those that the build chose for the lake; the manifest has them. A
contestant that comes later gets an index of its own over the same tables, so that nothing is built or measured twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.hash_contestants import Contestant
from experiments.definitions import Method, digest
from experiments.lakes import MeasuredLake, of_folder
from experiments.queries import Query, Shape, sample_queries
from experiments.worker import settings_of
from mate.build.build import BuildSettings, HashRequest, build
from mate.build.lake_target import LakeTarget
from mate.errors import MateError
from mate.lake.base import Index
from mate.lake.folder import MANIFEST, LakeFolder
from mate.lake.records import TableInfo
from mate.search.settings import SearchSettings
from mate.search.systems import find_system
from mate.sql.dialects.failures import MissingError
from mate.sql.super_keys import key_form
from mate.stores import open_index, open_target

SHAPES = (Shape(2, 10, whole=True), Shape(10, 100, whole=True), Shape(100, 1_000, whole=True))
"""Query sets by their distinct key tuples, as in the paper."""
UNFILTERED = Method("scr")


@dataclass(frozen=True)
class LakeRun:
    """A lake, its queries, and how often each search runs."""

    index: Index
    queries: Sequence[Query]
    rounds: int

    def measure(self, contestant: Contestant) -> dict[str, Any]:
        """Search with a contestant's super keys, and with none in the same run."""
        manifest = self.index.manifest
        number = manifest.hash_number(contestant.name, contestant.bits)
        settings = settings_of(Method("mate", contestant.name, contestant.bits))
        searches = [self._query(query, settings) for query in self.queries]
        tables = self.index.tables()
        cells = sum(table.rows * len(table.columns) for table in tables)
        return {
            "queries": searches,
            "key_bytes": _key_bytes(self.index, number, tables),
            "index_bytes": sum(self.index.sizes().values()),
            "rows": manifest.counts.rows,
            "columns_per_row": cells / max(1, manifest.counts.rows),
            "hash_parameters": str(manifest.hashes[number]),
        }

    def _query(self, query: Query, settings: SearchSettings) -> dict[str, Any]:
        """Answer a query with and without the filter in turn; the answers must be the same."""
        filtered, plain, unfiltered_settings = find_system("mate"), find_system("scr"), settings_of(UNFILTERED)
        seconds: dict[str, list[float]] = {"filtered": [], "plain": []}
        for _ in range(self.rounds + 1):
            start = time.perf_counter()
            found = filtered(self.index, query.table, query.key, 10, settings)
            middle = time.perf_counter()
            right = plain(self.index, query.table, query.key, 10, unfiltered_settings)
            seconds["filtered"].append(middle - start)
            seconds["plain"].append(time.perf_counter() - middle)
        if [r.joinability for r in found.found] != [r.joinability for r in right.found]:
            raise MateError(f"{settings.filters.hash_name}: query {query.name} has other answers than without a filter")
        told, unfiltered = found.statistics, right.statistics
        return {
            "query": query.name,
            "seconds": median(seconds["filtered"][1:]),
            "seconds_unfiltered": median(seconds["plain"][1:]),
            "true_positives": told.true_positives,
            "false_positives": told.false_positives,
            "false_positives_held": told.false_positives_held,
            "false_positives_unfiltered": unfiltered.false_positives,
            "precision": told.precision,
        }


def _key_bytes(index: Index, number: int, tables: Sequence[TableInfo]) -> int:
    """Return the bytes that the super keys of all rows take, one each."""
    if isinstance(index, LakeFolder):
        return sum(int(segment.keys[number].nbytes) for segment in index.segments)
    form = key_form(index.manifest.hashes[number].function())
    return sum(table.rows * form.most_octets(len(table.columns)) for table in tables)


@dataclass(frozen=True)
class LakeIndex:
    """An index, and the contestants whose super keys it has, with the parameters that they have there."""

    index: Index
    contestants: tuple[Contestant, ...]
    lake: str
    """Names the tables, the same for all indexes of a folder."""


@contextmanager
def open_lakes(where: str, contestants: Sequence[Contestant], results: Path) -> Iterator[list[LakeIndex]]:
    """Open the lake at an address, or the indexes of a folder of tables; those that miss contestants get another."""
    opened: list[LakeFolder] = []
    try:
        if Path(where, MANIFEST).is_file():
            index = _folder(where)
            opened.append(index)
            yield [LakeIndex(index, _as_built(index, contestants), index.manifest.build)]
            return
        corpus = of_folder("lake", Path(where))
        found = []
        for address, own in _built(where, corpus, contestants, results):
            opened.append(_folder(address))
            found.append(LakeIndex(opened[-1], _as_built(opened[-1], own), corpus.fingerprint))
        yield found
    finally:
        for index in opened:
            index.close()


def _built(
    where: str, corpus: MeasuredLake, contestants: Sequence[Contestant], results: Path
) -> Iterator[tuple[str, list[Contestant]]]:
    """Yield the indexes of a folder of tables with the contestants to take from each; build what none of them has."""
    stem = f"{Path(where).name}-{corpus.fingerprint}"
    left = list(contestants)
    for note in sorted((results / "lakes").glob(f"{stem}-*.json")):
        held = {tuple(entry) for entry in json.loads(note.read_text(encoding="utf-8"))}
        own = [contestant for contestant in left if _identity(contestant) in held]
        if own and (note.with_suffix(".mate") / MANIFEST).is_file():
            left = [contestant for contestant in left if contestant not in own]
            yield str(note.with_suffix(".mate")), own
    if left:
        names = [_identity(contestant) for contestant in left]
        address = results / "lakes" / f"{stem}-{digest(names)}.mate"
        if not (address / MANIFEST).is_file():
            requests = tuple(HashRequest(name, bits) for name, bits, _ in names)
            with LakeTarget(str(address)) as target:
                build(corpus.paths, target, BuildSettings(requests, master="none"))
        address.with_suffix(".json").write_text(json.dumps(names), encoding="utf-8")
        yield str(address), left


@dataclass(frozen=True)
class Engine:
    """A database that indexes are built in."""

    kind: str
    server: str = ""
    """Its address, unless it is a file."""

    def address(self, results: Path, name: str) -> str:
        """Return where the index of this name is."""
        if self.server:
            separator = "&" if "?" in self.server else "?"
            return f"{self.server}{separator}schema=mate_{digest(name)}&layout=per_cell"
        return f"{self.kind}:{results / 'lakes' / name}.duckdb?layout=per_cell"


def databases(where: str, contestants: Sequence[Contestant], results: Path, engine: Engine) -> Iterator[LakeIndex]:
    """Open the indexes of a folder of tables in a database one after the other; those that are not there are built."""
    corpus = of_folder("lake", Path(where))
    for own in contestants:
        address = engine.address(results, f"{Path(where).name}-{corpus.fingerprint}-{digest(_identity(own))}")
        try:
            open_index(address).close()
        except MissingError:
            with open_target(address) as target:
                build(corpus.paths, target, BuildSettings((HashRequest(own.name, own.bits),), master="none"))
        with open_index(address) as index:
            yield LakeIndex(index, _as_built(index, [own]), corpus.fingerprint)


def _identity(contestant: Contestant) -> tuple[str, int, str]:
    """Return what tells contestants of any lake apart: an edited plugin is another one."""
    return contestant.name, contestant.bits, contestant.source


def _as_built(index: Index, contestants: Sequence[Contestant]) -> tuple[Contestant, ...]:
    """Return the contestants that an index has, with its own parameters."""
    specs = {(spec.name, spec.bits): spec for spec in index.manifest.hashes}
    return tuple(
        replace(own, parameters=dict(specs[own.name, own.bits].parameters))
        for own in contestants
        if (own.name, own.bits) in specs
    )


def _folder(address: str) -> LakeFolder:
    index = open_index(address)
    if not isinstance(index, LakeFolder):
        raise MateError(f"{address} is no lake of segments")
    return index


def draw_queries(index: Index, count: int, seed: int) -> list[Query]:
    """Return queries of all shapes, none of a table twice."""
    found: list[Query] = []
    for shape in SHAPES:
        used = {query.origin for query in found}
        found += sample_queries(index, count, shape, seed + shape.below, used)
    if not found:
        raise MateError(f"{index.address} has no table that can be a query: two columns that vary, 2 to 999 key tuples")
    return found
