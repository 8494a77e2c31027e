"""`Graph`: the tables of a lake and the joins between them, found by comparing all tables, and written to files."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Unpack

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.api.answers import EVIDENCE
from mate.api.options import WorkOptions, engine_for
from mate.api.outputs import check_output
from mate.build.engine import NoProgress
from mate.display import visible
from mate.errors import QueryError
from mate.files import replacing
from mate.lake.base import Index
from mate.lake.folder import require_folder
from mate.lake.records import TableInfo
from mate.search.graph import Edge, JoinGraph, all_joins
from mate.search.suggest.copies import Copy, copies, same_columns

RANGES, RANGES_PER_CORE = 200, 8
"""Ranges of tables that are compared at once: in this process, and on Spark, where each is a task."""
PAGE = Path(__file__).with_name("graph.html")
"""The page, with {{title}} and {{data}} in place of what is filled in. It sets all data as text, never as HTML."""

_MEASURES = ("containment", "uniqueness", "usefulness", "fan_out", "most_fan_out", "chance", "names")
_TEXT, _TEXTS, _NUMBER = pa.string(), pa.list_(pa.string()), pa.int64()
NODES = pa.schema(
    {
        "table_id": _NUMBER,
        "name": _TEXT,
        "source": _TEXT,
        "rows": _NUMBER,
        "columns": _TEXTS,
        "edges": _NUMBER,
        "same_columns": _NUMBER,
    }
)
EDGES = pa.schema(
    {
        "kind": _TEXT,
        "child": _NUMBER,
        "child_name": _TEXT,
        "parent": _NUMBER,
        "parent_name": _TEXT,
        "key": _TEXTS,
        "columns": _TEXTS,
        "same_columns": pa.bool_(),
        "joinability": _NUMBER,
        "key_tuples": _NUMBER,
        **{name: EVIDENCE[name] for name in _MEASURES},
    }
)
_NODE_FIELDS = ("name", "source", "rows", "columns", "same_columns")
_EDGE_FIELDS = tuple(name for name in EDGES.names if name not in ("child", "parent", "child_name", "parent_name"))


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
        own = (pc.field("child") == table_id) | (pc.field("parent") == table_id)
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
        ranges = graph.ranges(RANGES_PER_CORE * engine.parallelism if engine.is_spark else RANGES)
        found = all_joins(engine.run(ranges, graph.joins_of, progress, "compare tables"))
    numbers = {info.table_id: table for table, info in infos.items()}
    joins = [edge for edge in found.edges if not copied.are_copies(numbers[edge.child], numbers[edge.parent])]
    rows = [_join_row(edge) for edge in joins] + [_copy_row(pair, infos) for pair in copied.pairs]
    group = {infos[table].table_id: place for place, own in enumerate(groups, start=1) for table in own}
    tables = sorted(infos.values(), key=lambda info: info.table_id)
    edges = _edges(rows, {info.table_id: info.name for info in tables}, group)
    nodes = _nodes(tables, edges, group)
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


def _nodes(tables: list[TableInfo], edges: pa.Table, group: dict[int, int]) -> pa.Table:
    degree = Counter([*edges["child"].to_pylist(), *edges["parent"].to_pylist()])
    rows = []
    for info in tables:
        own = {"edges": degree[info.table_id], "same_columns": group.get(info.table_id)}
        rows.append({**info.record(), "columns": info.column_names(), **own})
    return pa.Table.from_pylist(rows, NODES)


def graphml(nodes: pa.Table, edges: pa.Table) -> str:
    """Return the graph as GraphML, which Gephi, yEd, Cytoscape and networkx read."""
    types = {pa.int64(): "long", pa.float64(): "double", pa.bool_(): "boolean"}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    for domain, schema, fields in (("node", NODES, _NODE_FIELDS), ("edge", EDGES, _EDGE_FIELDS)):
        for name in fields:
            kind = types.get(schema.field(name).type, "string")
            lines.append(f'<key id="{domain}-{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>')
    lines.append('<graph edgedefault="directed">')
    lines += [f'<node id="{n["table_id"]}">{_xml("node", n, _NODE_FIELDS)}</node>' for n in nodes.to_pylist()]
    for edge in edges.to_pylist():
        data = _xml("edge", edge, _EDGE_FIELDS)
        lines.append(f'<edge source="{edge["child"]}" target="{edge["parent"]}">{data}</edge>')
    return "\n".join([*lines, "</graph>", "</graphml>", ""])


def _xml(domain: str, record: dict[str, Any], fields: Iterable[str]) -> str:
    """Return the values of a record as XML, without the characters that XML cannot hold."""
    data = ""
    for name in fields:
        value = record[name]
        if value is not None:
            text = ", ".join(value) if isinstance(value, list) else str(value)
            text = text.lower() if isinstance(value, bool) else visible(text)
            text = text.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
            data += f'<data key="{domain}-{name}">{escape(text)}</data>'
    return data


def page(address: str, nodes: pa.Table, edges: pa.Table) -> str:
    """Return one HTML page with everything in it, data as JSON that cannot end its element."""
    data = {"nodes": nodes.to_pydict(), "edges": edges.drop_columns(["child_name", "parent_name"]).to_pydict()}
    text = json.dumps(_shown(data), separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    filled = {"{{title}}": escape(visible(address)), "{{data}}": text}
    return re.sub("|".join(filled), lambda match: filled[match[0]], PAGE.read_text(encoding="utf-8"))


def _shown(value: Any) -> Any:
    """Return plain data without control characters and needless digits."""
    if isinstance(value, dict):
        return {name: _shown(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_shown(part) for part in value]
    if isinstance(value, str):
        return visible(value)
    return round(value, 4) if isinstance(value, float) else value
