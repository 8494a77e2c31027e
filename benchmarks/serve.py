"""`python -m benchmarks serve`: many users of one page at a time, and the memory of the server meanwhile.

Each user has a connection and looks at a table of the lake, lets keys be suggested, searches with the first of them (or
with the table's first columns that have values, two if there are) and looks at the matched rows of the first answer;
then at the next table, without a pause: as many questions are always open as there are users, so that the time of an
answer is mostly waiting for others. The server tells how much of it that was. An answer other than 200, a time-out and
a dropped connection are errors; what is still open at the end is counted, and dropped.

Memory is what the server has taken for itself: pages of the index, which is mapped, are not part of it. It is taken
before the first question, at each tenth, and at the end. With `--searches` users search so many times in all, without
letting keys be suggested, which takes much longer, and a verdict is printed: the memory of the last three tenths must
not exceed that of the second to fourth by more than 5%. Errors and growing memory end it with 1. Linux only.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mate.cli.terminal import say, show, table
from mate.display import counted
from mate.errors import MateError

if TYPE_CHECKING:
    from mate.cli import Commands

TENTHS = 10
COMPARED = 3
"""Tenths at the beginning and at the end whose memory is compared."""
GROWTH = 1.05
"""How much more memory the last of them may take than the first."""
SUGGEST = "/api/suggest"
"""Its answer comes in several steps, a line each."""
FIRST_STEP = f"{SUGGEST}, first step"
KEY = 2
"""Columns of a key that was not suggested."""
MOST_ERRORS = 100
"""The benchmark ends after so many: a server that is gone answers with nothing else."""
COMMAND = "import sys; from mate.cli.program import command; sys.exit(command())"


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser("serve", help="many users of one page, and the server's memory", description=__doc__)
    parser.add_argument("--store", required=True, metavar="LAKE", help="the lake")
    parser.add_argument("--users", type=int, default=50, help="(default: 50)")
    until = parser.add_mutually_exclusive_group()
    until.add_argument("--seconds", type=float, default=60, help="(default: 60)")
    until.add_argument(
        "--searches",
        type=int,
        metavar="N",
        help="search so many times, without suggestions, and tell whether memory grows",
    )
    parser.set_defaults(run=run)


@dataclass
class Log:
    """What all users met, and when they end."""

    searches: float
    """Searches after which users end."""
    end: float
    """Time at which they do."""
    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    waited: dict[str, list[float]] = field(default_factory=dict)
    """Milliseconds that the server let a question wait for others."""
    errors: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    started: float = field(default_factory=time.monotonic)

    def add(self, path: str, seconds: float, problem: str | None = None, waited: float = 0.0) -> None:
        """Note one answer, or why there is none."""
        with self.lock:
            self.milliseconds.setdefault(path, []).append(seconds * 1e3)
            self.waited.setdefault(path, []).append(waited)
            if problem is not None:
                self.errors[f"{path}: {problem}"] += 1

    @property
    def searched(self) -> int:
        """Searches that were answered, one way or the other."""
        return len(self.milliseconds.get("/api/search", ()))

    @property
    def done(self) -> float:
        """Share of the benchmark that is over; 1 or more: all of it."""
        if self.errors.total() >= MOST_ERRORS:
            return 1
        left = max(0.0, self.end - time.monotonic())
        return self.searched / self.searches if self.end == float("inf") else 1 - left / (self.end - self.started)


def run(options: argparse.Namespace) -> int:
    """Let users in, and print what they met; 1 if that is an error, or memory that grows."""
    with _served(options.store) as (port, process):
        memory = [_memory(process)]
        log = Log(options.searches, float("inf")) if options.searches else Log(0, time.monotonic() + options.seconds)
        users = [User(port, log, suggests=not options.searches) for _ in range(options.users)]
        threads = [threading.Thread(target=_use, args=(user, seed, log)) for seed, user in enumerate(users)]
        for thread in threads:
            thread.start()
        memory += _memory_by_tenths(process, log)
        seconds = time.monotonic() - log.started
        unanswered = [user.waits for user in users if user.waits]
        for user in users:
            user.go()
        for thread in threads:
            thread.join()
    _report(log, seconds, unanswered)
    say(_memory_line(memory))
    growth = growth_of(memory)
    if options.searches:
        say(_verdict(growth))
    return int(bool(options.searches and growth > GROWTH) or bool(log.errors) or not log.milliseconds)


def _memory_line(memory: Sequence[int]) -> str:
    """Return the memory before the first question, and after each tenth, for people."""
    steps = ["start", *(f"{100 * tenth // TENTHS}%" for tenth in range(1, TENTHS)), "end"]
    taken = ", ".join(f"{step} {own / 1e6:.0f}" for step, own in zip(steps, memory, strict=True))
    return f"memory of the server, MB: {taken}"


def growth_of(memory: Sequence[int]) -> float:
    """Return how many times the memory of earlier tenths those at the end have.

    The start is left out, and so is the first tenth, in which threads start and caches fill.
    """
    tenths = memory[2:]
    return sum(tenths[-COMPARED:]) / max(1, sum(tenths[:COMPARED]))


def _verdict(growth: float) -> str:
    compared = (
        f"the last {COMPARED} tenths have {abs(growth - 1):.1%} {'more' if growth > 1 else 'less'} than the 2nd to 4th"
    )
    return f"memory grows: {compared}" if growth > GROWTH else f"memory is steady: {compared}"


def _report(log: Log, seconds: float, unanswered: Sequence[float]) -> None:
    """Print how long answers took, and what went wrong."""
    rows = [
        (path, len(spent), *np.percentile(spent, (50, 95, 100)).round().astype(int),
         *np.percentile(log.waited[path], (50, 95)).round().astype(int))
        for path, spent in sorted(log.milliseconds.items())
    ]  # fmt: skip
    show(table(("operation", "answers", "median ms", "95% ms", "most ms", "of it waiting", "95% waiting"), rows))
    total = sum(len(spent) for path, spent in log.milliseconds.items() if path != FIRST_STEP)
    say(
        f"{counted(total, 'answer')} in {seconds:.0f} s, {total / seconds:.1f} per second; "
        f"{counted(log.errors.total(), 'error')}"
    )
    for what, times in log.errors.items():
        say(f"  {what}: {times:,}")
    if unanswered:
        say(f"{counted(len(unanswered), 'question')} still open at the end, for {max(unanswered):.0f} s at most")


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


class RefusedError(Exception):
    """An answer other than 200."""


class User:
    """One user, with a connection that is opened again after an error."""

    def __init__(self, port: int, log: Log, *, suggests: bool) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        self._log = log
        self._suggests = suggests
        self._asked: float | None = None
        self.has_gone = False

    @property
    def waits(self) -> float:
        """Seconds since the question that is still open; 0 if there is none."""
        asked = self._asked
        return 0.0 if asked is None else time.perf_counter() - asked

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the answer of the server, noting how long it took and what went wrong."""
        self._asked, problem, waited = time.perf_counter(), None, 0.0
        method, headers = "GET" if body is None else "POST", {"Content-Type": "application/json"}
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            reply = self._connection.getresponse()
            first = reply.readline()
            shown = self.waits
            steps = [first, *reply.read().splitlines()]
            if reply.status != 200:
                problem = str(reply.status)
                raise RefusedError
            waited = waiting(reply.getheader("Server-Timing") or "")
            if path == SUGGEST and not self.has_gone:
                self._log.add(FIRST_STEP, shown, None, waited)
            return json.loads(steps[-1])
        except (OSError, http.client.HTTPException, ValueError) as error:
            problem = type(error).__name__
            raise
        finally:
            if not self.has_gone:
                self._log.add(re.sub(r"\d+", "N", path.partition("?")[0]), self.waits, problem, waited)
            self._asked = None

    def look_around(self, chosen: random.Random) -> None:
        """Look at a table, at keys that join it if they are suggested, and at the rows of the first answer."""
        total = self.ask("/api/tables?limit=1")["total"]
        own = self.ask(f"/api/tables?limit=1&offset={chosen.randrange(total)}")["tables"][0]["table_id"]
        key = first_columns(self.ask(f"/api/tables/{own}")["columns"])
        if self._suggests:
            suggested = self.ask(SUGGEST, {"table": own, "k": 3})["suggestions"]
            key = suggested[0]["key"] if suggested else key
        for answer in self.ask("/api/search", {"table": own, "key": key})["answers"][:1]:
            self.ask("/api/preview", {"table": own, "key": key, "with": answer["table_id"]})

    def leave(self) -> None:
        """Close the connection; the next question opens it again."""
        self._connection.close()

    def go(self) -> None:
        """Leave for good, from another thread: a question that is open gets no answer, which is no error."""
        self.has_gone = True
        with suppress(AttributeError, OSError):  # it has no connection, or none any more
            self._connection.sock.shutdown(socket.SHUT_RDWR)


