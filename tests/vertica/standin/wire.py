"""The messages of the protocol, version 3.15, as vertica-python reads and writes them."""

from __future__ import annotations

import hashlib
import socket
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

SSL_REQUEST = 80877103
CANCEL_REQUEST = 80877102
LOAD_BALANCE_REQUEST = 80936960
PROTOCOL = 3 << 16 | 15
SHA512 = 65536 + 512

BOOL, INT, FLOAT, VARCHAR, DATE, TIME, TIMESTAMP, NUMERIC, VARBINARY, UUID = 5, 6, 7, 9, 10, 11, 12, 16, 17, 20
_SIZES = {BOOL: 1, INT: 8, FLOAT: 8, DATE: 8, TIME: 8, TIMESTAMP: 8, UUID: 16}
_BINARY = {BOOL, INT, FLOAT, VARCHAR, VARBINARY}


class ClosedError(Exception):
    """The other side is gone, or this side was told to cut the line."""


@dataclass(frozen=True)
class Column:
    """A column of a result."""

    name: str
    oid: int


@dataclass
class ServerError(Exception):
    """What a client gets to see: severity, SQLSTATE, error code, text."""

    text: str
    state: str
    code: int
    severity: str = "ERROR"

    def message(self) -> bytes:
        fields = {"S": self.severity, "C": self.state, "M": self.text, "V": str(self.code), "R": "stand-in"}
        return b"".join(k.encode() + v.encode() + b"\0" for k, v in fields.items()) + b"\0"


class Line:
    """One client's connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._input = connection.makefile("rb")
        self._output = connection.makefile("wb", buffering=1 << 16)

    def read(self, size: int) -> bytes:
        try:
            data = self._input.read(size)
        except OSError as error:
            raise ClosedError from error
        if len(data) < size:
            raise ClosedError
        return data

    def receive(self) -> tuple[str, bytes]:
        """Return the next message: its letter and what it holds."""
        if hasattr(socket, "TCP_QUICKACK"):  # the client sends small messages one by one, each waiting for the last
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        letter = self.read(1)
        (size,) = struct.unpack("!I", self.read(4))
        return letter.decode(), self.read(size - 4)

    def start(self) -> dict[str, str]:
        """Return the parameters of the start-up message, refusing encryption and load balancing."""
        while True:
            size, code = struct.unpack("!II", self.read(8))
            rest = self.read(size - 8)
            if code == CANCEL_REQUEST:
                raise ClosedError
            if code not in (SSL_REQUEST, LOAD_BALANCE_REQUEST):
                return _start_up(rest)
            self.raw(b"N")

    def send(self, letter: str, body: bytes = b"") -> None:
        self._write(letter.encode() + struct.pack("!I", len(body) + 4) + body)

    def raw(self, data: bytes) -> None:
        self._write(data)
        self.flush()

    def _write(self, data: bytes) -> None:
        try:
            self._output.write(data)
        except OSError as error:
            raise ClosedError from error

    def flush(self) -> None:
        try:
            self._output.flush()
        except (OSError, ValueError) as error:
            raise ClosedError from error

    def cut(self) -> None:
        """Close at once, in whatever state the conversation is."""
        for close in (lambda: self._socket.shutdown(socket.SHUT_RDWR), self._socket.close):
            try:
                close()
            except OSError:
                continue


def _start_up(data: bytes) -> dict[str, str]:
    """Parse names and values; that of protocol_version is a raw number."""
    marker = b"protocol_version\0"
    at = data.find(marker)
    if at >= 0:
        data = data[:at] + data[at + len(marker) + 5 :]
    parts = data.rstrip(b"\0").split(b"\0")
    return {k.decode(): v.decode() for k, v in zip(parts[::2], parts[1::2], strict=False)}


def hashed_password(password: str, user_salt: bytes, salt: bytes) -> bytes:
    """Return what the client answers to a challenge."""
    inner = hashlib.sha512(password.encode() + user_salt).hexdigest()
    return b"sha512" + hashlib.sha512(inner.encode() + salt).hexdigest().encode()


def challenge(user_salt: bytes, salt: bytes) -> bytes:
    return struct.pack("!I4sI16s", SHA512, salt, 16, user_salt)


def parameter(name: str, value: str) -> bytes:
    return name.encode() + b"\0" + value.encode() + b"\0"


def row_description(columns: Sequence[Column], binary: bool) -> bytes:
    parts = [struct.pack("!HI", len(columns), 0)]
    for number, column in enumerate(columns, 1):
        code = int(binary and column.oid in _BINARY)
        parts.append(column.name.encode() + b"\0" + struct.pack("!QH", 0, number))
        parts.append(struct.pack("!BIhHHiH", 0, column.oid, _SIZES.get(column.oid, -1), 1, 0, -1, code))
    return b"".join(parts)


def data_row(values: Iterable[Any], columns: Sequence[Column], binary: bool) -> bytes:
    parts = [struct.pack("!H", len(columns))]
    for value, column in zip(values, columns, strict=True):
        if value is None:
            parts.append(b"\xff\xff\xff\xff")
            continue
        data = _as_binary(value, column.oid) if binary and column.oid in _BINARY else _as_text(value, column.oid)
        parts.append(struct.pack("!I", len(data)) + data)
    return b"".join(parts)


def _as_binary(value: Any, oid: int) -> bytes:
    if oid == INT:
        return struct.pack("!q", int(value))
    if oid == FLOAT:
        return struct.pack("!d", value)
    if oid == BOOL:
        return b"\x01" if value else b"\0"
    return value if isinstance(value, bytes) else str(value).encode()


def _as_text(value: Any, oid: int) -> bytes:
    if oid == BOOL:
        return b"t" if value else b"f"
    if oid == VARBINARY:
        return b"".join(bytes([c]) if 32 <= c < 127 and c != 92 else b"\\%03o" % c for c in value)
    return str(value).encode()
