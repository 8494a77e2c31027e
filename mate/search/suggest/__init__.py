"""Keys found for a table: which of its columns, alone or together, join with which tables of a lake.

    query columns --cover--> pairs of columns --growth--> keys of several columns --score--> best per key --> answers

`mate.search.suggest.finder` finds candidates by the lake's directory and by joint checks on a sample of rows. The best
table of each key comes first, keys of several columns that are unique only together before all others. What is chosen
is measured with all rows, under its mapping; docs/evidence.md has the score.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from time import perf_counter
from typing import TYPE_CHECKING

from mate.lake.base import Index
from mate.lake.folder import LakeFolder, require_folder
from mate.search.engine import match_table
from mate.search.evidence import KeyCounts
from mate.search.query import QueryTable, as_query
from mate.search.results import Result
from mate.search.suggest.candidates import Candidate
from mate.search.suggest.columns import AskingTable
from mate.search.suggest.copies import copy_check
from mate.search.suggest.finder import KeyFinder
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

STEPS = frozenset({0, 8, 32, 128})
"""Tables that have been tried when suggestions are shown before the search is over."""


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

    columns: tuple[str, ...] = ()
    """Those that were tried: all that may be part of a key, and have values."""
    lake_tables: int = 0
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
    seconds: dict[str, float] = field(default_factory=lambda: {"cover": 0.0, "keys": 0.0, "answer": 0.0})

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the seconds of a phase."""
        start = perf_counter()
        yield
        self.seconds[name] += perf_counter() - start


@dataclass(frozen=True)
class SuggestionResult:
    """Suggestions, best first, and what was done to find them."""

    found: list[Suggestion]
    effort: Effort
    complete: bool
    """Whether the search for keys is over."""


def suggest(index: Index, table: AnyQuery, settings: SuggestionSettings | None = None) -> SuggestionResult:
    """Return keys of a table and tables that they join with, the best first.

    Joins that chance may give are left out, and so are keys with a part that is as good with the same table.
    """
    [result] = suggest_in_steps(index, table, settings, steps=frozenset())
    return result


def suggest_in_steps(
    index: Index, table: AnyQuery, settings: SuggestionSettings | None = None, steps: Set[int] = STEPS
) -> Iterator[SuggestionResult]:
    """Yield suggestions after longer keys were looked for in so many tables, and last what `suggest` returns.

    After none, they are keys of one column.
    """
    lake = require_folder(index, "keys are suggested by the directory of")
    search = KeySearch(lake, as_query(table), settings or SuggestionSettings())
    found = search.single_keys()
    if 0 in steps:
        yield search.result(found, complete=False)
    for tried, longer in enumerate(search.longer_keys(), start=1):
        found += longer
        if tried in steps:
            yield search.result(found, complete=False)
    yield search.result(found, complete=True)


