"""Where an index is, and how to get there: ``vertica://…``, ``postgresql://…`` or ``duckdb:lake.duckdb``.

The password is never part of an address, because command lines, shell histories and logs can be read by others.
It comes from an environment variable, or from the first line of a file (``passfile=...``).
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from mate.errors import StoreError, did_you_mean
from mate.sql.schema import LAYOUTS

TLS_MODES = ("disable", "prefer", "require", "verify-ca", "verify-full")
AUTHENTICATIONS = ("password", "oauth", "kerberos")
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_ANYWHERE = {"schema", "in_list", "connections", "layout", "workdir", "patience"}
_TLS = {"tlsmode", "tls_cafile", "tls_certfile", "tls_keyfile"}
_SERVER = {*_ANYWHERE, *_TLS, "label", "connect_timeout", "timeout", "passfile"}
_VERTICA = {*_SERVER, "backup", "balance", "auth", "kerberos_service", "kerberos_host", "workload"}


class Scheme(NamedTuple):
    """A kind of database: how its addresses look."""

    title: str
    port: int
    password_variable: str
    example: str
    options: set[str]
    """What may stand behind the question mark."""
    in_list: int = 1_000
    """Up to so many numbers are looked up as an IN list unless the address says otherwise."""


KINDS = {
    "vertica": Scheme("Vertica", 5433, "VERTICA_PASSWORD", "vertica://user@host:5433/database", _VERTICA),
    "postgresql": Scheme("PostgreSQL", 5432, "PGPASSWORD", "postgresql://user@host:5432/database", _SERVER, 20_000),
    "duckdb": Scheme("DuckDB", 0, "", "duckdb:lake.duckdb", _ANYWHERE),
}


def kind_of(text: str) -> str | None:
    """Return the kind of database that a text is the address of; None for a path."""
    name, colon, _ = text.lower().partition(":")
    name = "postgresql" if name == "postgres" else name
    return name if colon and name in KINDS else None


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed address, and the password that belongs to it. All but the password may be shown, and its `repr` is."""

    kind: str
    user: str
    host: str
    port: int
    database: str
    """Its name, or the path of DuckDB's file."""
    schema: str = "mate"
    tlsmode: str = ""
    """How the connection is encrypted; only verify-full also proves that the server is the right one."""
    tls_cafile: str = ""
    tls_certfile: str = ""
    tls_keyfile: str = ""
    backup: tuple[tuple[str, int], ...] = ()
    """Further nodes, tried in turn when the first does not answer: ``backup=node2,node3:5433``."""
    balance: bool = True
    """Let the server send the session to another of its nodes, if it is set up to. With verify-full that node's
    certificate has to have the name that the balancer gives, not the one in the address."""
    auth: str = "password"
    """How the user is known: by password, by an OAuth token in the password's place, or by Kerberos."""
    kerberos_service: str = ""
    kerberos_host: str = ""
    workload: str = ""
    label: str = "mate"
    """Names the session in the server's system tables."""
    connect_timeout: float = 10.0
    """Seconds that one attempt to connect may take."""
    timeout: float = 0.0
    """Seconds that the server may take to answer; 0: as long as it needs, as long steps of a build do."""
    patience: float = 600.0
    """Seconds to wait for a server that has no free session."""
    in_list: int = KINDS["vertica"].in_list
    """Up to so many numbers are looked up as an IN list; more go through a temporary table."""
    connections: int = 8
    """Most sessions of one search process, and most loading sessions of one machine."""
    layout: str = LAYOUTS[0]
    """Where a build puts super keys: per_cell, into every posting, or per_row, into a table of their own."""
    passfile: str = ""
    workdir: str = ""
    """Folder for the files of a build; on a cluster, one that all workers share."""
    password: str = field(default="", repr=False)
    """Travels to the machines where tasks run."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse an address, refusing one that holds a password, and look its password up."""
        kind = kind_of(text)
        if kind is None:
            examples = ", ".join(scheme.example for scheme in KINDS.values())
            raise StoreError(f"a database's address looks like one of these: {examples}")
        path, _, query = text.partition(":")[2].partition("?")
        given = dict(parse_qsl(query, keep_blank_values=True))
        if kind != "duckdb":
            place = _server(KINDS[kind], path, given)
        elif path:
            place = "", "", 0, path
        else:
            raise StoreError(f"a DuckDB address names a file, like this: {KINDS[kind].example}")
        options = _options(KINDS[kind], given)
        password = _password(options.get("passfile", ""), KINDS[kind].password_variable)
        return cls(kind, *place, **options, password=password)

    def __post_init__(self) -> None:
        if not _IDENTIFIER.fullmatch(self.schema) or self.schema.startswith(("v_", "pg_")):
            raise StoreError(f"schema={self.schema!r} is not a plain name of letters, digits and underscores")
        for name, known in (("tlsmode", ("", *TLS_MODES)), ("auth", AUTHENTICATIONS), ("layout", LAYOUTS)):
            value = getattr(self, name)
            if value not in known:
                raise StoreError(f'unknown {name} "{value}"; {did_you_mean(value, filter(None, known))}')
        if self.in_list < 1 or self.connections < 1 or not self.connect_timeout > 0 or self.timeout < 0:
            raise StoreError("in_list, connections and connect_timeout must be above 0, timeout 0 or more")

    def __str__(self) -> str:
        if self.kind == "duckdb":
            return f"duckdb:{self.database}" + ("" if self.schema == "mate" else f"?schema={self.schema}")
        return f"{self.kind}://{self.user}@{self.host}:{self.port}/{self.database}?schema={self.schema}"

    @property
    def password_variable(self) -> str:
        """The environment variable that holds the password."""
        return KINDS[self.kind].password_variable

    @property
    def tls(self) -> str:
        """How the connection is encrypted: as asked, else as safe as what is known allows."""
        if self.tlsmode:
            return self.tlsmode
        if self.tls_cafile:
            return "verify-full"
        return "prefer" if self.stays_here else "require"

    @property
    def stays_here(self) -> bool:
        """Whether all nodes are on this machine."""
        return all(is_this_machine(host) for host in (self.host, *(name for name, _ in self.backup)))

    def without_password(self, text: str) -> str:
        """Return a text, such as that of an error, without the password in it."""
        return text.replace(self.password, "***") if self.password else text


