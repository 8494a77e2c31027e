"""The application: the operations of the API, and the page; and the server that runs it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import mate
from mate.errors import MateError
from mate.web.guard import DOCUMENT, Access, Guard
from mate.web.operations import LINES, OPERATIONS, UPLOAD, WORK, Operation, Queue, openapi_document, read, read_text
from mate.web.replies import Download, WebError, error_reply, file_reply, json_reply
from mate.web.service import Json, ServerLimits, Service
from mate.web.workers import Ticket, Workers

_log = logging.getLogger(__name__)
PAGE = Path(__file__).parent / "static"
QUICK_THREADS = 4
"""Threads for lookups, such as a list of tables, which do not wait for searches."""
WAITING = 100
"""Searches that may wait for a thread, and as many suggestions, uploads and joins."""


def serve(lake: mate.Lake, access: Access, ready: Callable[[Access], None]) -> None:
    """Serve a lake until interrupted; call `ready` when requests are accepted, with the port that was chosen for 0."""
    listening = _listen(access.host, access.port)
    access = replace(access, port=listening.getsockname()[1])
    config = uvicorn.Config(
        application(lake, access=access),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=500,
        timeout_graceful_shutdown=5,
    )
    with listening:
        ready(access)
        with suppress(KeyboardInterrupt):  # the usual end
            uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise MateError(f"cannot listen on {host}:{port}: {reason}") from error


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

    handlers = dict.fromkeys((MateError, HTTPException, ClientDisconnect, Exception), _error_reply)
    guard = Middleware(Guard, access=access or Access())
    return Starlette(
        routes=[*routes, Route(DOCUMENT, lambda _: json_reply(document)), page],
        middleware=[guard],
        exception_handlers=handlers,
        lifespan=lifespan,
    )


def _endpoint(operation: Operation, service: Service, workers: Workers) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        ticket, name = Ticket(), request.headers.get(WORK, "")
        steps = operation.steps(service, await _read(operation, request, service.limits))

        async def next_step() -> Any:
            """Work in a thread until the next step of the answer; let the client watch it."""
            if name:
                service.tickets[name] = ticket
            try:
                return await _while_connected(request, workers.run(partial(next, steps), ticket))
            finally:
                service.tickets.pop(name, None)

        first = await next_step()
        if operation.in_steps:
            reply: Response = StreamingResponse(_lines(request, first, next_step), media_type=LINES)
        else:
            reply = file_reply(first) if isinstance(first, Download) else json_reply(first)
        times = f"wait;dur={ticket.seconds_waited * 1e3:.1f}, work;dur={ticket.seconds_run * 1e3:.1f}"
        reply.headers["Server-Timing"] = times
        return reply

    return endpoint


async def _lines(request: Request, step: Json, next_step: Callable[[], Awaitable[Json]]) -> AsyncIterator[bytes]:
    """Yield the steps of an answer, each as a line of JSON, until it is complete; or else the error in its way."""
    try:
        while True:
            yield bytes(json_reply(step).body) + b"\n"
            if step["complete"]:
                return
            step = await next_step()
    except Exception as error:
        yield bytes((await _error_reply(request, error)).body) + b"\n"


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
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise WebError(f"at most {most:,} bytes can be sent", 413)
    return bytes(body)


async def _while_connected(request: Request, work: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of some work; cancel it when the client disconnects."""

    async def disconnected() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, leaving = asyncio.create_task(work), asyncio.create_task(disconnected())
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _error_reply(_: Request, error: Exception) -> Response:
    """Return what went wrong as JSON; what nobody expects is logged."""
    if isinstance(error, MateError):
        return error_reply(error)
    if isinstance(error, HTTPException):
        return json_reply({"error": error.detail}, error.status_code, dict(error.headers or {}))
    if isinstance(error, ClientDisconnect):
        return Response(status_code=499)  # nobody reads it
    _log.error("a request failed", exc_info=error)
    return json_reply({"error": "something went wrong here; the server's output says what"}, 500)
