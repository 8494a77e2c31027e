"""`Lake.search_many`: many queries at once, on threads of this process or on Spark."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from mate.api.arguments import Key, text_list
from mate.api.options import WorkOptions, engine_for
from mate.api.snapshot import SourceTables
from mate.api.tables import AnyTable, as_frame, read, user_table
from mate.build.engine import Engine, NoProgress, Progress
from mate.corpus import check_encoding, discover
from mate.display import split_names
from mate.errors import MateError, QueryError
from mate.lake.base import Index
from mate.search.batches import Answered, BatchQuery, BatchSearch, batch_tasks
from mate.search.batches.file import AnswersFile, as_table
from mate.search.query import QueryTable, key_columns

Queries: TypeAlias = "str | PathLike[str] | Mapping[str, tuple[AnyTable, Key]] | Iterable[tuple[AnyTable, Key]]"
"""A folder, a CSV file with the columns `query` and `key`, or pairs of a table and its key, with names or without."""

ROUND = 512
"""Queries that are answered before their answers are written."""

TASKS_PER_CORE = 2
"""Spark tasks per core and round, where there are enough queries."""


@dataclass(frozen=True, repr=False, eq=False)
class BatchAnswers:
    """The answers to many queries: one row per answer, best first, in the order of the queries.

    A query that failed has one row with its `error`; a query without answers has no row.

    >>> found = lake.search_many([("sensors.csv", ["city", "day"]), ("missing.csv", ["city"])])
    >>> [row["table"] for row in found["sensors.csv"]]
    ['weather', 'traffic']
    >>> list(found.errors)
    ['missing.csv']
    """

    queries: list[str]
    """Names of all queries, in their order."""
    rows: pa.Table = field(repr=False)
    resumed: int
    """How many queries an earlier run of the same batch answered."""

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, query: str) -> list[dict[str, Any]]:
        if query not in self.queries:
            raise QueryError(f'no query of the batch is called "{query}"')
        own = self.rows.filter((pc.field("query") == query) & pc.field("error").is_null())
        rows: list[dict[str, Any]] = own.to_pylist(maps_as_pydicts="strict")
        return rows

    @property
    def errors(self) -> dict[str, str]:
        """What went wrong, by query."""
        failed = self.rows.filter(pc.field("error").is_valid())
        return dict(zip(failed["query"].to_pylist(), failed["error"].to_pylist(), strict=True))

    @property
    def answers(self) -> int:
        """Number of answers to all queries."""
        return len(self.rows) - len(self.errors)

    def to_arrow(self) -> pa.Table:
        """Return all rows as an Arrow table: query, rank, table, mapping, a column per piece of evidence, error."""
        return self.rows

    def to_pandas(self) -> Any:
        """Return all rows as a DataFrame."""
        return as_frame(self.rows, "pandas")

    def __repr__(self) -> str:
        return f"<BatchAnswers: {len(self):,} queries, {self.answers:,} answers, {len(self.errors):,} errors>"


@dataclass(frozen=True)
class PlannedQuery:
    """A query before it is read."""

    name: str
    table: AnyTable
    key: Sequence[str] | None
    """None: all columns."""
    separator: str | None = None
    """Separates names in a text of the key that is no name of a column."""
    encoding: str | None = None
    """Of a file; None: it is detected."""

    def read(self, source_tables: SourceTables | None) -> BatchQuery | Answered:
        """Return its key columns, and the tables of its own file, which are no answers; an error is its answer."""
        try:
            given = read(self.table, self.encoding) if isinstance(self.table, str | PathLike) else self.table
            table = user_table(given, self.name).query
            names = table.header if self.key is None else self.key
            names = split_names(names, table.header, self.separator) if self.separator else names
            table = table.for_key(names)
            key = key_columns(table, names)
            own = source_tables.read_from(table.source) if source_tables else frozenset()
        except MateError as error:
            return Answered(self.name, error=str(error))
        except OSError as error:
            return Answered(self.name, error=f"{error.filename}: {error.strerror or error}")
        return BatchQuery(self.name, QueryTable(table.name, table.columns.select(list(key)), table.source), key, own)

    def fingerprint(self) -> list[object]:
        """Return what identifies the query in a later run, without reading a file."""
        state: object = None
        with suppress(OSError, MateError):
            if isinstance(self.table, str | PathLike):
                found = Path(self.table).stat()
                state = [fspath(Path(self.table).resolve()), found.st_size, found.st_mtime_ns]
            else:
                columns = user_table(self.table, self.name).query.columns
                digest = hashlib.sha256(repr(columns.column_names).encode())
                for batch in columns.to_batches():
                    digest.update(batch.serialize())
                state = digest.hexdigest()
        return [self.name, self.key, self.encoding, state]


def plan_queries(queries: Queries, key: Key | None, encoding: str | None = None) -> list[PlannedQuery]:
    """Return queries with distinct names; `key` is that of all queries of a folder."""
    if encoding is not None:
        check_encoding(encoding)
    if isinstance(queries, str | PathLike) and Path(queries).is_dir():
        common = None if key is None else text_list(key)
        files = [Path(file.path) for file in discover([queries])]
        planned = [PlannedQuery(file.relative_to(queries).as_posix(), file, common, ",") for file in files]
    elif key is not None:
        raise QueryError("a key for all queries is for a folder of tables; listed queries have a key of their own")
    else:
        planned = _listed(Path(queries)) if isinstance(queries, str | PathLike) else _pairs(queries)
    for name, count in Counter(query.name for query in planned).items():
        if count > 1:
            raise QueryError(f'two queries of the batch are called "{name}"; give each a name of its own')
    return [replace(query, encoding=encoding) for query in planned]


def _listed(path: Path) -> list[PlannedQuery]:
    """Return the queries that a CSV file lists, with their keys; paths in it are relative to its folder."""
    table = user_table(path, f"the list {path}").query
    if not {"query", "key"} <= set(table.header):
        columns = ", ".join(table.header)
        raise QueryError(f"{path} lists queries: it needs the columns query and key, and has {columns}")
    planned = []
    for line, row in enumerate(table.columns.to_pylist(), start=1):
        file, key = row["query"], row["key"]
        if not file:
            raise QueryError(f"{path}: query {line} has no file")
        planned.append(PlannedQuery(row.get("name") or file, path.parent / file, [key] if key else None, ";"))
    return planned


def _pairs(queries: Iterable[tuple[AnyTable, Key]] | Mapping[str, tuple[AnyTable, Key]]) -> list[PlannedQuery]:
    named = queries.items() if isinstance(queries, Mapping) else ((None, pair) for pair in queries)
    planned = []
    for number, (name, pair) in enumerate(named):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise QueryError("a query of a batch is a pair of a table and its key, such as (frame, ['city', 'day'])")
        table, key = pair
        default = fspath(table) if isinstance(table, str | PathLike) else f"query {number}"
        planned.append(PlannedQuery(default if name is None else name, table, None if key is None else text_list(key)))
    return planned


@dataclass(frozen=True)
class QueryBatch:
    """The queries of a batch, and how they are answered."""

    queries: list[PlannedQuery]
    index: Index
    search: BatchSearch
    source_tables: SourceTables | None = None
    """If given, the tables of a query's own file are left out of its answers."""

    def answer(self, into: str | PathLike[str] | None, options: WorkOptions) -> BatchAnswers:
        """Answer all queries, and write the answers to a file if one is named."""
        file = nullcontext() if into is None else AnswersFile(Path(into), self.fingerprint())
        with file as target, engine_for(options) as engine:
            return self.run(target, engine, options.get("progress") or NoProgress())

    def run(self, file: AnswersFile | None, engine: Engine, progress: Progress) -> BatchAnswers:
        """Answer all queries, on threads unless the engine is Spark."""
        names = [query.name for query in self.queries]
        done = file.done if file else set()
        left = [query for query in self.queries if query.name not in done]
        answers: list[Answered] = []
        if not engine.is_spark:
            progress.start("search", len(names))
        for first in range(0, len(left), ROUND):
            part, before = left[first : first + ROUND], len(done) + first
            if engine.is_spark:
                phase = f"search queries {before + 1:,} to {before + len(part):,} of {len(names):,}"
                answered = self._on_spark(part, engine, progress, phase)
            else:
                answered = self._on_threads(part, progress, before)
            if file:
                file.write(answered)
            else:
                answers += answered
        return BatchAnswers(names, file.finish(names) if file else as_table(answers), len(done))

    def _on_threads(self, queries: Sequence[PlannedQuery], progress: Progress, before: int) -> list[Answered]:
        cores = os.cpu_count() or 1
        search = self.search if len(queries) < cores else _single_threaded(self.search)

        def answer(query: PlannedQuery) -> Answered:
            found = query.read(self.source_tables)
            return found if isinstance(found, Answered) else search.answer(self.index, found)

        answered = []
        with ThreadPoolExecutor(cores) as pool:
            for one in pool.map(answer, queries):
                answered.append(one)
                progress.update(before + len(answered))
        return answered

    def _on_spark(
        self, queries: Sequence[PlannedQuery], engine: Engine, progress: Progress, phase: str
    ) -> list[Answered]:
        """Answer queries in tasks, each on some of the segments; files are read here."""
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            read = list(pool.map(lambda query: query.read(self.source_tables), queries))
        sent = [query for query in read if isinstance(query, BatchQuery)]
        tasks = batch_tasks(self.index, sent, _single_threaded(self.search), TASKS_PER_CORE * engine.parallelism)
        found = iter(tasks.merge(engine.run(tasks.items, tasks.answer, progress, phase)))
        return [one if isinstance(one, Answered) else next(found) for one in read]

    def fingerprint(self) -> str:
        """Return what identifies this batch: lake, settings and queries."""
        queries = [query.fingerprint() for query in self.queries]
        record = (self.index.manifest.to_json(), self.search, self.source_tables is not None, queries)
        return hashlib.sha256(repr(record).encode()).hexdigest()


def _single_threaded(search: BatchSearch) -> BatchSearch:
    """Return a search without threads of its own: queries that run at the same time keep all cores busy."""
    return replace(search, settings=replace(search.settings, threads=False))
