"""`Graph`: the tables of a lake, the joins between them, and files of both."""

from __future__ import annotations

from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.api.graph.files import graphml, page
from mate.api.outputs import check_output
from mate.errors import QueryError
from mate.files import replacing


class ComparedPairs(NamedTuple):
    """Numbers of pairs of tables that share enough of two columns or more."""

    sharing: int
    """All of them."""
    checked: int
    """Those checked for keys of several columns: the least likely coincidences."""


class Graph:
    """The tables of a lake and the edges between them.

    A "join" leads from a table (`child`) whose `key` finds partners in the `columns` of another (`parent`), with
    evidence from all rows. A "duplicate" or "near-duplicate" has the same columns and (nearly) the same rows;
    `containment` is the fraction that both have. Tables with the same columns, which could be united, have the same
    number `same_columns`.

    >>> lake.graph().nodes.column_names
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
        """Return the edges of a table, the most useful first."""
        own = pc.or_(pc.equal(self.edges["child"], table_id), pc.equal(self.edges["parent"], table_id))
        found: list[dict[str, Any]] = self.edges.filter(own).to_pylist()
        return sorted(found, key=lambda edge: -edge["usefulness"])

    def write(self, folder: str | PathLike[str]) -> list[Path]:
        """Write nodes.parquet, edges.parquet, graph.graphml, and graph.html, a page to explore; return the files."""
        target = Path(folder)
        files = [target / name for name in ("nodes.parquet", "edges.parquet", "graph.graphml", "graph.html")]
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
