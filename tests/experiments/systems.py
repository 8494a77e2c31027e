"""Systems that misbehave, by name: ``tests.experiments.systems:wrong``."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from mate.search.results import SearchResult
from mate.search.systems import find_system

STALL = "MATE_TEST_STALL"


def wrong(*arguments: Any) -> SearchResult:
    """Answer with one too many for the best table."""
    found = find_system("mate")(*arguments)
    best, *others = found.found
    return replace(found, found=[replace(best, joinability=best.joinability + 1), *others])


def endless(*arguments: Any) -> SearchResult:
    """Never answer."""
    while True:
        time.sleep(60)


def endless_statement(index: Any, *arguments: Any) -> SearchResult:
    """Let the database never answer."""
    index.ask(lambda session: session.execute("SELECT pg_sleep(600)"))
    raise AssertionError("it answered")


def dying(*arguments: Any) -> SearchResult:
    """End the process."""
    os._exit(9)


def failing(*arguments: Any) -> SearchResult:
    """Raise an error."""
    raise ZeroDivisionError("no answer")


def stalling(*arguments: Any) -> SearchResult:
    """Answer; from the fourth call on, say so in a file and never answer, where the environment asks for it."""
    folder = os.environ.get(STALL)
    if folder:
        calls = len(list(Path(folder).iterdir()))
        (Path(folder) / f"call-{calls}").touch()
        if calls >= 3:
            endless()
    return find_system("mate")(*arguments)


def endless_elsewhere(index: Any, query: Any, key: Any, *arguments: Any) -> SearchResult:
    """Never answer a query of more than nine rows; answer others."""
    return endless() if query.columns.num_rows > 9 else find_system("mate")(index, query, key, *arguments)
