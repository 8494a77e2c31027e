"""Options that are given by name, and the system that searches.

An option of a search is a field here. If `SearchSettings` has a field of the same name, it gets there by itself; the
command line passes on what it declares under that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, TypedDict

from mate.api.arguments import Key, Tables, whole_number
from mate.errors import MateError, QueryError, did_you_mean
from mate.lake.base import Index
from mate.limits import Limits
from mate.search.settings import FilterSettings, SearchSettings

if TYPE_CHECKING:
    from mate.build.engine import Engine, Progress

COLUMN_FIRST = "column-first"
USEFULNESS = "usefulness"


class AnswerOptions(TypedDict, total=False):
    """Options of searches and suggestions."""

    names: bool
    """Whether the names of columns and tables play a part; default True."""
    exclude: Tables
    """Tables that are no answers; "self": those that were read from the query's own file."""


class SearchOptions(AnswerOptions, total=False):
    """Options of `Lake.search`, with those of `AnswerOptions`."""

    rank: str
    """"usefulness", the default: how much of the key is found, and how unique it is there. "joinability": the count
    alone, as in the paper; table numbers decide which of several equal tables come in at the k-th place."""
    system: SearchSystem | str
    """How to search, which does not change what is found; default "column-first"."""


class SuggestOptions(AnswerOptions, total=False):
    """Options of `Lake.suggest`, with those of `AnswerOptions`."""

    columns: Key
    """Columns that may be part of a key; default: all."""
    most_columns: int
    """Most columns of a key, 1 to 4; default 4."""


class WorkOptions(TypedDict, total=False):
    """Where work runs."""

    master: str
    """"none": in this process, the default of graphs and batches; "local[*]" or an address: on Spark; "auto": by size,
    only for builds and changes, their default."""
    spark: Mapping[str, str]
    """Settings of Spark."""
    verbose: bool
    """Show Spark's log."""
    progress: Progress
    """Receives the progress of the work."""


class BatchOptions(SearchOptions, WorkOptions, total=False):
    """Options of `Lake.search_many`, with those of `SearchOptions` and `WorkOptions`."""

    encoding: str
    """Encoding of the queries' files; detected per file by default."""


class ChangeOptions(WorkOptions, total=False):
    """Options of every change, with those of `WorkOptions`."""

    wait: float
    """Seconds to wait for another build or change of the lake to end; default 10."""
    memory: int
    """Bytes that a task may use to write a segment; default 2 GB."""


class IndexOptions(WorkOptions, total=False):
    """Options of `mate.index`, with those of `WorkOptions`."""

    format: str
    """Format of all files: "csv", "parquet", "json" or "dwtc"; detected per file by default."""
    hashes: str | Sequence[str]
    """Hash functions of super keys, as NAME[:BITS[:PARAMETER=NUMBER,...]]; default "xash", and "fingerprint:16" in
    PostgreSQL and DuckDB."""
    bits: int
    """Size of super keys where a hash does not name one; default 128. Without `hashes`, the size of "xash"."""
    nulls: str | Iterable[str]
    """Further texts that count as no value."""
    limits: Limits
    """Limits on what is read of a table."""
    strict: bool
    """Publish nothing if anything is rejected."""
    memory: int | str
    """What a task may use to write a segment, in bytes or as "4GB"; default 2 GB."""
    segments: int
    """Number of segments; by default as few as memory and cores allow."""


def engine_for(options: WorkOptions) -> AbstractContextManager[Engine]:
    """Start what runs the tasks of a graph or a batch: by default this process."""
    from mate.build.engine import NO_SPARK, start_engine

    settings, verbose = options.get("spark") or {}, options.get("verbose", False)
    return start_engine(options.get("master", NO_SPARK), settings, verbose=verbose)


def check_options(call: str, given: Mapping[str, object], known: type) -> None:
    """Refuse options that a call does not have."""
    names = known.__annotations__
    for name in given:
        if name not in names:
            raise MateError(f'{call} has no option "{name}"; {did_you_mean(name, names)}')


@dataclass(frozen=True, slots=True)
class SearchSystem:
    """A system to search with. All exact systems give the same answers.

    >>> fewest = mate.SearchSystem("mate", initial_column="postings")
    >>> lake.search("sensors.csv", ["city", "day"], system=fewest).explain().system
    'mate'
    """

    name: str = COLUMN_FIRST
    """"column-first"; "mate", the paper's Algorithm 1; or a baseline: "scr", "mcr", "scr-josie", "mcr-josie"."""
    hash: str | None = None
    """The lake's hash function that filters rows, as NAME or NAME:BITS; default: its first."""
    initial_column: str | None = None
    """The key column to begin with: its name, or cardinality (the paper's, default), order, longest, postings, pairs
    (default of column-first search in databases)."""

    def filters(self, index: Index) -> FilterSettings:
        """Return how it filters; refuse options that it would ignore."""
        if self.name == COLUMN_FIRST and index.has_directory:
            for option in ("hash", "initial_column"):
                if (value := getattr(self, option)) is not None:
                    raise QueryError(
                        f'{option} "{value}" is of no use here: column-first search of a lake has no row filter and no '
                        'initial column; it is for the paper\'s Algorithm 1 (system "mate") and the baselines'
                    )
        filters = FilterSettings(initial_column=self.initial_column)
        if self.hash is None:
            return filters
        match = re.fullmatch(r"([^:]+)(?::([0-9]{1,9}))?", self.hash)
        if match is None:
            raise QueryError(f"a hash function is named NAME or NAME:BITS, not {self.hash!r}")
        return replace(filters, hash_name=match[1], bits=int(match[2]) if match[2] else None)


def search_settings(
    index: Index, k: int, options: Mapping[str, object], exclude: frozenset[int]
) -> tuple[str, SearchSettings]:
    """Return the name of the system that searches, and its settings."""
    asked = options.get("system", COLUMN_FIRST)
    system = asked if isinstance(asked, SearchSystem) else SearchSystem(str(asked))
    known = {field.name for field in fields(SearchSettings)}
    same = {name: value for name, value in {"rank": USEFULNESS, **options}.items() if name in known}
    same |= {"k": whole_number("k", k), "exclude": exclude, "filters": system.filters(index)}
    settings = SearchSettings(**same)  # type: ignore[arg-type]
    settings.check()
    return system.name, settings
