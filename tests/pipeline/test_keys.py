"""The second step: staged units to postings, rows, cells, tables and super keys."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mate.build import stage
from mate.build.keys import KeySettings, Offsets, key_unit
from mate.build.sources import Unit, find_sources
from mate.build.stage import Staged, StageSettings, stage_unit
from mate.hashing.superkey import to_ints
from mate.store import HashSpec
from mate.store.base import LAYOUTS
from mate.values.text import NULL_SPELLINGS, token
from mate.values.token_ids import NO_TOKEN, token_id

HASHES = (HashSpec("xash", 128, {"alpha": 3}), HashSpec("ht", 128), HashSpec("xash", 64, {"alpha": 2}))
TABLES: dict[str, list[list[str]]] = {
    "a.csv": [["Lee", "US", "42"], ["Lee", "Lee", "n/a"], ["", "", ""], ["Søren", "DK", "7"]],
    "b.csv": [["us", "x"], ["lee", "y"], ["42", "z"]],
}
ROWS = [(number, row) for number, rows in enumerate(TABLES.values()) for row in rows]
OFFSETS = Offsets(table=100, row=1_000)


@pytest.fixture(params=[400_000, 3], ids=["one batch", "many batches"])
def staged(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Staged:
    monkeypatch.setattr(stage, "BATCH_CELLS", request.param)
    for name, rows in TABLES.items():
        header = [f"{name} {place}" for place in range(len(rows[0]))]
        (tmp_path / name).write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
    from mate.limits import Limits

    unit = Unit(5, tuple(find_sources([tmp_path / name for name in TABLES], None, tasks=1)))
    return stage_unit(unit, str(tmp_path), StageSettings(NULL_SPELLINGS, Limits()))


def parts(staged: Staged, layout: str) -> dict[str, list[dict[str, Any]]]:
    settings = KeySettings(HASHES, layout)
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for name, batch in key_unit(staged, OFFSETS, settings):
        assert batch.cast(settings.schemas()[name]).schema == settings.schemas()[name]
        found[name] += batch.to_pylist()
    assert set(found) == set(settings.schemas())
    return found


def numbers(row: list[str]) -> list[int]:
    return [NO_TOKEN if token(cell) is None else token_id(token(cell) or "") for cell in row]


def expected_keys(row: list[str], spec: HashSpec) -> int:
    texts = [text for text in map(token, row) if text]
    return int(np.bitwise_or.reduce(np.array([0, *to_ints(spec.function().hash(texts))], object)))


def keys_of(record: dict[str, Any], number: int) -> int:
    words = [record[f"key{number}_{word}"] for word in range(HASHES[number].bits // 64)]
    return int.from_bytes(b"".join(word.to_bytes(8, "big") for word in words), "big")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_postings_rows_and_cells_stand_at_their_offsets(staged: Staged, layout: str) -> None:
    found = parts(staged, layout)
    expected = [
        (number, OFFSETS.table + table, column, OFFSETS.row + place)
        for place, (table, row) in enumerate(ROWS)
        for column, number in enumerate(numbers(row))
        if number != NO_TOKEN
    ]
    assert [(p["token_id"], p["table_id"], p["column_id"], p["row_id"]) for p in found["postings"]] == expected
    assert [(r["row_id"], r["table_id"], r["tokens"]) for r in found["rows"]] == [
        (OFFSETS.row + place, OFFSETS.table + table, numbers(row)) for place, (table, row) in enumerate(ROWS)
    ]
    assert [(c["row_id"], c["cells"]) for c in found["cells"]] == [
        (OFFSETS.row + place, row) for place, (_, row) in enumerate(ROWS)
    ]


def test_tables_stand_at_their_offsets(staged: Staged) -> None:
    found = parts(staged, "per_cell")["tables"]
    assert [(t["table_id"], t["name"], t["first_row"], t["rows"]) for t in found] == [
        (100, "a", 1_000, 4),
        (101, "b", 1_004, 3),
    ]


def test_super_keys_once_a_row(staged: Staged) -> None:
    found = parts(staged, "per_row")
    assert [record["row_id"] for record in found["super_keys"]] == list(range(1_000, 1_007))
    for number, spec in enumerate(HASHES):
        keys = [keys_of(record, number) for record in found["super_keys"]]
        assert keys == [expected_keys(row, spec) for _, row in ROWS]
        assert keys[2] == 0  # the row without a value
    assert not any(name.startswith("key") for name in found["postings"][0])


def test_super_keys_in_every_posting(staged: Staged) -> None:
    found = parts(staged, "per_cell")
    assert "super_keys" not in found
    for number, spec in enumerate(HASHES):
        for posting in found["postings"]:
            assert keys_of(posting, number) == expected_keys(ROWS[posting["row_id"] - 1_000][1], spec)


def test_the_schema_has_one_column_a_word() -> None:
    names = KeySettings(HASHES, "per_row").schemas()["super_keys"].names
    assert names == ["row_id", "key0_0", "key0_1", "key1_0", "key1_1", "key2_0"]
    assert KeySettings(HASHES, "per_cell").schemas()["postings"].field("key2_0").type == pa.uint64()
    assert KeySettings((), "per_cell").schemas()["postings"].names == ["token_id", "table_id", "column_id", "row_id"]
