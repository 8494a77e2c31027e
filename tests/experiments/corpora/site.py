"""A real web server on this machine that misbehaves on demand, and downloads from it."""

from __future__ import annotations

import hashlib
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from experiments.corpora.client import DownloadSettings
from experiments.corpora.download import DownloadResult, RemoteFile, downloading

BODY = bytes(range(256)) * 400
QUICK = DownloadSettings(backoff=0.0, timeout=5.0)
ONCE = DownloadSettings(tries=1, backoff=0.0, timeout=5.0)


def sha(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


@dataclass
class Published:
    body: bytes = BODY
    headers: dict[str, str] = field(default_factory=lambda: {"ETag": '"1"'})
    ranges: bool = True
    length: bool = True


Fault = Callable[["Handler", Published], None]


class Site(ThreadingHTTPServer):
    """Serves what it is given; a fault takes the place of the next good answer to a path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.files: dict[str, Published] = {}
        self.faults: dict[str, list[Fault]] = {}
        self.every: Fault | None = None
        self.requests: list[tuple[str, dict[str, str]]] = []

    def publish(self, name: str, body: bytes = BODY, *faults: Fault, **changes: Any) -> RemoteFile:
        self.files[f"/{name}"] = Published(body, **changes)
        self.faults[f"/{name}"] = list(faults)
        return RemoteFile(f"{self.url}/{name}", name)

    def sent(self, header: str) -> list[str | None]:
        """What the requests so far said in a header."""
        return [headers.get(header) for _, headers in self.requests]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers)))
        path = urlsplit(self.path).path
        file = self.server.files.get(path)
        if file is None:
            self.send_error(404)
            return
        if self.server.every:
            self.server.every(self, file)
        faults = self.server.faults.get(path)
        (faults.pop(0) if faults else serve)(self, file)

    def head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Be quiet."""


def serve(handler: Handler, file: Published, upto: int | None = None) -> None:
    """Answer as RFC 9110 says, a range only if the validator still fits."""
    start = 0
    asked, condition = handler.headers.get("Range"), handler.headers.get("If-Range")
    if asked and file.ranges and condition in (None, *file.headers.values()):
        start = int(asked.removeprefix("bytes=").removesuffix("-"))
    headers = dict(file.headers)
    if start >= len(file.body) > 0:
        handler.head(416, {"Content-Range": f"bytes */{len(file.body)}"})
        return
    if file.length:
        headers["Content-Length"] = str(len(file.body) - start)
    if start:
        headers["Content-Range"] = f"bytes {start}-{len(file.body) - 1}/{len(file.body)}"
    handler.head(206 if start else 200, headers)
    handler.wfile.write(file.body[start:upto])


def cut(at: int) -> Fault:
    """Close the connection in the middle, as if all were well."""
    return lambda handler, file: serve(handler, file, at)


def reset(at: int) -> Fault:
    """Reset the connection in the middle."""

    def fault(handler: Handler, file: Published) -> None:
        serve(handler, file, at)
        handler.wfile.flush()
        time.sleep(0.05)  # a reset takes what is still on its way with it
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()

    return fault


def status(code: int, body: bytes = b"", **headers: str) -> Fault:
    def fault(handler: Handler, _: Published) -> None:
        handler.head(code, {name.replace("_", "-"): value for name, value in headers.items()})
        handler.wfile.write(body)

    return fault


def get(folder: Path, *sources: RemoteFile, settings: DownloadSettings = QUICK) -> list[DownloadResult]:
    with downloading(sources, folder, settings) as results:
        return sorted(results, key=lambda result: result.file.name)


def get_one(folder: Path, source: RemoteFile, settings: DownloadSettings = QUICK) -> DownloadResult:
    (result,) = get(folder, source, settings=settings)
    return result


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def recording(wait: Callable[..., bool], waits: list[float]) -> Callable[..., bool]:
    def recorded(event: threading.Event, timeout: float | None = None) -> bool:
        if timeout is None:  # threads that start
            return wait(event)
        waits.append(timeout)
        return False

    return recorded
