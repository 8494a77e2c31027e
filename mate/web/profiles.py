"""Columns of a table described by their values, and rows as JSON."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

TYPES = (
    ("whole number", r"^[+-]?\d{1,3}(,\d{3})+$|^[+-]?\d+$"),
    ("number", r"^[+-]?(\d+|\d{1,3}(,\d{3})+)?([.,]\d+)?([eE][+-]?\d+)?\s?%?$"),
    ("date", r"^\d{4}-\d{1,2}-\d{1,2}([T ].*)?$|^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}$"),
    ("yes or no", r"(?i)^(true|false|yes|no|ja|nein|y|n|t|f)$"),
)
"""A column has the first type that fits all its values, or else it is text."""


def profile(table: pa.Table, nulls: Set[str]) -> list[dict[str, Any]]:
    """Describe the columns of a table whose cells are text; `nulls` are texts that count as no value."""
    return [_column(name, column, nulls) for name, column in zip(table.column_names, table.columns, strict=True)]


def _column(name: str, column: pa.ChunkedArray, nulls: Set[str]) -> dict[str, Any]:
    counts = pc.value_counts(column.combine_chunks())
    values = pc.utf8_lower(pc.utf8_trim_whitespace(counts.field("values")))
    empty = pc.fill_null(pc.or_(pc.equal(values, ""), pc.is_in(values, pa.array(sorted(nulls), pa.string()))), True)
    filled = values.filter(pc.invert(empty))
    rows_empty = pc.sum(counts.field("counts").filter(empty)).as_py() or 0
    return {
        "name": name,
        "type": _type(filled),
        "distinct": len(pc.unique(filled)),
        "empty_share": rows_empty / max(1, len(column)),
    }


def _type(values: pa.Array) -> str:
    if not len(values):
        return "empty"
    fitting = (name for name, rule in TYPES if pc.all(pc.match_substring_regex(values, rule)).as_py())
    return next(fitting, "text")


def rows_of(table: pa.Table, longest: int) -> list[list[str | None]]:
    """Return the rows of a table whose cells are text, long cells cut."""
    columns = [column.to_pylist() for column in table.columns]
    return [[None if cell is None else cut(cell, longest) for cell in row] for row in zip(*columns, strict=True)]


def cut(text: str, longest: int) -> str:
    """Return a text, or its beginning with an ellipsis."""
    return text if len(text) <= longest else f"{text[:longest]}…"
