"""Optional packages, and the command that installs them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from mate.errors import MissingPackageError


def is_installed(module: str) -> bool:
    """Tell whether a package is installed, without importing it."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a package, or raise an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(f"{purpose} needs {module}: {pip_line(extra)}") from error


def pip_line(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'mate-discovery[{extra}]'"
