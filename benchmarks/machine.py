"""What a result depends on besides the code: the machine and the versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

from mate import __version__


def describe() -> dict[str, str | int]:
    """Return the facts that every result file carries."""
    packages = {name: version(name) for name in ("numpy", "numba", "pyarrow", "mmh3", "cityhash", "simhash")}
    return {
        "mate": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count() or 1,
        **packages,
    }
