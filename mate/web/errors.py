"""Errors with a status of HTTP; every other error of MATE is a bad request."""

from __future__ import annotations

from mate.errors import MateError


class WebError(MateError):
    """A request that is answered with an error."""

    status = 400


class NotFoundError(WebError):
    """A table or an upload that is not there."""

    status = 404


class RefusedError(WebError):
    """A request from another site, for another host, or without the token."""

    status = 403


class TooLargeError(WebError):
    """A request or a table beyond a limit."""

    status = 413


class WrongTypeError(WebError):
    """A body of another content type."""

    status = 415


class BusyError(WebError):
    """Too many requests wait, or one took too long."""

    status = 503
    retry_after = 10
    """Seconds after which it may be tried again."""
