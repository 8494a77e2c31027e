"""What goes wrong between us and a database, told apart where that decides what to do next."""

from __future__ import annotations

from mate.errors import StoreError


class ConnectionLostError(StoreError):
    """The server went away, or was never there."""


class NoFreeSessionError(StoreError):
    """The server has as many sessions as it admits, or another process has the file of an embedded database."""


class DuplicateKeyError(StoreError):
    """A record whose key is there already."""


class NoRoomError(StoreError):
    """A disk, or the quota of a schema or table, that is full."""


class MissingError(StoreError):
    """A schema or table that is not there, or that the user may not even see."""


class ForbiddenError(StoreError):
    """A schema or table that the user has no privilege on."""


class BusyError(StoreError):
    """A lock that another session holds, or two transactions that cannot both go on."""


class PushBackError(StoreError):
    """A server that asks for a pause before more is loaded."""


class UnknownStatementError(StoreError):
    """A statement that this version of the server does not know."""


NO_ROOM = "make room or raise the quota, then build again; the index in use is as it was"
NOT_THERE = "is schema= right, and was an index built there?"
NOT_ALLOWED = "ask the owner of the schema for the grants in docs/databases.md"
