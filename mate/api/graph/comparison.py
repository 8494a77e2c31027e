"""Compare all tables of a lake with each other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mate.api.graph.files import EDGES, NODES
from mate.api.graph.graph import ComparedPairs, Graph
from mate.build.engine import NO_SPARK, start_engine
from mate.build.progress import NoProgress
from mate.errors import QueryError
from mate.lake.folder import LakeFolder, require_folder
from mate.search.graph import JoinGraph, all_joins
from mate.search.graph.copies import copies, same_columns
from mate.search.graph.directory import lake_directory
from mate.search.graph.tasks import stored_directory, table_infos, table_ranges

if TYPE_CHECKING:
    from mate.api.options import GraphOptions
    from mate.build.engine import Engine
    from mate.build.progress import Progress
    from mate.lake.base import Index
    from mate.lake.records import TableInfo
    from mate.search.graph import Edge, Joins
    from mate.search.graph.copies import Copy

LEAST_COLUMNS, MOST_COLUMNS = 1, 4
MEASURED = (
    *("joinability", "key_tuples", "containment", "uniqueness", "usefulness"),
    *("fan_out", "most_fan_out", "chance", "names"),
)
"""Pieces of evidence that an edge has."""
RANGES, RANGES_PER_CORE = 200, 8
"""Ranges of tables that are compared at once: in this process, and on Spark, where each is a task."""


def compare_tables(index: Index, most_columns: int, options: GraphOptions) -> Graph:
    """Return the graph of a lake."""
    lake = require_folder(index, "tables are compared by the directory of")
    is_number = isinstance(most_columns, int) and not isinstance(most_columns, bool)
    if not is_number or not LEAST_COLUMNS <= most_columns <= MOST_COLUMNS:
        raise QueryError(f"a key has {LEAST_COLUMNS} to {MOST_COLUMNS} columns, not {most_columns!r}")
    master, spark = options.get("master", NO_SPARK), options.get("spark") or {}
    with start_engine(master, spark, verbose=options.get("verbose", False)) as engine:
        return _graph(lake, most_columns, engine, options)


def _graph(index: LakeFolder, most_columns: int, engine: Engine, options: GraphOptions) -> Graph:
    progress = options.get("progress") or NoProgress()
    index.verify()
    progress.start("merge directories", 1)
    directory = lake_directory(index)
    infos = table_infos(index, directory)
    progress.update(1, tables=len(infos))
    progress.start("find copies", 1)
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
    """Return the joins of all tables: computed here, or in tasks that map lake and directory."""
    if not engine.is_spark:
        ranges = table_ranges(graph.directory, RANGES)
        return all_joins(engine.run(ranges, graph.joins_of, progress, "compare tables"))
    work = Path(options["work"]) if "work" in options else None
    ranges = table_ranges(graph.directory, RANGES_PER_CORE * engine.parallelism)
    with stored_directory(index, graph.directory, graph.most_columns, work) as stored:
        return all_joins(engine.run(ranges, stored.joins_of, progress, "compare tables"))


def _edges(infos: list[TableInfo], joins: list[Edge], pairs: list[Copy], group: dict[int, int]) -> pa.Table:
    """Return all edges, the most useful first."""
    names = {info.table_id: info.name for info in infos}
    rows = [_join_row(edge) for edge in joins] + [_copy_row(pair, infos) for pair in pairs]
    for row in rows:
        child, parent = row["child"], row["parent"]
        row |= {"child_name": names[child], "parent_name": names[parent]}
        row["same_columns"] = child in group and group[child] == group.get(parent)
    rows.sort(key=lambda row: (-row["usefulness"], row["child"], row["parent"], row["key"]))
    return pa.Table.from_pylist(rows, EDGES)


def _join_row(edge: Edge) -> dict[str, Any]:
    return {
        "kind": "join",
        "child": edge.child,
        "parent": edge.parent,
        "key": list(edge.key),
        "columns": list(edge.columns),
        **{name: getattr(edge.evidence, name) for name in MEASURED},
    }


def _copy_row(pair: Copy, infos: list[TableInfo]) -> dict[str, Any]:
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


def _nodes(infos: list[TableInfo], edges: pa.Table, group: dict[int, int]) -> pa.Table:
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
