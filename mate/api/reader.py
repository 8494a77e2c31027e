"""Read a lake: search it, suggest keys, join, list what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, Unpack

from mate.api.arguments import Key, TableRef, Tables, column_names, whole_number
from mate.api.options import BatchOptions, GraphOptions, check_options
from mate.api.results.answers import Answer, Answers, Suggestions
from mate.api.results.enriched import Enriched
from mate.api.results.stats import Stats, stats_of
from mate.api.snapshot import Snapshot, table_of
from mate.api.system import COLUMN_FIRST, SearchSystem, prepare, search_system
from mate.api.tables import AnyTable, Frame, as_frame, user_table
from mate.errors import QueryError

if TYPE_CHECKING:
    from mate.api.batch import BatchAnswers
    from mate.api.batch_queries import Queries
    from mate.api.graph.graph import Graph
    from mate.lake.base import Ids, Index
    from mate.lake.records import TableInfo


class Reader:
    """One state of a lake, until `refresh`."""

    def __init__(self, address: str, *, verify: bool | None = None) -> None:
        self.address = address
        """Path of its folder, or address of a store or a database."""
        self._verify = verify
        self._snapshot = Snapshot(self._open())

    def _open(self) -> Index:
        from mate.stores import open_index

        index = open_index(self.address)
        if self._verify:
            index.verify()
        elif self._verify is False:
            index.trust()
        return index

    def search(  # noqa: PLR0913 (options are given by name)
        self,
        query: AnyTable,
        key: Key,
        k: int = 10,
        *,
        rank: str = "usefulness",
        names: bool = True,
        exclude: Tables = (),
        system: SearchSystem | str = COLUMN_FIRST,
    ) -> Answers:
        """Find the k tables that join best with your table on its key columns.

        `rank` is "usefulness" (how much of the key is found, and how unique it is there) or "joinability" (the
        paper's: the count alone; table numbers decide which of several equal tables come in at the k-th place).
        `names=False` ignores the names of columns and tables. `exclude` leaves tables out, "self" those of the query's
        own file. `system` chooses how to search, not what is found.

        >>> for answer in lake.search("sensors.csv", ["city", "day"]):
        ...     print(answer.joinability, answer.table.name, answer.mapping)
        5 weather {'city': 'place', 'day': 'date'}
        3 traffic {'city': 'Stadt', 'day': 'Tag'}
        """
        table = user_table(query)
        snapshot = self._snapshot
        with snapshot.use() as index:
            find, settings = prepare(search_system(system), index)
            excluded = snapshot.excluded(exclude, table.query.source)
            settings = replace(settings, rank=rank, names=bool(names), exclude=excluded)
            found = find(index, table.query, column_names(key), whole_number("k", k), settings)
            return Answers(table, snapshot, found)

    def search_many(
        self,
        queries: Queries,
        key: Key | None = None,
        into: str | PathLike[str] | None = None,
        **options: Unpack[BatchOptions],
    ) -> BatchAnswers:
        """Answer many queries, each as `search` would; a query that fails has an error in its place.

        `queries` is a folder of tables, each with this `key` or all its columns; a CSV file with the columns `query` (a
        file, relative to the list's folder), `key` (columns separated by `;`) and optionally `name`; pairs of a table
        and its key; or a mapping of names to such pairs. `into` names a Parquet file for the answers: a batch that was
        stopped continues where it was when it is started again.

        >>> lake.search_many({"mine": ("sensors.csv", ["city", "day"])}, k=1)["mine"][0]["joinability"]
        5
        """
        from mate.api.batch import search_many

        check_options("search_many", options, BatchOptions)
        return search_many(self._snapshot, queries, key, into, options)

    def suggest(
        self,
        table: AnyTable,
        k: int = 10,
        *,
        columns: Key | None = None,
        most_columns: int = 4,
        names: bool = True,
        exclude: Tables = (),
    ) -> Suggestions:
        """Find keys for a table: which of its columns, alone or together, join with which tables.

        `columns` are those that may be part of a key (default: all), `most_columns` is the largest size of a key.

        >>> best = lake.suggest("sensors.csv")[0]
        >>> best.key, best.table.name
        (('city',), 'events')
        """
        from mate.search.suggest import SHORTEST, SuggestionSettings, suggest
        from mate.search.suggest.checks import LONGEST

        own = user_table(table, "the table")
        snapshot = self._snapshot
        with snapshot.use() as index:
            chosen = None if columns is None else column_names(columns)
            excluded = snapshot.excluded(exclude, own.query.source)
            most = whole_number("most_columns", most_columns, SHORTEST, LONGEST)
            settings = SuggestionSettings(whole_number("k", k), most, excluded, chosen, bool(names))
            found = suggest(index, own.query, settings)
            return Suggestions(own, snapshot, found, frozenset(index.manifest.nulls))

    def graph(self, most_columns: int = 3, **options: Unpack[GraphOptions]) -> Graph:
        """Compare all tables of the lake: which join, on which keys of up to `most_columns` columns.

        Joins that chance may explain are left out; copies, and tables with the same columns, are marked.

        >>> lake.graph()  # too few values to tell a join from chance
        <Graph: 4 tables; no edges>
        """
        from mate.api.graph.comparison import compare_tables

        check_options("graph", options, GraphOptions)
        with self._snapshot.use() as index:
            return compare_tables(index, most_columns, options)

    def match(self, query: AnyTable, key: Key, table: TableRef, *, names: bool = True) -> Answer:
        """Return how one table of the lake joins with yours, as the answer of a search that finds it.

        >>> lake.match("sensors.csv", ["city", "day"], "traffic").joinability
        3
        """
        from mate.search.engine import match_table

        own = user_table(query)
        snapshot = self._snapshot
        with snapshot.use() as index:
            info = table_of(index, table)
            found = match_table(index, own.query, column_names(key), info.table_id, names=bool(names))
            if not found.results:
                on = ", ".join(found.key.columns)
                raise QueryError(f"table {info.table_id} ({info.name}) does not join with {own.query.name} on {on}")
            return Answer(own, snapshot, found.results[0], found.key.columns, lambda: found.key)

    def join(self, query: AnyTable, key: Key, table: TableRef, matches: str = "first") -> Any:
        """Return your table with the columns of one of the lake, as `Answer.join` does.

        >>> import pyarrow as pa
        >>> mine = pa.table({"town": ["Bonn", "Ulm"], "on": ["2019-01-01", "2019-01-02"]})
        >>> lake.join(mine, ["town", "on"], "weather").column("wind").to_pylist()
        ['3', None]
        """
        return self.match(query, key, table).join(matches)

    def enrich(self, query: AnyTable, key: Key, table: TableRef, matches: str = "first") -> Enriched:
        """Join as `join` does; return the table with what is known of the join.

        >>> joined = lake.enrich("sensors.csv", ["city", "day"], "traffic")
        >>> joined.matched_rows, joined.to_arrow().column("Autos").to_pylist()
        (3, ['4100', None, None, '2500', '1800', None])
        """
        return self.match(query, key, table).enrich(matches)

    # Contents

    def find(self, table: TableRef) -> TableInfo:
        """Return a table by its number, file or name.

        >>> lake.find("weather").rows, lake.find("lake/weather.csv").name, lake.find(3).name
        (6, 'weather', 'weather')
        """
        with self._snapshot.use() as index:
            return table_of(index, table)

    def table(self, table: TableRef, into: Frame = "pandas", rows: Sequence[int] | None = None) -> Any:
        """Return the cells of a table as they were read, or of some of its rows, such as `range(10)`.

        >>> lake.table("traffic", into="arrow").column_names
        ['Stadt', 'Tag', 'Autos']
        """
        import numpy as np
        import pyarrow as pa

        from mate.search.query import unique_names

        with self._snapshot.use() as index:
            info = table_of(index, table)
            chosen = np.arange(info.rows) if rows is None else _row_numbers(info, rows)
            cells = index.cells(info.table_id, chosen)
        columns = [pa.array([row[place] for row in cells], pa.string()) for place in range(len(info.columns))]
        return as_frame(pa.table(columns, names=unique_names(info.columns)), into)

    def tables(self) -> list[TableInfo]:
        """Return all tables: number, name, source, columns, rows."""
        with self._snapshot.use() as index:
            return index.tables()

    def sources(self) -> list[dict[str, Any]]:
        """Return the files that were read: source, format, bytes, sha256, tables."""
        with self._snapshot.use() as index:
            return index.sources()

    def rejects(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed: source, line, kind, reason, count."""
        with self._snapshot.use() as index:
            return index.rejects(limit)

    def stats(self) -> Stats:
        """Return counts, settings and sizes.

        >>> lake.stats().tables
        4
        """
        with self._snapshot.use() as index:
            return stats_of(index)

    def refresh(self) -> None:
        """See the lake as it is now. Earlier answers keep the state that they came from.

        >>> with mate.open("lake.mate") as other:
        ...     report = other.remove("events")
        >>> before = len(lake.tables())
        >>> lake.refresh()
        >>> before, len(lake.tables())
        (4, 3)
        """
        with self._snapshot.use():
            self._snapshot = Snapshot(self._open())

    def close(self) -> None:
        """Close the lake; calls in other threads still finish."""
        self._snapshot.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}>"


def _row_numbers(info: TableInfo, rows: Sequence[int]) -> Ids:
    """Return rows of a table as an array; refuse rows that it does not have."""
    import numpy as np

    chosen = np.asarray(rows)
    if chosen.ndim != 1 or (len(chosen) and chosen.dtype.kind not in "iu"):
        raise QueryError("rows are given as a list of whole numbers, counted from 0, or as a range")
    wrong = chosen[(chosen < 0) | (chosen >= info.rows)]
    if len(wrong):
        raise QueryError(f"table {info.table_id} ({info.name}) has {info.rows:,} rows, and no row {wrong[0]:,}")
    return chosen.astype(np.int64)
