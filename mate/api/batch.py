"""`Lake.search_many`: thousands of queries in one go, on threads of this process or on Spark."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from mate.api.batch_queries import PlannedQuery
from mate.api.given import as_kind
from mate.api.strategy import COLUMN_FIRST, Strategy, prepare
from mate.errors import MateError, QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from mate.api.own_tables import OwnTables
    from mate.api.reader import Tables
    from mate.build.engine import Engine
    from mate.build.progress import Progress
    from mate.lake.base import Index
    from mate.search.batches import Answered, BatchQuery, BatchSearch
    from mate.search.batches.file import AnswersFile

USEFULNESS = "usefulness"

ROUND = 512
"""Queries that are answered before their answers are written."""

TASKS_PER_CORE = 2
"""Spark tasks per core and round, where there are queries enough."""


class BatchOptions(TypedDict, total=False):
    """What a batch of searches takes."""

    k: int
    """How many tables per query; 10 unless given."""
    rank: str
    """"usefulness", unless given, or "joinability"."""
    names: bool
    """Whether the names of columns and tables play a part; they do unless this is False."""
    exclude: Tables
    """Tables to leave out; "self": those of each query's own file."""
    strategy: Strategy | str
    """How to search, or the name of a system."""
    encoding: str
    """Encoding of the queries' files; it is found unless given."""
    master: str
    """Where queries are answered: "none", on threads here, unless given; "local[*]" or an address, on Spark."""
    spark: Mapping[str, str]
    """Settings of Spark."""
    verbose: bool
    """Show what Spark logs."""
    progress: Progress
    """Is told how far the batch is."""


class BatchAnswers:
    """The answers to many queries: one row per answer, best first, in the order of the queries.

    A query that failed has one row with its `error`; one that joins with nothing has no row.

    >>> import mate
    >>> with mate.open("lake.mate") as lake:
    ...     found = lake.search_many([("sensors.csv", ["city", "day"]), ("missing.csv", ["city"])])
    >>> [row["table"] for row in found["sensors.csv"]]
    ['weather', 'traffic']
    >>> list(found.errors)
    ['missing.csv']
    """

    def __init__(self, queries: Sequence[str], rows: pa.Table, resumed: int) -> None:
        self.queries = list(queries)
        """Names of all queries, in their order."""
        self.resumed = resumed
        """How many of them an earlier run of the same batch had answered."""
        self._rows = rows
        self._places: dict[str, list[int]] = {}
        for place, query in enumerate(rows["query"].to_pylist()):
            self._places.setdefault(query, []).append(place)

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, query: str) -> list[dict[str, Any]]:
        if query not in self._places and query not in self.queries:
            raise QueryError(f'no query of the batch is called "{query}"')
        places = self._places.get(query, [])
        own = self._rows.slice(places[0] if places else 0, len(places))  # they follow each other
        rows: list[dict[str, Any]] = own.to_pylist(maps_as_pydicts="strict")
        return [row for row in rows if row["error"] is None]

    @property
    def errors(self) -> dict[str, str]:
        """What went wrong, by query."""
        pairs = zip(self._rows["query"].to_pylist(), self._rows["error"].to_pylist(), strict=True)
        return {query: error for query, error in pairs if error is not None}

    @property
    def answers(self) -> int:
        """How many answers there are in all."""
        return len(self._rows) - len(self.errors)

    def to_arrow(self) -> pa.Table:
        """Return all rows as an Arrow table: query, rank, table, mapping, a column per piece of evidence, error."""
        return self._rows

    def to_pandas(self) -> Any:
        """Return all rows as a DataFrame."""
        return as_kind(self._rows, "pandas")

    def __repr__(self) -> str:
        return f"<BatchAnswers: {len(self):,} queries, {self.answers:,} answers, {len(self.errors):,} errors>"


