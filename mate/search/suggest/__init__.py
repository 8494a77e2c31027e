"""Keys found for a table: which of its columns, alone or together, join with which tables of a lake.

1. *Cover*: one pass over the directory entries of each column's values tells how many rows of the query table have a
   value that a lake column holds.
2. *Promise*: tables that share values of several columns that few other tables have come first
   (`mate.search.suggest.cover`).
3. *Joint check*: in such a table keys grow column by column, the most useful first, as long as a longer one is more
   unique; what counts is measured as evidence is (`mate.search.suggest.tables`).
4. What is left is answered as a search is, with the best mapping and exact evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Self

import numpy as np

from mate.errors import QueryError
from mate.lake.base import Ids, Index
from mate.lake.folder import LakeFolder, require_folder
from mate.lake.records import TableInfo
from mate.search.engine import match_table, rank_of
from mate.search.evidence import KeyCounts
from mate.search.evidence.names import column_fits
from mate.search.query import QueryTable, as_query
from mate.search.results import Result
from mate.search.suggest.checks import LONGEST
from mate.search.suggest.columns import QueryColumns
from mate.search.suggest.cover import PromisingTable, promising_tables
from mate.search.suggest.pairs import Pair, Pairs, pairs_of
from mate.search.suggest.tables import Candidate, TableKeys
from mate.work import current_work

if TYPE_CHECKING:
    from mate.search.search import AnyQuery

MOST_WORK = 80_000_000
"""What joint checks may cost, about in rows that are read: what keeps it interactive."""

TABLES_PER_KEY = 3
"""Tables that are suggested for one key: the others are in the answer of a search for it."""

COMMON = 10
"""Tables that a single column may join with equally well: more of them are a coincidence unless names say otherwise."""

FITTING = 0.5
"""Similarity of names from which they say so."""

ANSWERED = 2
"""How many times more suggestions are answered exactly than are wanted."""

SHORTEST = 1


@dataclass(frozen=True)
class Suggestion:
    """A key of the query table, and a table that it joins with."""

    key: tuple[str, ...]
    result: Result
    unique_part: tuple[str, ...] | None
    """A part of the key that is unique in the table without the rest, under the same mapping."""


@dataclass(frozen=True)
class SuggestionSettings:
    """What is asked for."""

    k: int = 10
    most_columns: int = LONGEST
    """How many columns a key may have."""
    exclude: frozenset[int] = frozenset()
    """Tables that are not wanted, such as the query's own."""
    columns: Sequence[str] | None = None
    """Columns that may be part of a key; all of them unless given."""
    names: bool = True
    """Whether the names of columns and tables play a part."""


@dataclass
class Effort:
    """What was done to find suggestions."""

    columns: int = 0
    tables: int = 0
    """Tables that hold enough values of a column."""
    tables_tried: int = 0
    """Those in which keys of several columns were looked for."""
    checks: int = 0
    """Keys of several columns that were measured on a sample."""
    candidates: int = 0
    """Keys of which a table holds enough, with a table each: what the best are chosen from."""
    answered: int = 0
    """The best of them, answered with all rows."""
    chance: int = 0
    """Those of them that are no better than chance."""
    suggestions: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the seconds of a phase."""
        start = perf_counter()
        yield
        self.seconds[name] = perf_counter() - start


@dataclass(frozen=True)
class SuggestionResult:
    """Suggestions, best first, and what was done to find them."""

    found: list[Suggestion]
    effort: Effort

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


def suggest(index: Index, table: AnyQuery, settings: SuggestionSettings | None = None) -> SuggestionResult:
    """Return keys of a table and tables that they join with, the most useful first.

    Joins that chance may give are left out, and so are keys with a part that is as useful with the same table.
    """
    settings = settings or SuggestionSettings()
    query, lake, effort = as_query(table), _checked(index, settings), Effort()
    with effort.phase("cover"):
        own = QueryColumns.of(query, settings.columns, frozenset(index.manifest.nulls))
        tables = promising_tables(lake, own, settings.exclude)
    with effort.phase("keys"):
        keys = LakeKeys.of(lake, tables, own, names=settings.names)
        grown = _grown(keys, settings, effort)
    effort.columns, effort.tables, effort.candidates = len(own.columns), len(tables), len(keys.pairs) + len(grown)
    with effort.phase("answer"):
        chosen = _chosen(keys, grown, settings.k * ANSWERED)
        answers = _answers(lake, query, own, chosen, names=settings.names)
    useful = [one for one in answers if not one.result.evidence.is_chance]
    effort.answered, effort.chance = len(answers), len(answers) - len(useful)
    best = sorted(useful, key=_order)[: settings.k]
    effort.suggestions = len(best)
    return SuggestionResult(best, effort)


@dataclass(frozen=True)
class LakeKeys:
    """The tables that hold values of a query's columns, the most promising first, and its keys of one column."""

    tables: list[PromisingTable]
    infos: list[TableInfo]
    own: QueryColumns
    pairs: Pairs
    names: bool

    @classmethod
    def of(cls, lake: LakeFolder, tables: list[PromisingTable], own: QueryColumns, *, names: bool) -> Self:
        """Return the keys of one column for all tables."""
        known = {info.table_id: info for info in lake.tables([table.table_id for table in tables])}
        infos = [known[table.table_id] for table in tables]

        def fits(table: int, column: int, others: list[int]) -> list[int]:
            return column_fits(own.columns[column].name, infos[table], others) if names else [0] * len(others)

        return cls(tables, infos, own, pairs_of(tables, fits), names)

    def table(self, number: int) -> TableKeys:
        """Return the search for keys in one table."""
        pairs = self.pairs.of(number)
        return TableKeys(self.tables[number], self.infos[number], self.own, pairs=pairs, names=self.names)

    def singles(self, places: Iterable[int]) -> Iterator[Candidate]:
        """Yield keys of one column, by their places in the pairs.

        Columns that join as well with very many tables, such as small numbers, are left out unless names fit.
        """
        for place in places:
            pair = Pair(int(self.pairs.own[place]), int(self.pairs.other[place]))
            candidate = self.table(int(self.pairs.table[place])).single(pair)
            if self._as_useful[place] <= COMMON or candidate.names >= FITTING:
                yield candidate

    @cached_property
    def _as_useful(self) -> Ids:
        return self.pairs.as_useful()


