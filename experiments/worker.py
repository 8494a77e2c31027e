"""A process that searches. It can be stopped in the middle, which is what makes a time limit hold."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import sys
import time
from dataclasses import dataclass, field, replace
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from experiments.definitions import Method

if TYPE_CHECKING:
    from experiments.queries import Query
    from mate.lake.base import Index
    from mate.search.settings import SearchSettings
    from mate.search.systems import System

START_LIMIT = 120.0
"""Seconds that a process has for starting."""
GONE_AFTER = 200
"""Milliseconds after which PostgreSQL ends a search whose process was stopped, which else would go on and slow down the
next ones."""


@dataclass(frozen=True, slots=True)
class Task:
    """One search: where, what, how."""

    index: str
    """Its address."""
    queries: str
    number: int
    """The query's place in its file."""
    method: Method
    k: int
    action: str = "search"
    """``search``; ``prepare``: only look up what the initial column would cost; ``warm up``: search, in a database for
    a part of the query only."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it, in the words of the records."""

    seconds: float | None = None
    phases: dict[str, float] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    tables: list[int] | None = None
    scores: list[int] | None = None
    finished: bool = True
    error: str = ""

    @property
    def checksum(self) -> str | None:
        """A checksum of the scores: what all exact systems must agree on. At the last place tables may tie."""
        if self.scores is None:
            return None
        return hashlib.sha256(",".join(map(str, self.scores)).encode()).hexdigest()[:16]


class StoppedError(Exception):
    """The run is ending."""


class Searcher:
    """Runs tasks in this process, the last index and queries kept open."""

    def __init__(self) -> None:
        self._indexes: dict[str, Index] = {}
        self._queries: dict[str, list[Query]] = {}

    def __call__(self, task: Task) -> Outcome:
        """Run one task; whatever goes wrong in it is part of the outcome."""
        from mate.lake.folder import LakeFolder

        try:
            index, query = self._index(task.index), self._query(task.queries, task.number)
            if task.action == "warm up" and not isinstance(index, LakeFolder):
                query = first_row(query)
            return _prepared(index, query, task) if task.action == "prepare" else _searched(index, query, task)
        except Exception as error:  # a system under test may fail in any way
            return Outcome(finished=False, error=f"{type(error).__name__}: {error}")

    def _index(self, address: str) -> Index:
        if address not in self._indexes:
            from mate.stores import open_index

            while self._indexes:
                self._indexes.popitem()[1].close()
            self._indexes[address] = open_index(address)
        return self._indexes[address]

    def _query(self, path: str, number: int) -> Query:
        if path not in self._queries:
            from experiments.query_sets import read

            self._queries = {path: read(Path(path))}
        return self._queries[path][number]


def first_row(query: Query) -> Query:
    """Return a query of one row: any query of some lakes takes a database minutes."""
    table = replace(query.table, columns=query.table.columns.slice(0, 1))
    return replace(query, table=table, cardinality=1)


def _searched(index: Index, query: Query, task: Task) -> Outcome:
    system, settings = system_of(task.method.system), settings_of(task.method)
    if not task.method.own_table:
        settings = replace(settings, exclude=frozenset({query.origin} - {-1}))
    if task.method.system.endswith("-josie"):
        make_sets(index)
    start = time.perf_counter()
    found = system(index, query.table, query.key, task.k, settings)
    seconds = time.perf_counter() - start
    told = found.statistics
    counts = {name: getattr(told, name) for name in COUNTS}
    counts |= {"hash_parameters": told.hash, "initial_column": told.initial_column}
    answers = found.found  # as they were found: to order ties by their evidence reads whole tables
    tables, scores = [answer.table_id for answer in answers], [answer.joinability for answer in answers]
    return Outcome(seconds, dict(told.seconds), counts, tables, scores)


COUNTS = (
    "known_tuples",
    "postings",
    "pairs",
    "rows_compared",
    "rows_cut_by_first_bits",
    "pairs_compared",
    "pairs_cut_by_first_bits",
    "candidates",
    "tables",
    "tables_cut_rule_1",
    "tables_cut_rule_2",
    "tables_checked",
    "mappings_bounded",
    "mappings_checked",
    "tables_by_row",
    "rows_read",
    "true_positives",
    "false_positives",
    "false_positives_held",
    "precision",
    "filter_precision",
)


