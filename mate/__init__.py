"""MATE: find the tables of a data lake that join with yours on several columns.

    import mate

    lake = mate.index("tables/", "lake.mate")
    found = lake.search("people.csv", key=["first name", "last name"])
    enriched = found[0].join()

Everything public is a name of this module: `__init__.pyi` lists them, for type checkers too, and docs/api.md describes
them. A name's module is loaded when the name is first used, so that importing `mate` is fast.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_MODULES = {name: module for module, name in re.findall(r"^from (\S+) import (\w+)", _STUB, re.MULTILINE)}
"""Public names, each with its module."""

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'mate' has no attribute {name!r}")
    value: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
