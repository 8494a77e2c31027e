"""The flat file: what is in it, when it is used, and that an index answers without it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mate.build import flat as writing
from mate.errors import StoreError
from mate.search.discovery import search
from mate.store import flat as reading
from mate.store import open_store
from mate.store.duckdb import DuckDBStore
from mate.store.flat import flat_path
from tests.lakes import lake

TABLES = [
    [["Lee", "US", "x"], ["Kim", "KR", None], ["Özil", "DE", "ß"]],
    [["US", "Lee"], ["US", "Ann"]],
    [["ÖZIL", "de", "Lee", "us"]],
]
QUERY = pa.table({"name": ["Lee", "Özil"], "country": ["us", "DE"]})


def answers(address: str | Path) -> list[tuple[int, int]]:
    with open_store(str(address)) as store:
        return [(result.table_id, result.joinability) for result in search(store, QUERY, ["name", "country"])]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    lake(tmp_path / "a.duckdb", TABLES).close()
    return tmp_path / "a.duckdb"


def test_it_holds_what_the_index_holds(store: Path) -> None:
    with DuckDBStore(store) as mapped, DuckDBStore(store, flat=False) as asked:
        assert mapped.flat is not None
        assert asked.flat is None
        every = np.arange(6)
        for one, other in zip(mapped.rows(every), asked.rows(every), strict=True):
            assert np.array_equal(one, other)
        assert np.array_equal(mapped.super_keys(every), asked.super_keys(every))
        assert mapped.tables(np.array([2, 0])) == asked.tables(np.array([2, 0]))


def test_a_search_without_it_gives_the_same(store: Path) -> None:
    expected = answers(store)
    assert expected == [(0, 2), (1, 1), (2, 1)]
    flat_path(store).unlink()
    assert answers(store) == expected


@pytest.mark.parametrize("damage", ["other build", "shorter", "longer", "empty", "no header", "newer", "not JSON"])
def test_one_that_does_not_fit_is_left_alone(store: Path, damage: str) -> None:
    expected = answers(store)
    whole = flat_path(store).read_bytes()
    size = int.from_bytes(whole[8:16], "little")
    head = json.loads(whole[16 : 16 + size])
    changed = {
        "other build": lambda: _with_head(whole, head | {"build": "f" * 32}),
        "shorter": lambda: whole[:-1],
        "longer": lambda: whole + b"x",
        "empty": lambda: b"",
        "no header": lambda: b"x" * len(whole),
        "newer": lambda: _with_head(whole, head | {"version": 99}),
        "not JSON": lambda: whole[:16] + b"{" * size + whole[16 + size :],
    }[damage]()
    flat_path(store).write_bytes(changed)
    with DuckDBStore(store) as opened:
        assert opened.flat is None
    assert answers(store) == expected


def _with_head(whole: bytes, head: dict[str, object]) -> bytes:
    size = int.from_bytes(whole[8:16], "little")
    text = json.dumps(head).encode().ljust(size)
    return whole[:8] + len(text).to_bytes(8, "little") + text + whole[16 + size :]


@pytest.mark.parametrize(("name", "most"), [("MOST_ROWS", 5), ("MOST_TOKENS", 3), ("MOST_COLUMNS", 3)])
def test_an_index_too_large_for_it_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    lake(tmp_path / "a.duckdb", TABLES).close()
    monkeypatch.setattr(reading, name, most)
    lake(tmp_path / "a.duckdb", TABLES).close()
    assert not flat_path(tmp_path / "a.duckdb").exists()
    assert answers(tmp_path / "a.duckdb")[0][1] == 2


def test_small_pieces_give_the_same(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = flat_path(store).read_bytes()
    with DuckDBStore(store) as opened:
        ids = np.unique(opened.rows(np.arange(6)).token_id)
        expected, counts = opened.postings(ids), opened.count_by_table(ids)
        monkeypatch.setattr(reading, "MOST_PAIRS", 2)
        assert np.array_equal(opened.count_by_table(ids).postings, counts.postings)
        assert len(expected.row_id) == counts.postings.sum()
    monkeypatch.setattr(writing, "_BATCH", 2)
    lake(store, TABLES).close()
    # The head names the build; the arrays are the same.
    assert flat_path(store).read_bytes()[-500:] == before[-500:]


def test_an_index_out_of_order_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_postings", lambda *_: writing._expect(False, "postings"))
    with pytest.raises(StoreError, match=r"not in the order that its arrays need \(postings\); nothing was published"):
        lake(tmp_path / "a.duckdb", TABLES)
    assert not list(tmp_path.glob("a.duckdb*"))


def test_a_disk_too_full_for_it_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "_reserve", full)
    with pytest.raises(Exception, match=r"disk is full|No space left on device"):
        lake(tmp_path / "a.duckdb", TABLES)
    assert not list(tmp_path.glob("a.duckdb*"))
