"""The application: operations of the API, the page, and nothing else."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

import mate
from mate.errors import MateError
from mate.web.errors import TooLargeError, WebError, WrongTypeError
from mate.web.guard import DOCUMENT, Access, Guard
from mate.web.limits import ServerLimits
from mate.web.openapi import document
from mate.web.operations import LONGEST_NAME, OPERATIONS, UPLOAD, WORK, Lane, Operation
from mate.web.replies import error_reply, file_reply, json_reply
from mate.web.schemas import checked, parsed
from mate.web.service import Download, Service
from mate.web.workers import GoneError, Workers

_log = logging.getLogger(__name__)
PAGE = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/mate.css": ("mate.css", "text/css; charset=utf-8"),
    "/mate.js": ("mate.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
"""The files of the page, by address."""
QUICK_THREADS = 4
"""Threads for what is no search: a list of tables is there also while searches run."""
Endpoint = Callable[[Request], Awaitable[Response]]


def application(lake: mate.Lake, limits: ServerLimits | None = None, access: Access | None = None) -> Starlette:
    """Return the application for a lake."""
    limits = limits or ServerLimits()
    service = Service(lake, limits)
    threads = {Lane.QUICK: QUICK_THREADS, Lane.SEARCH: limits.threads, Lane.LONG: max(1, limits.threads // 2)}
    lanes = {lane: Workers(count, limits.waiting, limits.seconds) for lane, count in threads.items()}
    routes = [Route(one.path, _endpoint(one, service, lanes[one.lane]), methods=[one.method]) for one in OPERATIONS]
    routes.append(Route(DOCUMENT, _fixed(json.dumps(document()), "application/json")))
    routes += [Route(path, _fixed(_file(name), media)) for path, (name, media) in PAGE.items()]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        for workers in lanes.values():
            workers.close()

    handlers: dict[Any, Any] = {MateError: _mate_error, HTTPException: _http_error, Exception: _unexpected}
    guard = Middleware(Guard, access=access or Access())
    return Starlette(routes=routes, middleware=[guard], exception_handlers=handlers, lifespan=lifespan)


def _endpoint(operation: Operation, service: Service, workers: Workers) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        given, name = await _given(operation, request, service.limits), _work_name(request)
        known = operation.known(service, given) if operation.known else None
        if known is not None:
            return json_reply(known)
        with service.ticket(name) as ticket:
            try:
                found = await workers.run(partial(operation.run, service, given), partial(_gone, request), ticket)
            except GoneError:
                return Response(status_code=499)  # nobody reads it
        reply = file_reply(found) if isinstance(found, Download) else json_reply(found)
        reply.headers["Server-Timing"] = f"wait;dur={ticket.waited * 1e3:.1f}, work;dur={ticket.ran * 1e3:.1f}"
        return reply

    return endpoint


def _work_name(request: Request) -> str | None:
    """Return the name under which a client asks how far its request is."""
    name = request.headers.get(WORK)
    if name is not None and len(name) > LONGEST_NAME:
        raise WebError(f"{WORK} takes a name of at most {LONGEST_NAME} characters")
    return name


async def _given(operation: Operation, request: Request, limits: ServerLimits) -> dict[str, Any]:
    """Return what a request gives to its operation, checked."""
    given = parsed(operation.parameters, {**request.query_params, **request.path_params})
    if operation.upload:
        _check_type(request, UPLOAD)
        return {**given, "content": await _body(request, limits.upload_bytes)}
    if operation.body is None:
        return given
    _check_type(request, "application/json")
    body = await _body(request, limits.request_bytes)
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        raise WebError("the request is not valid JSON") from None
    if not isinstance(sent, dict):
        raise WebError("the request must be a JSON object")
    return {**given, **checked(operation.body, sent)}


def _check_type(request: Request, expected: str) -> None:
    """Raise an error for another content type: a form of another site cannot send this one."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != expected:
        raise WrongTypeError(f"send it as {expected}")


async def _body(request: Request, most: int) -> bytes:
    """Return the body of a request, or say that it is too large before all of it was read."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise TooLargeError(f"at most {most:,} bytes can be sent")
        parts.append(part)
    return b"".join(parts)


async def _gone(request: Request) -> None:
    """Return when the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _fixed(content: str | bytes, media: str) -> Endpoint:
    async def endpoint(_: Request) -> Response:
        return Response(content, media_type=media)

    return endpoint


def _file(name: str) -> bytes:
    return (files("mate.web") / "static" / name).read_bytes()


async def _mate_error(_: Request, error: MateError) -> Response:
    return error_reply(error)


async def _http_error(_: Request, error: HTTPException) -> Response:
    return json_reply({"error": error.detail}, error.status_code, dict(error.headers or {}))


async def _unexpected(_: Request, error: Exception) -> Response:
    if not isinstance(error, ClientDisconnect):
        _log.error("a request failed", exc_info=error)
    return json_reply({"error": "something went wrong here; the server's output says what"}, 500)
