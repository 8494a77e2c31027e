"""`Lake.search_many`: many queries at once, on threads of this process or on Spark."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mate.api.batch_queries import PlannedQuery
from mate.api.options import WorkOptions, engine_for
from mate.api.snapshot import SourceTables
from mate.api.tables import as_frame
from mate.build.engine import Engine, NoProgress, Progress
from mate.errors import MateError, QueryError
from mate.lake.base import Index
from mate.search.batches import Answered, BatchQuery, BatchSearch, batch_tasks
from mate.search.batches.file import AnswersFile, as_table

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
class Batch:
    """The queries of a batch, and how they are answered."""

    queries: list[PlannedQuery]
    index: Index
    search: BatchSearch
    source_tables: SourceTables | None = None
    """If given, the tables of a query's own file are left out of its answers."""

    def answer(self, into: str | PathLike[str] | None, options: WorkOptions) -> BatchAnswers:
        """Answer all queries, and write the answers to a file if one is named."""
        with ExitStack() as stack:
            file = stack.enter_context(AnswersFile(Path(into), self.fingerprint())) if into is not None else None
            engine = stack.enter_context(engine_for(options))
            return self.run(file, engine, options.get("progress") or NoProgress())

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
            loaded = self._load(query)
            return loaded if isinstance(loaded, Answered) else search.answer(self.index, loaded)

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
            loaded = list(pool.map(self._load, queries))
        found = {one.query: one for one in loaded if isinstance(one, Answered)}
        sent = [query for query in loaded if not isinstance(query, Answered)]
        tasks = batch_tasks(self.index, sent, _single_threaded(self.search), TASKS_PER_CORE * engine.parallelism)
        found |= {one.query: one for one in tasks.merge(engine.run(tasks.items, tasks.answer, progress, phase))}
        return [found[query.name] for query in queries]

    def _load(self, planned: PlannedQuery) -> BatchQuery | Answered:
        """Read a query; an error is its answer."""
        try:
            table, key = planned.read()
            own = self.source_tables.read_from(table.source) if self.source_tables else frozenset()
            return BatchQuery(planned.name, table, key, own)
        except MateError as error:
            return Answered(planned.name, error=str(error))
        except OSError as error:
            return Answered(planned.name, error=f"{error.filename}: {error.strerror or error}")

    def fingerprint(self) -> str:
        """Return what identifies this batch: lake, settings and queries."""
        settings = {**asdict(self.search.settings), "exclude": sorted(self.search.settings.exclude)}
        record = [
            self.index.manifest.to_json(),
            self.search.system,
            settings,
            self.source_tables is not None,
            [query.fingerprint() for query in self.queries],
        ]
        return hashlib.sha256(json.dumps(record, default=str).encode()).hexdigest()


def _single_threaded(search: BatchSearch) -> BatchSearch:
    """Return a search without threads of its own: queries that run at the same time keep all cores busy."""
    return replace(search, settings=replace(search.settings, threads=False))
