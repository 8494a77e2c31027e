"""Query sets: what is asked of a lake. Made once and stored, so that every system and hash sees the same queries."""

from __future__ import annotations

import csv
import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.definitions import digest, slug
from experiments.errors import ExperimentError, RecordError
from experiments.queries import Query, Shape, distinct, rows_of, sample_queries, shuffled, taken, varied
from mate.errors import QueryError
from mate.lake.base import Index
from mate.lake.records import TableInfo
from mate.search.query import QueryTable, key_columns, read_query

SCHOOL_KEY = ("Program Type", "School Name")
SCHOOL_QUERIES = 10
"""As many as the paper has."""
KEY_SIZES = tuple(range(2, 11))
RELEASED_KEY_SIZE = "1290.csv"
"""The authors' table for figure 6."""
CODE = 2
"""Raised when another set would come out of the same specification."""

_METADATA = b"mate.query_set"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SetSpec:
    """What a query set is made of."""

    name: str
    role: str
    """What it is made of: one of `MAKERS`."""
    count: int
    seed: int
    least: int = 2
    below: int = 0
    folder: str = ""
    files: tuple[str, ...] = ()
    """Sizes and times of files that queries are read from, to see when they change."""
    others: tuple[tuple[int, int], ...] = ()
    """Bounds of the sets before it, whose tables it does not take again."""

    @property
    def fingerprint(self) -> str:
        """A short name of the specification."""
        return digest({**asdict(self), "folder": "", "code": CODE})


@dataclass(frozen=True)
class QuerySet:
    """Queries, and the file that they are stored in."""

    spec: SetSpec
    path: Path
    queries: list[Query]

    @property
    def name(self) -> str:
        """For people: ``WT (100)``."""
        return self.spec.name


_SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("table", pa.string()),
        ("source", pa.string()),
        ("origin", pa.int64()),
        ("cardinality", pa.int64()),
        ("key", pa.list_(pa.string())),
        ("columns", pa.list_(pa.list_(pa.string()))),
    ]
)


def path_of(results: Path, lake: str, spec: SetSpec) -> Path:
    """Return where the queries of a set for a lake lie."""
    return results / "queries" / lake / f"{slug(spec.name)}-{spec.fingerprint}.parquet"


def obtain(results: Path, lake: str, spec: SetSpec, index: Index) -> QuerySet:
    """Return a query set: the stored one, else a new one, which is then stored."""
    path = path_of(results, lake, spec)
    if not path.exists():
        _write(path, spec, list(MAKERS[spec.role](index, spec)))
    return QuerySet(spec, path, read(path))


def _write(path: Path, spec: SetSpec, queries: list[Query]) -> None:
    rows = [
        {
            "name": query.name,
            "table": query.table.name,
            "source": query.table.source,
            "origin": query.origin,
            "cardinality": query.cardinality,
            "key": list(query.key),
            "columns": [query.table.columns.column(name).to_pylist() for name in query.key],
        }
        for query in queries
    ]
    schema = _SCHEMA.with_metadata({_METADATA: json.dumps(asdict(spec)).encode()})
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), part)
    part.replace(path)


def read(path: Path) -> list[Query]:
    """Return stored queries."""
    try:
        rows = pq.read_table(path, schema=_SCHEMA, partitioning=None).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"the queries in {path} cannot be read: delete the file, and they are made again") from error
    queries = []
    for row in rows:
        columns = [pa.array(values, pa.string()) for values in row["columns"]]
        table = QueryTable(row["table"], pa.table(columns, names=row["key"]), row["source"])
        queries.append(Query(row["name"], table, tuple(row["key"]), row["cardinality"], row["origin"]))
    return queries


def _sampled(index: Index, spec: SetSpec) -> Iterator[Query]:
    """Sample whole tables by cardinality, none of them in a smaller set already (section 7.1)."""
    used: set[int] = set()
    for least, below in (*spec.others, (spec.least, spec.below)):
        queries = list(sample_queries(index, spec.count, Shape(least, below, whole=True), spec.seed + below, used))
        used |= {query.origin for query in queries}
    yield from queries


def _school(index: Index, spec: SetSpec) -> Iterator[Query]:
    """Take every table that has the paper's two key columns, whatever their case, then others that have one of them."""
    made: set[bytes] = set()
    for query, content in chain(_both_school_columns(index), _school_names(index, spec.seed)):
        if query.cardinality and content not in made and len(made) < spec.count:
            made.add(content)
            yield query


def _both_school_columns(index: Index) -> Iterator[tuple[Query, bytes]]:
    wanted = [name.casefold() for name in SCHOOL_KEY]
    for table in index.tables():
        header = _header(table)
        if all(name in header for name in wanted):
            yield taken(index, table, rows_of(index, table), [header.index(name) for name in wanted])


