"""A server for one lake, reachable from this machine alone by default."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import uvicorn

import mate
from mate.errors import MateError
from mate.web.app import application
from mate.web.guard import Access


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
