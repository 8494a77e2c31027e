"""Shards of the Dresden Web Table Corpus."""

from __future__ import annotations

import pytest

from experiments.corpora.download import RemoteFile
from experiments.corpora.shards import DWTC_URL, parse_shards, shard_files
from mate.errors import CorpusError


@pytest.mark.parametrize(
    ("text", "shards"),
    [("0", [0]), ("0-3,17", [0, 1, 2, 3, 17]), (" 5 - 6 , 5", [5, 6]), ("500", [500]), ("all", list(range(501)))],
)
def test_shards(text: str, shards: list[int]) -> None:
    assert parse_shards(text) == shards


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "1,,2", "1.5", "٣"])
def test_shards_that_make_no_sense(text: str) -> None:
    with pytest.raises(CorpusError, match="shards are given as numbers and ranges such as 0-9,17"):
        parse_shards(text)


def test_there_are_501_shards() -> None:
    with pytest.raises(CorpusError, match="there is no shard 501: they are numbered 0 to 500"):
        parse_shards("499-501")


def test_shards_have_addresses_and_names() -> None:
    first, last = shard_files([0, 500], expected={"dwtc-500.json.gz": "5"})
    assert first == RemoteFile(f"{DWTC_URL}/dwtc-000.json.gz", "dwtc-000.json.gz")
    assert last == RemoteFile(f"{DWTC_URL}/dwtc-500.json.gz", "dwtc-500.json.gz", "5")
    (mirrored,) = shard_files([7], "http://mirror.example/dwtc/")
    assert mirrored.url == "http://mirror.example/dwtc/dwtc-007.json.gz"
