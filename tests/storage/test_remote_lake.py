"""A lake in S3: the same answers as on disk; checked, cached, published at once, by one writer at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import mate
from mate.cli.program import main
from mate.errors import ChangedError, MateError, StoreError
from mate.lake import remote
from mate.lake.remote import RemoteLake
from mate.storage import Entry, Place
from tests.api.conftest import FILES
from tests.lakes import write_csv
from tests.storage.conftest import Bucket


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("more", "one", "two"):
        write_csv(tmp_path / f"{name}.csv", ["Ort", "Datum"], [(f"{name} Bonn", "2019-01-01"), ("Ulm", "2019-01-02")])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def address(bucket: Bucket, folder: Path) -> str:
    """A lake in the bucket, built here."""
    mate.index("lake", f"{bucket.address}/lake.mate").close()
    return f"{bucket.address}/lake.mate"


@contextmanager
def other_machine(monkeypatch: pytest.MonkeyPatch, path: Path) -> Iterator[None]:
    """Work with a cache that has nothing in it."""
    with monkeypatch.context() as patch:
        patch.setenv("MATE_CACHE", str(path))
        yield


def answers(address: str | Path) -> list[dict[str, Any]]:
    with mate.open(address) as lake:
        return lake.search("sensors.csv", ["city", "day"]).to_dicts()


def test_it_answers_as_a_lake_on_disk(
    address: str, folder: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    mate.index("lake", "local.mate").close()
    assert answers(address) == answers("local.mate")
    with other_machine(monkeypatch, folder / "other"):
        assert answers(address) == answers("local.mate")
        with mate.open(address) as lake, mate.open("local.mate") as local:
            found = lake.search_many({"mine": ("sensors.csv", ["city", "day"])})
            assert found.to_arrow().equals(local.search_many({"mine": ("sensors.csv", ["city", "day"])}).to_arrow())
            assert lake.table("weather", into="arrow").equals(local.table("weather", into="arrow"))
            assert lake.check().sound
    [home] = (path.parent for path in (folder / "other").glob("*/lake.mate"))
    assert home.stat().st_mode & 0o777 == 0o700


def test_add_remove_and_compact(address: str, folder: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    with mate.open(address) as lake:
        lake.add("more.csv")
        lake.remove("traffic")
        assert lake.stats().segments == 2
        lake.compact()
        assert lake.stats().segments == 1
        names = [table.name for table in lake.tables()]
    assert names == ["events", "inhabitants", "weather", "more"]
    segments = {name.split("/")[2] for name in bucket.names() if "/segments/" in name}
    assert len(segments) == 1  # those that were merged are gone
    with other_machine(monkeypatch, folder / "other"), mate.open(address) as lake:
        assert [table.name for table in lake.tables()] == names
        assert lake.check().sound


def test_what_is_in_the_cache_is_not_fetched_again(address: str, folder: Path, bucket: Bucket) -> None:
    answers(address)
    bucket.requests.lines.clear()
    answers(address)
    assert {line for line in bucket.requests.lines if line.startswith("GET")} == {
        f"GET /{bucket.name}/lake.mate/manifest.json"
    }


@pytest.mark.parametrize("harm", ["truncated", "other bytes", "missing"])
def test_a_damaged_object_is_refused(
    address: str, folder: Path, bucket: Bucket, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    [name] = [name for name in bucket.names() if name.endswith("/arrays")]
    content = bucket.read(name)
    if harm == "missing":
        bucket.client.delete_object(Bucket=bucket.name, Key=name)
    else:
        bucket.write(name, content[:-9] if harm == "truncated" else content[:50] + b"x" + content[51:])
    with other_machine(monkeypatch, folder / "other"):
        with pytest.raises(StoreError, match=f"s3://{name.replace('lake.mate', f'{bucket.name}/lake.mate')}") as error:
            mate.open(address)
        assert len(str(error.value).splitlines()) == 1
        bucket.write(name, content)
        assert answers(address)  # nothing of the damaged one was kept
    assert answers(address)


@pytest.mark.parametrize("step", ["put", "write"])
def test_a_change_that_is_cut_off_leaves_the_old_state(
    address: str, folder: Path, bucket: Bucket, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bucket.names()
    manifest = bucket.read("lake.mate/manifest.json")

    def fail(*_: object) -> None:
        raise StoreError("the line was cut")

    with mate.open(address) as lake:
        with monkeypatch.context() as patch:
            patch.setattr(Place, step, fail)
            with pytest.raises(StoreError, match="the line was cut"):
                lake.add("more.csv")
        assert bucket.read("lake.mate/manifest.json") == manifest
        assert bucket.names() == before
        lake.refresh()
        assert len(lake.tables()) == 4
        lake.add("more.csv")
        assert len(lake.tables()) == 5


def test_a_manifest_that_arrived_though_an_error_came_back_keeps_its_segments(
    address: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Place.write

    def fail_afterwards(place: Place, content: bytes) -> None:
        write(place, content)
        if place.address.endswith("manifest.json"):
            raise StoreError("no answer")

    with mate.open(address) as lake, monkeypatch.context() as patch:
        patch.setattr(Place, "write", fail_afterwards)
        with pytest.raises(StoreError, match="no answer"):
            lake.add("more.csv")
    with other_machine(monkeypatch, folder / "other"), mate.open(address) as lake:
        assert len(lake.tables()) == 5


def test_of_two_writers_the_second_is_refused(
    address: str, folder: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, began = RemoteLake._send, []

    def meanwhile(lake: RemoteLake, records: Any) -> None:
        if not began:
            began.append(lake)
            with other_machine(monkeypatch, folder / "other"), mate.open(address) as other:
                other.add("two.csv")
        send(lake, records)

    monkeypatch.setattr(RemoteLake, "_send", meanwhile)
    with mate.open(address) as lake:
        with pytest.raises(ChangedError, match="changed by somebody else in the meantime; nothing was published"):
            lake.add("one.csv")
        lake.refresh()
        assert [table.name for table in lake.tables()][-1] == "two"
        lake.add("one.csv")
        assert [table.name for table in lake.tables()][-2:] == ["two", "one"]


def test_two_writers_that_publish_at_the_same_moment(
    address: str, folder: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the manifest and the new one, nobody else publishes."""
    check, began = RemoteLake._check_unchanged, []

    def meanwhile(lake: RemoteLake) -> None:
        check(lake)
        if not began:
            began.append(lake)
            with (
                other_machine(monkeypatch, folder / "other"),
                mate.open(address) as other,
                pytest.raises(ChangedError, match="others publish to"),
            ):
                other.add("two.csv")

    monkeypatch.setattr(RemoteLake, "_check_unchanged", meanwhile)
    monkeypatch.setattr(remote, "ATTEMPTS", 2)
    with mate.open(address) as lake:
        lake.add("one.csv")
    with other_machine(monkeypatch, folder / "other"), mate.open(address) as other:
        other.add("two.csv")
        assert [table.name for table in other.tables()][-2:] == ["one", "two"]
        segments = {name.split("/")[2] for name in bucket.names() if "/segments/" in name}
        assert segments == {record.name for record in RemoteLake(address).manifest().segments}
    assert not [name for name in bucket.names() if "/claims/" in name]


