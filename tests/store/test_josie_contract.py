"""What the JOSIE part of every store must do, compared with sets made from the files alone.

Which of the lists of one length comes first is left to the store; everything else is said by `mate.store.josie`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mate.build.build import HashRequest
from mate.store import IndexStore, open_store
from mate.store.base import LAYOUTS, Ids, as_ids
from mate.store.josie import JosieIndex
from mate.values.token_ids import NO_TOKEN, token_id
from tests.vertica.places import vertica_store as built_in_vertica

if TYPE_CHECKING:
    from tests.store.conftest import Model

BuildIndex = Callable[..., object]
UNKNOWN = [2**62 + 12_345, NO_TOKEN, -(2**63), 2**63 - 1]


def duckdb_store(build_index: BuildIndex, lake: Path, folder: Path, layout: str) -> IndexStore:
    build_index(lake, folder / "lake.duckdb", layout=layout, josie=True)
    return open_store(str(folder / "lake.duckdb"))


def vertica_store(_: BuildIndex, lake: Path, __: Path, layout: str) -> AbstractContextManager[IndexStore]:
    return built_in_vertica(lake, layout, (HashRequest(),), josie=True)


STORES: dict[str, Callable[..., AbstractContextManager[IndexStore]]] = {
    "duckdb": duckdb_store,
    "vertica": vertica_store,
}


@dataclass(frozen=True)
class Sets:
    """The columns that have a token, in order, and who holds each token."""

    columns: list[tuple[int, int]]
    tokens: list[set[int]]
    holders: dict[int, frozenset[int]]


@pytest.fixture(scope="module")
def expected(model: Model) -> Sets:
    columns: dict[tuple[int, int], set[int]] = defaultdict(set)
    for text, places in model.postings.items():
        for table, column, _ in places:
            columns[table, column].add(token_id(text))
    order = sorted(columns)
    holders: dict[int, set[int]] = defaultdict(set)
    for number, column in enumerate(order):
        for token in columns[column]:
            holders[token].add(number)
    return Sets(order, [columns[column] for column in order], {t: frozenset(h) for t, h in holders.items()})


@pytest.fixture(scope="module", params=[(name, layout) for name in STORES for layout in LAYOUTS], ids="-".join)
def store(
    request: pytest.FixtureRequest, build_index: BuildIndex, lake: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[IndexStore]:
    name, layout = request.param
    with STORES[name](build_index, lake, tmp_path_factory.mktemp(name), layout) as opened:
        yield opened


@pytest.fixture(scope="module")
def josie(store: IndexStore) -> JosieIndex:
    return store.josie()


def records(found: tuple[Ids, ...]) -> Counter[tuple[int, ...]]:
    assert all(column.dtype == np.int64 for column in found)
    return Counter(zip(*(column.tolist() for column in found), strict=True))


def lists_by_token(josie: JosieIndex, expected: Sets) -> dict[int, int]:
    found = josie.lists_of(as_ids(sorted(expected.holders)))
    return dict(zip(found.token_id.tolist(), found.list_id.tolist(), strict=True))


def test_it_is_always_the_same_object(store: IndexStore, josie: JosieIndex) -> None:
    assert store.josie() is josie
    assert store.manifest.josie


def test_how_many_there_are(josie: JosieIndex, expected: Sets) -> None:
    assert josie.sets == len(expected.columns) > 90
    assert josie.lists == len(set(expected.holders.values())) > 40


def test_tokens_of_the_same_sets_share_a_list_and_no_others_do(josie: JosieIndex, expected: Sets) -> None:
    found = josie.lists_of(as_ids(sorted(expected.holders)))
    assert sorted(found.token_id.tolist()) == sorted(expected.holders)
    assert found.length.tolist() == [len(expected.holders[token]) for token in found.token_id.tolist()]
    by_list: dict[int, set[frozenset[int]]] = defaultdict(set)
    for token, number in zip(found.token_id.tolist(), found.list_id.tolist(), strict=True):
        by_list[number].add(expected.holders[token])
    assert sorted(by_list) == list(range(josie.lists))
    assert all(len(groups) == 1 for groups in by_list.values())


def test_lists_are_numbered_by_length(josie: JosieIndex, expected: Sets) -> None:
    found = josie.lists_of(as_ids(sorted(expected.holders)))
    lengths = dict(zip(found.list_id.tolist(), found.length.tolist(), strict=True))
    in_order = [lengths[number] for number in range(josie.lists)]
    assert in_order == sorted(in_order)
    assert len(set(in_order)) > 5


def items(lists: dict[int, int], expected: Sets) -> Counter[tuple[int, ...]]:
    """Every item of every list: the place of the list's last token in the set, by definition."""
    found: Counter[tuple[int, ...]] = Counter()
    for number, tokens in enumerate(expected.tokens):
        place = -1
        for list_id, count in sorted(Counter(lists[token] for token in tokens).items()):
            place += count
            found[list_id, number, place, len(tokens)] = 1
    return found