def _school_names(index: Index, seed: int) -> Iterator[tuple[Query, bytes]]:
    """Yield tables in random order with School Name and another column that varies, drawn by the seed."""
    kind, school = (name.casefold() for name in SCHOOL_KEY)
    random = np.random.default_rng(seed)
    for table in shuffled(index, random):
        header = _header(table)
        if school not in header or kind in header:
            continue
        place, body = header.index(school), rows_of(index, table)
        order = [column for column in random.permutation(len(header)).tolist() if column != place]
        other = varied(index, body, order, 1, 2)
        if other and varied(index, body, [place], 1, 2):
            yield taken(index, table, body, [*other, place])


def _header(table: TableInfo) -> list[str]:
    return [name.strip().casefold() for name in table.columns]


def _key_sizes(index: Index, spec: SetSpec) -> Iterator[Query]:
    """Take tables with ten columns that vary, and extend their key column by column (figure 6).

    The order is that of the table, as in the file that the authors released for this experiment.
    """
    most = KEY_SIZES[-1]
    found = 0
    for table in shuffled(index, np.random.default_rng(spec.seed)):
        if found == spec.count:
            return
        if len(table.columns) < most or not spec.least <= table.rows < spec.below:
            continue
        body = rows_of(index, table)
        columns = varied(index, body, range(len(table.columns)), most, 2)
        if len(columns) == most and taken(index, table, body, columns)[0].cardinality >= spec.least:
            found += 1
            yield from (taken(index, table, body, columns[:size])[0] for size in KEY_SIZES)


def _released_key_sizes(index: Index, spec: SetSpec) -> Iterator[Query]:
    """Take the authors' table for figure 6, its key the first two to ten columns."""
    for path, _ in listed(Path(spec.folder), spec.role, spec.name):
        table = read_query(path)
        for size in KEY_SIZES:
            names = table.header[:size]
            body = QueryTable(table.name, table.columns.select(names), table.source)
            columns = [body.columns.column(name).combine_chunks() for name in names]
            cardinality = len(distinct(columns, frozenset(index.manifest.nulls)))
            if cardinality:
                yield Query(f"{path.name}:{size}", body, tuple(names), cardinality, -1)


def _from_files(index: Index, spec: SetSpec) -> Iterator[Query]:
    """Read query tables from files; what cannot be used is said and left out."""
    made = 0
    for path, key in listed(Path(spec.folder), spec.role, spec.name):
        if made == spec.count:
            return
        try:
            table = read_query(path)
            names = key_columns(table, key or table.header)
        except QueryError as error:
            _log.warning("%s: %s is left out: %s", spec.name, path.name, error)
            continue
        columns = [table.columns.column(name).combine_chunks() for name in names]
        cardinality = len(distinct(columns, frozenset(index.manifest.nulls)))
        if cardinality:
            made += 1
            body = QueryTable(table.name, pa.table(columns, names=list(names)), table.source)
            yield Query(path.name, body, names, cardinality, -1)


def listed(folder: Path, role: str, name: str) -> list[tuple[Path, tuple[str, ...]]]:
    """Return the query files of a folder with their key columns: none means all columns.

    A folder of Kaggle tables has, or stands beside, a ``queries.csv`` with the columns ``path`` and ``key_columns``
    (names separated by semicolons).
    """
    if role == "released key size":
        return [(folder / RELEASED_KEY_SIZE, ())]
    if role != "kaggle":
        return [(path, ()) for path in sorted(folder.glob("*.csv"))]
    index = next((p for p in (folder / "queries.csv", folder.parent / "queries.csv") if p.is_file()), None)
    if index is None:
        raise ExperimentError(f"{folder} has no queries.csv, which names the key columns of each file")
    with index.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row.get("set", role) == role]
    if rows and not {"path", "key_columns"} <= set(rows[0]):
        raise ExperimentError(f"{index} needs the columns path and key_columns")
    keyed = [(index.parent / row["path"], tuple(filter(None, row["key_columns"].split(";")))) for row in rows]
    return [(path, key) for path, key in keyed if key]


def file_facts(paths: list[Path]) -> tuple[str, ...]:
    """Return name, size and checksum of query files."""
    return tuple(f"{p.name} {hashlib.sha256(p.read_bytes()).hexdigest()[:16]}" for p in paths if p.is_file())


MAKERS: Mapping[str, Callable[[Index, SetSpec], Iterator[Query]]] = {
    "sampled": _sampled,
    "school": _school,
    "key size": _key_sizes,
    "kaggle": _from_files,
    "released": _from_files,
    "released key size": _released_key_sizes,
}
