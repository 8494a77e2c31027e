"""The operations of the API: address, queue and function of each.

The parameters of a function are the fields that its operation takes, and their annotations say what is accepted. The
OpenAPI document shows them as a JSON schema, and every request is checked with the same schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import mate
from mate.web.replies import WebError
from mate.web.service import MEDIA, Service
from mate.web.uploads import SearchedTable

UPLOAD = "application/octet-stream"
LINES = "application/x-ndjson"
WORK = "Mate-Work"
"""The header that names a long request, so that the client can ask for its progress."""

MOST_NAMES = 100
Schema: TypeAlias = dict[str, Any]
QUERY: Schema = {
    "query": {"type": "string", "description": "an uploaded table, as the upload returned it"},
    "table": {"type": "integer", "minimum": 0, "maximum": 2**53 - 1, "description": "number of a table of the lake"},
}
"""Fields that name the table that is searched with: one of them is given."""
_TYPES = {int: {"type": "integer"}, str: {"type": "string"}, bool: {"type": "boolean"}}


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


# The document


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
    content: Schema = {media.partition(";")[0]: {"schema": {}} for media in MEDIA.values()}
    if operation.returns:
        record = {"type": "object", "required": list(operation.returns)}
        content = {LINES if operation.in_steps else "application/json": {"schema": record}}
    described: dict[str, Any] = {
        "operationId": operation.run.__name__,
        "summary": (operation.run.__doc__ or "").partition("\n")[0],
        "parameters": [] if operation.queue is Queue.QUICK else [_WORK_HEADER],
        "responses": {"200": {"description": "the answer", "content": content}, **responses},
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


# Requests


def schema_of(function: Callable[..., Any]) -> Schema:
    """Return the JSON schema of the fields that a function takes; the body of an upload is none."""
    hints = get_type_hints(function, include_extras=True)
    properties: dict[str, Schema] = {}
    required = []
    for name, parameter in signature(function).parameters.items():
        hint, field = hints.get(name, bytes), name.removesuffix("_")  # `with` is a word of Python
        if hint is SearchedTable:
            properties |= QUERY
        elif hint is not bytes:
            properties[field] = _field_schema(hint)
            if parameter.default is Parameter.empty:
                required.append(field)
            elif parameter.default is not None:
                properties[field]["default"] = parameter.default
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return schema | ({"oneOf": [{"required": [name]} for name in QUERY]} if "query" in properties else {})


def _field_schema(hint: Any) -> Schema:
    """Return the schema of a type that is annotated with a description and the range of a number."""
    if isinstance(hint, str):
        return {"description": hint}
    if isinstance(hint, range):
        return {"minimum": hint.start, "maximum": hint.stop - 1}
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if hint == list[str]:
        return {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_NAMES}
    if hint in _TYPES:
        return dict(_TYPES[hint])
    schema: Schema = {}
    for part in get_args(hint):  # Annotated, or a union with None
        schema |= _field_schema(part) if part is not type(None) else {}
    return schema


def read(schema: Schema, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a JSON object, or raise an error that says what is wrong with them."""
    fields = schema["properties"]
    for name in record:
        if name not in fields:
            raise WebError(f"unknown field {name[:80]!r}; there are: {', '.join(fields) or 'none'}")
    for name in schema["required"]:
        if name not in record:
            raise WebError(f"the field {name} is missing")
    if "oneOf" in schema and ("query" in record) == ("table" in record):
        raise WebError("give one of these fields: query (an uploaded table) or table (one of the lake)")
    return {name: _checked(name, fields[name], value) for name, value in record.items()}


def read_text(schema: Schema, record: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of an address, which are all text."""
    numbers = {
        name: int(text)
        for name, text in record.items()
        if schema["properties"].get(name, {}).get("type") == "integer" and re.fullmatch("-?[0-9]{1,20}", text)
    }
    return read(schema, {**record, **numbers})


def _checked(name: str, schema: Schema, value: Any) -> Any:
    if schema["type"] == "integer":
        if isinstance(value, float) and value.is_integer():  # the same number in JSON
            value = int(value)
        least, most = schema["minimum"], schema["maximum"]
        accepts, fits = f"a whole number from {least:,} to {most:,}", type(value) is int and least <= value <= most
    elif schema["type"] == "boolean":
        accepts, fits = "true or false", isinstance(value, bool)
    elif schema["type"] == "array":
        fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
        accepts, fits = f"a list of 1 to {MOST_NAMES} texts", fits and 1 <= len(value) <= MOST_NAMES
    elif "enum" in schema:
        accepts, fits = f"one of these texts: {', '.join(schema['enum'])}", value in schema["enum"]
    else:
        accepts, fits = "a text", isinstance(value, str)
    if not fits:
        raise WebError(f"{name} takes {accepts}")
    return value