class KeySearch:
    """The search for keys of one table."""

    def __init__(self, lake: LakeFolder, query: QueryTable, settings: SuggestionSettings) -> None:
        """Find the columns of the lake that hold those of the table."""
        self.query, self.settings = query, settings
        self.finder, self.effort = KeyFinder(lake, names=settings.names), Effort()
        with self.effort.phase("cover"):
            asking = AskingTable.of_query(query, settings.columns, frozenset(lake.manifest.nulls))
            self.asked = self.finder.ask(asking, settings.exclude)
        self.effort.columns = tuple(column.name for column in asking.columns)
        self.effort.lake_tables, self.effort.tables = len(self.finder.tables), len(self.asked.pairs.tables)
        self.are_copies = copy_check(self.finder)
        self._answers: dict[tuple[int, tuple[int, ...], tuple[int, ...]], tuple[Candidate, Result] | None] = {}
        """What is known with all rows of a table, a key and its mapping: nothing where chance may give it."""

    def single_keys(self) -> list[Candidate]:
        """Return keys of one column."""
        with self.effort.phase("keys"):
            return self.finder.singles(self.asked, LEAST_SCORE, MOST_TABLES)

    def longer_keys(self) -> Iterator[list[Candidate]]:
        """Yield the keys of several columns of one table after the other, as far as the work allows."""
        finder, asked, effort, progress = self.finder, self.asked, self.effort, current_work()
        most_columns, work = self.settings.most_columns, 0
        promising = finder.promising(asked).tolist() if most_columns > 1 else []
        progress.expect(len(promising))
        for place, table in enumerate(promising, start=1):
            progress.advance()
            with effort.phase("keys"):
                growth = finder.growth(asked, table)
                checks = min(MOST_CHECKS // place, TABLE_WORK // growth.cost)
                found = list(growth.grow(most_columns, max(CHECKS, checks)))
            effort.tables_tried += 1
            effort.checks += growth.checks
            yield found
            work += growth.work
            if work > MOST_WORK:
                break

    def result(self, found: list[Candidate], *, complete: bool) -> SuggestionResult:
        """Answer the best of the keys found with all rows, and return them."""
        effort, asking = self.effort, self.asked.table
        with effort.phase("keys"):
            chosen = _chosen(found, self.settings.k * ANSWERED, self.are_copies)
        with effort.phase("answer"):
            answers = self._answered(chosen)
        best = _ordered(asking, answers)[: self.settings.k]
        effort.candidates, effort.answered, effort.chance = len(found), len(chosen), len(chosen) - len(answers)
        suggestions = []
        for candidate, result in best:
            key = asking.names(candidate.own)
            unique_part = _unique_part(self.finder.lake, key, result)
            suggestions.append(Suggestion(key, result, unique_part, candidate.copies))
        return SuggestionResult(suggestions, replace(effort, seconds=dict(effort.seconds)), complete)

    def _answered(self, chosen: list[Candidate]) -> list[tuple[Candidate, Result]]:
        """Return the candidates that are better than chance, with their answers."""
        progress = current_work()
        progress.expect(len(chosen))
        answers = []
        for candidate in chosen:
            progress.advance()
            place = candidate.table, candidate.own, candidate.other
            if place not in self._answers:
                self._answers[place] = self._answer(candidate)
            if answer := self._answers[place]:
                measured, result = answer
                answers.append((replace(measured, copies=candidate.copies), result))
        return answers

    def _answer(self, candidate: Candidate) -> tuple[Candidate, Result] | None:
        """Measure a candidate with all rows."""
        key, table_id = self.asked.table.names(candidate.own), candidate.info.table_id
        names = self.settings.names
        for result in match_table(self.finder.lake, self.query, key, table_id, candidate.other, names=names):
            evidence = result.evidence
            measured = replace(
                candidate,
                joined=evidence.joinability,
                asked=evidence.key_tuples,
                uniqueness=evidence.uniqueness,
                chance=evidence.chance,
            )
            if not evidence.is_chance and measured.score > 0:
                return measured, result
        return None


def _order(candidate: Candidate) -> tuple[bool, float, int, int]:
    """Return what candidates are ordered by: findings, then the best, then more columns that agree."""
    return not candidate.is_finding, -candidate.score, -len(candidate.own), candidate.info.table_id


def _chosen(found: list[Candidate], most: int, are_copies: Callable[[int, int], bool]) -> list[Candidate]:
    """Return the best candidates: a few tables for each key, of copies one, and of keys that include each other one."""
    chosen: list[Candidate] = []
    by_key: dict[tuple[int, ...], list[int]] = defaultdict(list)
    copies: dict[tuple[tuple[int, ...], int], list[int]] = defaultdict(list)
    for candidate in sorted(found, key=_order):
        tables = by_key[candidate.own]
        if candidate.score < LEAST_SCORE or any(candidate.is_nested(other) for other in chosen):
            continue
        original = next((table for table in tables if are_copies(table, candidate.table)), None)
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