def first_columns(columns: Sequence[dict[str, Any]]) -> list[str]:
    """Return the first columns of a table that have values, or just the first one."""
    filled = [column["name"] for column in columns if column["distinct"]]
    return filled[:KEY] or [columns[0]["name"]]


def waiting(timing: str) -> float:
    """Return the milliseconds that a question waited for others, of what the server tells of its time."""
    found = re.search(r"\bwait;dur=([\d.]+)", timing)
    return float(found[1]) if found else 0.0


def _use(user: User, seed: int, log: Log) -> None:
    chosen = random.Random(seed)
    while log.done < 1 and not user.has_gone:
        try:
            user.look_around(chosen)
        except RefusedError:
            pass  # noted
        except (OSError, http.client.HTTPException, ValueError):
            user.leave()  # noted, and the connection is of no use any more
        except LookupError as error:  # an answer without what belongs into it
            log.add("answer", 0, f"{type(error).__name__} {error}")
    user.leave()


def _memory_by_tenths(process: int, log: Log) -> list[int]:
    """Return the memory of a process after each tenth of what is to be done."""
    found: list[int] = []
    while len(found) < TENTHS:
        while log.done < (len(found) + 1) / TENTHS:
            time.sleep(0.01)
        found.append(_memory(process))
    return found


def _memory(process: int) -> int:
    """Return the bytes that a process has for itself."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    own = re.search(r"^RssAnon:\s+(\d+) kB$", status, re.MULTILINE)
    return 1024 * int(own[1]) if own else 0
