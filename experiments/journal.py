"""What a batch has measured so far: one line per query, appended as soon as it is done.

A run that is stopped goes on after the last whole line. When all queries are done the records move to their Parquet
files and the journal is removed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Journal:
    """A file of JSON lines: definition and query to records."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: dict[tuple[str, str], list[dict[str, Any]]] = {}
        if path.exists():
            self._recall()

    def _recall(self) -> None:
        """Read what is there; a last line that was cut off is dropped."""
        whole = 0
        for line in self.path.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break
            try:
                entry = json.loads(line)
                records = {(key, entry["query"]): rows for key, rows in entry["records"].items()}
            except (ValueError, KeyError, TypeError, AttributeError):
                break
            self._records.update(records)
            whole += len(line)
        with self.path.open("r+b") as stream:
            stream.truncate(whole)

    def get(self, definition: str, query: str) -> list[dict[str, Any]] | None:
        """Return the records of a definition for a query, None if they were not measured yet."""
        return self._records.get((definition, query))

    def add(self, query: str, records: dict[str, list[dict[str, Any]]]) -> None:
        """Append the records of a query, by definition."""
        self._records.update({(key, query): rows for key, rows in records.items()})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"query": query, "records": records}) + "\n")

    def remove(self) -> None:
        """Forget everything."""
        self.path.unlink(missing_ok=True)
        self._records.clear()
