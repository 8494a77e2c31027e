"""Errors of databases, told apart where that decides what to do next."""

from __future__ import annotations

from typing import NamedTuple

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


class Failure(NamedTuple):
    """What we raise for an error of a client; `template` has its text and the address filled in."""

    kind: type[StoreError]
    template: str = "{text}"


OTHER = Failure(StoreError)
BUSY = Failure(BusyError)
DUPLICATE_KEY = Failure(DuplicateKeyError)
REJECTED = Failure(StoreError, "a record was rejected: {text}")
NO_ROOM = Failure(
    StoreError,
    "the database has no room left: {text}; make room or raise the quota, then build again; "
    "the index in use is as it was",
)
MISSING = Failure(MissingError, "{text}; is schema= right, and was an index built there?")
FORBIDDEN = Failure(StoreError, "{text}; ask the owner of the schema for the grants in docs/databases.md")
LOST = Failure(ConnectionLostError, "the connection was lost ({text})")
REFUSED = Failure(ConnectionLostError, "the server refuses: {text}")
UNREACHABLE = Failure(
    ConnectionLostError, "no server answers at {address.host}:{address.port}; is it running, is the port right?"
)
WRONG_PASSWORD = Failure(
    StoreError,
    "the server refuses user {address.user}: wrong user name or password; "
    "set {address.password_variable} or add passfile=PATH to the address",
)
NO_FREE_SESSION = Failure(
    NoFreeSessionError, "the server has no free session; wait, or lower connections= in the address"
)
FILE_IN_USE = Failure(NoFreeSessionError, "another process has the file open: one may write it, or several may read it")
NOT_ENCRYPTED = Failure(StoreError, "no encrypted connection (tlsmode={address.tls}): {text}")
