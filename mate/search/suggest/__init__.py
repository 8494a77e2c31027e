"""Keys found for a table: which of its columns, alone or together, join with which tables of a lake.

    query columns --cover--> pairs of columns --growth--> keys of several columns --score--> best per key --> answers

`mate.search.suggest.finder` finds candidates by the lake's directory and by joint checks on a sample of rows. The best
table of each key comes first, keys of several columns that are unique only together before all others. What is chosen
is measured with all rows, under its mapping; docs/evidence.md has the score.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from time import perf_counter
from typing import TYPE_CHECKING

from mate.errors import QueryError
from mate.lake.base import Index
from mate.lake.folder import LakeFolder, require_folder
from mate.search.engine import match_table
from mate.search.evidence import KeyCounts
from mate.search.query import QueryTable, as_query
from mate.search.results import Result
from mate.search.suggest.candidates import Candidate
from mate.search.suggest.columns import AskingTable
from mate.search.suggest.copies import CopyCheck
from mate.search.suggest.finder import Asked, KeyFinder
from mate.search.suggest.keys import CHECKS, LONGEST, MOST_CHECKS
from mate.work import current_work

if TYPE_CHECKING:
    from mate.search.search import AnyQuery

MOST_WORK = 80_000_000
"""What joint checks may cost, about in rows that are read: what keeps it interactive."""

TABLE_WORK = 2_000_000
"""What further checks of keys of one length may cost in one table."""

TABLES_PER_KEY = 3
"""Tables that are suggested for one key: the others are in the answer of a search for it."""

MOST_TABLES = 100
"""Tables that are candidates for one single column: those of the highest score."""

ANSWERED = 2
"""How many times more suggestions are answered exactly than are wanted."""

LEAST_SCORE = 0.1
"""Score of a suggestion."""

FURTHER = 0.4
"""What a further table for the same key is worth, of its score."""

SAME_TABLE = 0.6
"""What a further key of several columns for the same table is worth."""

FEW, FIRST = 10, 5
"""Joins of fewer distinct small integers than `FEW` are not among the `FIRST` suggestions."""

SHORTEST = 1


@dataclass(frozen=True)
class Suggestion:
    """A key of the query table, and a table that it joins with."""

    key: tuple[str, ...]
    result: Result
    unique_part: tuple[str, ...] | None
    """A part of the key that is unique in the table without the rest, under the same mapping."""
    copies: tuple[int, ...]
    """Tables that are copies or near-copies of it, and join as well."""


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
    """Return keys of a table and tables that they join with, the best first.

    Joins that chance may give are left out, and so are keys with a part that is as good with the same table.
    """
    settings = settings or SuggestionSettings()
    query, lake, effort = as_query(table), _checked(index, settings), Effort()
    finder = KeyFinder(lake, names=settings.names)
    with effort.phase("cover"):
        asking = AskingTable.of_query(query, settings.columns, frozenset(index.manifest.nulls))
        asked = finder.ask(asking, settings.exclude)
    with effort.phase("keys"):
        found = [
            *finder.singles(asked, LEAST_SCORE, MOST_TABLES),
            *_grown(finder, asked, settings.most_columns, effort),
        ]
        chosen = _chosen(found, settings.k * ANSWERED, CopyCheck(finder))
    effort.columns, effort.tables, effort.candidates = len(asking.columns), len(asked.pairs.tables), len(found)
    with effort.phase("answer"):
        answers = _answered(lake, query, asking, chosen, names=settings.names)
    effort.answered, effort.chance = len(chosen), len(chosen) - len(answers)
    best = _ordered(asking, answers)[: settings.k]
    effort.suggestions = len(best)
    suggestions = []
    for candidate, result in best:
        key = asking.names(candidate.own)
        suggestions.append(Suggestion(key, result, _unique_part(lake, key, result), candidate.copies))
    return SuggestionResult(suggestions, effort)


def _checked(index: Index, settings: SuggestionSettings) -> LakeFolder:
    """Refuse what cannot be asked for."""
    lake = require_folder(index, "keys are suggested by the directory of")
    k, most_columns = settings.k, settings.most_columns
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise QueryError(f"k must be a whole number of at least 1, not {k!r}")
    if not SHORTEST <= most_columns <= LONGEST:
        raise QueryError(f"a suggested key has {SHORTEST} to {LONGEST} columns, not {most_columns!r}")
    return lake


def _grown(finder: KeyFinder, asked: Asked, most_columns: int, effort: Effort) -> Iterator[Candidate]:
    """Yield keys of several columns with the tables that they join with, as far as the work allows."""
    work, progress = 0, current_work()
    promising = finder.promising(asked).tolist() if most_columns > 1 else []
    progress.expect(len(promising))
    for place, table in enumerate(promising, start=1):
        progress.advance()
        growth = finder.growth(asked, table)
        checks = min(MOST_CHECKS // place, TABLE_WORK // growth.cost)
        yield from finder.grown(asked, table, growth, most_columns, max(CHECKS, checks))
        effort.tables_tried += 1
        effort.checks += growth.checks
        work += growth.work
        if work > MOST_WORK:
            break


def _order(candidate: Candidate) -> tuple[bool, float, int, int]:
    """Return what candidates are ordered by: findings, then the best, then more columns that agree."""
    return not candidate.is_finding, -candidate.score, -len(candidate.own), candidate.info.table_id


def _chosen(found: list[Candidate], most: int, check: CopyCheck) -> list[Candidate]:
    """Return the best candidates: a few tables for each key, of copies one, and of keys that include each other one."""
    chosen: list[Candidate] = []
    by_key: dict[tuple[int, ...], list[int]] = defaultdict(list)
    copies: dict[tuple[tuple[int, ...], int], list[int]] = defaultdict(list)
    for candidate in sorted(found, key=_order):
        tables = by_key[candidate.own]
        if candidate.score < LEAST_SCORE or any(candidate.is_nested(other) for other in chosen):
            continue
        original = next((table for table in tables if check.are_copies(table, candidate.table)), None)
        if original is not None:
            copies[candidate.own, original].append(candidate.info.table_id)
        elif len(tables) < TABLES_PER_KEY:
            tables.append(candidate.table)
            chosen.append(candidate)
    chosen = [replace(one, copies=tuple(copies[one.own, one.table])) for one in chosen]
    return _diverse(chosen)[:most]


def _diverse(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates with the best table of each key first, further ones as if they were worth less."""
    keys: Counter[tuple[int, ...]] = Counter()
    tables: Counter[int] = Counter()
    order: list[tuple[float, int, Candidate]] = []
    for candidate in sorted(candidates, key=_order):
        worth = candidate.is_finding + candidate.score
        worth *= FURTHER ** keys[candidate.own] * (SAME_TABLE ** tables[candidate.table] if candidate.is_finding else 1)
        order.append((-worth, len(order), candidate))
        keys[candidate.own] += 1
        tables[candidate.table] += 1
    return [candidate for _, _, candidate in sorted(order)]


