"""The operations of the API: address, fields and function of each, and the OpenAPI document that describes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import mate
from mate.web.schemas import LARGEST, Schema, either, file_name, flag, integer, names, one_of, record, text
from mate.web.service import MEDIA, Service
from mate.web.uploads import ENDINGS

UPLOAD = "application/octet-stream"
WORK = "Mate-Work"
"""The header that names a long request, so that the client can ask for its progress."""
LONGEST_NAME = 100

_QUERY = {
    "query": text("name of an uploaded table, as the upload returned it"),
    "table": integer(0, LARGEST, description="number of a table of the lake"),
}
_KEY = {"key": names("key columns of the query")}
_WITH = {"with": integer(0, LARGEST, description="number of the table of the lake to join with")}
_PAGE = {"offset": integer(0, LARGEST, 0), "limit": integer(1, 1_000, 50)}


def _query_fields(required: tuple[str, ...] = (), /, **fields: Schema) -> Schema:
    """Return the schema of a request about a table that is searched with."""
    return either(record(required, **_QUERY, **fields), *_QUERY)


_JOIN = _query_fields(
    ("key", "with"),
    **_KEY,
    **_WITH,
    matches=one_of(("first", "all", "aggregate"), "what to do with several matching rows"),
    format=one_of(("csv", "parquet")),
    safe=flag(False, "whether to put an apostrophe before cells that a spreadsheet may run as formulas"),
)


class Queue(Enum):
    """Queues of requests: nobody waits for requests that usually take a hundred times as long."""

    QUICK = "quick"
    """Lookups, which are answered even while all other queues are full."""
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
    """Parameters of the address, in its path or after the question mark."""
    body: Schema | None = None
    upload: bool = False
    """Whether the body is a file."""
    queue: Queue = Queue.QUICK
    cached: Callable[[Service, dict[str, Any]], Any] | None = None
    """Returns the answer from a cache, without waiting, or None."""
    returns: tuple[str, ...] = ()
    """Fields of the answer."""

    @property
    def name(self) -> str:
        """Its name: that of the function that answers it."""
        return self.run.__name__

    @property
    def is_long(self) -> bool:
        """Whether a client can ask for its progress."""
        return self.queue is not Queue.QUICK


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
        record(("name",), name=file_name(ENDINGS, "name of the file: its ending tells the format")),
        upload=True,
        queue=Queue.LONG,
        returns=("query", *_DESCRIBED, "warnings"),
    ),
    Operation(
        "POST",
        "/api/suggest",
        Service.suggest,
        body=_query_fields(
            columns=names("columns that may be part of a key; all unless given"),
            k=integer(1, 100, 10),
            most_columns=integer(1, 4, 4),
        ),
        queue=Queue.LONG,
        cached=Service.cached_suggestions,
        returns=("suggestions", "tried", "python"),
    ),
    Operation(
        "POST",
        "/api/search",
        Service.search,
        body=_query_fields(
            ("key",),
            **_KEY,
            k=integer(1, 1_000, 10),
            rank=one_of(("usefulness", "joinability")),
            names=flag(True, "whether to compare the names of columns and tables"),
        ),
        queue=Queue.SEARCH,
        returns=("key", "key_tuples", "rows_left_out", "answers", "explanation", "python"),
    ),
    Operation(
        "POST",
        "/api/preview",
        Service.preview,
        body=_query_fields(("key", "with"), **_KEY, **_WITH),
        queue=Queue.SEARCH,
        returns=(*_ANSWER, "rows", "matched_rows", "query_columns", "table_columns", "query_rows", "table_rows"),
    ),
    Operation("POST", "/api/join", Service.join, body=_JOIN, queue=Queue.LONG),
    Operation("POST", "/api/join/python", Service.join_lines, body=_JOIN, returns=("python",)),
    Operation(
        "GET",
        "/api/work/{work}",
        Service.progress,
        record(("work",), work=text("the name that the client gave the request", longest=LONGEST_NAME)),
        returns=("before", "done", "total"),
    ),
    Operation("POST", "/api/refresh", Service.refresh, body=record(), returns=("address", "tables")),
)

STATUSES = {
    "400": "the request is not valid",
    "403": "refused: another host, another site, or no token",
    "404": "no such table, upload or address",
    "405": "another method",
    "413": "too large",
    "415": "another content type",
    "503": "too many requests are waiting, or this one took too long; Retry-After says when to try again",
}
_ERROR = {
    "type": "object",
    "properties": {"error": {"type": "string", "description": "what is wrong, and what to do"}},
    "required": ["error"],
}
_NAME_HEADER = {
    "name": WORK,
    "in": "header",
    "required": False,
    "description": "a name that nobody can guess, to ask for the progress of the request at /api/work",
    "schema": text(longest=LONGEST_NAME),
}


def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    description = "Find the tables of a lake that join with yours on several columns."
    return {
        "openapi": "3.1.0",
        "info": {"title": "MATE", "version": mate.__version__, "description": description},
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _described(operation: Operation) -> dict[str, Any]:
    """Return what the document says about an operation."""
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    responses = {status: {"description": meaning, "content": error} for status, meaning in STATUSES.items()}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": (operation.run.__doc__ or "").partition("\n")[0],
        "parameters": _parameters(operation),
        "responses": {"200": {"description": "the answer", "content": _content(operation)}, **responses},
    }
    if operation.upload:
        described["requestBody"] = {"required": True, "content": {UPLOAD: {"schema": {}}}}
    elif operation.body is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": operation.body}}}
    return described


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    parameters = [
        {
            "name": name,
            "in": "path" if f"{{{name}}}" in operation.path else "query",
            "required": name in operation.parameters["required"],
            "schema": schema,
        }
        for name, schema in operation.parameters["properties"].items()
    ]
    return [_NAME_HEADER, *parameters] if operation.is_long else parameters


def _content(operation: Operation) -> dict[str, Any]:
    if not operation.returns:
        return {media.partition(";")[0]: {"schema": {}} for media in MEDIA.values()}
    return {"application/json": {"schema": {"type": "object", "required": list(operation.returns)}}}
