"""Errors of databases, told apart where that decides what to do next."""

from __future__ import annotations

from typing import TypeAlias

from mate.errors import StoreError


class ConnectionLostError(StoreError):
    """The server went away, or was never there."""


class NoFreeSessionError(StoreError):
    """The server admits no more sessions, or another process has the file of an embedded database."""


class DuplicateKeyError(StoreError):
    """A record whose key is there already."""


class MissingError(StoreError):
    """A schema or table that does not exist, or that the user may not even see."""


class BusyError(StoreError):
    """A lock of another session, two transactions in conflict, or a server that asks for a pause."""


Failure: TypeAlias = tuple[type[StoreError], str]
"""What we raise for an error of a client, with a text into which the client's and the address are filled."""

OTHER = StoreError, "{text}"
BUSY = BusyError, "{text}"
DUPLICATE_KEY = DuplicateKeyError, "{text}"
REJECTED = StoreError, "a record was rejected: {text}"
NO_ROOM = (
    StoreError,
    "the database has no room left: {text}; make room or raise the quota, then build again; "
    "the index in use is as it was",
)
MISSING = MissingError, "{text}; is schema= right, and was an index built there?"
FORBIDDEN = StoreError, "{text}; ask the owner of the schema for the grants in docs/databases.md"
LOST = ConnectionLostError, "the connection was lost ({text})"
REFUSED = ConnectionLostError, "the server refuses: {text}"
UNREACHABLE = (
    ConnectionLostError,
    "no server answers at {address.host}:{address.port}; is it running, is the port right?",
)
WRONG_PASSWORD = (
    StoreError,
    "the server refuses user {address.user}: wrong user name or password; "
    "set {address.password_variable} or add passfile=PATH to the address",
)
NO_FREE_SESSION = NoFreeSessionError, "the server has no free session; wait, or lower connections= in the address"
FILE_IN_USE = NoFreeSessionError, "another process has the file open: one may write it, or several may read it"
NOT_ENCRYPTED = StoreError, "no encrypted connection (tlsmode={address.tls}): {text}"