def _answered(
    lake: LakeFolder, query: QueryTable, asking: AskingTable, chosen: list[Candidate], *, names: bool
) -> list[tuple[Candidate, Result]]:
    """Answer the candidates exactly, and return those that are better than chance."""
    progress = current_work()
    progress.expect(len(chosen))
    answers = []
    for candidate in chosen:
        progress.advance()
        key, table_id = asking.names(candidate.own), candidate.info.table_id
        for result in match_table(lake, query, key, table_id, candidate.other, names=names):
            evidence = result.evidence
            measured = replace(
                candidate,
                joined=evidence.joinability,
                asked=evidence.key_tuples,
                uniqueness=evidence.uniqueness,
                chance=evidence.chance,
            )
            if not evidence.is_chance and measured.score > 0:
                answers.append((measured, result))
    return answers


def _ordered(asking: AskingTable, answers: list[tuple[Candidate, Result]]) -> list[tuple[Candidate, Result]]:
    """Return answers, the best of each key first; few small integers never come among the first."""
    results = {id(candidate): result for candidate, result in answers}
    ordered = [(candidate, results[id(candidate)]) for candidate in _diverse([candidate for candidate, _ in answers])]

    def is_doubtful(candidate: Candidate) -> bool:
        return candidate.joined < FEW and all(asking.columns[column].is_small for column in candidate.own)

    telling = [answer for answer in ordered if not is_doubtful(answer[0])]
    return telling + [answer for answer in ordered if is_doubtful(answer[0])] if len(telling) >= FIRST else telling


def _unique_part(lake: LakeFolder, key: tuple[str, ...], result: Result) -> tuple[str, ...] | None:
    """Return the shortest part of a key that is unique in the table under the same mapping."""
    segment, place = lake.whole_table(result.table_id)
    table = KeyCounts(segment.arrays, place)
    for size in range(1, len(key)):
        for part in combinations(range(len(key)), size):
            if table.uniqueness([result.column_ids[p] for p in part]) == 1:
                return tuple(key[p] for p in part)
    return None
