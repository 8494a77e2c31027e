"""`mate search --batch` as a person meets it."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commands.conftest import Run, assert_refused
from tests.lakes import write_csv

SEARCH = ("search", "--store", "lake.mate")


def test_a_list_is_answered_and_failures_are_told(folder: Path, run: Run) -> None:
    write_csv(folder / "queries.csv", ["query", "key"], [("sensors.csv", "city;day"), ("gone\x1b[2J.csv", "city")])
    code, out, err = run(*SEARCH, "--batch", "queries.csv", "-o", "answers.parquet", "-k", 1)
    assert (code, err) == (1, "")
    assert "answers.parquet: 2 queries, 1 answer (" in out
    assert "failed: gone␛[2J.csv: " in out
    first, failed = pq.read_table("answers.parquet").to_pylist()
    assert (first["query"], first["rank"], first["table"], first["joinability"]) == ("sensors.csv", 1, "weather", 5)
    assert failed["error"]
    assert failed["table"] is None


def test_a_folder_with_one_key_and_an_encoding(folder: Path, run: Run) -> None:
    (folder / "asked").mkdir()
    text = (folder / "sensors.csv").read_text().replace("city", '"Stadt, Straße"')
    (folder / "asked/one.csv").write_bytes(text.encode("utf-16-le"))
    options = ("--key", "Stadt, Straße", "--key", "day", "--encoding", "utf-16-le", "-o", "answers.parquet")
    code, out, _ = run(*SEARCH, "--batch", "asked", *options)
    assert (code, "1 query, 2 answers" in out) == (0, True)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "lake"], "a batch needs -o FILE"),
        (["sensors.csv", "--batch", "lake", "-o", "x.parquet"], "--batch has its own queries: leave the query"),
        (["--batch", "lake", "-o", "x.parquet", "--json"], "--json is for one query"),
        (["--batch", "lake", "-o", "lake"], "lake is a folder"),
        ([], "name a table to search with"),
        (["sensors.csv"], "name the key columns of sensors.csv"),
        (["sensors.csv", "--key", "city", "-o", "x"], "-o and --master are for many queries"),
    ],
)
def test_what_makes_no_sense(run: Run, arguments: list[str], message: str) -> None:
    assert_refused(run(*SEARCH, *arguments), message)
