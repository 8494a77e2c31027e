"""What a result depends on besides the code: the machine and the versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from mate import __version__

PACKAGES = ("numpy", "numba", "pyarrow", "pyspark", "duckdb", "mmh3", "cityhash", "simhash")


def describe() -> dict[str, str | int]:
    """Return the facts that every result file carries; packages that are not installed are left out."""
    packages: dict[str, str | int] = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "mate": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count() or 1,
        **packages,
    }
