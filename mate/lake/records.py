"""Records about tables, sources and rejects, as segments and databases store them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import pyarrow as pa

_TEXT, _NUMBER = pa.string(), pa.int64()
TABLES_SCHEMA = pa.schema(
    {
        "table_id": _NUMBER,
        "name": _TEXT,
        "source": _TEXT,
        "position": _NUMBER,
        "line": _NUMBER,
        "columns": pa.list_(_TEXT),
        "rows": _NUMBER,
    }
)
REJECTS_SCHEMA = pa.schema({"source": _TEXT, "line": _NUMBER, "kind": _TEXT, "reason": _TEXT, "count": _NUMBER})
SOURCES_SCHEMA = pa.schema({"source": _TEXT, "format": _TEXT, "bytes": _NUMBER, "sha256": _TEXT, "tables": _NUMBER})


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
