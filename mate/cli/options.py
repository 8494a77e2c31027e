"""Options that several commands have, and the values that people write for them."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from mate.display import size_of
from mate.errors import MateError

Value = TypeVar("Value")

MOST = 2**63 - 1
"""The largest whole number that an index can count."""


def chosen(options: argparse.Namespace, kind: type, **more: object) -> dict[str, Any]:
    """Return the options of a call in Python that a command has, too, under the same names, and some more."""
    values: dict[str, Any] = {name: getattr(options, name, None) for name in kind.__annotations__}
    if values.get("spark"):
        values["spark"] = dict(values["spark"])
    return {name: value for name, value in values.items() if value is not None} | more


def parser_of(option: str, wanted: str, parse: Callable[[str], Value | None]) -> Callable[[str], Value]:
    """Return a parser of an option's values; what `parse` returns None for is one clear error."""

    def parsed(text: str) -> Value:
        value = parse(text)
        if value is None:
            shown = text if len(text) <= 40 else f"{text[:40]}…"
            raise MateError(f"{option} takes {wanted}, not {shown!r}")
        return value

    return parsed


def whole(option: str, least: int = 1, most: int = MOST) -> Callable[[str], int]:
    """Return a parser of whole numbers."""

    def number(text: str) -> int | None:
        found = int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", text) else None
        return found if found is not None and least <= found <= most else None

    return parser_of(option, f"a whole number from {least:,}" + (f" to {most:,}" if most != MOST else " on"), number)


def size(option: str) -> Callable[[str], int]:
    """Return a parser of sizes such as 2GB."""
    return parser_of(option, "a size such as 2GB", size_of)


def _seconds(text: str) -> float | None:
    with suppress(ValueError):
        seconds = float(text)
        return None if math.isnan(seconds) or seconds < 0 else seconds
    return None


def _rows(text: str) -> range | None:
    """Return rows written as 8 or 8-20: people count them from 1, Python counts them from 0."""
    match = re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    return range(first - 1, last) if 1 <= first <= last else None


rows = parser_of("--row", "a number from 1 on, or two such as 8-20", _rows)


def _setting(text: str) -> tuple[str, str] | None:
    name, equals, value = text.partition("=")
    return (name, value) if name and equals else None


SHARED: dict[str, dict[str, Any]] = {
    "query": {"metavar": "QUERY", "help": "your table: CSV of any dialect, Parquet or JSON"},
    "--encoding": {"metavar": "NAME", "help": "encoding of QUERY, such as cp1251 (default: detected)"},
    "--key": {"action": "append", "metavar": "A,B", "help": "key columns, separated by commas; may be repeated"},
    "--store": {
        "required": True,
        "metavar": "LAKE",
        "help": "the index: a folder, s3://..., or the address of a database",
    },
    "--format": {
        "default": "auto",
        "choices": ("auto", "dwtc", "csv", "parquet", "json"),
        "help": "format of the files (default: auto)",
    },
    "--wait": {
        "type": parser_of("--wait", "a number of seconds from 0 on", _seconds),
        "metavar": "SECONDS",
        "help": "how long to wait until another build or change of the index ends (default: 10)",
    },
    "--memory": {
        "type": size("--memory"),
        "default": "2GB",
        "metavar": "SIZE",
        "help": "memory of a task that writes a segment (default: 2GB)",
    },
    "--json": {"action": "store_true", "help": "print JSON"},
}
"""Options that several commands have, as argparse takes them."""

QUERY = ("query", "--encoding", "--store")
CHANGE = ("--store", "--wait", "--json")
"""What all commands with a table of the user's have, and all that change an index."""


def add_shared(parser: argparse._ActionsContainer, *names: str, **more: object) -> None:
    """Declare options that several commands have."""
    for name in names:
        parser.add_argument(name, **SHARED[name] | more)


def add_whole(
    parser: argparse._ActionsContainer,
    option: str,
    text: str,
    default: int,
    least: int = 1,
    most: int = MOST,
    **more: Any,
) -> None:
    """Declare a whole number that has a default."""
    help = f"{text} (default: {default:,})"
    parser.add_argument(option, type=whole(option, least, most), default=default, metavar="N", help=help, **more)


def add_spark(parser: argparse.ArgumentParser, default: str, *names: str) -> argparse._ArgumentGroup:
    """Declare where work runs, with further options that several commands have, and return the group of options."""
    group = parser.add_argument_group("where it runs")
    by_size = "; auto: by the amount of data" if default == "auto" else ""
    where = f"none: in this process; local[*], spark://host:7077, ...: on Spark{by_size} (default: {default})"
    group.add_argument("--master", default=default, help=where)
    setting = parser_of("--spark", "NAME=VALUE, such as spark.executor.memory=4g", _setting)
    text = "a setting of Spark; may be repeated"
    group.add_argument("--spark", action="append", type=setting, metavar="NAME=VALUE", help=text)
    group.add_argument("-v", "--verbose", action="store_true", help="show the log of Spark")
    add_shared(group, *names)
    return group
