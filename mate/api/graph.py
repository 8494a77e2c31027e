"""`Lake.graph`: which tables of a lake join with which, and which are copies of each other."""

from __future__ import annotations

from collections import Counter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mate.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from mate.build.progress import Progress
    from mate.lake.base import Index
    from mate.lake.records import TableInfo
    from mate.search.graph import Edge
    from mate.search.graph_rows import Copy

JOIN, DUPLICATE, NEAR_DUPLICATE = "join", "duplicate", "near-duplicate"
SHORTEST, LONGEST = 1, 4
PAGE = "graph.html"


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

    def __init__(self, address: str, nodes: pa.Table, edges: pa.Table, uncounted: int) -> None:
        self.address = address
        self.nodes = nodes
        """One row per table: table_id, name, source, rows, columns, edges, same_columns."""
        self.edges = edges
        """One row per edge: kind, child, parent, key, columns, same_columns, evidence."""
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


def graph_of(index: Index, most_columns: int, progress: Progress) -> Graph:
    """Compare all tables of a lake with each other."""
    from mate.lake.folder import LakeFolder
    from mate.search.graph import JoinGraph
    from mate.search.graph_directory import lake_directory
    from mate.search.graph_rows import copies, same_columns

    if not isinstance(index, LakeFolder):
        raise QueryError(f"tables are compared by the directory of a lake in a folder, which {index.address} is not")
    if isinstance(most_columns, bool) or not isinstance(most_columns, int) or not SHORTEST <= most_columns <= LONGEST:
        raise QueryError(f"a key has {SHORTEST} to {LONGEST} columns, not {most_columns!r}")
    index.verify()
    directory = lake_directory(index)
    known = {info.table_id: info for info in index.tables()}
    infos = [known[int(table.segment.arrays.table_id[table.place])] for table in directory.tables]
    copied = copies(directory, infos)
    groups = same_columns(directory, infos)
    search = JoinGraph(directory, infos, most_columns)
    joins: list[Edge] = []
    progress.start("compare tables", len(infos))
    numbers = {info.table_id: number for number, info in enumerate(infos)}
    for number in range(len(infos)):
        found = search.joins(number)
        joins += (edge for edge in found if not copied.are_copies(number, numbers[edge.parent]))
        progress.update(number + 1, edges=len(joins))
    group = {infos[number].table_id: place for place, own in enumerate(groups, start=1) for number in own}
    edges = _edges(infos, joins, copied.pairs, group)
    return Graph(index.address, _nodes(infos, edges, group), edges, directory.most_columns)


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
