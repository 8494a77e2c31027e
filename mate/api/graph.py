"""`Lake.graph`: which tables of a lake join with which, and which are copies of each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, cast

from mate.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from mate.build.engine import Engine
    from mate.build.progress import Progress
    from mate.lake.base import Index
    from mate.lake.folder import LakeFolder
    from mate.lake.records import TableInfo
    from mate.search.graph import Edge, JoinGraph, Joins
    from mate.search.graph.copies import Copy

JOIN, DUPLICATE, NEAR_DUPLICATE = "join", "duplicate", "near-duplicate"
SHORTEST, LONGEST = 1, 4
PAGE = "graph.html"
MERGING, COPYING, COMPARING = "merge directories", "find copies", "compare tables"

RANGES, RANGES_PER_CORE = 200, 8
"""Ranges of tables that are compared in one go: in this process, and on Spark, where each is a task."""


class GraphOptions(TypedDict, total=False):
    """What comparing the tables of a lake takes."""

    master: str
    """Where tables are compared: "none", in this process, unless given; "local[*]" or an address, on Spark."""
    spark: Mapping[str, str]
    """Settings of Spark."""
    verbose: bool
    """Show what Spark logs."""
    work: str | PathLike[str]
    """A folder that all workers see, for the merged directory; the one that the lake is in unless given."""
    progress: Progress
    """Is told how far the work is."""


class ComparedPairs(NamedTuple):
    """Pairs of a table and another one that holds enough of two of its columns or more."""

    sharing: int
    """All of them."""
    checked: int
    """Those in which keys of several columns were looked for: the least likely coincidences."""


class Graph:
    """The tables of a lake as a graph.

    An edge of the kind "join" goes from a table (`child`) that looks for partners with its `key` to one that holds
    them in its `columns` (`parent`), with evidence from all rows. "duplicate" and "near-duplicate" are tables with the
    same columns and the same rows, or nearly: `containment` is the share of their rows that both have. Tables with the
    same columns, which could be united, have the same number `same_columns`, and an edge between two of them is marked.

    >>> import mate
    >>> with mate.open("lake.mate") as lake:
    ...     graph = lake.graph()
    >>> graph.nodes.column_names
    ['table_id', 'name', 'source', 'rows', 'columns', 'edges', 'same_columns']
    """

    def __init__(self, address: str, nodes: pa.Table, edges: pa.Table, pairs: ComparedPairs, uncounted: int) -> None:
        self.address = address
        self.nodes = nodes
        """One row per table: table_id, name, source, rows, columns, edges, same_columns."""
        self.edges = edges
        """One row per edge: kind, child, parent, key, columns, same_columns, evidence."""
        self.pairs = pairs
        """In how many pairs of tables keys of several columns were looked for."""
        self.uncounted = uncounted
        """Values in more columns than this were too common to be counted; 0: all were counted."""

    def neighbours(self, table_id: int) -> list[dict[str, Any]]:
        """Return the edges of a table, by its number, the most useful first."""
        import pyarrow.compute as pc

        own = pc.or_(pc.equal(self.edges["child"], table_id), pc.equal(self.edges["parent"], table_id))
        found: list[dict[str, Any]] = self.edges.filter(own).to_pylist()
        return sorted(found, key=lambda edge: -edge["usefulness"])

    def write(self, folder: str | PathLike[str]) -> list[Path]:
        """Write nodes.parquet, edges.parquet, graph.graphml, and graph.html, a page to explore; return the files."""
        import pyarrow.parquet as pq

        from mate.api.graph_files import graphml, page
        from mate.api.outputs import check_output
        from mate.files import replacing

        target = Path(folder)
        files = [target / name for name in ("nodes.parquet", "edges.parquet", "graph.graphml", PAGE)]
        for file in files:
            check_output(file, self.address, self.nodes["source"].to_pylist)
        try:
            target.mkdir(parents=True, exist_ok=True)
            for file, rows in zip(files[:2], (self.nodes, self.edges), strict=True):
                with replacing(file) as stream:
                    pq.write_table(rows, stream)
            texts = graphml(self.nodes, self.edges), page(self.address, self.nodes, self.edges)
            for file, text in zip(files[2:], texts, strict=True):
                with replacing(file) as stream:
                    stream.write(text.encode())
        except OSError as error:
            raise QueryError(f"{error.filename or target} cannot be written: {error.strerror or error}") from None
        return files

    def __repr__(self) -> str:
        kinds = Counter(self.edges["kind"].to_pylist())
        counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        return f"<Graph: {len(self.nodes):,} tables; {counts or 'no edges'}>"


def graph_of(index: Index, most_columns: int, options: GraphOptions) -> Graph:
    """Compare all tables of a lake with each other."""
    from mate.build.engine import NO_SPARK, start_engine

    if not index.has_directory:
        raise QueryError(f"tables are compared by the directory of a lake in a folder, which {index.address} is not")
    if isinstance(most_columns, bool) or not isinstance(most_columns, int) or not SHORTEST <= most_columns <= LONGEST:
        raise QueryError(f"a key has {SHORTEST} to {LONGEST} columns, not {most_columns!r}")
    master, spark = options.get("master", NO_SPARK), options.get("spark") or {}
    with start_engine(master, spark, verbose=options.get("verbose", False)) as engine:
        return _compared(cast("LakeFolder", index), most_columns, engine, options)


def _compared(index: LakeFolder, most_columns: int, engine: Engine, options: GraphOptions) -> Graph:
    from mate.build.progress import Silent
    from mate.search.graph import JoinGraph
    from mate.search.graph.copies import copies, same_columns
    from mate.search.graph.directory import lake_directory
    from mate.search.graph.tasks import table_infos

    progress = options.get("progress") or Silent()
    index.verify()
    progress.start(MERGING, 1)
    directory = lake_directory(index)
    infos = table_infos(index, directory)
    progress.update(1, tables=len(infos))
    progress.start(COPYING, 1)
    copied = copies(directory, infos)
    groups = same_columns(directory, infos)
    progress.update(1, pairs=len(copied.pairs))
    numbers = {info.table_id: number for number, info in enumerate(infos)}
    found = _joins(index, JoinGraph(directory, infos, most_columns), engine, options, progress)
    joins = [edge for edge in found.edges if not copied.are_copies(numbers[edge.child], numbers[edge.parent])]
    group = {infos[number].table_id: place for place, own in enumerate(groups, start=1) for number in own}
    edges = _edges(infos, joins, copied.pairs, group)
    pairs = ComparedPairs(found.sharing, found.checked)
    return Graph(index.address, _nodes(infos, edges, group), edges, pairs, directory.most_columns)


def _joins(index: LakeFolder, graph: JoinGraph, engine: Engine, options: GraphOptions, progress: Progress) -> Joins:
    """Return the joins of all tables: here, or in tasks that map lake and directory."""
    from mate.search.graph import all_joins
    from mate.search.graph.tasks import stored_directory, table_ranges

    if engine.is_spark:
        work = Path(options["work"]) if "work" in options else None
        ranges = table_ranges(graph.directory, RANGES_PER_CORE * engine.parallelism)
        with stored_directory(index, graph.directory, graph.most_columns, work) as stored:
            found = engine.run(ranges, stored.joins_of, progress, COMPARING)
    else:
        found = engine.run(table_ranges(graph.directory, RANGES), graph.joins_of, progress, COMPARING)
    return all_joins(found)


def _edges(infos: list[TableInfo], joins: list[Edge], pairs: list[Copy], group: dict[int, int]) -> pa.Table:
    """Return all edges, the most useful first."""
    import pyarrow as pa

    from mate.api.graph_files import EDGES

    names = {info.table_id: info.name for info in infos}
    rows = [_join_row(edge, names) for edge in joins]
    rows += [_copy_row(pair, infos) for pair in pairs]
    for row in rows:
        own = group.get(row["child"])
        row["same_columns"] = own is not None and own == group.get(row["parent"])
    rows.sort(key=lambda row: (-row["usefulness"], row["child"], row["parent"], row["key"]))
    return pa.Table.from_pylist(rows, EDGES)


def _join_row(edge: Edge, names: dict[int, str]) -> dict[str, Any]:
    evidence = edge.evidence
    pieces = ("joinability", "key_tuples", "containment", "uniqueness", "usefulness", "fan_out", "most_fan_out")
    return {
        "kind": JOIN,
        "child": edge.child,
        "child_name": names[edge.child],
        "parent": edge.parent,
        "parent_name": names[edge.parent],
        "key": list(edge.key),
        "columns": list(edge.columns),
        **{name: getattr(evidence, name) for name in (*pieces, "chance", "names")},
    }


def _copy_row(pair: Copy, infos: list[TableInfo]) -> dict[str, Any]:
    one, other = infos[pair.one], infos[pair.other]
    return {
        "kind": DUPLICATE if pair.shared == 1 else NEAR_DUPLICATE,
        "child": one.table_id,
        "child_name": one.name,
        "parent": other.table_id,
        "parent_name": other.name,
        "key": sorted(one.column_names(), key=str.casefold),
        "columns": sorted(other.column_names(), key=str.casefold),
        "joinability": pair.shared_rows,
        "containment": pair.shared,
        "usefulness": pair.shared,
    }


def _nodes(infos: list[TableInfo], edges: pa.Table, group: dict[int, int]) -> pa.Table:
    import pyarrow as pa

    from mate.api.graph_files import NODES

    degree = Counter([*edges["child"].to_pylist(), *edges["parent"].to_pylist()])
    rows: list[dict[str, Any]] = [
        {
            "table_id": info.table_id,
            "name": info.name,
            "source": info.source,
            "rows": info.rows,
            "columns": info.column_names(),
            "edges": degree[info.table_id],
            "same_columns": group.get(info.table_id),
        }
        for info in infos
    ]
    return pa.Table.from_pylist(sorted(rows, key=lambda row: row["table_id"]), NODES)
