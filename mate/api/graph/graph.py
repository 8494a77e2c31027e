"""`Graph`: the tables of a lake and the joins between them, found by comparing all tables, and written to files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Unpack

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.api.graph.files import EDGES, NODES, graphml, page
from mate.api.options import WorkOptions, engine_for
from mate.api.outputs import check_output
from mate.build.engine import NoProgress
from mate.errors import QueryError
from mate.files import replacing
from mate.lake.base import Index
from mate.lake.folder import require_folder
from mate.lake.records import TableInfo
from mate.search.batches import partitions_of
from mate.search.graph import Edge, JoinGraph, JoinTask, all_joins
from mate.search.suggest.copies import Copy, copies, same_columns

RANGES, RANGES_PER_CORE = 200, 8
"""Ranges of tables that are compared at once: in this process, and on Spark, where each is a task."""


@dataclass(frozen=True, repr=False)
class Graph:
    """The tables of a lake and the edges between them.

    A "join" leads from a table (`child`) whose `key` finds partners in the `columns` of another (`parent`), with
    evidence from all rows. A "duplicate" or "near-duplicate" has the same columns and (nearly) the same rows;
    `containment` is the fraction that both have. Tables with the same columns, which could be united, have the same
    number `same_columns`.

    >>> lake.graph().nodes.column_names
    ['table_id', 'name', 'source', 'rows', 'columns', 'edges', 'same_columns']
    """

    address: str
    """Address of the lake."""
    nodes: pa.Table
    """One row per table."""
    edges: pa.Table
    """One row per edge, the most useful first."""
    sharing_pairs: int
    """Pairs of tables that share enough of two columns or more."""
    checked_pairs: int
    """Those of them that were checked for keys of several columns: the least likely coincidences."""
    uncounted: int
    """Values in more columns than this were too common to be counted; 0: all were counted."""

    def neighbours(self, table_id: int) -> list[dict[str, Any]]:
        """Return the edges of a table, the most useful first."""
        own = pc.or_(pc.equal(self.edges["child"], table_id), pc.equal(self.edges["parent"], table_id))
        found: list[dict[str, Any]] = self.edges.filter(own).to_pylist()
        return found

    def write(self, folder: str | PathLike[str]) -> list[Path]:
        """Write nodes.parquet, edges.parquet, graph.graphml, and graph.html, a page to explore; return the files."""
        target = Path(folder)
        writers: dict[Path, Callable[[BinaryIO], object]] = {
            target / "nodes.parquet": partial(pq.write_table, self.nodes),
            target / "edges.parquet": partial(pq.write_table, self.edges),
            target / "graph.graphml": lambda stream: stream.write(graphml(self.nodes, self.edges).encode()),
            target / "graph.html": lambda stream: stream.write(page(self.address, self.nodes, self.edges).encode()),
        }
        for file in writers:
            check_output(file, self.nodes["source"].to_pylist)
        try:
            target.mkdir(parents=True, exist_ok=True)
            for file, write in writers.items():
                with replacing(file) as stream:
                    write(stream)
        except OSError as error:
            raise QueryError(f"{error.filename or target} cannot be written: {error.strerror or error}") from None
        return list(writers)

    def __repr__(self) -> str:
        kinds = Counter(self.edges["kind"].to_pylist())
        counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        return f"<Graph: {len(self.nodes):,} tables; {counts or 'no edges'}>"


def compare_tables(index: Index, most_columns: int, **options: Unpack[WorkOptions]) -> Graph:
    """Return the graph of a lake."""
    lake = require_folder(index, "tables are compared by the directory of")
    progress = options.get("progress") or NoProgress()
    with engine_for(options) as engine:
        lake.verify()
        graph = JoinGraph(lake, most_columns)
        finder = graph.finder
        infos = {table: finder.info(table) for table in finder.tables.tolist()}
        progress.start("find copies", 1)
        copied, groups = copies(finder), same_columns(finder)
        progress.update(1, pairs=len(copied.pairs))
        joins_of, ranges = graph.joins_of, graph.ranges(RANGES)
        if engine.is_spark:
            [partition] = partitions_of(lake, 1)
            joins_of, ranges = (
                JoinTask(partition, most_columns).joins_of,
                graph.ranges(RANGES_PER_CORE * engine.parallelism),
            )
        found = all_joins(engine.run(ranges, joins_of, progress, "compare tables"))
    numbers = {info.table_id: table for table, info in infos.items()}
    joins = [edge for edge in found.edges if not copied.are_copies(numbers[edge.child], numbers[edge.parent])]
    rows = [_join_row(edge) for edge in joins] + [_copy_row(pair, infos) for pair in copied.pairs]
    group = {infos[table].table_id: place for place, own in enumerate(groups, start=1) for table in own}
    edges = _edges(rows, {info.table_id: info.name for info in infos.values()}, group)
    nodes = _nodes(list(infos.values()), edges, group)
    return Graph(lake.address, nodes, edges, found.sharing, found.checked, graph.uncounted)


def _join_row(edge: Edge) -> dict[str, Any]:
    evidence = {name: getattr(edge.evidence, name) for name in EDGES.names if hasattr(edge.evidence, name)}
    row = {"kind": "join", "child": edge.child, "parent": edge.parent}
    return {**row, "key": list(edge.key), "columns": list(edge.columns), **evidence}


def _copy_row(pair: Copy, infos: dict[int, TableInfo]) -> dict[str, Any]:
    one, other = infos[pair.one], infos[pair.other]
    return {
        "kind": "duplicate" if pair.shared == 1 else "near-duplicate",
        "child": one.table_id,
        "parent": other.table_id,
        "key": sorted(one.column_names(), key=str.casefold),
        "columns": sorted(other.column_names(), key=str.casefold),
        "joinability": pair.shared_rows,
        "containment": pair.shared,
        "usefulness": pair.shared,
    }


def _edges(rows: list[dict[str, Any]], names: dict[int, str], group: dict[int, int]) -> pa.Table:
    """Return all edges, the most useful first."""
    for row in rows:
        child, parent = row["child"], row["parent"]
        row |= {"child_name": names[child], "parent_name": names[parent]}
        row["same_columns"] = child in group and group[child] == group.get(parent)
    rows.sort(key=lambda row: (-row["usefulness"], row["child"], row["parent"], row["key"]))
    return pa.Table.from_pylist(rows, EDGES)


def _nodes(infos: list[TableInfo], edges: pa.Table, group: dict[int, int]) -> pa.Table:
    degree = Counter([*edges["child"].to_pylist(), *edges["parent"].to_pylist()])
    rows = [
        {
            "table_id": info.table_id,
            "name": info.name,
            "source": info.source,
            "rows": info.rows,
            "columns": info.column_names(),
            "edges": degree[info.table_id],
            "same_columns": group.get(info.table_id),
        }
        for info in sorted(infos, key=lambda info: info.table_id)
    ]
    return pa.Table.from_pylist(rows, NODES)
