"""The operations of the API: address, queue and function of each, and the OpenAPI document that describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import mate
from mate.web.requests import QUERY, Schema, schema_of
from mate.web.service import MEDIA, Service

UPLOAD = "application/octet-stream"
LINES = "application/x-ndjson"
WORK = "Mate-Work"
"""The header that names a long request, so that the client can ask for its progress."""


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
    run: Callable[..., Any]
    queue: Queue = Queue.QUICK
    returns: tuple[str, ...] = ()
    """Fields of the answer; none if it is a file."""
    in_steps: bool = False
    """Whether the answer comes in steps, each a line with all that is found so far; the last is cached."""

    @cached_property
    def schema(self) -> Schema:
        """The JSON schema of its fields."""
        return schema_of(self.run)

    @property
    def name(self) -> str:
        """Its name: that of the function that answers it."""
        return self.run.__name__

    @property
    def is_long(self) -> bool:
        """Whether a client can ask for its progress."""
        return self.queue is not Queue.QUICK

    @property
    def media(self) -> str | None:
        """Content type of its body."""
        if self.run is Service.upload:
            return UPLOAD
        return "application/json" if self.method == "POST" else None

    def steps(self, service: Service, fields: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the steps of the answer to a request: only one, unless it is one that comes in steps."""
        answers, question = service.answers, repr(sorted(fields.items())) if self.in_steps else ""
        if self.in_steps and (known := answers.get(question)):
            yield known
            return
        arguments = {f"{name}_" if name == "with" else name: value for name, value in fields.items()}
        if "oneOf" in self.schema:
            arguments["query"] = service.find_query(*(arguments.pop(name, None) for name in QUERY))
        answer = self.run(service, **arguments)
        for step in answer if self.in_steps else [answer]:
            if self.in_steps and step["complete"]:
                answers.add(question, step)
            yield step


_ABOUT = ("address", "tables", "rows", "cells", "rejects", "limits")
_DESCRIBED = ("name", "rows", "profiled_rows", "columns", "preview")
_TABLE = ("table_id", "source", *_DESCRIBED)
_UPLOADED = ("query", "warnings", *_DESCRIBED)
_ANSWER = ("table_id", "table", "source", "joinability", "mapping", "evidence", "added")
_KEYS = ("suggestions", "complete", "tried", "message", "python")
_SEARCH = ("key", "key_tuples", "rows_left_out", "answers", "explanation", "python")
_ROWS = ("rows", "matched_rows", "query_columns", "table_columns", "query_rows", "table_rows", "python")

OPERATIONS = (
    Operation("GET", "/api/lake", Service.about, returns=_ABOUT),
    Operation("GET", "/api/tables", Service.tables, returns=("total", "tables")),
    Operation("GET", "/api/tables/{table_id}", Service.table, returns=_TABLE),
    Operation("GET", "/api/rejects", Service.rejects, returns=("total", "rejects")),
    Operation("GET", "/api/sources", Service.sources, returns=("total", "sources")),
    Operation("POST", "/api/queries", Service.upload, Queue.LONG, _UPLOADED),
    Operation("POST", "/api/suggest", Service.suggest, Queue.LONG, _KEYS, in_steps=True),
    Operation("POST", "/api/search", Service.search, Queue.SEARCH, _SEARCH),
    Operation("POST", "/api/preview", Service.preview, Queue.SEARCH, (*_ANSWER, *_ROWS)),
    Operation("POST", "/api/join", Service.join, Queue.LONG),
    Operation("GET", "/api/work/{work}", Service.progress, returns=("before", "done", "total")),
    Operation("POST", "/api/refresh", Service.refresh, returns=_ABOUT),
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
_WORK_HEADER = {
    "name": WORK,
    "in": "header",
    "required": False,
    "description": "a name that nobody can guess, to ask for the progress of the request at /api/work",
    "schema": {"type": "string"},
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
        "parameters": [_WORK_HEADER] if operation.is_long else [],
        "responses": {"200": {"description": "the answer", "content": _content(operation)}, **responses},
    }
    if operation.media == "application/json":
        described["requestBody"] = {"required": True, "content": {operation.media: {"schema": operation.schema}}}
        return described
    if operation.media == UPLOAD:
        described["requestBody"] = {"required": True, "content": {UPLOAD: {"schema": {}}}}
    for name, field in operation.schema["properties"].items():
        place = "path" if f"{{{name}}}" in operation.path else "query"
        required = name in operation.schema["required"]
        described["parameters"].append({"name": name, "in": place, "required": required, "schema": field})
    return described


def _content(operation: Operation) -> dict[str, Any]:
    if not operation.returns:
        return {media.partition(";")[0]: {"schema": {}} for media in MEDIA.values()}
    media = LINES if operation.in_steps else "application/json"
    return {media: {"schema": {"type": "object", "required": list(operation.returns)}}}
