"""Requests: the parameters of a function are the fields that it takes, and their annotations say what is accepted.

The OpenAPI document shows them as a JSON schema, and every request is checked with the same schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from mate.web.replies import WebError
from mate.web.uploads import SearchedTable

MOST_NAMES = 100
Number = Annotated[int, range(2**53)]
"""A whole number that every JSON parser represents exactly."""
Schema: TypeAlias = dict[str, Any]
QUERY: Schema = {
    "query": {"type": "string", "description": "an uploaded table, as the upload returned it"},
    "table": {"type": "integer", "minimum": 0, "maximum": 2**53 - 1, "description": "number of a table of the lake"},
}
"""Fields that name the table that is searched with: one of them is given."""
_TYPES = {int: {"type": "integer"}, str: {"type": "string"}, bool: {"type": "boolean"}}
_TYPES_OF_LISTS = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_NAMES}


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
        return dict(_TYPES_OF_LISTS)
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
