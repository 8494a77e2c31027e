"""``vertica://user@host:5433/database?schema=mate&tlsmode=verify-full``: where an index is, and how to get there.

The password is never part of an address, because command lines, shell histories and logs can be read by others.
It comes from the environment variable VERTICA_PASSWORD, or from the first line of a file (``passfile=...``).
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from mate.errors import StoreError, did_you_mean
from mate.sql.vertica_sql import LAYOUTS

SCHEME = "vertica://"
PASSWORD_VARIABLE = "VERTICA_PASSWORD"
DEFAULT_PORT = 5433
TLS_MODES = ("disable", "prefer", "require", "verify-ca", "verify-full")

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_EXAMPLE = "vertica://user@host:5433/database?schema=mate"


@dataclass(frozen=True, slots=True)
class VerticaAddress:
    """A parsed address. Everything in it may be shown."""

    user: str
    host: str
    port: int
    database: str
    schema: str = "mate"
    tlsmode: str = "prefer"
    """How the connection is encrypted; only verify-full also proves that the server is the right one."""
    tls_cafile: str = ""
    tls_certfile: str = ""
    tls_keyfile: str = ""
    backup: tuple[tuple[str, int], ...] = ()
    """Further nodes, tried in turn when the first does not answer: ``backup=node2,node3:5433``."""
    label: str = "mate"
    """Names the session in the server's system tables (sessions.client_label)."""
    timeout: float = 600.0
    """Seconds that a connection attempt, and every single read after it, may take."""
    in_list: int = 1_000
    """Up to so many numbers are looked up as an IN list; more go through a temporary table."""
    connections: int = 8
    """Most sessions of one search process, and most loading sessions of one machine."""
    layout: str = LAYOUTS[0]
    """Where a build puts super keys: per_cell, into every posting, or per_row, into a table of their own."""
    passfile: str = ""
    workdir: str = ""
    """Folder for the files of a build; on a cluster, one that all workers share."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse an address, refusing one that holds a password."""
        if not text.startswith(SCHEME):
            raise StoreError(f"a Vertica address looks like this: {_EXAMPLE}")
        try:
            url = urlsplit(text)
            port = url.port or DEFAULT_PORT
        except ValueError:
            raise StoreError(f"the Vertica address cannot be read; it looks like this: {_EXAMPLE}") from None
        options = dict(parse_qsl(url.query, keep_blank_values=True))
        if url.password is not None or options.keys() & {"password", "pwd"}:
            raise StoreError(
                "a Vertica address must not hold a password, which others could read on the command line: "
                f"set {PASSWORD_VARIABLE}, or put the password into a file and add passfile=PATH"
            )
        database = unquote(url.path.strip("/"))
        if not url.username or not url.hostname or not database:
            raise StoreError(f"a Vertica address needs user, host and database, like this: {_EXAMPLE}")
        return cls(unquote(url.username), url.hostname, port, database, **_options(options))

    def __post_init__(self) -> None:
        if not _IDENTIFIER.fullmatch(self.schema) or self.schema.lower().startswith("v_"):
            raise StoreError(f"schema={self.schema!r} is not a plain name of letters, digits and underscores")
        if self.tlsmode not in TLS_MODES:
            raise StoreError(f'unknown tlsmode "{self.tlsmode}"; {did_you_mean(self.tlsmode, TLS_MODES)}')
        if self.layout not in LAYOUTS:
            raise StoreError(f'unknown layout "{self.layout}"; {did_you_mean(self.layout, LAYOUTS)}')
        if self.in_list < 1 or self.connections < 1 or not self.timeout > 0:
            raise StoreError("in_list, connections and timeout must be above 0")

    def __str__(self) -> str:
        return f"{SCHEME}{self.user}@{self.host}:{self.port}/{self.database}?schema={self.schema}"

    def password(self) -> Password:
        """Read the password; without one, the server is asked whether it lets the user in."""
        if not self.passfile:
            return Password(os.environ.get(PASSWORD_VARIABLE, ""))
        path = Path(self.passfile).expanduser()
        try:
            if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise StoreError(f"others can read {path}: run chmod 600 {path}")
            return Password(path.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r"))
        except OSError as error:
            raise StoreError(f"cannot read the password file {path}: {error.strerror}") from error

    def options(self) -> dict[str, object]:
        """Return what vertica-python is given besides the password."""
        files = {name: getattr(self, name) for name in ("tls_cafile", "tls_certfile", "tls_keyfile")}
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "database": self.database,
            "tlsmode": self.tlsmode,
            **{name: path for name, path in files.items() if path},
            "backup_server_node": list(self.backup),
            "connection_timeout": self.timeout,
            "session_label": self.label,
            "autocommit": False,
            "binary_transfer": True,
            "request_complex_types": False,
            "unicode_error": "strict",
        }


@dataclass(frozen=True, slots=True)
class Password:
    """A password that no representation shows."""

    value: str = field(repr=False)

    def hidden(self, text: str) -> str:
        """Return a text without the password in it."""
        return text.replace(self.value, "***") if self.value else text


def _options(given: dict[str, str]) -> dict[str, Any]:
    known = [f.name for f in fields(VerticaAddress)][4:]
    result: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise StoreError(f'unknown option "{name}" in the Vertica address; {did_you_mean(name, known)}')
        try:
            result[name] = _converted(name, value)
        except ValueError:
            raise StoreError(f"{name}={value} in the Vertica address is not a number") from None
    return result


def _converted(name: str, value: str) -> object:
    if name == "schema":
        return value.lower()
    if name == "backup":
        return tuple(_node(part) for part in value.split(",") if part)
    if name in ("in_list", "connections"):
        return int(value)
    return float(value) if name == "timeout" else value


def _node(text: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    return host, int(port) if port else DEFAULT_PORT
