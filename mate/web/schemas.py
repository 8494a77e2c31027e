"""JSON schemas of requests: those of the OpenAPI document are also what requests are checked with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from mate.web.errors import WebError

Schema: TypeAlias = dict[str, Any]

LARGEST = 2**53 - 1
"""The largest whole number that every JSON parser represents exactly."""


def integer(least: int, most: int, default: int | None = None, description: str = "") -> Schema:
    """Return the schema of a whole number."""
    return _with({"type": "integer", "minimum": least, "maximum": most}, default, description)


def text(description: str = "", default: str | None = None, longest: int = 100_000) -> Schema:
    """Return the schema of a text."""
    return _with({"type": "string", "maxLength": longest}, default, description)


def file_name(endings: Iterable[str], description: str) -> Schema:
    """Return the schema of the name of a file with one of these endings, in small or capital letters."""
    spelled = ("".join(f"[{c}{c.upper()}]" for c in ending.removeprefix(".")) for ending in endings)
    return {**text(description, longest=1_000), "pattern": rf"[^/\\]\.({'|'.join(spelled)})$"}


def one_of(values: tuple[str, ...], description: str = "") -> Schema:
    """Return the schema of one of a few words; the first is the default."""
    return _with({"type": "string", "enum": list(values)}, values[0], description)


def flag(default: bool, description: str = "") -> Schema:
    """Return the schema of yes or no."""
    return _with({"type": "boolean"}, default, description)


def names(description: str = "") -> Schema:
    """Return the schema of names of columns."""
    return _with({"type": "array", "items": text(), "minItems": 1, "maxItems": 100}, None, description)


def record(required: tuple[str, ...] = (), /, **fields: Schema) -> Schema:
    """Return the schema of an object with these fields and no others."""
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def either(schema: Schema, *names: str) -> Schema:
    """Return the schema of an object that has exactly one of these fields."""
    return {**schema, "oneOf": [{"required": [name]} for name in names]}


def _with(schema: Schema, default: object, description: str) -> Schema:
    if default is not None:
        schema["default"] = default
    if description:
        schema["description"] = description
    return schema


def checked(schema: Schema, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object with defaults filled in, or raise an error that says what is wrong."""
    fields = schema["properties"]
    unknown = [name for name in given if name not in fields]
    if unknown:
        raise WebError(f"unknown field {unknown[0][:80]!r}; there are: {', '.join(fields) or 'none'}")
    missing = [name for name in schema["required"] if name not in given]
    if missing:
        raise WebError(f"the field {missing[0]} is missing")
    choice = [one["required"][0] for one in schema.get("oneOf", ())]
    if choice and sum(name in given for name in choice) != 1:
        wanted = " or ".join(f"{name} ({fields[name]['description']})" for name in choice)
        raise WebError(f"give one of these fields: {wanted}")
    given = {name: _as_whole(fields[name], value) for name, value in given.items()}
    for name, value in given.items():
        _check(fields[name], value, name)
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    return {**defaults, **given}


def _as_whole(field: Schema, value: Any) -> Any:
    """Return 1.0 as 1, which is the same number in JSON."""
    return int(value) if field["type"] == "integer" and isinstance(value, float) and value.is_integer() else value


def parsed(schema: Schema, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of an address, which are all text, with the types of their schema."""
    fields = schema["properties"]
    return checked(schema, {name: _as_type(fields.get(name, {}), value) for name, value in given.items()})


def _as_type(field: Schema, value: str) -> Any:
    if field.get("type") == "integer" and value.isascii() and value.removeprefix("-").isdecimal() and len(value) <= 20:
        return int(value)
    return value


def _check(field: Schema, value: Any, name: str) -> None:
    kind = field["type"]
    if kind == "array":
        if not isinstance(value, list) or not field["minItems"] <= len(value) <= field["maxItems"]:
            raise WebError(f"{name} takes a list of {field['minItems']} to {field['maxItems']} names")
        for item in value:
            _check(field["items"], item, name)
    elif kind == "integer":
        if isinstance(value, bool) or not isinstance(value, int) or not field["minimum"] <= value <= field["maximum"]:
            raise WebError(f"{name} takes a whole number from {field['minimum']:,} to {field['maximum']:,}")
    elif kind == "boolean":
        if not isinstance(value, bool):
            raise WebError(f"{name} takes true or false")
    elif not isinstance(value, str) or len(value) > field.get("maxLength", len(value)):
        raise WebError(f"{name} takes a text of at most {field.get('maxLength', 100):,} characters")
    elif "enum" in field and value not in field["enum"]:
        raise WebError(f"{name} can be {', '.join(field['enum'])}, not {value[:80]!r}")
