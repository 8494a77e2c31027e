"""The system tables, as far as the stand-in has them: each shows a user what that user may see."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from tests.vertica.standin.catalogue import SUPERUSER, Catalogue, Table

Records = list[tuple[Any, ...]]


class Started(NamedTuple):
    """A session, by what the client said when it began."""

    session_id: str
    user: str = ""
    label: str = ""
    os_user: str = ""
    host: str = ""


@dataclass(frozen=True)
class View:
    """What a session sees of a server."""

    catalogue: Catalogue
    started: Started
    sessions: Iterable[Started]
    records_of: Callable[[Table], int]
    """How many records a table has."""

    @property
    def user(self) -> str:
        return self.started.user

    @property
    def _tables(self) -> list[Table]:
        return [table for table in self.catalogue.tables.values() if self.catalogue.sees(self.user, table)]

    def table(self, name: str) -> pa.Table | None:
        """Return a system table by its full name."""
        if name not in _TABLES:
            return None
        listed, records = _TABLES[name]
        names = listed.split()
        columns = list(zip(*records(self), strict=True)) or [()] * len(names)
        return pa.table([pa.array(c, _kind(n)) for n, c in zip(names, columns, strict=True)], names=names)

    def schemata(self) -> Records:
        schemas = self.catalogue.schemas.values()
        return [(each.name, each.owner) for each in schemas if self.catalogue.sees_schema(self.user, each)]

    def tables(self) -> Records:
        return [(t.schema, t.name, t.owner, False) for t in self._tables]

    def nodes(self) -> Records:
        return [("v_vmart_node0001", "UP")]

    def projection_storage(self) -> Records:
        found = [(table, self.records_of(table)) for table in self._tables]
        return [(t.schema, t.name, t.projection, n, n * 8 * len(t.definition.fields)) for t, n in found]

    def current_session(self) -> Records:
        return [self.started]

    def user_sessions(self) -> Records:
        return [each for each in self.sessions if self.user in (SUPERUSER, each.user)]


_NUMBERS = {"row_count", "used_bytes"}
_SESSION = "session_id user_name client_label client_os_user_name client_os_hostname"
_TABLES: dict[str, tuple[str, Callable[[View], Records]]] = {
    "v_catalog.schemata": ("schema_name schema_owner", View.schemata),
    "v_catalog.tables": ("table_schema table_name owner_name is_temp_table", View.tables),
    "v_catalog.nodes": ("node_name node_state", View.nodes),
    "v_monitor.projection_storage": (
        "anchor_table_schema anchor_table_name projection_name row_count used_bytes",
        View.projection_storage,
    ),
    "v_monitor.current_session": (_SESSION, View.current_session),
    "v_monitor.sessions": (_SESSION, View.user_sessions),
    "v_monitor.user_sessions": (_SESSION, View.user_sessions),
    "v_internal.dc_session_starts": (_SESSION, View.user_sessions),
}


def _kind(name: str) -> pa.DataType:
    if name in _NUMBERS:
        return pa.int64()
    return pa.bool_() if name.startswith("is_") else pa.string()
