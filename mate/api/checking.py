"""Whether a lake is sound, and its repair; also for one that is too damaged to be opened."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Unpack

from mate.api.addresses import address_of
from mate.api.options import ChangeOptions, check_options
from mate.errors import StoreError

if TYPE_CHECKING:
    from mate.build.changes.check import Findings
    from mate.build.progress import Progress


def check(address: str | PathLike[str], progress: Progress | None = None) -> Findings:
    """Check the lake in a folder, also one that is too damaged to be opened; `Lake.check` does it for an open one.

    >>> import mate
    >>> mate.check("lake.mate").problems
    []
    """
    from mate.build.changes.check import check as check_folder
    from mate.stores import is_database

    place = address_of(address)
    if is_database(place):
        raise StoreError("mate check is for a lake; a database checks its own storage")
    return check_folder(place, progress)


def repair(address: str | PathLike[str], findings: Findings, **options: Unpack[ChangeOptions]) -> Findings:
    """Rebuild what a check found to be damaged; return what a check then finds."""
    from mate.build.changes.check import repair as repair_folder

    check_options("a repair", options, ChangeOptions.__annotations__)
    return repair_folder(address_of(address), findings, options.get("wait", 10.0), options.get("progress"))
