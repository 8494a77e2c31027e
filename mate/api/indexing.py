"""Build, check and repair an index."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from mate.api.arguments import lake_address, path_list, reader_name, require_type, size, texts, whole_number
from mate.api.lake import Lake
from mate.api.options import ChangeOptions, IndexOptions, check_options
from mate.errors import StoreError
from mate.limits import Limits

if TYPE_CHECKING:
    from mate.api.arguments import Paths
    from mate.build.build import BuildSettings
    from mate.build.changes.check import Findings
    from mate.build.progress import Progress


def index(paths: Paths, store: str | PathLike[str], **options: Unpack[IndexOptions]) -> Lake:
    """Index every table under some paths and return the open lake.

    The index replaces the one at the same place, in one step at the end. `Lake.rejects` lists what could not be read.

    >>> lake = mate.index("lake", "again.mate")
    >>> lake.stats().tables, lake.build_summary.files
    (4, 4)
    >>> lake.close()
    """
    from mate.build.build import build
    from mate.build.progress import NoProgress
    from mate.stores import open_target

    address = lake_address(store)
    settings = _settings(options, address)
    settings.check()
    with open_target(address) as target:
        summary = build(path_list(paths), target, settings, options.get("progress") or NoProgress())
    lake = Lake(address)
    lake.build_summary = summary
    return lake


def _settings(options: IndexOptions, address: str) -> BuildSettings:
    from mate.build.build import BuildSettings, with_hashes
    from mate.stores import usual_hash
    from mate.values.text import NULL_SPELLINGS, token

    check_options("mate.index", options, IndexOptions)
    for name, kind, example in (
        ("limits", Limits, "mate.Limits(...)"),
        ("master", str, 'a text such as "none", "auto" or "local[*]"'),
        ("spark", Mapping, "a dictionary of settings"),
    ):
        if name in options:
            require_type(name, options.get(name), kind, example)
    settings: dict[str, Any] = {**options}
    settings.pop("progress", None)
    default = "xash" if "bits" in options else usual_hash(address)
    hashes = texts("hashes", settings.pop("hashes", default))
    bits = whole_number("bits", settings.pop("bits", 128))
    nulls = {token(text, nulls=frozenset()) or "" for text in texts("nulls", settings.pop("nulls", ()))}
    if "memory" in options:
        settings["memory"] = size("memory", options["memory"])
    if options.get("segments") is not None:
        settings["segments"] = whole_number("segments", options["segments"])
    settings |= {"format": reader_name(options.get("format")), "nulls": NULL_SPELLINGS | nulls}
    return with_hashes(BuildSettings(**settings), hashes, bits)


def check(address: str | PathLike[str], progress: Progress | None = None) -> Findings:
    """Check a lake, even one too damaged to be opened; `Lake.check` checks an open one.

    >>> mate.check("lake.mate").problems
    []
    """
    from mate.build.changes.check import check as check_folder
    from mate.stores import is_database

    place = lake_address(address)
    if is_database(place):
        raise StoreError("mate check is for a lake; a database checks its own storage")
    return check_folder(place, progress)


def repair(address: str | PathLike[str], findings: Findings, **options: Unpack[ChangeOptions]) -> Findings:
    """Rebuild what a check found damaged; return the findings of another check."""
    from mate.build.changes.check import repair as repair_folder

    check_options("a repair", options, ChangeOptions)
    return repair_folder(lake_address(address), findings, options.get("wait", 10.0), options.get("progress"))