def test_items_of_every_list(josie: JosieIndex, expected: Sets) -> None:
    everything = items(lists_by_token(josie, expected), expected)
    assert records(josie.items(np.arange(josie.lists))) == everything


def test_items_of_a_few_lists(josie: JosieIndex, expected: Sets) -> None:
    everything = items(lists_by_token(josie, expected), expected)
    for asked in ([0], [josie.lists - 1], [3, josie.lists // 2, 1]):
        assert records(josie.items(as_ids(asked))) == Counter({i: n for i, n in everything.items() if i[0] in asked})


@pytest.mark.parametrize("share", [0, 0.3, 0.9])
def test_members_are_the_suffixes_of_sets(josie: JosieIndex, expected: Sets, share: float) -> None:
    lists = lists_by_token(josie, expected)
    after = int(share * josie.lists) - 1
    whole = {(number, lists[token]) for number, tokens in enumerate(expected.tokens) for token in tokens}
    for asked in (range(josie.sets), range(0, josie.sets, 5), [2]):
        wanted = Counter(member for member in whole if member[0] in asked and member[1] > after)
        assert records(josie.members(as_ids(list(asked)), after)) == wanted


def test_columns_of_sets(josie: JosieIndex, expected: Sets) -> None:
    for asked in (range(josie.sets), [5, 1]):
        wanted = Counter((number, *expected.columns[number]) for number in asked)
        assert records(josie.columns(as_ids(list(asked)))) == wanted


def test_sets_of_tables(josie: JosieIndex, expected: Sets) -> None:
    for asked in ([0], [4, 2, 7], range(len({table for table, _ in expected.columns}))):
        wanted = [number for number, (table, _) in enumerate(expected.columns) if table in asked]
        assert sorted(josie.sets_of(as_ids(list(asked))).tolist()) == wanted


def test_what_is_not_there_is_left_out(josie: JosieIndex, expected: Sets) -> None:
    for asked in ([], UNKNOWN):
        ids = as_ids(asked)
        answers = (josie.lists_of(ids), josie.items(ids), josie.members(ids, -1), josie.columns(ids))
        for found, width in zip(answers, (3, 4, 2, 3), strict=True):
            assert [(len(column), column.dtype) for column in found] == [(0, np.int64)] * width
        assert (len(josie.sets_of(ids)), josie.sets_of(ids).dtype) == (0, np.int64)
    known = min(expected.holders)
    assert josie.lists_of(as_ids([*UNKNOWN, known])).token_id.tolist() == [known]
    assert not len(josie.members(np.arange(josie.sets), josie.lists).set_id)


def test_what_is_asked_for_twice_is_answered_twice(josie: JosieIndex) -> None:
    for ask in (josie.items, josie.columns, lambda ids: josie.members(ids, -1)):
        once, twice = records(ask(as_ids([1, 4]))), records(ask(as_ids([4, 1, 4])))
        assert twice == Counter({record: 1 + (record[0] == 4) for record in once})


def test_threads_get_the_same_answers(josie: JosieIndex) -> None:
    def ask(number: int) -> tuple[object, ...]:
        ids = np.arange(number, josie.lists, 20)
        sets = np.arange(number, josie.sets, 20)
        return records(josie.items(ids)), records(josie.members(sets, number)), sorted(josie.sets_of(sets).tolist())

    alone = [ask(number) for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(20))) == alone
