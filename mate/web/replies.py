"""Replies of the server: JSON, errors, and files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from starlette.responses import Response, StreamingResponse

from mate.errors import MateError
from mate.web.errors import OverloadError, WebError
from mate.web.service import Download

CHUNK = 1 << 18


def json_reply(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return plain data as JSON; everything but ASCII is escaped, also lone surrogates and terminal codes."""
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return Response(text, status, headers, "application/json")


def error_reply(error: MateError) -> Response:
    """Return the message of an error as JSON."""
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, OverloadError) else None
    return json_reply({"error": str(error)}, error.status if isinstance(error, WebError) else 400, headers)


def file_reply(file: Download) -> Response:
    """Return a file to be saved."""
    headers = {"Content-Length": str(file.size), "Content-Disposition": f'attachment; filename="{file.name}"'}
    return StreamingResponse(_chunks(file), headers=headers, media_type=file.media)


def _chunks(file: Download) -> Iterator[bytes]:
    with file.stream as stream:
        while chunk := stream.read(CHUNK):
            yield chunk