def _password(file: str, variable: str) -> str:
    """Read a password from its file or variable; it may be empty."""
    if not file:
        return os.environ.get(variable, "") if variable else ""
    path = Path(file).expanduser()
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise StoreError(f"others can read {path}: run chmod 600 {path}")
        return path.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    except OSError as error:
        raise StoreError(f"cannot read the password file {path}: {error.strerror}") from error


def is_this_machine(host: str) -> bool:
    """Tell whether a host is this machine: a socket's folder, or a loopback address."""
    if host.startswith("/") or host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _server(scheme: Scheme, place: str, given: dict[str, str]) -> tuple[str, str, int, str]:
    """Return user, host, port and database."""
    like_this = f"like this: {scheme.example}"
    if not place.startswith("//"):
        raise StoreError(f"a {scheme.title} address looks {like_this}")
    try:
        url = urlsplit(f"x:{place}")
        port = url.port or scheme.port
    except ValueError:
        raise StoreError(f"the {scheme.title} address cannot be read; it looks {like_this}") from None
    if url.password is not None or {name.lower() for name in given} & {"password", "pwd"}:
        raise StoreError(
            f"a {scheme.title} address must not hold a password, which others could read on the command line: "
            f"set {scheme.password_variable}, or put the password into a file and add passfile=PATH"
        )
    database = unquote(url.path.strip("/"))
    if not url.username or not url.hostname or not database:
        raise StoreError(f"a {scheme.title} address needs user, host and database, {like_this}")
    host = url.netloc.rpartition("@")[2]
    is_folder = host.lower().startswith("%2f")  # of a socket; `hostname` would be in lower case
    return unquote(url.username), unquote(host.partition(":")[0] if is_folder else url.hostname), port, database


def _options(scheme: Scheme, given: dict[str, str]) -> dict[str, Any]:
    """Return options as what their usual values are: texts, numbers, yes or no, or nodes."""
    usual: dict[str, Any] = {option.name: option.default for option in fields(Address)}
    options: dict[str, Any] = {"in_list": scheme.in_list}
    for name, value in given.items():
        if name not in scheme.options:
            hint = did_you_mean(name, scheme.options)
            raise StoreError(f'unknown option "{name}" in the {scheme.title} address; {hint}')
        try:
            if isinstance(usual[name], tuple):
                nodes = (node.partition(":") for node in value.split(",") if node)
                options[name] = tuple((host, int(port or scheme.port)) for host, _, port in nodes)
            elif isinstance(usual[name], bool):
                options[name] = value.lower() not in ("0", "no", "off", "false")
            else:
                options[name] = value.lower() if name == "schema" else type(usual[name])(value)
        except ValueError:
            raise StoreError(f"{name}={value} in the {scheme.title} address is not a number") from None
    return options
