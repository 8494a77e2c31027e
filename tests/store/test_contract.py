"""What every store must do, compared with a model that knows only the files.

A store joins the suite by one entry in `STORES`: a function that builds an index of a lake and opens it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from mate.build.build import HashRequest
from mate.hashing.superkey import from_ints, to_ints
from mate.store import IndexStore, open_store
from mate.store.base import LAYOUTS, Ids, Postings, Probes, TableCounts, TableInfo, as_ids
from mate.store.flat import flat_path
from mate.values.token_ids import NO_TOKEN, token_id
from tests.vertica.places import vertica_store as built_in_vertica

if TYPE_CHECKING:
    from tests.store.conftest import Model

HASHES = (HashRequest("xash", 128), HashRequest("bf", 512), HashRequest("ht", 128), HashRequest("xash", 64))
UNKNOWN_ID = 2**62 + 12_345
BuildIndex = Callable[..., object]


def duckdb_store(build_index: BuildIndex, lake: Path, folder: Path, layout: str) -> IndexStore:
    build_index(lake, folder / "lake.duckdb", layout=layout, hashes=HASHES)
    return open_store(str(folder / "lake.duckdb"))


def sql_store(build_index: BuildIndex, lake: Path, folder: Path, layout: str) -> IndexStore:
    """The same file, without the arrays beside it."""
    build_index(lake, folder / "lake.duckdb", layout=layout, hashes=HASHES)
    flat_path(folder / "lake.duckdb").unlink()
    return open_store(str(folder / "lake.duckdb"))


def vertica_store(_: BuildIndex, lake: Path, __: Path, layout: str) -> AbstractContextManager[IndexStore]:
    return built_in_vertica(lake, layout, HASHES)


STORES: dict[str, Callable[..., AbstractContextManager[IndexStore]]] = {
    "duckdb": duckdb_store,
    "duckdb by sql": sql_store,
    "vertica": vertica_store,
}


@pytest.fixture(scope="module", params=[(name, layout) for name in STORES for layout in LAYOUTS], ids="-".join)
def store(
    request: pytest.FixtureRequest, build_index: BuildIndex, lake: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[IndexStore]:
    name, layout = request.param
    with STORES[name](build_index, lake, tmp_path_factory.mktemp(name), layout) as opened:
        yield opened


def ids_of(texts: list[str]) -> Ids:
    return as_ids([token_id(text) for text in texts])


def places(postings: Postings) -> Counter[tuple[int, ...]]:
    return Counter(zip(*(column.tolist() for column in postings), strict=True))


def some_tokens(model: Model) -> list[str]:
    """A rare, a frequent, a hostile and a non-ASCII token, and the longest one that is indexed."""
    return ["city 17", "word 3", "'; drop table postings; --", "nul\0inside", "strasse łódź ærø", "x" * model.limit]


# The dictionary


def test_tokens_finds_every_token_of_the_lake_with_its_postings(store: IndexStore, model: Model) -> None:
    vocabulary = sorted(model.postings)
    found = store.tokens(pa.array(vocabulary))
    assert len(vocabulary) > 5_000
    assert found.place.tolist() == list(range(len(vocabulary)))
    assert found.token_id.tolist() == ids_of(vocabulary).tolist()
    assert found.postings.tolist() == [len(model.postings[text]) for text in vocabulary]


def test_tokens_leaves_out_unknown_ones_and_answers_duplicates_each(store: IndexStore, model: Model) -> None:
    asked = ["word 3", "no such word", "word 3", None, "Word 3", "y" * (model.limit + 1), "city 17", ""]
    found = store.tokens(pa.array(asked, pa.string()))
    assert found.place.tolist() == [0, 2, 6]
    assert found.token_id.tolist() == ids_of(["word 3", "word 3", "city 17"]).tolist()


def test_tokens_of_nothing(store: IndexStore) -> None:
    assert [len(column) for column in store.tokens(pa.array([], pa.string()))] == [0, 0, 0]
    assert [len(column) for column in store.tokens(pa.array([None, None], pa.string()))] == [0, 0, 0]


def test_cells_without_a_value_have_no_token(store: IndexStore, model: Model) -> None:
    absent = [*model.absent, *(cell.strip().lower() for cell in model.absent)]
    assert not len(store.tokens(pa.array(absent)).place)


# Postings


def test_postings_of_some_tokens(store: IndexStore, model: Model) -> None:
    asked = some_tokens(model)
    found = store.postings(ids_of(asked))
    assert places(found) == Counter((token_id(text), *place) for text in asked for place in model.postings[text])


def test_postings_of_everything(store: IndexStore, model: Model) -> None:
    found = store.postings(ids_of(sorted(model.postings)))
    expected = Counter((token_id(text), *place) for text, list_ in model.postings.items() for place in list_)
    assert places(found) == expected
    assert all(column.dtype == np.int64 for column in found)


def test_postings_of_nothing_and_of_unknown_tokens(store: IndexStore) -> None:
    for asked in ([], [UNKNOWN_ID], [NO_TOKEN], [-(2**63), 2**63 - 1]):
        found = store.postings(as_ids(asked))
        assert [(len(column), column.dtype) for column in found] == [(0, np.int64)] * 4


def test_a_token_asked_for_twice_is_answered_twice(store: IndexStore, model: Model) -> None:
    twice = ids_of(["word 3", "city 17", "word 3"])
    expected = Counter((token_id(t), *place) for t in ("word 3", "city 17", "word 3") for place in model.postings[t])
    assert places(store.postings(twice)) == expected
    assert by_table(store.count_by_table(twice)) == Counter(table for _, table, _, _ in expected.elements())


def by_table(counts: TableCounts) -> dict[int, int]:
    assert len(set(counts.table_id.tolist())) == len(counts.table_id)
    return dict(zip(counts.table_id.tolist(), counts.postings.tolist(), strict=True))


def test_count_by_table(store: IndexStore, model: Model) -> None:
    for asked in (some_tokens(model), sorted(model.postings), ["word 3", "no such word"]):
        assert by_table(store.count_by_table(ids_of(asked))) == model.count_by_table(dict.fromkeys(asked, 1))
    assert by_table(store.count_by_table(as_ids([]))) == {}
    assert by_table(store.count_by_table(as_ids([UNKNOWN_ID]))) == {}


def test_count_by_table_with_weights(store: IndexStore, model: Model) -> None:
    weights = {text: place + 1 for place, text in enumerate(some_tokens(model))}
    found = store.count_by_table(ids_of(list(weights)), as_ids(list(weights.values())))
    assert by_table(found) == model.count_by_table(weights)
    assert by_table(store.count_by_table(as_ids([]), as_ids([]))) == {}


# Super keys and the row filter


@pytest.mark.parametrize("number", range(len(HASHES)), ids=lambda n: f"{HASHES[n].name}{HASHES[n].bits}")
def test_super_keys_are_the_or_of_the_rows_hashes(store: IndexStore, model: Model, number: int) -> None:
    expected = model.super_keys(store.manifest.hashes[number])
    keys = store.super_keys(np.arange(len(model.rows)), number)
    assert keys.dtype == np.uint64
    assert keys.shape == (len(model.rows), HASHES[number].bits // 64)
    assert to_ints(keys) == expected
    assert 0 in expected  # a row without a value sets no bit
    assert len(set(expected)) > 100


def test_super_keys_come_in_the_order_asked_for(store: IndexStore, model: Model) -> None:
    expected = model.super_keys(store.manifest.hashes[0])
    asked = [5, 3, len(model.rows) - 1, 5, 0]
    assert to_ints(store.super_keys(as_ids(asked))) == [expected[row] for row in asked]
    assert store.super_keys(as_ids([]), 1).shape == (0, 8)
    assert to_ints(store.super_keys(as_ids([10**12, 5]))) == [0, expected[5]]


def probes(model: Model, keys: list[int], bits: int) -> tuple[Probes, list[tuple[int, str, int]]]:
    """Look for pairs of values of real rows, for pairs that no row has, and for a value alone."""
    asked: list[tuple[int, str, int]] = []
    spread = list(range(0, len(model.rows), 97))
    for number, row in enumerate(spread):
        other = spread[(number * 7 + 1) % len(spread)]
        texts = [text for text in model.tokens[row] if text is not None]
        if texts:
            asked.append((2 * number, texts[0], keys[row]))
            asked.append((2 * number + 1, texts[-1], keys[row] & keys[other]))
    asked += [(90_000, "word 3", 0), (90_001, "word 3", 2**bits - 1), (90_002, "no such word", 0)]
    asked += [asked[0], (90_003, *asked[0][1:])]  # a probe twice, and a key of two tuples
    tuple_ids, texts, wanted = zip(*asked, strict=True)
    return Probes(ids_of(list(texts)), as_ids(tuple_ids), from_ints(list(wanted), bits)), asked


@pytest.mark.parametrize("number", [*range(len(HASHES)), None], ids=str)
def test_candidates_are_the_postings_whose_row_covers_the_key(
    store: IndexStore, model: Model, number: int | None
) -> None:
    spec = store.manifest.hashes[number or 0]
    keys = model.super_keys(spec)
    probe, asked = probes(model, keys, spec.bits)
    expected = Counter(
        (tuple_id, *place)
        for tuple_id, text, wanted in asked
        for place in model.postings.get(text, ())
        if number is None or keys[place[2]] & wanted == wanted
    )
    found = store.candidates(probe, number)
    assert Counter(zip(*(column.tolist() for column in found), strict=True)) == expected
    assert all(column.dtype == np.int64 for column in found)
    if number is not None:
        assert 0 < expected.total() < store.candidates(probe, None).tuple_id.size


def test_candidates_of_certain_tables(store: IndexStore, model: Model) -> None:
    keys = model.super_keys(store.manifest.hashes[0])
    probe, _ = probes(model, keys, 128)
    for number in (0, None):
        everywhere = Counter(zip(*(column.tolist() for column in store.candidates(probe, number)), strict=True))
        for tables in ([1, 4, 1, 10**9], []):
            found = store.candidates(probe, number, as_ids(tables))
            expected = Counter({place: n for place, n in everywhere.items() if place[1] in tables})
            assert Counter(zip(*(column.tolist() for column in found), strict=True)) == expected


def test_the_words_of_a_key_are_not_mixed_up(store: IndexStore, model: Model) -> None:
    spec = store.manifest.hashes[1]
    keys = model.super_keys(spec)
    bits = [1 << bit for bit in range(0, spec.bits, 16)]
    found = store.candidates(
        Probes(ids_of(["word 3"] * len(bits)), np.arange(len(bits)), from_ints(bits, spec.bits)), 1
    )
    expected = Counter(
        number for number, bit in enumerate(bits) for *_, row in model.postings["word 3"] if keys[row] & bit
    )
    assert Counter(found.tuple_id.tolist()) == expected


def test_candidates_of_nothing(store: IndexStore) -> None:
    for number, spec in enumerate(store.manifest.hashes):
        nothing = Probes(as_ids([]), as_ids([]), np.empty((0, spec.bits // 64), np.uint64))
        unknown = Probes(as_ids([UNKNOWN_ID]), as_ids([0]), np.zeros((1, spec.bits // 64), np.uint64))
        assert [len(column) for column in store.candidates(nothing, number)] == [0] * 4
        assert [len(column) for column in store.candidates(unknown, number)] == [0] * 4
        assert [len(column) for column in store.candidates(nothing, None)] == [0] * 4


# Rows


def row_tokens(model: Model, row: int) -> list[int]:
    return [NO_TOKEN if text is None else token_id(text) for text in model.tokens[row]]


def test_rows_holds_the_tokens_by_column(store: IndexStore, model: Model) -> None:
    found = store.rows(np.arange(len(model.rows)))
    assert len(model.rows) > 5_000
    assert found.row_id.tolist() == list(range(len(model.rows)))
    assert len(found.offsets) == len(found.row_id) + 1
    starts, ends = found.offsets[:-1], found.offsets[1:]
    lists = [found.token_id[start:end].tolist() for start, end in zip(starts, ends, strict=True)]
    assert lists == [row_tokens(model, row) for row in range(len(model.rows))]


def test_rows_are_ascending_once_and_only_those_there_are(store: IndexStore, model: Model) -> None:
    found = store.rows(as_ids([4_000, 7, 10**12, 7, -1, 23]))
    assert found.row_id.tolist() == [7, 23, 4_000]
    for place, row in enumerate([7, 23, 4_000]):
        assert found.token_id[found.offsets[place] : found.offsets[place + 1]].tolist() == row_tokens(model, row)


@pytest.mark.parametrize("asked", [[], [10**12], [-1, -1]])
def test_rows_of_nothing(store: IndexStore, asked: list[int]) -> None:
    found = store.rows(as_ids(asked))
    assert (len(found.row_id), found.offsets.tolist(), len(found.token_id)) == (0, [0], 0)


def test_cells_are_the_text_of_the_file(store: IndexStore, model: Model) -> None:
    assert store.cells(np.arange(len(model.rows))) == dict(enumerate(model.rows))
    assert {cell for row in model.rows for cell in row} >= {*model.hostile, *model.absent}


def test_cells_of_some_rows_and_of_none(store: IndexStore, model: Model) -> None:
    assert store.cells(as_ids([9, 2, 9, 10**12])) == {2: model.rows[2], 9: model.rows[9]}
    assert store.cells(as_ids([])) == {}


# Tables, sources, rejects, manifest, sizes


def table_infos(model: Model) -> list[TableInfo]:
    return [
        TableInfo(number, t.path.stem, str(t.path), 0, 1, t.header, t.first_row, len(t.rows))
        for number, t in enumerate(model.tables)
    ]


def test_tables(store: IndexStore, model: Model) -> None:
    expected = table_infos(model)
    assert store.tables() == expected
    assert store.tables(as_ids([4, 1, 4, 10**9])) == [expected[1], expected[4]]
    assert store.tables(as_ids([])) == []
    assert store.tables(np.arange(6_000)) == expected


def test_rejects_name_the_file_the_kind_and_the_reason(store: IndexStore, model: Model) -> None:
    rejects = store.rejects()
    assert all(set(reject) == {"source", "line", "kind", "reason", "count"} for reject in rejects)
    whole = {Path(reject["source"]).name: reject for reject in rejects if reject["kind"] == "file"}
    assert set(whole) == {"broken.parquet", "notes.xyz"}
    assert whole["notes.xyz"]["reason"] == "unsupported file type .xyz"
    long = Counter({Path(reject["source"]).name: reject["count"] for reject in rejects if reject["kind"] == "cell"})
    oversized = Counter(
        model.tables[model.table_of[row]].path.name
        for row, cells in enumerate(model.rows)
        for c in cells
        if len(c) > model.limit
    )
    assert long == oversized
    assert len(rejects) == len(whole) + len(long)


def test_rejects_up_to_a_limit(store: IndexStore) -> None:
    assert store.rejects(2) == store.rejects()[:2]
    assert store.rejects(0) == []


def test_sources_name_every_file_with_its_checksum(store: IndexStore, model: Model) -> None:
    found = {s["source"]: (s["bytes"], s["sha256"]) for s in store.sources()}
    assert found == model.sources()
    tables = {s["source"]: s["tables"] for s in store.sources()}
    assert tables == {source: int(source.endswith(".csv")) for source in model.sources()}
    assert {s["format"] for s in store.sources()} == {"delimited", "parquet", "unknown"}


def test_the_manifest_counts_what_is_there(store: IndexStore, model: Model) -> None:
    manifest = store.manifest
    assert manifest.tables == len(model.tables)
    assert manifest.columns == sum(len(table.header) for table in model.tables)
    assert manifest.rows == len(model.rows)
    assert manifest.cells == sum(map(len, model.postings.values()))
    assert manifest.distinct_tokens == len(model.postings)
    assert manifest.rejects == sum(reject["count"] for reject in store.rejects())
    assert [(spec.name, spec.bits) for spec in manifest.hashes] == [(h.name, h.bits) for h in HASHES]
    assert [manifest.hash_number(h.name, h.bits) for h in HASHES] == [0, 1, 2, 3]


def test_sizes(store: IndexStore) -> None:
    sizes = store.sizes()
    assert sizes["file"] > 0
    assert sizes["file"] >= sizes["postings"] > 0


# Several threads, and the end


def test_threads_get_the_same_answers(store: IndexStore, model: Model) -> None:
    everything = [ids_of([f"word {n}"]) for n in range(40)]
    keys = model.super_keys(store.manifest.hashes[0])

    def ask(number: int) -> tuple[object, ...]:
        wanted = Probes(everything[number], as_ids([number]), from_ints([keys[number]], 128))
        rows = np.arange(number, len(model.rows), 40)
        return (
            places(store.postings(everything[number])),
            sorted(store.candidates(wanted, 0).row_id.tolist()),
            store.rows(rows).token_id.tolist(),
            store.cells(rows[:20]),
            to_ints(store.super_keys(rows[:20])),
            store.tables(as_ids([number % 8])),
        )

    alone = [ask(number) for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(40))) == alone
    assert any(answer[1] for answer in alone)
