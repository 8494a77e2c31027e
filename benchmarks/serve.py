"""`python -m benchmarks serve`: many users of one page at a time, and the memory of the server meanwhile.

Each user has a connection and looks at a table of the lake, lets keys be suggested, searches with the first of them and
looks at the matched rows of the first answer; then at the next table. An answer other than 200 is an error. Memory is
that of the server's process, taken ten times: it must not grow once the users have warmed it up. Linux only.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mate.cli.terminal import say, show, table
from mate.display import counted
from mate.errors import MateError

if TYPE_CHECKING:
    from mate.cli import Commands

SAMPLES = 10
PAGE_BYTES = 4096
COMMAND = "import sys; from mate.cli.program import command; sys.exit(command())"


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser("serve", help="many users of one page, and the server's memory", description=__doc__)
    parser.add_argument("--store", required=True, metavar="LAKE", help="the lake")
    parser.add_argument("--users", type=int, default=50, help="(default: 50)")
    parser.add_argument("--seconds", type=float, default=60, help="(default: 60)")
    parser.set_defaults(run=run)


@dataclass
class Log:
    """What all users met."""

    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, path: str, seconds: float, status: int) -> None:
        """Note one answer."""
        with self.lock:
            self.milliseconds.setdefault(path, []).append(seconds * 1e3)
            if status != 200:
                self.errors[f"{path}: {status}"] += 1


def run(options: argparse.Namespace) -> None:
    """Let users in, and print what they met."""
    with _served(options.store) as (port, process):
        log, end = Log(), time.monotonic() + options.seconds
        users = [threading.Thread(target=_user, args=(port, n, end, log)) for n in range(options.users)]
        for user in users:
            user.start()
        memory = _memory(process, options.seconds)
        for user in users:
            user.join()
    rows = [(path, len(spent), *np.percentile(spent, (50, 95, 100)).round().astype(int)) for path, spent in
            sorted(log.milliseconds.items())]  # fmt: skip
    show(table(("operation", "answers", "median ms", "95% ms", "most ms"), rows))
    total = sum(map(len, log.milliseconds.values()))
    say(f"{counted(options.users, 'user')}, {counted(total, 'answer')}, {counted(log.errors.total(), 'error')}")
    for what, times in log.errors.items():
        say(f"  {what}: {times:,}")
    say(f"memory of the server (MB): {' '.join(f'{one / 1e6:.0f}' for one in memory)}")


@contextmanager
def _served(store: str) -> Iterator[tuple[int, int]]:
    """Serve a lake in a process of its own; return its port and number."""
    arguments = [sys.executable, "-c", COMMAND, "serve", "--store", store, "--port", "0"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as server:
        line = server.stdout.readline() if server.stdout else ""
        port = re.search(r":(\d+)/", line)
        if port is None:
            raise MateError("the server did not start")
        try:
            yield int(port[1]), server.pid
        finally:
            server.send_signal(signal.SIGINT)


def _user(port: int, seed: int, end: float, log: Log) -> None:
    chosen, connection = random.Random(seed), http.client.HTTPConnection("127.0.0.1", port, timeout=180)

    def ask(path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        started = time.perf_counter()
        headers = {"Content-Type": "application/json"}
        connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        content = reply.read()
        log.add(re.sub(r"\d+", "N", path.partition("?")[0]), time.perf_counter() - started, reply.status)
        return json.loads(content) if reply.status == 200 else {}

    total = int(ask("/api/tables?limit=1")["total"])
    while time.monotonic() < end:
        listed = ask(f"/api/tables?limit=1&offset={chosen.randrange(total)}")["tables"]
        own = listed[0]["table_id"]
        ask(f"/api/tables/{own}")
        for one in ask("/api/suggest", {"table": own, "k": 3}).get("suggestions", [])[:1]:
            found = ask("/api/search", {"table": own, "key": one["key"]})
            for answer in found.get("answers", [])[:1]:
                ask("/api/preview", {"table": own, "key": one["key"], "with": answer["table_id"]})
    connection.close()


def _memory(process: int, seconds: float) -> list[int]:
    """Return the memory of a process at equal distances."""
    found = []
    for _ in range(SAMPLES):
        time.sleep(seconds / SAMPLES)
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
        found.append(int(pages) * PAGE_BYTES)
    return found
