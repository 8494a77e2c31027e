"""Replies of the server: JSON, files, and errors with an HTTP status."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from starlette.responses import Response, StreamingResponse

from mate.errors import MateError

CHUNK = 1 << 18
RETRY_SECONDS = 10


class WebError(MateError):
    """An error with an HTTP status; every other error of MATE is a bad request."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Download:
    """An open file, already deleted from the disk."""

    stream: BinaryIO
    name: str
    media: str


def json_reply(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return plain data as JSON; everything but ASCII is escaped, also lone surrogates and terminal codes."""
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return Response(text, status, headers, "application/json")


def error_reply(error: MateError) -> Response:
    """Return the message of an error as JSON."""
    status = error.status if isinstance(error, WebError) else 400
    headers = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else None
    return json_reply({"error": str(error)}, status, headers)


def file_reply(file: Download) -> Response:
    """Return a file to be saved."""

    def chunks() -> Iterator[bytes]:
        with file.stream as stream:
            while chunk := stream.read(CHUNK):
                yield chunk

    size = os.fstat(file.stream.fileno()).st_size
    headers = {"Content-Length": str(size), "Content-Disposition": f'attachment; filename="{file.name}"'}
    return StreamingResponse(chunks(), headers=headers, media_type=file.media)
