"""The manifest as text: what was written is read, and nothing else."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from mate.build.changes.check import check
from mate.errors import StoreError
from mate.lake.folder import MANIFEST, open_folder
from mate.lake.manifest import FORMAT_VERSION, Counts, HashSpec, Manifest, SegmentRecord
from tests.lakes import lake

EXAMPLE = Manifest(
    hashes=(HashSpec("xash", 128, {"alpha": 4}), HashSpec("bf", 512, {"hashes": 6})),
    nulls=("", "–", "n/a"),
    counts=Counts(2, 5, 7, 30, 1),
    distinct_tokens=12,
    limits={"cell_characters": 1_000},
    segments=(
        SegmentRecord("0000-a", Counts(1, 2, 3, 4), {"arrays": (10, 2**32 - 1)}, (3, 1), ("Straße.csv", 'a "b"')),
        SegmentRecord("0001-b", Counts(), {}),
    ),
)


def test_what_was_written_is_read() -> None:
    assert Manifest.from_json(EXAMPLE.to_json(), "here") == EXAMPLE


def test_every_character_counts() -> None:
    """A changed manifest is refused, unless it still says the very same."""
    text = EXAMPLE.to_json()
    for place in range(len(text)):
        other = text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
        with pytest.raises(StoreError, match="here "):
            Manifest.from_json(other, "here")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 1}, f"here has format 1, .* reads format {FORMAT_VERSION}: build the index again with mate index"),
        ({"format": 99}, "here has format 99, .*: upgrade MATE"),
        ({"normalisation": 0}, "here was built with normalisation 0, .*: build the index again"),
        ({"distinct_tokens": 13}, "here is damaged: the manifest does not have its checksum"),
    ],
)
def test_versions_are_told_apart_from_damage(changes: dict[str, int], message: str) -> None:
    record = {**json.loads(EXAMPLE.to_json()), **changes}
    with pytest.raises(StoreError, match=message):
        Manifest.from_json(json.dumps(record), "here")


def test_a_hash_function_is_found_by_name_and_bits() -> None:
    assert [EXAMPLE.hash_number(*asked) for asked in ((), ("bf",), (None, 512), ("xash", 128))] == [0, 1, 1, 0]
    with pytest.raises(StoreError, match=r"no bf with 64 bits; it was built with: xash:128:alpha=4, bf:512:hashes=6"):
        EXAMPLE.hash_number("bf", 64)
    with pytest.raises(StoreError, match="it was built with: none"):
        replace(EXAMPLE, hashes=()).hash_number()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("counts", "tables"), "x"),
        (("counts", "rows"), -1),
        (("counts", "cells"), {}),
        (("next_table",), None),
        (("nulls",), [1]),
        (("segments", 0, "name"), "../../precious"),
        (("segments", 0, "name"), ""),
        (("segments", 0, "superseded_tables"), ["x"]),
        (("limits", "cell_characters"), "many"),
        (("limits", "chunk_cells"), {}),
        (("limits", "layout_tables"), 1),
        (("limits", "encoding"), 8),
        (("limits", "no such limit"), 1),
        (("hashes", 0, "bits"), "x"),
    ],
)
def test_manifests_with_values_that_no_index_has(tmp_path: Path, place: tuple[str | int, ...], value: object) -> None:
    lake(tmp_path / "a.mate", [[["a", "b"]]])
    path = tmp_path / "a.mate" / MANIFEST
    record = json.loads(path.read_text())
    record.pop("checksum")
    inside = record
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    record["checksum"] = zlib.crc32(json.dumps(record, sort_keys=True, ensure_ascii=False).encode())
    path.write_text(json.dumps(record))
    with pytest.raises(StoreError, match="has a manifest that cannot be read"):
        open_folder(tmp_path / "a.mate")


def test_a_manifest_of_a_newer_version_is_not_damaged(tmp_path: Path) -> None:
    lake(tmp_path / "a.mate", [[["a", "b"]]])
    path = tmp_path / "a.mate" / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": FORMAT_VERSION + 1, "new": True}))
    with pytest.raises(StoreError, match="upgrade MATE"):
        check(str(tmp_path / "a.mate"))