def make_sets(index: Index) -> None:
    """Make what JOSIE needs besides the index, and measure its costs: once per index, and no part of any search."""
    from baselines.systems.column_sets import column_sets
    from baselines.systems.josie_costs import costs_of
    from mate.lake.folder import require_folder

    for segment in require_folder(index, "JOSIE searches the directory of").segments:
        costs_of(column_sets(segment))


def _prepared(index: Index, query: Query, task: Task) -> Outcome:
    from mate.search.search import prepare

    start = time.perf_counter()
    search = prepare(task.method.system, index, query.table, query.key, settings_of(task.method))
    initial = search.key.columns[search.initial]
    seconds = time.perf_counter() - start
    told = search.statistics
    counts = {
        "known_tuples": int((search.postings[search.key.place] > 0).all(axis=1).sum()),
        "postings": told.postings,
        "pairs": told.pairs,
    }
    return Outcome(seconds, {"prepare": seconds}, counts | {"initial_column": initial})


def settings_of(method: Method) -> SearchSettings:
    """Return how a method searches."""
    from mate.search.settings import FilterSettings, SearchSettings

    filters = FilterSettings(
        initial_column=method.initial_column, tight_bound=method.tight_bound, semi_join=method.semi_join
    )
    return SearchSettings(filters=replace(filters, hash_name=method.hash, bits=method.bits) if method.hash else filters)


def system_of(name: str) -> System:
    """Return a system by its name, or by ``module:function``."""
    from mate.errors import QueryError
    from mate.search.systems import find_system

    module, colon, function = name.partition(":")
    if not colon:
        return find_system(name)
    try:
        system: System = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise QueryError(f"there is no system {name}: {error}") from error
    return system


def not_interactive() -> None:
    """Say that nobody types here: DuckDB takes a process whose main module has no file for a shell, and draws bars."""
    main: Any = sys.modules["__main__"]
    if not hasattr(main, "__file__"):
        main.__file__ = __file__


def serve(connection: Connection) -> None:
    """Answer tasks until the other end closes; an interrupt is the other end's business."""
    import experiments.hashes  # noqa: F401

    not_interactive()
    os.environ.setdefault("PGOPTIONS", f"-c client_connection_check_interval={GONE_AFTER}")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    searcher = Searcher()
    connection.send("ready")
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        connection.send(searcher(task))


def _end_with_parent() -> None:
    """End this process, in the middle of a search if need be, when the one that started it is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


class Worker:
    """The other end: sends tasks to a process and stops it when one takes too long."""

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Any = None
        self._stopped = False

    @property
    def is_running(self) -> bool:
        """Whether there is a process that has been sent something."""
        return self._process is not None

    def stop(self) -> None:
        """End the process from another thread; whoever waits for it gets StoppedError."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def run(self, task: Task, timeout: float) -> Outcome:
        """Run a task, for so many seconds at most."""
        if self._stopped:
            raise StoppedError
        if self._process is None:
            self._start()
        try:
            self._connection.send(task)
            if not self._connection.poll(timeout):
                self.close()
                return Outcome(finished=False, error=f"stopped after {timeout:g} s")
            outcome: Outcome = self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join()
            code = self._process.exitcode
            self.close()
            if self._stopped:
                raise StoppedError from None
            return Outcome(finished=False, error=f"the process that searched ended with code {code}; out of memory?")
        return outcome

    def _start(self) -> None:
        # A fresh process: a forked one would inherit the threads of Arrow and DuckDB.
        context = multiprocessing.get_context("spawn")
        self._connection, there = context.Pipe()
        self._process = context.Process(target=serve, args=(there,), daemon=True)
        self._process.start()
        there.close()
        if not self._connection.poll(START_LIMIT):
            self.close()
            raise TimeoutError("a process for searching did not start")
        self._connection.recv()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
