"""Mistaken Bloom filters are what they say, and still lose no joinable row."""

from pathlib import Path

import numpy as np
import pytest

import mate
from experiments.bloom_mistakes import MISTAKES
from experiments.definitions import Method
from experiments.hashes import described
from experiments.query_mistakes import QUERY_MISTAKES
from experiments.worker import settings_of, system_of
from mate.hashing import CorpusStatistics, bits_set, fit, get, or_aggregate
from mate.stores import open_index

VALUES = [f"value {i}" for i in range(500)]


NUMBERS = [("bf-log10", 7, 8), ("bf-log2", 20, 26), ("bf-one", 1, 1)]


@pytest.mark.parametrize(("name", "least", "most"), NUMBERS)
def test_numbers_of_hash_functions(name: str, least: float, most: float) -> None:
    function = fit(name, 128, CorpusStatistics(10, 90.0))
    assert least <= bits_set(function.hash(VALUES)).mean() <= most


def test_neighbouring_bits() -> None:
    keys = get("bf-neighbours", 128).hash(VALUES)
    assert (bits_set(keys) == 18).all()
    bits = np.unpackbits(keys.astype(">u8").view(np.uint8).reshape(len(keys), 16), axis=1)
    assert (np.abs(np.diff(bits.astype(int), axis=1, append=bits[:, :1])).sum(axis=1) == 2).all()


def test_half_of_the_bits() -> None:
    keys = get("bf-half", 128).hash(VALUES)
    assert not keys[:, 0].any()
    assert keys[:, 1].all()


@pytest.mark.parametrize("name", MISTAKES)
def test_no_row_is_lost(name: str) -> None:
    function = get(name, 128)
    assert described(name) == ("bf", MISTAKES[name])
    keys = or_aggregate(function.hash(VALUES), np.arange(0, 501, 5))
    assert not (function.hash(VALUES) & ~np.repeat(keys, 5, axis=0)).any()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of which one joins with the query, and others share its values in other combinations."""
    folder = tmp_path_factory.mktemp("mistakes")
    rows = [[f"a{i}", f"b{j}", f"c{i * j}"] for i in range(8) for j in range(8)]
    for number in range(4):
        some = [row for place, row in enumerate(rows) if place % (number + 2) == 0]
        text = "\n".join(",".join(row) for row in [["one", "two", "three"], *some])
        (folder / f"table{number}.csv").write_text(text + "\n", encoding="utf-8")
    mate.index([str(folder)], folder / "lake.mate", hashes=["bf"], master="none").close()
    return folder / "lake.mate"


@pytest.mark.parametrize("system", QUERY_MISTAKES)
def test_wrong_queries_find_the_same_tables_with_more_false_positives(lake: Path, system: str, tmp_path: Path) -> None:
    query = tmp_path / "query.csv"
    query.write_text("x,y\n" + "".join(f"a{i},b{(i + 3) % 8}\n" for i in range(8)), encoding="utf-8")
    with open_index(str(lake)) as index:
        right, wrong = (
            system_of(name)(index, str(query), ["x", "y"], 10, settings_of(Method(name, "bf", 128)))
            for name in ("mate", system)
        )
    assert [(r.table_id, r.joinability) for r in wrong.found] == [(r.table_id, r.joinability) for r in right.found]
    assert wrong.statistics.true_positives == right.statistics.true_positives
    assert wrong.statistics.false_positives >= right.statistics.false_positives
    if "and" in system:
        assert wrong.statistics.false_positives > right.statistics.false_positives
