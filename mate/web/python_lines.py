"""Lines of Python that do the same as the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def suggest_lines(lake: str, source: str | int, given: Mapping[str, Any]) -> str:
    """Return the lines that find keys."""
    columns = f", columns={given['columns']!r}" if given.get("columns") else ""
    most = f", most_columns={given['most_columns']}"
    return _opened(lake, source) + f"found = lake.suggest(query, k={given['k']}{columns}{most}{_exclude(source)})\n"


def search_lines(lake: str, source: str | int, given: Mapping[str, Any]) -> str:
    """Return the lines that search."""
    rank = "" if given["rank"] == "usefulness" else f", rank={given['rank']!r}"
    names = "" if given["names"] else ", names=False"
    options = f"k={given['k']}{rank}{names}{_exclude(source)}"
    return _opened(lake, source) + f"found = lake.search(query, {given['key']!r}, {options})\n"


def join_lines(lake: str, source: str | int, given: Mapping[str, Any]) -> str:
    """Return the lines that join with one table."""
    matches = "" if given["matches"] == "first" else f", matches={given['matches']!r}"
    safe = ", safe=True" if given["safe"] else ""
    joined = f"joined = lake.enrich(query, {given['key']!r}, {given['with']}{matches})\n"
    return f'{_opened(lake, source)}{joined}joined.write("enriched.{given["format"]}"{safe})\n'


def _opened(lake: str, source: str | int) -> str:
    query = f"{source!r}  # your file" if isinstance(source, str) else f'lake.table({source}, into="arrow")'
    return f"import mate\n\nlake = mate.open({lake!r})\nquery = {query}\n"


def _exclude(source: str | int) -> str:
    """Exclude a table of the lake from its own answers."""
    return "" if isinstance(source, str) else f", exclude=[{source}]"
