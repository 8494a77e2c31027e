"""The application: the operations of the API, and the page."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import mate
from mate.errors import MateError
from mate.web.guard import DOCUMENT, Access, Guard
from mate.web.operations import OPERATIONS, UPLOAD, WORK, Operation, Queue, openapi_document
from mate.web.replies import Download, WebError, error_reply, file_reply, json_reply
from mate.web.requests import read, read_text
from mate.web.service import ServerLimits, Service
from mate.web.workers import ClientGoneError, Ticket, Workers

_log = logging.getLogger(__name__)
PAGE = Path(__file__).parent / "static"
QUICK_THREADS = 4
"""Threads for lookups, such as a list of tables, which do not wait for searches."""
WAITING = 100
"""Searches that may wait for a thread, and as many suggestions, uploads and joins."""
Endpoint = Callable[[Request], Awaitable[Response]]


def application(lake: mate.Lake, limits: ServerLimits | None = None, access: Access | None = None) -> Starlette:
    """Return the application for a lake."""
    limits = limits or ServerLimits()
    service = Service(lake, limits)
    threads = {Queue.QUICK: QUICK_THREADS, Queue.SEARCH: limits.threads, Queue.LONG: max(1, limits.threads // 2)}
    queues = {queue: Workers(count, WAITING, limits.seconds) for queue, count in threads.items()}
    document = openapi_document()
    routes = [Route(one.path, _endpoint(one, service, queues[one.queue]), methods=[one.method]) for one in OPERATIONS]
    page = Mount("/", StaticFiles(directory=PAGE, html=True))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        for workers in queues.values():
            workers.close()

    handlers = dict.fromkeys((MateError, HTTPException, Exception), _error_reply)
    guard = Middleware(Guard, access=access or Access())
    return Starlette(
        routes=[*routes, Route(DOCUMENT, lambda _: json_reply(document)), page],
        middleware=[guard],
        exception_handlers=handlers,
        lifespan=lifespan,
    )


def _endpoint(operation: Operation, service: Service, workers: Workers) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        fields = await _read(operation, request, service.limits)
        answers, question = service.answers, repr(sorted(fields.items())) if operation.cached else ""
        if operation.cached and (cached := answers.get(question)):
            return json_reply(cached)

        def answer() -> Any:
            """Answer, unless another request has done so while this one waited."""
            result = (operation.cached and answers.get(question)) or operation.answer(service, fields)
            if operation.cached:
                answers.add(question, result)
            return result

        ticket, name = Ticket(), request.headers.get(WORK, "")
        if name:
            service.tickets[name] = ticket
        try:
            result = await workers.run(answer, partial(_disconnected, request), ticket)
        except ClientGoneError:
            return Response(status_code=499)  # nobody reads it
        finally:
            service.tickets.pop(name, None)
        reply = file_reply(result) if isinstance(result, Download) else json_reply(result)
        times = f"wait;dur={ticket.seconds_waited * 1e3:.1f}, work;dur={ticket.seconds_run * 1e3:.1f}"
        reply.headers["Server-Timing"] = times
        return reply

    return endpoint


async def _read(operation: Operation, request: Request, limits: ServerLimits) -> dict[str, Any]:
    """Return the fields of a request."""
    parameters = {**request.query_params, **request.path_params}
    if operation.media is None:
        return read_text(operation.schema, parameters)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != operation.media:
        raise WebError(f"send it as {operation.media}", 415)  # a form on another site cannot
    if operation.media == UPLOAD:
        content = await _body(request, limits.upload_bytes)
        return {**read_text(operation.schema, parameters), "content": content}
    body = await _body(request, limits.request_bytes)
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        raise WebError("the request is not valid JSON") from None
    if not isinstance(sent, dict):
        raise WebError("the request must be a JSON object")
    return read(operation.schema, sent)


async def _body(request: Request, most: int) -> bytes:
    """Return the body of a request; stop reading if it is too large."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise WebError(f"at most {most:,} bytes can be sent", 413)
        parts.append(part)
    return b"".join(parts)


async def _disconnected(request: Request) -> None:
    """Return when the client has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _error_reply(_: Request, error: Exception) -> Response:
    """Return what went wrong as JSON; what nobody expects is logged."""
    if isinstance(error, MateError):
        return error_reply(error)
    if isinstance(error, HTTPException):
        return json_reply({"error": error.detail}, error.status_code, dict(error.headers or {}))
    if not isinstance(error, ClientDisconnect):
        _log.error("a request failed", exc_info=error)
    return json_reply({"error": "something went wrong here; the server's output says what"}, 500)
