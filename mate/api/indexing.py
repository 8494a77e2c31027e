"""`mate.index`: from files to a lake."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from mate.api.addresses import address_of
from mate.api.arguments import instance, several, size, whole_number
from mate.api.lake import Lake, path_list, reader_name
from mate.api.options import IndexOptions, check_options
from mate.limits import Limits

if TYPE_CHECKING:
    from mate.api.lake import Paths
    from mate.build.build import BuildSettings

KINDS: tuple[tuple[str, type, str], ...] = (
    ("limits", Limits, "mate.Limits(...)"),
    ("master", str, 'a text such as "none", "auto" or "local[*]"'),
    ("spark", Mapping, "a dictionary of settings"),
)
"""Options whose values must be of a type, with an example."""


def index(paths: Paths, store: str | PathLike[str], **options: Unpack[IndexOptions]) -> Lake:
    """Index every table under some paths and return the lake, open.

    The index is built beside the one that may be there, and published in one step at the end. What could not be read
    is listed by `Lake.rejects`, with its reason.

    >>> import mate
    >>> lake = mate.index("lake", "again.mate")
    >>> lake.stats().tables, lake.build_summary.files
    (4, 4)
    >>> lake.close()
    """
    from mate.build.build import build
    from mate.build.progress import Silent
    from mate.stores import open_target

    address = address_of(store)
    settings = _settings(options, address)
    settings.check()
    progress = options.get("progress") or Silent()
    with open_target(address) as target:
        summary = build(path_list(paths), target, settings, progress)
    lake = Lake(address)
    lake.build_summary = summary
    return lake


def _settings(options: IndexOptions, address: str) -> BuildSettings:
    from mate.build.build import BuildSettings, with_hashes
    from mate.stores import usual_hash
    from mate.values.text import NULL_SPELLINGS, token

    check_options("mate.index", options, IndexOptions.__annotations__)
    given: dict[str, Any] = {**options}
    given.pop("progress", None)
    usual = "xash" if "bits" in given else usual_hash(address)
    hashes, bits = several("hashes", given.pop("hashes", usual)), whole_number("bits", given.pop("bits", 128))
    more = {token(text, nulls=frozenset()) or "" for text in several("nulls", given.pop("nulls", ()))}
    if "memory" in given:
        given["memory"] = size("memory", given["memory"])
    if given.get("segments") is not None:
        given["segments"] = whole_number("segments", given["segments"])
    for name, kind, example in KINDS:
        if name in given:
            instance(name, given[name], kind, example)
    settings = BuildSettings(**{**given, "format": reader_name(given.get("format")), "nulls": NULL_SPELLINGS | more})
    return with_hashes(settings, hashes, bits)
