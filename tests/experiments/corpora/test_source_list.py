"""Downloads of listed files, and the list that records them."""

from __future__ import annotations

import csv
import time
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest

from experiments.corpora import download
from experiments.corpora.source_list import Resource, downloading_listed
from mate.corpus import discover
from mate.corpus.formats import SOURCES_COLUMNS
from mate.errors import CorpusError
from tests.experiments.corpora.site import BODY, ONCE, QUICK, Site, cut, names, sha


def listed(site: Site, *files: str) -> list[Resource]:
    return [Resource(f"d_{name}", f"{site.url}/{name}", f'"{name}", a title', "CC0", "d") for name in files]


def rows_of(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "sources.csv").open(encoding="utf-8", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def test_sources_csv_says_what_became_of_every_file(site: Site, tmp_path: Path) -> None:
    site.publish("a.csv")
    found = listed(site, "a.csv", "none.csv")
    with downloading_listed(found, tmp_path, QUICK) as results:
        assert {row["status"] for row in rows_of(tmp_path).values()} == {"pending"}
        assert len(list(results)) == 2
    good, bad = rows_of(tmp_path)["d_a.csv"], rows_of(tmp_path)["d_none.csv"]
    assert good == {
        "file": "d_a.csv", "url": f"{site.url}/a.csv", "title": '"a.csv", a title', "licence": "CC0", "dataset": "d",
        "checksum": sha(BODY), "size": str(len(BODY)), "status": "fetched", "reason": "",
    }  # fmt: skip
    assert (bad["status"], bad["size"], bad["reason"]) == ("failed", "", f"{site.url}/none.csv: HTTP 404 Not Found")

    site.publish("none.csv", b"1\n")
    with downloading_listed(listed(site, "none.csv"), tmp_path, QUICK) as results:
        list(results)
    assert {name: row["status"] for name, row in rows_of(tmp_path).items()} == {
        "d_a.csv": "fetched",
        "d_none.csv": "fetched",
    }


def test_sources_csv_survives_an_interruption(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.publish("a.csv")
    site.publish("b.csv", BODY, lambda *_: time.sleep(1))
    found = listed(site, "a.csv", "b.csv")
    monkeypatch.setattr(download, "PATIENCE", 0.05)
    with suppress(KeyboardInterrupt), downloading_listed(found, tmp_path, QUICK) as results:
        next(results)
        raise KeyboardInterrupt
    assert {name: row["status"] for name, row in rows_of(tmp_path).items()} == {
        "d_a.csv": "fetched",
        "d_b.csv": "pending",
    }
    with downloading_listed(found, tmp_path, QUICK):
        assert rows_of(tmp_path)["d_a.csv"]["status"] == "fetched"


def test_a_sources_csv_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sources.csv").write_text("id,name\n1,x\n")
    with (
        pytest.raises(CorpusError, match=r"sources\.csv: not written by an earlier fetch"),
        downloading_listed([], tmp_path),
    ):
        pass
    assert (tmp_path / "sources.csv").read_text() == "id,name\n1,x\n"


def test_expected_checksums_hold_for_listed_files(site: Site, tmp_path: Path) -> None:
    site.publish("a.csv")
    with downloading_listed(listed(site, "a.csv"), tmp_path, QUICK, expected={"d_a.csv": sha(b"")}) as results:
        assert "as expected" in next(results).reason


def test_the_list_has_the_columns_that_are_documented() -> None:
    assert set(SOURCES_COLUMNS) >= {"url", "title", "licence", "dataset", "checksum", "size", "status"}
    assert tuple(field.name for field in fields(Resource)) == SOURCES_COLUMNS


def test_a_fetched_folder_is_indexed_without_the_download_log_and_unfinished_files(site: Site, tmp_path: Path) -> None:
    site.publish("a.csv")
    site.publish("b.csv", BODY, cut(70_000))
    with downloading_listed(listed(site, "b.csv"), tmp_path, ONCE) as results:
        list(results)
    assert names(tmp_path) == [".d_b.csv.part.json", "d_b.csv.part", "sources.csv"]
    with pytest.raises(CorpusError, match="no file found"):
        discover([tmp_path])
    with downloading_listed(listed(site, "a.csv"), tmp_path, ONCE) as results:
        list(results)
    assert names(tmp_path) == [".d_b.csv.part.json", "checksums.sha256", "d_a.csv", "d_b.csv.part", "sources.csv"]
    assert [file.path for file in discover([tmp_path])] == [str(tmp_path / "d_a.csv")]
