"""Options that several commands have, and the values that people write for them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any

from mate.display import size_of
from mate.errors import MateError

MOST = 2**63 - 1
"""The largest whole number that an index can count."""


def chosen(options: argparse.Namespace, kind: type, **more: object) -> dict[str, Any]:
    """Return the options of a call in Python that a command has, too, under the same names, and some more."""
    values = {name: getattr(options, name, None) for name in kind.__annotations__}
    return {name: value for name, value in values.items() if value is not None} | more


def whole(option: str, least: int = 1, most: int = MOST) -> Callable[[str], int]:
    """Return a parser of whole numbers for an option; anything else is one clear error."""

    def number(text: str) -> int:
        match = re.fullmatch(r"[+-]?[0-9]{1,19}", text.strip())
        value = int(text) if match else None
        if value is None or not least <= value <= most:
            upto = f" to {most:,}" if most != MOST else " on"
            raise MateError(f"{option} takes a whole number from {least:,}{upto}, not {_shortened(text)}")
        return value

    return number


def _seconds(text: str) -> float:
    """Parse how long to wait."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:  # NaN, too
        raise MateError(f"--wait takes a number of seconds from 0 on, not {_shortened(text)}")
    return seconds


class _Setting(argparse.Action):
    """Collects settings that are written NAME=VALUE."""

    def __call__(self, parser: object, options: argparse.Namespace, text: Any, option: object = None) -> None:
        """Add a setting."""
        name, _, value = text.partition("=")
        if not name or "=" not in text:
            raise MateError(f"--spark takes NAME=VALUE, such as spark.executor.memory=4g, not {_shortened(text)}")
        setattr(options, self.dest, {**getattr(options, self.dest), name: value})


def size(option: str) -> Callable[[str], int]:
    """Return a parser of sizes such as 2GB for an option."""

    def number(text: str) -> int:
        found = size_of(text)
        if found is None:
            raise MateError(f"{option} takes a size such as 2GB, not {_shortened(text)}")
        return found

    return number


def rows(text: str) -> range:
    """Return rows written as 8 or 8-20: people count them from 1, Python counts them from 0."""
    match = re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if first < 1 or last < first:
        raise MateError(f"--row takes a number from 1 on, or two such as 8-20, not {_shortened(text)}")
    return range(first - 1, last)


def split_names(given: Sequence[str], header: Sequence[str]) -> list[str]:
    """Return column names that are separated by commas; a name that contains a comma itself is taken whole."""
    names: list[str] = []
    for text in given:
        names += [text] if text in header else [part.strip() for part in text.split(",")]
    return names


def add_whole(
    parser: argparse._ActionsContainer,
    option: str,
    text: str,
    default: int,
    least: int = 1,
    most: int = MOST,
    **more: str,
) -> None:
    """Declare a whole number that has a default."""
    help = f"{text} (default: {default:,})"
    parser.add_argument(option, type=whole(option, least, most), default=default, metavar="N", help=help, **more)  # type: ignore[arg-type]


def add_store(parser: argparse.ArgumentParser, text: str = "the index") -> None:
    """Declare where the index is."""
    help = f"{text}: a folder, s3://..., or the address of a database"
    parser.add_argument("--store", required=True, metavar="LAKE", help=help)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare that the result can be JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_format(parser: argparse.ArgumentParser) -> None:
    """Declare the format of the files that are read."""
    formats = ("auto", "dwtc", "csv", "parquet", "json")
    parser.add_argument("--format", default="auto", choices=formats, help="format of the files (default: auto)")


def add_change(parser: argparse.ArgumentParser) -> None:
    """Declare what all changes have."""
    add_store(parser)
    text = "how long to wait until another build or change of the index ends (default: 10)"
    parser.add_argument("--wait", type=_seconds, metavar="SECONDS", help=text)
    add_json(parser)


def add_files(parser: argparse.ArgumentParser) -> None:
    """Declare how files are read into an index."""
    add_format(parser)
    add_memory(add_spark(parser, "auto"))


def add_query(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Declare the user's table, its encoding, and the index."""
    count = "?" if optional else None
    parser.add_argument("query", metavar="QUERY", nargs=count, help="your table: CSV of any dialect, Parquet or JSON")
    parser.add_argument("--encoding", metavar="NAME", help="encoding of QUERY, such as cp1251 (default: detected)")
    add_store(parser)


def add_key(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Declare the key columns."""
    help = "key columns, separated by commas; may be repeated"
    parser.add_argument("--key", action="append", required=required, metavar="A,B", help=help)


def add_spark(parser: argparse.ArgumentParser, default: str) -> argparse._ArgumentGroup:
    """Declare where work runs, and return the group of options."""
    group = parser.add_argument_group("where it runs")
    by_size = "; auto: by the amount of data" if default == "auto" else ""
    where = f"none: in this process; local[*], spark://host:7077, ...: on Spark{by_size} (default: {default})"
    group.add_argument("--master", default=default, help=where)
    text = "a setting of Spark; may be repeated"
    group.add_argument("--spark", action=_Setting, default={}, metavar="NAME=VALUE", help=text)
    group.add_argument("-v", "--verbose", action="store_true", help="show the log of Spark")
    return group


def add_memory(group: argparse._ActionsContainer) -> None:
    """Declare how much memory a task may use."""
    help = "memory of a task that writes a segment (default: 2GB)"
    group.add_argument("--memory", type=size("--memory"), default="2GB", metavar="SIZE", help=help)


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
