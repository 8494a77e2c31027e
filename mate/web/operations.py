"""Every operation of the API, once: its address, what it takes, and what does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from mate.web.queries import ENDINGS
from mate.web.schemas import LARGEST, Schema, either, file_name, flag, integer, names, one_of, record, text
from mate.web.service import Service

UPLOAD = "application/octet-stream"
WORK = "Mate-Work"
"""The header that gives long work a name, to ask under how far it is."""
LONGEST_NAME = 100

_QUERY = {
    "query": text("name of an uploaded table, as the upload returned it"),
    "table": integer(0, LARGEST, description="number of a table of the lake"),
}
_KEY = {"key": names("key columns of the query")}
_WITH = {"with": integer(0, LARGEST, description="number of the table of the lake to join with")}
_ENDINGS = file_name(ENDINGS, "name of the file: its ending tells the format")
_PAGE = {"offset": integer(0, LARGEST, 0), "limit": integer(1, 1_000, 50)}


def _asked(required: tuple[str, ...] = (), /, **fields: Schema) -> Schema:
    """Return the schema of a request about a table that is searched with."""
    return either(record(required, **_QUERY, **fields), *_QUERY)


_JOIN = _asked(
    ("key", "with"),
    **_KEY,
    **_WITH,
    matches=one_of(("first", "all", "aggregate"), "what becomes of several matching rows"),
    format=one_of(("csv", "parquet")),
    safe=flag(False, "whether cells that a spreadsheet may run as formulas get an apostrophe in front"),
)


class Lane(Enum):
    """Queues of requests: nobody waits for what usually takes a hundred times as long."""

    QUICK = "quick"
    """A look at what is known: there also while all others are busy."""
    SEARCH = "search"
    """A search with one key, or the rows of one answer."""
    LONG = "long"
    """Many searches, or reading and writing a whole table."""


@dataclass(frozen=True)
class Operation:
    """One operation: a method and an address, and the function of the service that answers it."""

    method: str
    path: str
    run: Callable[[Service, dict[str, Any]], Any]
    parameters: Schema = field(default_factory=record)
    """Of the address, in its path or behind the question mark."""
    body: Schema | None = None
    upload: bool = False
    """Whether the body is a file."""
    lane: Lane = Lane.QUICK
    """Whom it waits for."""
    known: Callable[[Service, dict[str, Any]], Any] | None = None
    """Returns the answer if it is known already, None if it is not: nobody waits for that."""
    returns: tuple[str, ...] = ()
    """Fields of the answer."""

    @property
    def name(self) -> str:
        """Its name: that of the function which answers it."""
        return self.run.__name__

    @property
    def is_long(self) -> bool:
        """Whether somebody may want to know how far it is."""
        return self.lane is not Lane.QUICK

    @property
    def summary(self) -> str:
        """What it is for."""
        return (self.run.__doc__ or "").partition("\n")[0]


_DESCRIBED = ("name", "rows", "profiled_rows", "columns", "preview")
_ANSWER = ("table_id", "table", "source", "joinability", "mapping", "evidence", "added")

OPERATIONS = (
    Operation("GET", "/api/lake", Service.about, returns=("address", "tables", "rows", "cells", "rejects", "limits")),
    Operation(
        "GET",
        "/api/tables",
        Service.tables,
        record(search=text("words of the name, source or columns", "", 1_000), **_PAGE),
        returns=("total", "tables"),
    ),
    Operation(
        "GET",
        "/api/tables/{table_id}",
        Service.table,
        record(("table_id",), table_id=integer(0, LARGEST)),
        returns=("table_id", "source", *_DESCRIBED),
    ),
    Operation("GET", "/api/rejects", Service.rejects, record(**_PAGE), returns=("total", "rejects")),
    Operation("GET", "/api/sources", Service.sources, record(**_PAGE), returns=("total", "sources")),
    Operation(
        "POST",
        "/api/queries",
        Service.upload,
        record(("name",), name=_ENDINGS),
        upload=True,
        lane=Lane.LONG,
        returns=("query", *_DESCRIBED, "warnings"),
    ),
    Operation(
        "POST",
        "/api/suggest",
        Service.suggest,
        body=_asked(
            columns=names("columns that may be part of a key; all unless given"),
            k=integer(1, 100, 10),
            most_columns=integer(1, 4, 4),
        ),
        lane=Lane.LONG,
        known=Service.known_suggestions,
        returns=("suggestions", "tried", "python"),
    ),
    Operation(
        "POST",
        "/api/search",
        Service.search,
        body=_asked(
            ("key",),
            **_KEY,
            k=integer(1, 1_000, 10),
            rank=one_of(("usefulness", "joinability")),
            names=flag(True, "whether names of columns and tables play a part"),
        ),
        lane=Lane.SEARCH,
        returns=("key", "key_tuples", "rows_left_out", "answers", "explanation", "python"),
    ),
    Operation(
        "POST",
        "/api/preview",
        Service.preview,
        body=_asked(("key", "with"), **_KEY, **_WITH),
        lane=Lane.SEARCH,
        returns=(*_ANSWER, "rows", "matched_rows", "query_columns", "table_columns", "query_rows", "table_rows"),
    ),
    Operation(
        "POST",
        "/api/join",
        Service.join,
        body=_JOIN,
        lane=Lane.LONG,
    ),
    Operation("POST", "/api/join/python", Service.join_lines, body=_JOIN, returns=("python",)),
    Operation(
        "GET",
        "/api/work/{work}",
        Service.progress,
        record(("work",), work=text("the name that the request gave itself", longest=LONGEST_NAME)),
        returns=("before", "done", "total"),
    ),
    Operation("POST", "/api/refresh", Service.refresh, body=record(), returns=("address", "tables")),
)
