"""Tables in S3: indexed as those on disk, each object fetched once, and by a task."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

import mate
from mate.errors import CorpusError
from tests.api.conftest import FILES
from tests.storage.conftest import Bucket

TABLES = {name.removeprefix("lake/"): text.encode() for name, text in FILES.items() if name.startswith("lake/")}


@pytest.fixture
def tables(bucket: Bucket) -> str:
    for name, content in TABLES.items():
        bucket.write(f"tables/{name}", content)
    return f"{bucket.address}/tables"


@pytest.fixture
def local(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    for name, content in TABLES.items():
        (tmp_path / "tables" / name).write_bytes(content)
    return tmp_path / "tables"


def content(lake: mate.Lake, root: str) -> list[Any]:
    """Return all that a lake holds, with the names of files as they are below a folder."""
    infos = [(info.name, info.source.removeprefix(root), info.columns, info.rows) for info in lake.tables()]
    cells = [lake.table(info, into="arrow").to_pydict() for info in lake.tables()]
    sources = [(s["source"].removeprefix(root), s["sha256"], s["bytes"], s["format"]) for s in lake.sources()]
    rejects = [(r["source"].removeprefix(root), r["kind"]) for r in lake.rejects()]
    return [infos, cells, sources, rejects]


def test_an_index_of_them_is_that_of_files(tables: str, local: Path, tmp_path: Path, bucket: Bucket) -> None:
    for name, data in {"sub/packed.csv.gz": gzip.compress(b"a,b\n1,2\n3,4\n"), "picture.png": b"\x89PNG"}.items():
        bucket.write(f"tables/{name}", data)
        (local / name).parent.mkdir(exist_ok=True)
        (local / name).write_bytes(data)
    bucket.write("tables/.hidden/x.csv", b"a\n1\n")
    bucket.requests.lines.clear()
    with mate.index(tables, tmp_path / "remote.mate", master="none") as remote:
        fetched = [line for line in bucket.requests.lines if line.startswith("GET") and "csv" in line]
        with mate.index(local, tmp_path / "local.mate", master="none") as expected:
            there, here = content(remote, tables), content(expected, str(local))
    assert there[:2] == here[:2]
    assert there[3] == here[3] == [("/picture.png", "file")]
    assert [source for source in there[2] if "png" not in source[0]] == [s for s in here[2] if "png" not in s[0]]
    assert len(fetched) == len(set(fetched)) == 5  # each once; none to list them


def test_add_one_object_and_no_lake_among_the_tables(tables: str, bucket: Bucket, tmp_path: Path) -> None:
    mate.index(tables, f"{tables}/lake.mate", master="none").close()
    with mate.index(tables, tmp_path / "again.mate", master="none") as lake:
        assert len(lake.tables()) == 4
        bucket.write("more.csv", b"town,n\nBonn,1\nUlm,2\n")
        lake.add(f"{bucket.address}/more.csv")
        assert lake.find("more").source == f"{bucket.address}/more.csv"
        with pytest.raises(CorpusError, match="only files on this machine are followed"):
            lake.sync(tables)


def test_an_object_that_is_gone_is_a_reject(tables: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mate.storage import Entry, Place

    walk = Place.walk
    monkeypatch.setattr(Place, "walk", lambda place: [*walk(place), Entry("zz.csv", 10, 0)])
    with mate.index(tables, tmp_path / "lake.mate", master="none") as lake:
        [reject] = lake.rejects()
        assert (reject["source"], reject["kind"]) == (f"{tables}/zz.csv", "file")
        assert len(lake.tables()) == 4


def test_nothing_there(bucket: Bucket, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=f"s3://{bucket.name}/none: no file found"):
        mate.index(f"{bucket.address}/none", tmp_path / "lake.mate")
