"""A lake open for reading: search, suggestion, join, and what it holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import index as as_index
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from mate.api.answers import Answer, Answers, Suggestions
from mate.api.arguments import whole_number
from mate.api.enriched import Enriched
from mate.api.given import AnyTable, Frame, as_kind, given_table
from mate.api.snapshot import Snapshot
from mate.api.stats import Stats, stats_of
from mate.api.strategy import COLUMN_FIRST, Strategy, prepare
from mate.errors import QueryError, StoreError

if TYPE_CHECKING:
    from mate.api.batch import BatchAnswers, BatchOptions
    from mate.api.batch_queries import Queries
    from mate.api.graph import Graph, GraphOptions
    from mate.lake.base import Ids, Index
    from mate.lake.records import TableInfo

    Tables = Iterable[int | str | TableInfo] | Literal["self"]
    """Tables by number, file or name; "self": those that were read from the query's own file."""


class Reader:
    """The state of a lake at one moment, until `refresh`; usable from several threads at a time."""

    def __init__(self, address: str, *, verify: bool | None = None) -> None:
        self.address = address
        """Where it is: the path of a folder, or the address of a store or a database."""
        self._verify = verify
        self._snapshot = Snapshot(self._opened())

    def _opened(self) -> Index:
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
        key: str | Sequence[str],
        k: int = 10,
        *,
        rank: str = "usefulness",
        names: bool = True,
        exclude: Tables = (),
        strategy: Strategy | str = COLUMN_FIRST,
    ) -> Answers:
        """Find the k tables that join best with a table of yours on its key columns.

        `rank` is "usefulness" (how much of the key is found, and how unique it is there, then names, then count) or
        "joinability" (the paper's: the count alone). Tables with equal counts then stand in the order of uniqueness,
        but which of them come in at the k-th place is decided by their numbers. `names=False` leaves the names of
        columns and tables aside. `exclude` leaves tables out, "self" those of the query's own file. `strategy` is how
        to search, or the name of a system: answers stay the same.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     for answer in lake.search("sensors.csv", ["city", "day"]):
        ...         print(answer.joinability, answer.table.name, answer.mapping)
        5 weather {'city': 'place', 'day': 'date'}
        3 traffic {'city': 'Stadt', 'day': 'Tag'}
        """
        given = given_table(query)
        snapshot = self._snapshot
        with snapshot.use() as index:
            system, settings = prepare(strategy, index)
            left_out = self._excluded(snapshot, given.query.source, exclude)
            settings = replace(settings, rank=rank, names=bool(names), exclude=left_out)
            found = system(index, given.query, _names(key), whole_number("k", k), settings)
            return Answers(given, snapshot, found)

    def search_many(
        self,
        queries: Queries,
        key: str | Sequence[str] | None = None,
        into: str | PathLike[str] | None = None,
        **options: Unpack[BatchOptions],
    ) -> BatchAnswers:
        """Answer many queries in one go, each as `search` would; one that fails is an error in its place.

        `queries` is a folder of tables, each with this `key` or all its columns; a CSV file with the columns `query` (a
        file, relative to the list's folder), `key` (columns separated by `;`) and, if wanted, `name`; pairs of a table
        and its key; or a mapping of names to such pairs. `into` names a Parquet file for the answers: a batch that was
        stopped goes on where it was when it is started again.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     lake.search_many({"mine": ("sensors.csv", ["city", "day"])}, k=1)["mine"][0]["joinability"]
        5
        """
        from mate.api.batch import BatchOptions, search_many
        from mate.api.batch_queries import planned
        from mate.api.options import check_options
        from mate.api.outputs import check_output

        check_options("search_many", options, BatchOptions.__annotations__)
        snapshot = self._snapshot
        with snapshot.use() as index:
            asked = planned(queries, key, options.get("encoding"))
            if into is not None:
                given = [queries, *(query.given for query in asked)]
                check_output(Path(into), index.address, lambda: [r["source"] for r in index.sources()], given)
            exclude = options.get("exclude", ())
            left_out = (
                snapshot.own_tables()
                if isinstance(exclude, str) and exclude == "self"
                else self._excluded(snapshot, None, exclude)
            )
            return search_many(index, asked, None if into is None else Path(into), options, left_out)

    def suggest(
        self,
        table: AnyTable,
        k: int = 10,
        *,
        columns: str | Sequence[str] | None = None,
        most_columns: int = 4,
        names: bool = True,
        exclude: Tables = (),
    ) -> Suggestions:
        """Find keys for a table: which of its columns, alone or together, join with which tables.

        `columns` are those that may be part of a key (all of them unless given), `most_columns` how many a key may
        have. `names=False` leaves the names of columns and tables aside, `exclude` tables, as in `search`.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     best = lake.suggest("sensors.csv")[0]
        >>> best.key, best.table.name
        (('city',), 'events')
        """
        from mate.search.suggest import SHORTEST, SuggestionSettings, suggest
        from mate.search.suggest.growth import LONGEST

        given = given_table(table, "the table")
        snapshot = self._snapshot
        with snapshot.use() as index:
            chosen = None if columns is None else _names(columns)
            left_out = self._excluded(snapshot, given.query.source, exclude)
            most = whole_number("most_columns", most_columns, SHORTEST, LONGEST)
            settings = SuggestionSettings(whole_number("k", k), most, left_out, chosen, bool(names))
            found = suggest(index, given.query, settings)
            return Suggestions(given, snapshot, found, frozenset(index.manifest.nulls))

    def graph(self, most_columns: int = 3, **options: Unpack[GraphOptions]) -> Graph:
        """Compare all tables of the lake with each other: which join, on which keys of up to `most_columns` columns.

        Joins that chance may give are left out; copies, and tables with the same columns, are marked as such. A large
        lake is compared on Spark (`master`).

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     lake.graph()  # too few values to tell a join from chance
        <Graph: 4 tables; no edges>
        """
        from mate.api.graph import GraphOptions, graph_of
        from mate.api.options import check_options

        check_options("graph", options, GraphOptions.__annotations__)
        with self._snapshot.use() as index:
            return graph_of(index, most_columns, options)

    def enrich(
        self, query: AnyTable, key: str | Sequence[str], table: int | str | TableInfo, matches: str = "first"
    ) -> Enriched:
        """Join a table of yours with one of the lake, by number, file or name; return it with what is known of it.

        The mapping is that of the highest joinability. `matches` is as in `Answer.join`.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     joined = lake.enrich("sensors.csv", ["city", "day"], "traffic")
        >>> joined.matched_rows, joined.to_arrow().column("Autos").to_pylist()
        (3, ['4100', None, None, '2500', '1800', None])
        """
        return self.match(query, key, table).enrich(matches)

    def match(
        self, query: AnyTable, key: str | Sequence[str], table: int | str | TableInfo, *, names: bool = True
    ) -> Answer:
        """Return how one table of the lake joins with a table of yours, as a search that found it would.

        `names=False` leaves the names of columns and tables out of the evidence.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     lake.match("sensors.csv", ["city", "day"], "traffic").joinability
        3
        """
        from mate.search.engine import match_table

        given = given_table(query)
        snapshot = self._snapshot
        with snapshot.use() as index:
            info = found_table(index, table)
            found = match_table(index, given.query, _names(key), info.table_id, names=bool(names))
            if not found.results:
                on = ", ".join(found.key.columns)
                raise QueryError(f"table {info.table_id} ({info.name}) does not join with {given.query.name} on {on}")
            return Answer(given, snapshot, found.results[0], found.key.columns, lambda: found.key)

    def join(
        self, query: AnyTable, key: str | Sequence[str], table: int | str | TableInfo, matches: str = "first"
    ) -> Any:
        """Return a table of yours with the columns of one of the lake, as the kind of table that yours is.

        Every row of yours is kept, in its order.

        >>> import mate
        >>> import pyarrow as pa
        >>> mine = pa.table({"town": ["Bonn", "Ulm"], "on": ["2019-01-01", "2019-01-02"]})
        >>> with mate.open("lake.mate") as lake:
        ...     lake.join(mine, ["town", "on"], "weather").column("wind").to_pylist()
        ['3', None]
        """
        return self.enrich(query, key, table, matches).to_table()

    # What it holds

    def find(self, table: int | str | TableInfo) -> TableInfo:
        """Return a table by its number, its file or its name.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     lake.find("weather").rows, lake.find("lake/weather.csv").name, lake.find(3).name
        (6, 'weather', 'weather')
        """
        with self._snapshot.use() as index:
            return found_table(index, table)

    def table(self, table: int | str | TableInfo, into: Frame = "pandas", rows: Sequence[int] | None = None) -> Any:
        """Return the cells of a table as they were read, as a DataFrame, or as Arrow or polars.

        `rows` are those to return, counted from 0, such as `range(10)`; all of them unless given.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     lake.table("traffic", into="arrow").column_names
        ['Stadt', 'Tag', 'Autos']
        """
        import numpy as np
        import pyarrow as pa

        from mate.search.query import unique_names

        with self._snapshot.use() as index:
            info = found_table(index, table)
            chosen = np.arange(info.rows) if rows is None else _row_numbers(info, rows)
            cells = index.cells(info.table_id, chosen)
        columns = [pa.array([row[place] for row in cells], pa.string()) for place in range(len(info.columns))]
        return as_kind(pa.table(columns, names=unique_names(info.columns)), into)

    def tables(self) -> list[TableInfo]:
        """Return what is known of all tables: number, name, source, columns, rows."""
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
        """Return how much the lake holds, what it is made with, and the bytes of its parts.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     lake.stats().tables
        4
        """
        with self._snapshot.use() as index:
            return stats_of(index)

    # States

    def refresh(self) -> None:
        """See the lake as it is now. Answers that were given before keep the state that they came from.

        >>> import mate
        >>> with mate.open("lake.mate") as lake, mate.open("lake.mate") as other:
        ...     report = other.remove("events")
        ...     before = len(lake.tables())
        ...     lake.refresh()
        ...     before, len(lake.tables())
        (4, 3)
        """
        with self._snapshot.use():
            self._snapshot = Snapshot(self._opened())

    def close(self) -> None:
        """Close the lake; calls that run in other threads go on to their end."""
        self._snapshot.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}>"

    @staticmethod
    def _excluded(snapshot: Snapshot, source: str | None, exclude: Tables) -> frozenset[int]:
        if isinstance(exclude, str):
            if exclude == "self":
                return snapshot.own_tables().of(source)
            raise QueryError(f'exclude takes a list of tables, such as ["{exclude}"], or "self"')
        if not isinstance(exclude, Iterable):
            raise QueryError(f'exclude takes a list of tables, or "self", not {exclude!r}')
        with snapshot.use() as index:
            return frozenset(found_table(index, table).table_id for table in exclude)


