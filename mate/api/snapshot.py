"""One state of an index, shared by the threads and answers that use it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mate.api.own_tables import OwnTables
from mate.errors import StoreError
from mate.lake.base import Index
from mate.stores import is_database


class Snapshot:
    """An open index. It is closed when nobody works with it any more: calls that run go on to their end."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._users = 0
        self._closed = False
        self._own_tables: OwnTables | None = None

    @contextmanager
    def use(self) -> Iterator[Index]:
        """Keep the index open while it is worked with."""
        with self._lock:
            if self._closed:
                raise StoreError(f"{self._index.address} is closed; open it again with mate.open(...)")
            self._users += 1
        try:
            yield self._index
        finally:
            with self._lock:
                self._users -= 1
                last = self._closed and not self._users
            if last:
                self._index.close()

    def own_tables(self) -> OwnTables:
        """Return which tables come from which file; found once for a lake, whose state never changes."""
        found = self._own_tables
        if found is None:
            with self.use() as index:
                found = OwnTables(index)
                if not is_database(index.address):
                    self._own_tables = found
        return found

    def close(self) -> None:
        """Let nobody begin anything more; close the index now or with the last call that runs."""
        with self._lock:
            first, self._closed = not self._closed, True
            idle = not self._users
        if first and idle:
            self._index.close()

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise StoreError(
            f"what belongs to {self._index.address} while it is open cannot be pickled; keep to_dicts() or to_pandas()"
        )

    def __del__(self) -> None:
        self.close()
