"""Memory and processor time of a build and of everything that it starts, sampled from /proc. Linux only."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

ROLES = ("driver", "jvm", "executors", "workers")
"""The Python process that was started, Spark's JVM, the JVMs of a local cluster, and the Python workers of all JVMs."""
PYTHON = ("driver", "workers")
"""Roles whose processes read tables and write segments."""

_PROC = Path("/proc")
_EXECUTOR = "executor"
"""The command of a JVM that runs the tasks of a local cluster."""


def available() -> bool:
    """Tell whether this system shows its processes under /proc."""
    return (_PROC / "self" / "stat").exists()


class Process(NamedTuple):
    """One process at one moment."""

    pid: int
    parent: int
    command: str
    ticks: int
    """Processor time, in the kernel's unit."""
    resident: int
    """Pages."""


def parse(text: str) -> Process:
    """Read a line of /proc/PID/stat; the command, in parentheses, may hold blanks and parentheses."""
    head, _, tail = text.rpartition(")")
    pid, _, command = head.partition(" (")
    fields = tail.split()
    return Process(int(pid), int(fields[1]), command, int(fields[11]) + int(fields[12]), int(fields[21]))


def snapshot() -> list[Process]:
    """Return all processes of this machine."""
    found = []
    for entry in os.scandir(_PROC):
        if entry.name.isdigit():
            try:
                process = parse(Path(entry.path, "stat").read_text())
                if process.command == "java" and b"ExecutorBackend" in Path(entry.path, "cmdline").read_bytes():
                    process = process._replace(command=_EXECUTOR)
                found.append(process)
            except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
                continue
    return found


def roles(root: int, processes: Iterable[Process]) -> dict[int, str]:
    """Return the role of each process that descends from `root`; those without one have the name "other".

    A process that has just been forked still looks like its parent. It is not counted as a second driver or JVM.
    """
    children: dict[int, list[Process]] = {}
    found: dict[int, str] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
        if process.pid == root:
            found[root] = "driver"
    pending = [root]
    while pending:
        parent = pending.pop()
        for process in children.get(parent, ()):
            found[process.pid] = _role(process, found[parent])
            pending.append(process.pid)
    return found


def _role(process: Process, parent: str) -> str:
    if parent in ("driver", "other") and process.command == "java":
        return "jvm"
    if parent == "jvm" and process.command == _EXECUTOR:
        return "executors"
    has_workers = parent in ("jvm", "executors", "workers")
    return "workers" if has_workers and process.command.startswith("python") else "other"


@dataclass
class Peaks:
    """The most memory of each role at any sample, and its processor time.

    The sum over the workers counts a page that they share, having been forked, once for each of them.
    """

    root: int
    bytes: dict[str, int] = field(default_factory=dict)
    """By role; "together": the most at one time, which is less than the sum of the roles; and "largest": the most of
    any single Python process, which is what a limit per task is held against."""
    _ticks: dict[tuple[int, str], int] = field(default_factory=dict)
    """By process and role, as of the last time that it was seen."""

    def sample(self) -> None:
        """Look once."""
        processes = snapshot()
        found = roles(self.root, processes)
        now = dict.fromkeys((*ROLES, "together", "largest"), 0)
        for process in processes:
            role = found.get(process.pid)
            if role is None:
                continue
            self._ticks[process.pid, role] = process.ticks
            size = process.resident * os.sysconf("SC_PAGE_SIZE")
            if role in ROLES:
                now[role] += size
                now["together"] += size
            if role in PYTHON:
                now["largest"] = max(now["largest"], size)
        for name, size in now.items():
            if size:
                self.bytes[name] = max(self.bytes.get(name, 0), size)

    @property
    def processor_seconds(self) -> dict[str, float]:
        """Processor time by role: unlike seconds, hardly touched by what else the machine is doing."""
        spent: dict[str, float] = {}
        for (_, role), ticks in self._ticks.items():
            spent[role] = spent.get(role, 0.0) + ticks / os.sysconf("SC_CLK_TCK")
        return spent
