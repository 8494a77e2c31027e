"""Shares of a lake's segments are answered apart and merged: the same answers as from the whole lake."""

from __future__ import annotations

import resource
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mate
from mate.errors import ChangedError
from mate.lake.folder import open_folder
from mate.search.batches import Answered, BatchQuery, BatchSearch, batch_tasks, partitions_of
from mate.search.query import from_arrow
from mate.search.settings import SearchSettings
from tests import lakes as lakes_on_disk
from tests.search.memory_lake import MemoryLake
from tests.search.test_exactness import Case, query_of
from tests.search.test_ranking import lakes

SYSTEMS = ("column-first", "mate")


Lake = tuple[Case, dict[int, list[str]]]


def whole_and_merged(lake: Lake, search: BatchSearch, of: int, cut: int) -> tuple[Answered, Answered]:
    """Return the answer of a lake of so many segments, and that of the first ones and the others."""
    (case, headers), (table, key) = lake, query_of(lake[0])
    query = BatchQuery("mine", from_arrow(table), tuple(key))
    dealt = [{n: rows for n, rows in enumerate(case.tables) if n % of == part} for part in range(of)]
    shares = [MemoryLake(*filter(None, share), headers=headers) for share in (dealt[:cut], dealt[cut:]) if any(share)]
    whole = MemoryLake(*filter(None, dealt), headers=headers)
    return search.answer(whole, query), search.merge([search.answer(share, query) for share in shares])


@settings(max_examples=150)
@given(lakes(), st.integers(1, 4), st.integers(1, 5), st.booleans(), st.sampled_from(SYSTEMS), st.data())
def test_the_most_useful_of_the_shares_are_those_of_the_lake(
    lake: Lake, of: int, k: int, names: bool, system: str, data: st.DataObject
) -> None:
    search = BatchSearch(system, SearchSettings(k=k, rank="usefulness", names=names))
    whole, merged = whole_and_merged(lake, search, of, data.draw(st.integers(0, of)))
    assert merged == whole
    assert whole.error is None


@settings(max_examples=150)
@given(lakes(), st.integers(1, 4), st.integers(1, 5), st.sampled_from(SYSTEMS), st.data())
def test_by_joinability_only_ties_of_the_last_place_may_be_others(
    lake: Lake, of: int, k: int, system: str, data: st.DataObject
) -> None:
    search = BatchSearch(system, SearchSettings(k=k, rank="joinability"))
    whole, merged = whole_and_merged(lake, search, of, data.draw(st.integers(0, of)))
    scores = [answer.joinability for answer in whole.answers]
    assert [answer.joinability for answer in merged.answers] == scores
    sure = [answer for answer in whole.answers if len(scores) < k or answer.joinability > scores[-1]]
    assert list(merged.answers[: len(sure)]) == sure


def test_an_error_of_a_share_is_that_of_the_query() -> None:
    search = BatchSearch("column-first", SearchSettings())
    assert search.merge([Answered("q"), Answered("q", error="no such column")]).error == "no such column"


@given(st.integers(0, 50), st.integers(1, 60), st.integers(1, 3))
def test_tasks_are_even_and_leave_nothing_out(count: int, tasks: int, segments: int) -> None:
    queries = [BatchQuery(f"{number}", from_arrow(pa.table({"q": ["a"]})), ("q",)) for number in range(count)]
    lake = MemoryLake.of([[["a"]]] * 3, segments)
    lake.path = Path("lake")
    items = batch_tasks(lake, queries, BatchSearch("column-first", SearchSettings()), tasks).items
    every = [(partition, number) for partition, numbers in items for number in numbers]
    partitions = {partition for partition, _ in items}
    assert sorted(number for _, number in every) == sorted(list(range(count)) * len(partitions))
    assert len(set(every)) == len(every)
    sizes = [len(numbers) for _, numbers in items]
    assert max(sizes, default=0) - min(sizes, default=0) <= 1


def test_a_share_of_a_lake_that_was_changed_says_so(tmp_path: Path) -> None:
    lakes_on_disk.lake(tmp_path / "lake.mate", [[["a"]], [["b"]]], segments=2)
    with mate.open(tmp_path / "lake.mate") as lake:
        [share] = partitions_of(open_folder(tmp_path / "lake.mate"), 1)
        lake.remove("table 0")
        lake.compact()
    with pytest.raises(ChangedError, match="was changed during the work: start it again"):
        share.open()


def test_who_opens_a_share_may_open_all_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lakes_on_disk.lake(tmp_path / "lake.mate", [[["a"]], [["b"]]], segments=2)
    [share] = partitions_of(open_folder(tmp_path / "lake.mate"), 1)
    asked: list[int] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (16, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits[0]))
    share.open()
    [limit] = asked
    assert limit > 16