def test_a_claim_that_was_left_behind_keeps_nobody_out_for_long(
    address: str, folder: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.write("lake.mate/claims/left", b"somebody")
    before = bucket.names()
    walk = Place.walk

    def later(place: Place) -> list[Entry]:
        aged = 1_000_000_000 * int(remote.LEASE + 10)
        return [e._replace(changed=e.changed - aged) if e.name == "left" else e for e in walk(place)]

    monkeypatch.setattr(remote, "ATTEMPTS", 2)
    with mate.open(address) as lake:
        with pytest.raises(ChangedError, match="others publish"):
            lake.add("more.csv")
        assert bucket.names() == before
        monkeypatch.setattr(Place, "walk", later)
        lake.add("more.csv")
        assert len(lake.tables()) == 5
    assert "lake.mate/claims/left" not in bucket.names()


def test_a_writer_that_was_held_up_does_not_go_on(
    address: str, folder: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may take its claim for abandoned while it stands still before it sends the manifest."""
    manifest = bucket.read("lake.mate/manifest.json")
    monkeypatch.setattr(remote, "LEASE", 0.0)
    with mate.open(address) as lake, pytest.raises(StoreError, match="took too long"):
        lake.add("more.csv")
    assert bucket.read("lake.mate/manifest.json") == manifest


def test_a_share_of_a_batch_fetches_its_own_segments_only(
    address: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mate.lake.folder import LakeFolder
    from mate.search.batches import partitions_of
    from mate.stores import open_index

    with mate.open(address) as lake:
        lake.add("more.csv")
    opened = open_index(address)
    assert isinstance(opened, LakeFolder)
    shares = partitions_of(opened, 2)
    with other_machine(monkeypatch, folder / "other"):
        assert len(shares[1].open().segments) == 1
        [segments] = (folder / "other").glob("*/lake.mate/segments")
        assert len(list(segments.iterdir())) == 1
    with mate.open(address) as lake:
        lake.compact()
    with (
        other_machine(monkeypatch, folder / "other"),
        pytest.raises(ChangedError, match="was changed during the work: start it again"),
    ):
        shares[0].open()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ["search", "sensors.csv", "--key", "city", "--store", "s3://no-such-bucket/lake.mate"],
            "there is no index at",
        ),
        (["index", "lake", "--store", "s3://no-such-bucket/lake.mate"], 'there is no bucket "no-such-bucket"'),
        (["index", "s3://no-such-bucket/tables", "--store", "x.mate"], "no-such-bucket"),
        (["stats", "--store", "s3://key:geheim@bucket/lake.mate"], "with a secret in it"),
        (["stats", "--store", "s3://bucket/lake.mate?secret_key=geheim"], "with a secret in it"),
    ],
)
def test_what_cannot_work_is_told_in_one_line(
    bucket: Bucket, folder: Path, capsys: pytest.CaptureFixture[str], command: list[str], message: str
) -> None:
    assert main(command) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.strip().splitlines()) == 1
    assert "geheim" not in said


def test_a_store_that_fsspec_knows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setenv("MATE_CACHE", str(folder / "cache"))
    mate.index("lake", "memory://some/lake.mate").close()
    mate.index("lake", "local.mate").close()
    with other_machine(monkeypatch, folder / "other"):
        assert answers("memory://some/lake.mate") == answers("local.mate")


def test_a_cache_that_is_somebody_elses_is_refused(address: str, folder: Path, tmp_path: Path) -> None:
    [home] = (path.parent for path in (tmp_path / "cache").glob("*/lake.mate"))
    home.rename(tmp_path / "moved")
    home.symlink_to(tmp_path / "moved")
    with pytest.raises(MateError, match="is a link or somebody else's"):
        mate.open(address)