def _names(columns: str | Sequence[str]) -> list[str]:
    """Return the names of columns; one may be given without a list."""
    if isinstance(columns, str):
        return [columns]
    if not isinstance(columns, Iterable):
        raise QueryError(f"columns are given as a list of names, not as {type(columns).__name__}")
    return list(columns)


def _row_numbers(info: TableInfo, rows: Sequence[int]) -> Ids:
    """Return rows of a table as an array, or say which it does not have."""
    import numpy as np

    chosen = np.asarray(rows)
    if chosen.ndim != 1 or (len(chosen) and chosen.dtype.kind not in "iu"):
        raise QueryError("rows are given as a list of whole numbers, counted from 0, or as a range")
    wrong = chosen[(chosen < 0) | (chosen >= info.rows)]
    if len(wrong):
        raise QueryError(f"table {info.table_id} ({info.name}) has {info.rows:,} rows, and no row {wrong[0]:,}")
    return chosen.astype(np.int64)


def found_table(index: Index, table: int | str | TableInfo) -> TableInfo:
    """Return a table of an index by its number, its file or its name."""
    from mate.build.changes.naming import find_table
    from mate.lake.records import TableInfo

    if isinstance(table, TableInfo):
        table = table.table_id
    if isinstance(table, str):
        return find_table(index, table)
    if isinstance(table, bool) or not hasattr(table, "__index__"):
        raise QueryError(f"a table is named by its number, file or name, not by {type(table).__name__}")
    number = as_index(table)
    if not 0 <= number < 2**63:
        raise StoreError(f"{index.address} has no table {number}; see: mate stats --tables")
    return index.table(number)
