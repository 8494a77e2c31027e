"""The OpenAPI document of the API."""

from __future__ import annotations

from typing import Any

import mate
from mate.web.operations import LONGEST_NAME, OPERATIONS, UPLOAD, WORK, Operation
from mate.web.schemas import text
from mate.web.service import MEDIA

ERRORS = {
    "400": "the request makes no sense",
    "403": "refused: another host, another site, or no token",
    "404": "no such table, upload or address",
    "405": "another method",
    "413": "too large",
    "415": "another content type",
    "503": "too many requests wait, or this one took too long; Retry-After says when to try again",
}
_ERROR = {
    "type": "object",
    "properties": {"error": {"type": "string", "description": "what is wrong, and what to do"}},
    "required": ["error"],
}


def document() -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "MATE",
            "version": mate.__version__,
            "description": "Find the tables of a lake that join with yours on several columns.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": _parameters(operation),
        "responses": {"200": {"description": "the answer", "content": _content(operation)}},
    }
    body = operation.body
    if operation.upload:
        described["requestBody"] = {"required": True, "content": {UPLOAD: {"schema": {}}}}
    elif body is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    for status, meaning in ERRORS.items():
        content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
        described["responses"][status] = {"description": meaning, "content": content}
    return described


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    needed = operation.parameters["required"]
    named: list[dict[str, Any]] = [
        {
            "name": WORK,
            "in": "header",
            "required": False,
            "description": "a name to ask /api/work under how far it is; nobody should be able to guess it",
            "schema": text(longest=LONGEST_NAME),
        }
    ]
    return (named if operation.is_long else []) + [
        {
            "name": name,
            "in": "path" if f"{{{name}}}" in operation.path else "query",
            "required": name in needed,
            "schema": schema,
        }
        for name, schema in operation.parameters["properties"].items()
    ]


def _content(operation: Operation) -> dict[str, Any]:
    if not operation.returns:
        return {media.partition(";")[0]: {"schema": {}} for media in MEDIA.values()}
    return {"application/json": {"schema": {"type": "object", "required": list(operation.returns)}}}
