"""Downloads from a real server on this machine that misbehaves on demand."""

from __future__ import annotations

import gzip
import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.corpora import download
from experiments.corpora.client import DownloadSettings
from experiments.corpora.download import DownloadResult, RemoteFile, downloading
from experiments.corpora.download_log import read_checksums
from mate import __version__
from mate.errors import CorpusError
from tests.experiments.corpora.site import (
    BODY,
    ONCE,
    QUICK,
    Fault,
    Handler,
    Published,
    Site,
    cut,
    get,
    get_one,
    names,
    recording,
    reset,
    sha,
    status,
)

# One file


def test_a_file_arrives_whole_with_its_checksum(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv")
    folder = tmp_path / "new" / "folder"
    assert get_one(folder, source) == DownloadResult(source, "fetched", len(BODY), sha(BODY))
    assert (folder / "a.csv").read_bytes() == BODY
    assert (folder / "checksums.sha256").read_text() == f"{sha(BODY)}  a.csv\n"
    assert names(folder) == ["a.csv", "checksums.sha256"]
    assert site.sent("User-Agent") == [f"mate-discovery/{__version__}"]
    assert site.sent("Accept-Encoding") == ["identity"]


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum here")
def test_sha256sum_reads_our_checksums(site: Site, tmp_path: Path) -> None:
    get(tmp_path, site.publish("b.csv"), site.publish("a.csv", b"1\n"))
    subprocess.run(["sha256sum", "--check", "--strict", "checksums.sha256"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("fault", [cut, reset])
def test_a_cut_connection_is_resumed_where_it_was_cut(
    site: Site, tmp_path: Path, fault: Callable[[int], Fault]
) -> None:
    source = site.publish("a.csv", BODY, fault(1_000), fault(60_000))
    assert get_one(tmp_path, source).sha256 == sha(BODY)
    assert (tmp_path / "a.csv").read_bytes() == BODY
    assert site.sent("Range") == [None, "bytes=1000-", "bytes=60000-"]
    assert site.sent("If-Range") == [None, '"1"', '"1"']


def test_the_next_run_goes_on_with_the_part(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", BODY, cut(70_000))
    result = get_one(tmp_path, source, ONCE)
    assert result.status == "failed"
    assert result.reason == f"{source.url}: the connection was cut after 70,000 of 102,400 bytes"
    assert names(tmp_path) == [".a.csv.part.json", "a.csv.part"]
    assert (tmp_path / "a.csv.part").read_bytes() == BODY[:70_000]

    assert get_one(tmp_path, source) == DownloadResult(source, "fetched", len(BODY), sha(BODY))
    assert (tmp_path / "a.csv").read_bytes() == BODY
    assert names(tmp_path) == ["a.csv", "checksums.sha256"]
    assert site.sent("Range") == [None, "bytes=70000-"]


def test_a_file_that_changed_starts_over(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", BODY, cut(70_000))
    get_one(tmp_path, source, ONCE)
    changed = BODY[::-1] + b"more"
    site.publish("a.csv", changed, headers={"ETag": '"2"'})
    assert get_one(tmp_path, source).sha256 == sha(changed)
    assert (tmp_path / "a.csv").read_bytes() == changed
    assert site.sent("Range") == [None, "bytes=70000-"]
    assert site.sent("If-Range") == [None, '"1"']


def test_the_date_stands_in_for_a_weak_etag(site: Site, tmp_path: Path) -> None:
    date = "Wed, 25 Feb 2015 10:00:00 GMT"
    source = site.publish("a.csv", BODY, cut(9), headers={"ETag": 'W/"1"', "Last-Modified": date})
    assert get_one(tmp_path, source).sha256 == sha(BODY)
    assert site.sent("If-Range") == [None, date]


def test_without_a_validator_nothing_is_resumed(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", BODY, cut(9), cut(99), headers={})
    assert get_one(tmp_path, source, DownloadSettings(tries=2, backoff=0)).status == "failed"
    assert get_one(tmp_path, source).sha256 == sha(BODY)
    assert site.sent("Range") == [None, None, None]


def test_a_server_without_ranges_starts_over(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", BODY, cut(9_000), ranges=False)
    assert get_one(tmp_path, source).sha256 == sha(BODY)
    assert site.sent("Range") == [None, "bytes=9000-"]


@pytest.mark.parametrize(
    "lie",
    [
        status(206, BODY[5:], ETag='"1"', Content_Range=f"bytes 5-{len(BODY) - 1}/{len(BODY)}"),
        status(206, BODY[9:], ETag='"other"', Content_Range=f"bytes 9-{len(BODY) - 1}/{len(BODY)}"),
        status(206, BODY[9:], ETag='"1"'),
    ],
    ids=["another place", "another file", "no place"],
)
def test_a_part_that_does_not_fit_is_not_appended(site: Site, tmp_path: Path, lie: Fault) -> None:
    source = site.publish("a.csv", BODY, cut(9), lie)
    assert get_one(tmp_path, source).sha256 == sha(BODY)
    assert site.sent("Range") == [None, "bytes=9-", None]


def test_a_file_that_has_become_shorter_starts_over(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", BODY, cut(9_000))
    get_one(tmp_path, source, ONCE)
    site.publish("a.csv", b"short")
    assert get_one(tmp_path, source).sha256 == sha(b"short")
    assert site.sent("Range") == [None, "bytes=9000-", None]


def test_a_part_of_another_address_is_not_used(site: Site, tmp_path: Path) -> None:
    get_one(tmp_path, site.publish("a.csv", BODY, cut(9)), ONCE)
    other = site.publish("b.csv", b"other")
    assert get_one(tmp_path, RemoteFile(other.url, "a.csv")).sha256 == sha(b"other")
    assert site.sent("Range") == [None, None]


def test_a_part_that_was_complete_is_not_asked_for_again(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv")
    (tmp_path / "a.csv.part").write_bytes(BODY)
    note = {"url": source.url, "validator": '"1"', "total": len(BODY)}
    (tmp_path / ".a.csv.part.json").write_text(json.dumps(note))
    assert get_one(tmp_path, source).status == "fetched"
    assert site.requests == []


@pytest.mark.parametrize("note", ["", "[]", "{}", '{"url": 1}'])
def test_a_part_with_a_damaged_note_starts_over(site: Site, tmp_path: Path, note: str) -> None:
    (tmp_path / "a.csv.part").write_bytes(b"what is this?")
    (tmp_path / ".a.csv.part.json").write_text(note)
    assert get_one(tmp_path, site.publish("a.csv")).sha256 == sha(BODY)


def test_a_file_of_unknown_length_and_an_empty_file(site: Site, tmp_path: Path) -> None:
    done = get(tmp_path, site.publish("a.csv", length=False), site.publish("empty.csv", b""))
    assert [result.size for result in done] == [len(BODY), 0]
    assert names(tmp_path) == ["a.csv", "checksums.sha256", "empty.csv"]


def test_a_cut_in_a_chunked_answer_is_seen(site: Site, tmp_path: Path) -> None:
    def chunked(handler: Handler, _: Published) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.head(200, {"Transfer-Encoding": "chunked", "ETag": '"1"', "Connection": "close"})
        handler.wfile.write(b"5\r\n" + BODY[:5] + b"\r\n")
        handler.close_connection = True

    assert get_one(tmp_path, site.publish("a.csv", BODY, chunked)).sha256 == sha(BODY)
    assert site.sent("Range") == [None, "bytes=5-"]


# What is there already


def test_a_finished_file_is_verified_and_kept(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv")
    get_one(tmp_path, source)
    assert get_one(tmp_path, source) == DownloadResult(source, "kept", len(BODY), sha(BODY))
    assert len(site.requests) == 1


def test_a_file_that_does_not_match_its_checksum_is_fetched_again(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv")
    get_one(tmp_path, source)
    (tmp_path / "a.csv").write_bytes(BODY[:-1] + b"!")
    assert get_one(tmp_path, source).status == "fetched"
    assert (tmp_path / "a.csv").read_bytes() == BODY
    assert len(site.requests) == 2


def test_a_file_without_a_record_is_fetched_unless_its_owner_vouches_for_it(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv")
    (tmp_path / "a.csv").write_bytes(b"half of i")
    assert get_one(tmp_path, source).status == "fetched"

    (tmp_path / "checksums.sha256").unlink()
    assert get_one(tmp_path, RemoteFile(source.url, "a.csv", sha(BODY))).status == "kept"
    assert read_checksums(tmp_path / "checksums.sha256") == {"a.csv": sha(BODY)}
    assert len(site.requests) == 1


def test_a_line_that_a_crash_cut_short_does_no_harm(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv")
    record = tmp_path / "checksums.sha256"
    record.write_text(f"{sha(b'z')} *z.csv\n{sha(b'1')[:20]}")
    get_one(tmp_path, source)
    assert record.read_text() == f"{sha(BODY)}  a.csv\n{sha(b'z')}  z.csv\n"


def test_an_expected_checksum_holds(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv")
    assert get_one(tmp_path, RemoteFile(source.url, "a.csv", sha(BODY))).status == "fetched"
    wrong = get_one(tmp_path / "other", RemoteFile(source.url, "a.csv", sha(b"")))
    assert wrong.reason == f"{source.url}: its SHA-256 is {sha(BODY)}, not {sha(b'')} as expected"
    assert names(tmp_path / "other") == []


def test_a_checksum_file_is_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "expected"
    path.write_text(f"{sha(b'').upper()}  a b.csv\n\nnot a checksum\n")
    with pytest.raises(CorpusError, match="line 3: not a line of sha256sum"):
        read_checksums(path)
    with pytest.raises(CorpusError, match="No such file"):
        read_checksums(tmp_path / "missing")


def test_gzip_files_are_unpacked_if_asked(site: Site, tmp_path: Path) -> None:
    packed = gzip.compress(BODY)
    tested = DownloadSettings(backoff=0, test=True)
    sound, short = site.publish("a.json.gz", packed), site.publish("b.json.gz", packed[:-9])
    corrupt = site.publish("c.json.gz", packed[:-8] + bytes(8))
    done = get(tmp_path, sound, short, corrupt, settings=tested)
    assert [result.status for result in done] == ["fetched", "failed", "failed"]
    assert done[1].reason == f"{short.url}: truncated gzip stream"
    assert done[2].reason == f"{corrupt.url}: corrupt gzip stream"
    assert names(tmp_path) == ["a.json.gz", "checksums.sha256"]

    assert get_one(tmp_path, short).status == "fetched"  # not asked
    assert get_one(tmp_path, short).status == "kept"
    assert get_one(tmp_path, short, tested).status == "failed"


# Servers in trouble


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
def test_passing_trouble_is_waited_for(site: Site, tmp_path: Path, code: int) -> None:
    source = site.publish("a.csv", BODY, status(code), status(code, Retry_After="0"))
    assert get_one(tmp_path, source).status == "fetched"
    assert len(site.requests) == 3


def test_waits_double_and_the_server_may_ask_for_longer(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(threading.Event, "wait", recording(threading.Event.wait, waits))
    faults = [status(503), status(503), status(503, Retry_After="7"), status(503, Retry_After="9999")]
    get_one(tmp_path, site.publish("a.csv", BODY, *faults), DownloadSettings(backoff=0.5))
    assert waits == [0.5, 1.0, 7.0, 60.0]


def test_tries_have_a_limit(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", BODY, *[status(500)] * 9)
    result = get_one(tmp_path, source, DownloadSettings(tries=3, backoff=0))
    assert result.reason == f"{source.url}: HTTP 500 Internal Server Error; gave up after 3 tries"
    assert len(site.requests) == 3
    assert names(tmp_path) == []


def test_a_missing_file_is_asked_for_once(site: Site, tmp_path: Path) -> None:
    result = get_one(tmp_path, RemoteFile(f"{site.url}/none.csv", "none.csv"))
    assert result.reason == f"{site.url}/none.csv: HTTP 404 Not Found"
    assert len(site.requests) == 1


def test_a_web_page_is_no_file(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", b"<html>", headers={"Content-Type": "text/html; charset=utf-8"})
    assert get_one(tmp_path, source).reason == f"{source.url}: a web page, not a data file"
    assert names(tmp_path) == []


def test_a_silent_server_is_not_waited_for_long(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", BODY, lambda *_: time.sleep(1))
    result = get_one(tmp_path, source, DownloadSettings(tries=1, timeout=0.1))
    assert result.reason == f"{source.url}: no answer within 0.1 seconds"


def test_a_host_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    sources = [RemoteFile(f"http://nowhere.invalid/{n}.csv", f"{n}.csv") for n in range(5)]
    done = get(tmp_path, *sources, settings=DownloadSettings(parallel=1))
    reason = "there is no host nowhere.invalid; check the address and the network"
    assert done[0].reason == f"http://nowhere.invalid/0.csv: {reason}"
    assert done[4].reason == "nowhere.invalid left 3 files in a row unanswered; this one was not tried"


def test_name_look_up_that_may_work_later_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def later(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(socket, "getaddrinfo", later)
    result = get_one(tmp_path, RemoteFile("http://somewhere.invalid/a.csv", "a.csv"))
    assert "the name of host somewhere.invalid cannot be looked up; check the network; gave up" in result.reason


def test_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/a.csv"
        assert get_one(tmp_path, RemoteFile(url, "a.csv"), ONCE).reason == f"{url}: no connection (connection refused)"


def test_a_server_that_hangs_up_is_tried_again(site: Site, tmp_path: Path) -> None:
    assert get_one(tmp_path, site.publish("a.csv", BODY, lambda *_: None)).status == "fetched"


# Addresses and names


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/a", "data:,a", "/etc/passwd", ""])
def test_only_http_and_https_are_fetched(tmp_path: Path, url: str) -> None:
    assert "only http and https addresses are fetched" in get_one(tmp_path, RemoteFile(url, "a.csv")).reason


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/a.csv", "data:,a"])
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_to_other_schemes_are_refused(site: Site, tmp_path: Path, code: int, target: str) -> None:
    source = site.publish("a.csv", BODY, status(code, Location=target))
    assert get_one(tmp_path, source).reason == (f"{source.url}: redirects to {target}, which is neither http nor https")


def test_redirects_are_followed_and_keep_the_range(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", b"", *[status(302, Location="/b.csv")] * 2)
    site.publish("b.csv", BODY, cut(9))
    assert get_one(tmp_path, source).sha256 == sha(BODY)
    assert site.sent("Range") == [None, None, "bytes=9-", "bytes=9-"]


def test_redirects_without_end_are_one_line(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", BODY, *[status(302, Location="/a.csv")] * 20)
    reason = get_one(tmp_path, source).reason
    assert "redirect" in reason
    assert "\n" not in reason


@pytest.mark.parametrize(
    "name", ["../a", "a/b", "/a", "..", ".", "", ".a", "a\n", "a\0", "ä.csv", "checksums.sha256", "a.part", "a" * 300]
)
def test_no_name_leaves_the_folder_or_meets_our_own_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(CorpusError, match="is not a safe name for a file"):
        get(tmp_path / "to", RemoteFile("http://127.0.0.1/", name))
    assert not (tmp_path / "to").exists()


def test_two_sources_need_two_names(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"two files would be written to A\.csv"):
        get(tmp_path, RemoteFile("http://127.0.0.1/1", "a.csv"), RemoteFile("http://127.0.0.1/2", "A.csv"))


# The folder


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_ends_the_run(site: Site, tmp_path: Path) -> None:
    (tmp_path / "a.csv.part").symlink_to("/dev/full")
    with pytest.raises(CorpusError, match=r"a\.csv\.part: the disk is full; make room and run the same command again"):
        get(tmp_path, site.publish("a.csv"), *[site.publish(f"{n}.csv") for n in range(9)])


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CorpusError, match=r"file/to: Not a directory"):
        get(tmp_path / "file" / "to")
    with pytest.raises(CorpusError, match=r"file: File exists"):
        get(tmp_path / "file")


def test_a_folder_that_cannot_be_written_to(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # root may write anywhere
    with pytest.raises(CorpusError, match=r"a\.csv\.part: cannot be written to: Permission denied"):
        get(tmp_path, site.publish("a.csv"))


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    with downloading([], tmp_path), pytest.raises(CorpusError, match="another fetch is writing to this folder"):
        get(tmp_path)
    assert get(tmp_path) == []


# Several at a time


def test_downloads_run_at_the_same_time_but_no_more_than_allowed(site: Site, tmp_path: Path) -> None:
    together = threading.Barrier(3, timeout=5)
    lock, running, most = threading.Lock(), [0], [0]

    def meet(*_: object) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        together.wait()  # breaks unless three are here
        with lock:
            running[0] -= 1

    site.every = meet
    sources = [site.publish(f"{n}.csv", BODY + bytes([n])) for n in range(9)]
    done = get(tmp_path, *sources, settings=DownloadSettings(parallel=3, tries=1))
    assert [result.status for result in done] == ["fetched"] * 9
    assert most == [3]
    recorded = read_checksums(tmp_path / "checksums.sha256")
    assert recorded == {f"{n}.csv": sha((tmp_path / f"{n}.csv").read_bytes()) for n in range(9)}


def test_one_failure_does_not_keep_the_others(site: Site, tmp_path: Path) -> None:
    missing = RemoteFile(f"{site.url}/none", "b.csv")
    done = get(tmp_path, site.publish("a.csv"), missing, site.publish("c.csv"))
    assert [result.status for result in done] == ["fetched", "failed", "fetched"]


def test_leaving_early_leaves_parts_that_are_resumed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "PATIENCE", 0.05)
    release = threading.Event()

    def hang(handler: Handler, file: Published) -> None:
        handler.head(200, {**file.headers, "Content-Length": str(len(file.body))})
        handler.wfile.write(file.body[:5_000])
        handler.wfile.flush()
        release.wait(5)

    slow, quick = site.publish("slow.csv", BODY, hang), site.publish("quick.csv")
    progress = Recorder()
    with downloading([slow, quick], tmp_path, QUICK, progress) as results:
        assert next(results).file == quick
        assert progress.enough.wait(5)
    release.set()
    assert {"quick.csv", "slow.csv.part", ".slow.csv.part.json"} <= set(names(tmp_path))
    assert (tmp_path / "slow.csv.part").read_bytes() == BODY[:5_000]
    assert [result.status for result in get(tmp_path, slow, quick)] == ["kept", "fetched"]
    assert (tmp_path / "slow.csv").read_bytes() == BODY


class Recorder:
    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.totals: dict[str, int | None] = {}
        self.open: set[str] = set()
        self.enough = threading.Event()

    def started(self, name: str, done: int, total: int | None) -> None:
        self.open.add(name)
        self.sizes[name], self.totals[name] = done, total

    def received(self, name: str, size: int) -> None:
        self.sizes[name] += size
        if self.sizes.get("slow.csv") == 5_000:
            self.enough.set()

    def ended(self, name: str) -> None:
        self.open.discard(name)


def test_the_watcher_sees_every_byte(site: Site, tmp_path: Path) -> None:
    sources = [site.publish("a.csv", BODY, cut(9)), site.publish("b.csv", b"1\n", length=False)]
    for _ in range(2):  # fetched, then verified
        progress = Recorder()
        with downloading(sources, tmp_path, QUICK, progress) as results:
            list(results)
        assert progress.sizes == {"a.csv": len(BODY), "b.csv": 2}
        assert progress.totals["a.csv"] == len(BODY)
        assert not progress.open
