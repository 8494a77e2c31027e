"""Build, check and repair an index."""

from __future__ import annotations

from os import PathLike
from typing import Any, Unpack

from mate.api.arguments import Paths, lake_address, reader_name, text_list, whole_number
from mate.api.lake import Lake
from mate.api.options import ChangeOptions, IndexOptions, check_options
from mate.build.build import BuildSettings, build, with_hashes
from mate.build.changes.check import Findings
from mate.build.changes.check import check as check_folder
from mate.build.changes.check import repair as repair_folder
from mate.build.engine import NoProgress, Progress
from mate.display import size_of
from mate.errors import MateError, StoreError
from mate.stores import is_database, open_target, usual_hash
from mate.values.text import NULL_SPELLINGS, token


def index(paths: Paths, store: str | PathLike[str], **options: Unpack[IndexOptions]) -> Lake:
    """Index every table under some paths and return the open lake.

    The index replaces the one at the same place, in one step at the end. `Lake.rejects` lists what could not be read.

    >>> lake = mate.index("lake", "again.mate")
    >>> lake.stats().tables, lake.build_summary.files
    (4, 4)
    >>> lake.close()
    """
    check_options("mate.index", options, IndexOptions)
    address = lake_address(store)
    settings: dict[str, Any] = {**options, "format": reader_name(options.get("format"))}
    progress = settings.pop("progress", None) or NoProgress()
    bits = whole_number("bits", settings.pop("bits", 128))
    hashes = text_list(settings.pop("hashes", "xash" if "bits" in options else usual_hash(address)))
    nulls = {token(text, nulls=frozenset()) or "" for text in text_list(options.get("nulls", ()))}
    settings["nulls"] = NULL_SPELLINGS | nulls
    if isinstance(memory := options.get("memory"), str):
        settings["memory"] = size_of(memory)
        if settings["memory"] is None:
            raise MateError(f"memory takes a number of bytes or a size such as 2GB, not {memory!r}")
    checked = with_hashes(BuildSettings(**settings), hashes, bits)
    checked.check()
    with open_target(address) as target:
        summary = build(text_list(paths), target, checked, progress)
    lake = Lake(address)
    lake.build_summary = summary
    return lake


def check(address: str | PathLike[str], progress: Progress | None = None) -> Findings:
    """Check a lake, even one too damaged to be opened; `Lake.check` checks an open one.

    >>> mate.check("lake.mate").problems
    []
    """
    place = lake_address(address)
    if is_database(place):
        raise StoreError("mate check is for a lake; a database checks its own storage")
    return check_folder(place, progress)


def repair(address: str | PathLike[str], findings: Findings, **options: Unpack[ChangeOptions]) -> Findings:
    """Rebuild what a check found damaged; return the findings of another check."""
    check_options("a repair", options, ChangeOptions)
    return repair_folder(lake_address(address), findings, options.get("wait", 10.0), options.get("progress"))
