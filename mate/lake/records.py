"""Records about tables, sources and rejects, as segments and databases store them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import pyarrow as pa

TABLES_SCHEMA = pa.schema(
    [
        ("table_id", pa.int64()),
        ("name", pa.string()),
        ("source", pa.string()),
        ("position", pa.int64()),
        ("line", pa.int64()),
        ("columns", pa.list_(pa.string())),
        ("rows", pa.int64()),
    ]
)
REJECTS_SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("line", pa.int64()),
        ("kind", pa.string()),
        ("reason", pa.string()),
        ("count", pa.int64()),
    ]
)
SOURCES_SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("format", pa.string()),
        ("bytes", pa.int64()),
        ("sha256", pa.string()),
        ("tables", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class TableInfo:
    """Table metadata."""

    table_id: int
    name: str
    source: str
    position: int
    line: int
    columns: tuple[str, ...]
    rows: int

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Parse a record of `TABLES_SCHEMA`."""
        return cls(**{**record, "columns": tuple(record["columns"])})

    def record(self) -> dict[str, Any]:
        """Return it as a record of `TABLES_SCHEMA`."""
        return asdict(self) | {"columns": list(self.columns)}

    def column_names(self) -> list[str]:
        """Return a name for every column; those without one are numbered."""
        return [name or f"column {place}" for place, name in enumerate(self.columns, start=1)]