@dataclass(frozen=True)
class Batch:
    """The queries of a batch, and how they are answered."""

    queries: list[PlannedQuery]
    index: Index
    search: BatchSearch
    own_tables: OwnTables | None = None
    """Tables that a query must not have among its answers: those of its own file; None: it may."""

    def run(self, file: AnswersFile | None, engine: Engine | None, progress: Progress) -> BatchAnswers:
        """Answer all queries, on threads unless there is an engine of Spark's; write the answers to a file, if any."""
        from mate.search.batches.file import as_table

        names = [query.name for query in self.queries]
        done = file.done if file else set()
        kept: list[Answered] = []
        progress.start("search", len(names))
        counts = {"answers": 0, "errors": 0}
        left = [query for query in self.queries if query.name not in done]
        for first in range(0, len(left), ROUND):
            part = left[first : first + ROUND]
            answered = []
            told = _Round(progress, len(done) + first, len(part), counts)
            for one in self._on_spark(part, engine, told) if engine else self._on_threads(part):
                answered.append(one)
                counts["answers"] += len(one.answers)
                counts["errors"] += one.error is not None
                progress.update(len(done) + first + len(answered), **counts)
            if file:
                file.write(answered)
            else:
                kept += answered
        return BatchAnswers(names, file.finish(names) if file else as_table(kept), len(done))

    def _on_threads(self, queries: Sequence[PlannedQuery]) -> Iterator[Answered]:
        from mate.search.batches import Answered

        cores = os.cpu_count() or 1
        search = self.search if len(queries) < cores else _on_one_thread(self.search)

        def answer(query: PlannedQuery) -> Answered:
            loaded = self._load(query)
            return loaded if isinstance(loaded, Answered) else search.answer(self.index, loaded)

        with ThreadPoolExecutor(cores) as pool:
            yield from pool.map(answer, queries)

    def _on_spark(self, queries: Sequence[PlannedQuery], engine: Engine, progress: Progress) -> list[Answered]:
        """Answer queries in tasks, each in a share of the segments; files are read here."""
        from mate.search.batches import Answered
        from mate.search.batches.tasks import batch_tasks

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            loaded = list(pool.map(self._load, queries))
        found = {one.query: one for one in loaded if isinstance(one, Answered)}
        sent = [query for query in loaded if not isinstance(query, Answered)]
        tasks = batch_tasks(self.index, sent, _on_one_thread(self.search), TASKS_PER_CORE * engine.parallelism)
        shares = engine.run(tasks.items, tasks.answer, progress, "search")
        found |= {one.query: one for one in tasks.merge(shares)}
        return [found[query.name] for query in queries]

    def _load(self, planned: PlannedQuery) -> BatchQuery | Answered:
        """Read a query; what is wrong with it is its answer."""
        from mate.search.batches import Answered, BatchQuery

        try:
            table, key = planned.read()
            own = self.own_tables.of(table.source) if self.own_tables else frozenset()
            return BatchQuery(planned.name, table, key, own)
        except MateError as error:
            return Answered(planned.name, error=str(error))
        except OSError as error:
            return Answered(planned.name, error=f"{error.filename}: {error.strerror or error}")

    def fingerprint(self) -> str:
        """Return what tells this batch from others: lake, settings and queries."""
        settings = {**asdict(self.search.settings), "exclude": sorted(self.search.settings.exclude)}
        record = [
            self.index.manifest.to_json(),
            self.search.system,
            settings,
            self.own_tables is not None,
            [query.fingerprint() for query in self.queries],
        ]
        return hashlib.sha256(json.dumps(record, default=str).encode()).hexdigest()


def _on_one_thread(search: BatchSearch) -> BatchSearch:
    """Return the same search without threads of its own: the queries beside each other keep all cores busy."""
    return replace(search, settings=replace(search.settings, threads=False))


class _Round:
    """Progress of the tasks of a round, as progress of the whole batch."""

    def __init__(self, progress: Progress, before: int, queries: int, counts: dict[str, int]) -> None:
        self._progress, self._before, self._queries, self._counts = progress, before, queries, counts
        self._tasks = 1

    def start(self, phase: str, total: int) -> None:
        """Note how many tasks there are; the batch itself has begun before."""
        self._tasks = max(1, total)

    def update(self, done: int, **_: int) -> None:
        """Report the queries that so many tasks stand for."""
        self._progress.update(self._before + self._queries * done // self._tasks, **self._counts)


def search_many(
    index: Index,
    queries: list[PlannedQuery],
    into: Path | None,
    options: BatchOptions,
    exclude: frozenset[int] | OwnTables,
) -> BatchAnswers:
    """Answer queries in one state of an index."""
    from mate.api.own_tables import OwnTables
    from mate.build.progress import Silent
    from mate.search.batches import BatchSearch
    from mate.search.batches.file import AnswersFile

    own = exclude if isinstance(exclude, OwnTables) else None
    strategy = options.get("strategy", COLUMN_FIRST)
    chosen = Strategy(strategy) if isinstance(strategy, str) else strategy
    _, settings = prepare(chosen, index)
    settings = replace(
        settings,
        k=options.get("k", 10),
        rank=options.get("rank", USEFULNESS),
        names=options.get("names", True),
        exclude=frozenset() if isinstance(exclude, OwnTables) else exclude,
    )
    settings.check()
    batch = Batch(queries, index, BatchSearch(chosen.system, settings), own)
    with ExitStack() as stack:
        file = None if into is None else stack.enter_context(AnswersFile(into, batch.fingerprint()))
        engine = stack.enter_context(_engine(options))  # Spark takes its time: what is wrong with the file comes first
        return batch.run(file, engine, options.get("progress") or Silent())


@contextmanager
def _engine(options: BatchOptions) -> Iterator[Engine | None]:
    """Start Spark if it is asked for."""
    from mate.build.engine import NO_SPARK, start_engine

    master = options.get("master", NO_SPARK)
    if master == NO_SPARK:
        yield None
        return
    with start_engine(master, options.get("spark") or {}, verbose=options.get("verbose", False)) as engine:
        yield engine
