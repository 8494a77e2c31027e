"""What a measurement depends on besides the code: the machine and the versions."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mate import __version__

PACKAGES = (
    "numpy",
    "pandas",
    "pyarrow",
    "pyspark",
    "duckdb",
    "psycopg",
    "vertica-python",
    "mmh3",
    "cityhash",
    "simhash",
)


def versions() -> dict[str, str]:
    """Return the versions of MATE, Python and what they compute with; what is not installed is left out."""
    found = {"mate": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def server(address: str) -> str:
    """Return what a database says of its version, which of DuckDB is a number."""
    from mate.sql.address import Address
    from mate.sql.dialects import open_session

    where = Address.parse(address)
    with open_session(where) as session:
        told = str(session.execute("SELECT version()")[0][0])
    return told if " " in told else f"{where.kind} {told}"


def describe() -> dict[str, str | int | float]:
    """Return the machine: system, processor, cores that this process may use, memory."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": _cores(),
        "memory_gb": round(_memory() / 1e9, 1),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0
