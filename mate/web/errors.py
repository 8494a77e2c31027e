"""Errors with an HTTP status; every other error of MATE is a bad request."""

from __future__ import annotations

from mate.errors import MateError


class WebError(MateError):
    """A request that is answered with an error."""

    status = 400


class ForbiddenRequestError(WebError):
    """A request from another site, for another host, or without the token."""

    status = 403


class NotFoundError(WebError):
    """A table or an upload that does not exist."""

    status = 404


class TooLargeError(WebError):
    """A request or a table beyond a limit."""

    status = 413


class WrongTypeError(WebError):
    """A body of another content type."""

    status = 415


class OverloadError(WebError):
    """Too many requests are waiting, or one took too long."""

    status = 503
    retry_after = 10
    """Seconds after which to try again."""