def _grown(keys: LakeKeys, settings: SuggestionSettings, effort: Effort) -> list[Candidate]:
    """Return keys of several columns with the tables that they join with, as far as the work allows."""
    found: list[Candidate] = []
    work, progress = 0, current_work()
    progress.expect(len(keys.tables))
    for number in range(len(keys.tables)):
        progress.advance()
        if work > MOST_WORK:
            break
        effort.tables_tried += 1
        if settings.most_columns > 1 and keys.pairs.can_grow(number):
            table = keys.table(number)
            found += table.grow(settings.most_columns)
            work += table.work
            effort.checks += table.checks
    return found


def _by_usefulness(
    keys: LakeKeys, grown: list[Candidate], is_open: Callable[[tuple[int, ...]], bool]
) -> Iterator[Candidate]:
    """Yield the keys that are open, the best first; those that are not asked for are never compared by their names."""
    usefulness = np.concatenate([keys.pairs.usefulness, [candidate.usefulness for candidate in grown]])
    order = np.argsort(-usefulness, kind="stable")
    bounds = np.flatnonzero(np.diff(usefulness[order], prepend=np.inf, append=-np.inf))
    singles, own = len(keys.pairs), keys.pairs.own.tolist()
    for start, stop in pairwise(bounds.tolist()):
        equals = order[start:stop].tolist()
        found = list(keys.singles(at for at in equals if at < singles and is_open((own[at],))))
        longer = [grown[at - singles] for at in equals if at >= singles]
        found += [candidate for candidate in longer if is_open(candidate.key) and not candidate.is_chance]
        yield from sorted(found, key=lambda candidate: candidate.order)


def _checked(index: Index, settings: SuggestionSettings) -> LakeFolder:
    """Refuse what cannot be asked for."""
    lake = require_folder(index, "keys are suggested by the directory of")
    k, most_columns = settings.k, settings.most_columns
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise QueryError(f"k must be a whole number of at least 1, not {k!r}")
    if not SHORTEST <= most_columns <= LONGEST:
        raise QueryError(f"a suggested key has {SHORTEST} to {LONGEST} columns, not {most_columns!r}")
    return lake


def _chosen(keys: LakeKeys, grown: list[Candidate], most: int) -> list[Candidate]:
    """Return the best candidates, a few tables for each key, and of keys that include each other just one."""
    chosen: list[Candidate] = []
    tables: Counter[tuple[int, ...]] = Counter()

    def is_open(key: tuple[int, ...]) -> bool:
        return tables[key] < TABLES_PER_KEY

    for candidate in _by_usefulness(keys, grown, is_open):
        if is_open(candidate.key) and not any(candidate.is_nested(other) for other in chosen):
            tables[candidate.key] += 1
            chosen.append(candidate)
            if len(chosen) == most:
                break
    return chosen


def _answers(
    lake: LakeFolder, query: QueryTable, own: QueryColumns, chosen: list[Candidate], *, names: bool
) -> list[Suggestion]:
    """Answer the candidates exactly."""
    keys = [(own.names(candidate.key), candidate.table_id) for candidate in chosen]
    progress = current_work()
    progress.expect(len(keys))
    results: list[tuple[tuple[str, ...], Result]] = []
    for key, table_id in keys:
        progress.advance()
        results += [(key, result) for result in match_table(lake, query, key, table_id, names=names)]
    return [Suggestion(key, result, _unique_part(lake, key, result)) for key, result in results]


def _order(suggestion: Suggestion) -> tuple[float, float, int, int, int]:
    """Return what suggestions are ordered by: more columns that agree are less likely to be a coincidence."""
    rank = rank_of(suggestion.result)
    return rank.useless, rank.unlike, -len(suggestion.key), rank.unjoined, rank.table_id


def _unique_part(lake: LakeFolder, key: tuple[str, ...], result: Result) -> tuple[str, ...] | None:
    """Return the shortest part of a key that is unique in the table under the same mapping."""
    segment, place = lake.whole_table(result.table_id)
    table = KeyCounts(segment.arrays, place)
    for size in range(1, len(key)):
        for part in combinations(range(len(key)), size):
            if table.uniqueness([result.column_ids[p] for p in part]) == 1:
                return tuple(key[p] for p in part)
    return None
