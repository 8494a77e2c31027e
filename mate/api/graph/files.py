"""A graph of tables as files: columns of Parquet files, GraphML, and a page."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from mate.display import visible

NODES = pa.schema(
    [
        ("table_id", pa.int64()),
        ("name", pa.string()),
        ("source", pa.string()),
        ("rows", pa.int64()),
        ("columns", pa.list_(pa.string())),
        ("edges", pa.int64()),
        ("same_columns", pa.int64()),
    ]
)
EDGES = pa.schema(
    [
        ("kind", pa.string()),
        ("child", pa.int64()),
        ("child_name", pa.string()),
        ("parent", pa.int64()),
        ("parent_name", pa.string()),
        ("key", pa.list_(pa.string())),
        ("columns", pa.list_(pa.string())),
        ("same_columns", pa.bool_()),
        ("joinability", pa.int64()),
        ("key_tuples", pa.int64()),
        ("containment", pa.float64()),
        ("uniqueness", pa.float64()),
        ("usefulness", pa.float64()),
        ("fan_out", pa.float64()),
        ("most_fan_out", pa.int64()),
        ("chance", pa.float64()),
        ("names", pa.float64()),
    ]
)
PAGE = Path(__file__).with_name("page.html")
"""The page, with {{title}} and {{data}} in place of what is filled in. It sets all data as text, never as HTML."""
_NODE_FIELDS = ("name", "source", "rows", "columns", "same_columns")
_EDGE_FIELDS = tuple(name for name in EDGES.names if name not in ("child", "parent", "child_name", "parent_name"))
_TYPES = {pa.int64(): "long", pa.float64(): "double", pa.bool_(): "boolean"}


def graphml(nodes: pa.Table, edges: pa.Table) -> str:
    """Return the graph as GraphML, which Gephi, yEd, Cytoscape and networkx read."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    for domain, schema, fields in (("node", NODES, _NODE_FIELDS), ("edge", EDGES, _EDGE_FIELDS)):
        for name in fields:
            kind = _TYPES.get(schema.field(name).type, "string")
            lines.append(f'<key id="{domain}-{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>')
    lines.append('<graph edgedefault="directed">')
    lines += [f'<node id="{n["table_id"]}">{_data("node", n, _NODE_FIELDS)}</node>' for n in nodes.to_pylist()]
    for edge in edges.to_pylist():
        data = _data("edge", edge, _EDGE_FIELDS)
        lines.append(f'<edge source="{edge["child"]}" target="{edge["parent"]}">{data}</edge>')
    return "\n".join([*lines, "</graph>", "</graphml>", ""])


def _data(domain: str, record: dict[str, Any], fields: tuple[str, ...]) -> str:
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
    place = {table_id: number for number, table_id in enumerate(nodes["table_id"].to_pylist())}
    data = {
        "nodes": [[_shown(record[name]) for name in ("table_id", *_NODE_FIELDS)] for record in nodes.to_pylist()],
        "edges": [
            [place[record["child"]], place[record["parent"]], *(_shown(record[name]) for name in _EDGE_FIELDS)]
            for record in edges.to_pylist()
        ],
        "fields": _EDGE_FIELDS,
    }
    text = json.dumps(data, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    filled = {"{{title}}": escape(visible(address)), "{{data}}": text}
    return re.sub("|".join(filled), lambda match: filled[match[0]], PAGE.read_text(encoding="utf-8"))


def _shown(value: Any) -> Any:
    """Return a value without control characters and needless digits."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [visible(text) for text in value]
    return round(value, 4) if isinstance(value, float) else value
