"""Requests: dataclasses whose annotations say what is accepted; the OpenAPI document shows them, `read` checks them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from mate.web.replies import WebError

MOST_NAMES = 100
Number = Annotated[int, range(2**53)]
"""A whole number that every JSON parser represents exactly."""
Key = Annotated[list[str], "key columns of the query"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request; this one has no fields."""


@dataclass(frozen=True, kw_only=True)
class PageRequest(Request):
    """Part of a list."""

    offset: Number = 0
    limit: Annotated[int, range(1, 1_001)] = 50


@dataclass(frozen=True, kw_only=True)
class TablesRequest(PageRequest):
    """Tables of the lake, by words."""

    search: Annotated[str, "words of the name, source or columns"] = ""


@dataclass(frozen=True, kw_only=True)
class TableRequest(Request):
    """One table of the lake."""

    table_id: Number


@dataclass(frozen=True, kw_only=True)
class WorkRequest(Request):
    """The progress of another request."""

    work: Annotated[str, "the name that the client gave the request"]


@dataclass(frozen=True, kw_only=True)
class UploadRequest(Request):
    """A table to search with."""

    name: Annotated[str, "name of the file: its ending tells the format"]
    content: bytes = field(repr=False)
    """The body of the request."""


@dataclass(frozen=True, kw_only=True)
class QueryRequest(Request):
    """A table that is searched with."""

    query: Annotated[str | None, "an uploaded table, as the upload returned it"] = None
    table: Annotated[Number | None, "number of a table of the lake"] = None

    def __post_init__(self) -> None:
        if (self.query is None) == (self.table is None):
            raise WebError("give one of these fields: query (an uploaded table) or table (one of the lake)")


@dataclass(frozen=True, kw_only=True)
class SuggestRequest(QueryRequest):
    """Keys of a table."""

    columns: Annotated[list[str] | None, "columns that may be part of a key; all unless given"] = None
    k: Annotated[int, range(1, 101)] = 10
    most_columns: Annotated[int, range(1, 5)] = 4


@dataclass(frozen=True, kw_only=True)
class SearchRequest(QueryRequest):
    """Tables that join on a key."""

    key: Key
    k: Annotated[int, range(1, 1_001)] = 10
    rank: Literal["usefulness", "joinability"] = "usefulness"
    names: Annotated[bool, "whether to compare the names of columns and tables"] = True


@dataclass(frozen=True, kw_only=True)
class MatchRequest(QueryRequest):
    """Rows of one table of the lake that match; the last field is `with` in JSON."""

    key: Key
    with_: Annotated[Number, "number of the table of the lake to join with"]


@dataclass(frozen=True, kw_only=True)
class JoinRequest(MatchRequest):
    """A join with one table of the lake."""

    matches: Annotated[Literal["first", "all", "aggregate"], "what to do with several matching rows"] = "first"
    format: Literal["csv", "parquet"] = "csv"
    safe: Annotated[bool, "whether to put an apostrophe before cells that a spreadsheet may run as formulas"] = False


R = TypeVar("R", bound=Request)


def schema_of(request: type[Request]) -> dict[str, Any]:
    """Return the JSON schema of a kind of request."""
    hints = get_type_hints(request, include_extras=True)
    described = {one.name.removesuffix("_"): one for one in fields(request) if hints[one.name] is not bytes}
    properties = {name: _field_schema(hints[one.name], one.default) for name, one in described.items()}
    required = [name for name, one in described.items() if one.default is MISSING]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    if issubclass(request, QueryRequest):
        schema["oneOf"] = [{"required": ["query"]}, {"required": ["table"]}]
    return schema


def _field_schema(hint: Any, default: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {} if default in (MISSING, None) else {"default": default}
    parts = [hint]
    while parts:
        part = parts.pop()
        if isinstance(part, str):
            schema["description"] = part
        elif isinstance(part, range):
            schema |= {"minimum": part.start, "maximum": part.stop - 1}
        elif get_origin(part) is Literal:
            schema |= {"type": "string", "enum": list(get_args(part))}
        elif part == list[str]:
            schema |= {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_NAMES}
        elif part in _TYPES:
            schema["type"] = _TYPES[part]
        else:  # Annotated, or a union with None
            parts += get_args(part)
    return schema


_TYPES = {int: "integer", str: "string", bool: "boolean"}


def read(request: type[R], record: Mapping[str, Any], **more: Any) -> R:
    """Return the request with the fields of a JSON object, or raise an error that says what is wrong with them."""
    schema = schema_of(request)
    properties = schema["properties"]
    for name in record:
        if name not in properties:
            raise WebError(f"unknown field {name[:80]!r}; there are: {', '.join(properties) or 'none'}")
    for name in schema["required"]:
        if name not in record:
            raise WebError(f"the field {name} is missing")
    checked = {name: _checked(name, properties[name], value) for name, value in record.items()}
    return request(**{f"{name}_" if name == "with" else name: value for name, value in checked.items()}, **more)


def read_text(request: type[R], record: Mapping[str, str], **more: Any) -> R:
    """Return the request with the parameters of an address, which are all text."""
    properties = schema_of(request)["properties"]
    numbers = {
        name: int(text)
        for name, text in record.items()
        if properties.get(name, {}).get("type") == "integer" and re.fullmatch("-?[0-9]{1,20}", text)
    }
    return read(request, {**record, **numbers}, **more)


def _checked(name: str, schema: Mapping[str, Any], value: Any) -> Any:
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
