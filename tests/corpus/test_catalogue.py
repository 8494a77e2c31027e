"""Downloads and the catalogue, against a real server on this machine that misbehaves on demand."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate import __version__
from mate.corpus import discover, fetch
from mate.corpus.catalogue import (
    CATALOGUE,
    COLUMNS,
    DWTC_URL,
    GOVDATA_URL,
    Resource,
    Search,
    dwtc_sources,
    fetching_listed,
    parse_shards,
    safe_name,
    school_tables,
    search,
)
from mate.corpus.fetch import Fetched, RemoteError, Settings, Source, checked_url, fetching, read_checksums
from mate.errors import CorpusError

BODY = bytes(range(256)) * 400
QUICK = Settings(backoff=0.0, timeout=5.0)
ONCE = Settings(tries=1, backoff=0.0, timeout=5.0)


def sha(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


@dataclass
class Published:
    body: bytes = BODY
    headers: dict[str, str] = field(default_factory=lambda: {"ETag": '"1"'})
    ranges: bool = True
    length: bool = True


Fault = Callable[["Handler", Published], None]


class Site(ThreadingHTTPServer):
    """Serves what it is given; a fault takes the place of the next good answer to a path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.files: dict[str, Published] = {}
        self.faults: dict[str, list[Fault]] = {}
        self.every: Fault | None = None
        self.requests: list[tuple[str, dict[str, str]]] = []

    def publish(self, name: str, body: bytes = BODY, *faults: Fault, **changes: Any) -> Source:
        self.files[f"/{name}"] = Published(body, **changes)
        self.faults[f"/{name}"] = list(faults)
        return Source(f"{self.url}/{name}", name)

    def sent(self, header: str) -> list[str | None]:
        """What the requests so far said in a header."""
        return [headers.get(header) for _, headers in self.requests]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers)))
        path = urlsplit(self.path).path
        file = self.server.files.get(path)
        if file is None:
            self.send_error(404)
            return
        if self.server.every:
            self.server.every(self, file)
        faults = self.server.faults.get(path)
        (faults.pop(0) if faults else serve)(self, file)

    def head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Be quiet."""


def serve(handler: Handler, file: Published, upto: int | None = None) -> None:
    """Answer as RFC 9110 says, a range only if the validator still fits."""
    start = 0
    asked, condition = handler.headers.get("Range"), handler.headers.get("If-Range")
    if asked and file.ranges and condition in (None, *file.headers.values()):
        start = int(asked.removeprefix("bytes=").removesuffix("-"))
    headers = dict(file.headers)
    if start >= len(file.body) > 0:
        handler.head(416, {"Content-Range": f"bytes */{len(file.body)}"})
        return
    if file.length:
        headers["Content-Length"] = str(len(file.body) - start)
    if start:
        headers["Content-Range"] = f"bytes {start}-{len(file.body) - 1}/{len(file.body)}"
    handler.head(206 if start else 200, headers)
    handler.wfile.write(file.body[start:upto])


def cut(at: int) -> Fault:
    """Close the connection in the middle, as if all were well."""
    return lambda handler, file: serve(handler, file, at)


def reset(at: int) -> Fault:
    """Reset the connection in the middle."""

    def fault(handler: Handler, file: Published) -> None:
        serve(handler, file, at)
        handler.wfile.flush()
        time.sleep(0.05)  # a reset takes what is still on its way with it
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()

    return fault


def status(code: int, body: bytes = b"", **headers: str) -> Fault:
    def fault(handler: Handler, _: Published) -> None:
        handler.head(code, {name.replace("_", "-"): value for name, value in headers.items()})
        handler.wfile.write(body)

    return fault


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "*")
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def get(folder: Path, *sources: Source, settings: Settings = QUICK) -> list[Fetched]:
    with fetching(sources, folder, settings) as outcomes:
        return sorted(outcomes, key=lambda outcome: outcome.source.name)


def get_one(folder: Path, source: Source, settings: Settings = QUICK) -> Fetched:
    (outcome,) = get(folder, source, settings=settings)
    return outcome


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# One file


def test_a_file_arrives_whole_with_its_checksum(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv")
    folder = tmp_path / "new" / "folder"
    assert get_one(folder, source) == Fetched(source, "fetched", len(BODY), sha(BODY))
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
    outcome = get_one(tmp_path, source, ONCE)
    assert outcome.status == "failed"
    assert outcome.reason == f"{source.url}: the connection was cut after 70,000 of 102,400 bytes"
    assert names(tmp_path) == [".a.csv.part.json", "a.csv.part"]
    assert (tmp_path / "a.csv.part").read_bytes() == BODY[:70_000]

    assert get_one(tmp_path, source) == Fetched(source, "fetched", len(BODY), sha(BODY))
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
    assert get_one(tmp_path, source, Settings(tries=2, backoff=0)).status == "failed"
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
    assert get_one(tmp_path, Source(other.url, "a.csv")).sha256 == sha(b"other")
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
    assert [outcome.size for outcome in done] == [len(BODY), 0]
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
    assert get_one(tmp_path, source) == Fetched(source, "kept", len(BODY), sha(BODY))
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
    assert get_one(tmp_path, Source(source.url, "a.csv", sha(BODY))).status == "kept"
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
    assert get_one(tmp_path, Source(source.url, "a.csv", sha(BODY))).status == "fetched"
    wrong = get_one(tmp_path / "other", Source(source.url, "a.csv", sha(b"")))
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
    tested = Settings(backoff=0, test=True)
    sound, short = site.publish("a.json.gz", packed), site.publish("b.json.gz", packed[:-9])
    corrupt = site.publish("c.json.gz", packed[:-8] + bytes(8))
    done = get(tmp_path, sound, short, corrupt, settings=tested)
    assert [outcome.status for outcome in done] == ["fetched", "failed", "failed"]
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
    monkeypatch.setattr(threading.Event, "wait", _recording(threading.Event.wait, waits))
    faults = [status(503), status(503), status(503, Retry_After="7"), status(503, Retry_After="9999")]
    get_one(tmp_path, site.publish("a.csv", BODY, *faults), Settings(backoff=0.5))
    assert waits == [0.5, 1.0, 7.0, 60.0]


def _recording(wait: Callable[..., bool], waits: list[float]) -> Callable[..., bool]:
    def recorded(event: threading.Event, timeout: float | None = None) -> bool:
        if timeout is None:  # threads that start
            return wait(event)
        waits.append(timeout)
        return False

    return recorded


def test_tries_have_a_limit(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", BODY, *[status(500)] * 9)
    outcome = get_one(tmp_path, source, Settings(tries=3, backoff=0))
    assert outcome.reason == f"{source.url}: HTTP 500 Internal Server Error; gave up after 3 tries"
    assert len(site.requests) == 3
    assert names(tmp_path) == []


def test_a_missing_file_is_asked_for_once(site: Site, tmp_path: Path) -> None:
    outcome = get_one(tmp_path, Source(f"{site.url}/none.csv", "none.csv"))
    assert outcome.reason == f"{site.url}/none.csv: HTTP 404 Not Found"
    assert len(site.requests) == 1


def test_a_web_page_is_no_file(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", b"<html>", headers={"Content-Type": "text/html; charset=utf-8"})
    assert get_one(tmp_path, source).reason == f"{source.url}: a web page, not a data file"
    assert names(tmp_path) == []


def test_a_silent_server_is_not_waited_for_long(site: Site, tmp_path: Path) -> None:
    source = site.publish("a.csv", BODY, lambda *_: time.sleep(1))
    outcome = get_one(tmp_path, source, Settings(tries=1, timeout=0.1))
    assert outcome.reason == f"{source.url}: no answer within 0.1 seconds"


def test_a_host_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    sources = [Source(f"http://nowhere.invalid/{n}.csv", f"{n}.csv") for n in range(5)]
    done = get(tmp_path, *sources, settings=Settings(parallel=1))
    reason = "there is no host nowhere.invalid; check the address and the network"
    assert done[0].reason == f"http://nowhere.invalid/0.csv: {reason}"
    assert done[4].reason == "nowhere.invalid left 3 files in a row unanswered; this one was not tried"


def test_name_look_up_that_may_work_later_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def later(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(socket, "getaddrinfo", later)
    outcome = get_one(tmp_path, Source("http://somewhere.invalid/a.csv", "a.csv"))
    assert "the name of host somewhere.invalid cannot be looked up; check the network; gave up" in outcome.reason


def test_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/a.csv"
        assert get_one(tmp_path, Source(url, "a.csv"), ONCE).reason == f"{url}: no connection (connection refused)"


def test_a_server_that_hangs_up_is_tried_again(site: Site, tmp_path: Path) -> None:
    assert get_one(tmp_path, site.publish("a.csv", BODY, lambda *_: None)).status == "fetched"


# Addresses and names


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/a", "data:,a", "/etc/passwd", ""])
def test_only_http_and_https_are_fetched(tmp_path: Path, url: str) -> None:
    assert "only http and https addresses are fetched" in get_one(tmp_path, Source(url, "a.csv")).reason


@pytest.mark.parametrize(
    "url", ["http://", "http://a:b/", "http://[::1", "http://me:secret@host/", f"http://{'a' * 70}/"]
)
def test_impossible_addresses(url: str) -> None:
    with pytest.raises(RemoteError, match="not a valid address"):
        checked_url(url)


def test_addresses_are_encoded_once() -> None:
    assert checked_url(" http://example.org:81/a b/ä%20?q=ü&x={y}#z ") == (
        "http://example.org:81/a%20b/%C3%A4%20?q=%C3%BC&x=%7By%7D"
    )
    assert checked_url("https://münchen.example") == "https://xn--mnchen-3ya.example/"
    assert checked_url("http://[::1]:80/") == "http://[::1]:80/"


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
        get(tmp_path / "to", Source("http://127.0.0.1/", name))
    assert not (tmp_path / "to").exists()


def test_two_sources_need_two_names(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"two sources would be written to A\.csv"):
        get(tmp_path, Source("http://127.0.0.1/1", "a.csv"), Source("http://127.0.0.1/2", "A.csv"))


@given(st.text())
def test_safe_names_are_safe(text: str) -> None:
    assert fetch._NAME.fullmatch(f"{safe_name(text)}_{safe_name(text)}.csv.gz")


@given(st.text(), st.text())
def test_safe_names_keep_different_ids_apart(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)


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
    with fetching([], tmp_path), pytest.raises(CorpusError, match="another mate fetch is writing to this folder"):
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
    done = get(tmp_path, *sources, settings=Settings(parallel=3, tries=1))
    assert [outcome.status for outcome in done] == ["fetched"] * 9
    assert most == [3]
    recorded = read_checksums(tmp_path / "checksums.sha256")
    assert recorded == {f"{n}.csv": sha((tmp_path / f"{n}.csv").read_bytes()) for n in range(9)}


def test_one_failure_does_not_keep_the_others(site: Site, tmp_path: Path) -> None:
    missing = Source(f"{site.url}/none", "b.csv")
    done = get(tmp_path, site.publish("a.csv"), missing, site.publish("c.csv"))
    assert [outcome.status for outcome in done] == ["fetched", "failed", "fetched"]


def test_leaving_early_leaves_parts_that_are_resumed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "PATIENCE", 0.05)
    release = threading.Event()

    def hang(handler: Handler, file: Published) -> None:
        handler.head(200, {**file.headers, "Content-Length": str(len(file.body))})
        handler.wfile.write(file.body[:5_000])
        handler.wfile.flush()
        release.wait(5)

    slow, quick = site.publish("slow.csv", BODY, hang), site.publish("quick.csv")
    watcher = Watched()
    with fetching([slow, quick], tmp_path, QUICK, watcher) as outcomes:
        assert next(outcomes).source == quick
        assert watcher.enough.wait(5)
    release.set()
    assert {"quick.csv", "slow.csv.part", ".slow.csv.part.json"} <= set(names(tmp_path))
    assert (tmp_path / "slow.csv.part").read_bytes() == BODY[:5_000]
    assert [outcome.status for outcome in get(tmp_path, slow, quick)] == ["kept", "fetched"]
    assert (tmp_path / "slow.csv").read_bytes() == BODY


class Watched:
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
        watcher = Watched()
        with fetching(sources, tmp_path, QUICK, watcher) as outcomes:
            list(outcomes)
        assert watcher.sizes == {"a.csv": len(BODY), "b.csv": 2}
        assert watcher.totals["a.csv"] == len(BODY)
        assert not watcher.open


@pytest.mark.parametrize("bad", [{"parallel": 0}, {"tries": 0}, {"backoff": -1.0}, {"timeout": 0.0}])
def test_settings_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(CorpusError, match="must be at least 1"):
        Settings(**bad)


# DWTC


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
    first, last = dwtc_sources([0, 500], expected={"dwtc-500.json.gz": "5"})
    assert first == Source(f"{DWTC_URL}/dwtc-000.json.gz", "dwtc-000.json.gz")
    assert last == Source(f"{DWTC_URL}/dwtc-500.json.gz", "dwtc-500.json.gz", "5")
    (mirrored,) = dwtc_sources([7], "http://mirror.example/dwtc/")
    assert mirrored.url == "http://mirror.example/dwtc/dwtc-007.json.gz"


# Portals


def dataset(name: str, *resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": f"id-{name}", "name": name, "title": f"Title of {name}", "resources": list(resources), **more}


def resource(id: str, format: Any = "CSV", **more: Any) -> dict[str, Any]:
    return {"id": id, "format": format, "url": f"http://127.0.0.1/{id}.csv", **more}


def portal(site: Site, *datasets: Any, most: int = 1_000) -> Search:
    """Make the site a CKAN portal that gives at most so many datasets a page."""

    def answer(handler: Handler, _: Published) -> None:
        asked = parse_qs(urlsplit(handler.path).query)
        start, rows = int(asked["start"][0]), min(most, int(asked["rows"][0]))
        page = {"count": len(datasets), "results": datasets[start : start + rows]}
        status(200, json.dumps({"success": True, "result": page}).encode())(handler, _)

    site.publish("api/3/action/package_search", b"", *[answer] * 50)
    return Search(site.url, delay=0.0)


def test_a_portal_is_read_page_by_page(site: Site) -> None:
    what = portal(site, *[dataset(f"d{n}", resource(f"r{n}"), resource(f"s{n}")) for n in range(5)])
    found = search(Search(what.url, page=2, delay=0.0), QUICK)
    assert [row.file for row in found] == [f"id-d{n}_{x}{n}.csv" for n in range(5) for x in "rs"]
    asked = [parse_qs(urlsplit(path).query) for path, _ in site.requests]
    assert [page["start"] for page in asked] == [["0"], ["2"], ["4"]]
    assert {page["rows"][0] for page in asked} == {"2"}
    assert {page["sort"][0] for page in asked} == {"name asc"}
    assert {page["q"][0] for page in asked} == {"*:*"}
    assert all('"http://publications.europa.eu/resource/authority/file-type/CSV"' in page["fq"][0] for page in asked)
    assert set(site.sent("User-Agent")) == {fetch.AGENT}


def test_a_portal_may_give_fewer_than_it_was_asked_for(site: Site) -> None:
    what = portal(site, *[dataset(f"d{n}", resource(f"r{n}")) for n in range(7)], most=3)
    assert len(search(what, QUICK)) == 7
    assert len(site.requests) == 3


def test_the_limit_counts_files_and_spares_the_portal(site: Site) -> None:
    what = portal(site, *[dataset(f"d{n}", resource(f"r{n}"), resource(f"s{n}")) for n in range(50)])
    found = search(Search(what.url, query="title:bäder", limit=3, page=2, delay=0.0), QUICK)
    assert [row.file for row in found] == ["id-d0_r0.csv", "id-d0_s0.csv", "id-d1_r1.csv"]
    (path,) = (path for path, _ in site.requests)
    assert parse_qs(urlsplit(path).query)["q"] == ["title:bäder"]


def test_pages_are_asked_for_without_haste(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    what = portal(site, *[dataset(f"d{n}", resource(f"r{n}")) for n in range(3)])
    waits: list[float] = []
    monkeypatch.setattr(threading.Event, "wait", _recording(threading.Event.wait, waits))
    search(Search(what.url, page=1, delay=0.25), QUICK)
    assert waits == [0.25, 0.25]


def test_only_csv_files_are_listed_however_it_is_spelled(site: Site) -> None:
    spelled = ["CSV", "csv", "text/csv", ".csv", "http://publications.europa.eu/resource/authority/file-type/CSV"]
    others = ["PDF", "", None, 3, "CSVW", "application/json"]
    resources = [resource(f"r{n}", format) for n, format in enumerate(spelled + others)]
    found = search(portal(site, dataset("d", *resources), "rubbish", {"resources": None}, {"resources": [1]}), QUICK)
    assert [row.file for row in found] == [f"id-d_r{n}.csv" for n in range(len(spelled))]


def test_title_licence_and_ending_come_from_the_portal(site: Site) -> None:
    free = "http://dcat-ap.de/def/licenses/dl-zero-de/2.0"
    found = search(
        portal(
            site,
            dataset("d", resource("r", license=free, name=" Bäder\n2020 "), license_id="cc-by"),
            dataset("e", resource("r"), license_id=None, license_title="CC BY"),
            dataset("f", resource("r", url="http://127.0.0.1/A.CSV.GZ?x=1.pdf"), resource("s", url="http://[")),
        ),
        QUICK,
    )
    assert found[0] == Resource("id-d_r.csv", "http://127.0.0.1/r.csv", "Title of d – Bäder 2020", free, "d")
    assert found[1].licence == "CC BY"
    assert [row.file for row in found[2:]] == ["id-f_r.csv.gz", "id-f_s.csv"]


def test_names_from_a_portal_stay_in_the_folder_and_apart(site: Site, tmp_path: Path) -> None:
    evil = {"id": "../../etc", "title": "x", "resources": [resource("/passwd"), resource("..passwd"), resource(None)]}  # type: ignore[arg-type]
    twice = dataset("d", resource("r"), resource("r"))
    found = search(portal(site, evil, twice, twice), QUICK)
    assert len({row.file for row in found}) == len(found) == 4
    assert all(fetch._NAME.fullmatch(row.file) for row in found)
    with fetching_listed(found, tmp_path / "to", ONCE) as outcomes:
        list(outcomes)
    assert names(tmp_path) == ["to"]


@pytest.mark.parametrize(
    ("url", "address"),
    [
        (GOVDATA_URL, GOVDATA_URL),
        ("https://www.govdata.de/ckan/", GOVDATA_URL),
        ("https://www.govdata.de/ckan/api/3/action", GOVDATA_URL),
        ("http://ckan.example", "http://ckan.example/api/3/action/package_search"),
    ],
)
def test_a_portal_may_be_named_in_full_or_in_short(url: str, address: str) -> None:
    assert Search(url).address == address


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (status(200, b"<html>"), "the answer is not JSON; is this the address of a CKAN portal?"),
        (status(200, b"\xff\xfe{"), "the answer is not JSON; is this the address of a CKAN portal?"),
        (status(404, b"nothing"), "HTTP 404; is this the address of a CKAN portal?"),
        (
            status(409, b'{"success": false, "error": {"message": "bad\\nquery", "__type": "Search Error"}}'),
            "CKAN refused the search: bad query",
        ),
        (status(200, b'{"success": false, "error": "closed"}'), "CKAN refused the search: closed"),
        (status(200, b'{"success": false}'), "CKAN refused the search: no reason given"),
        (status(200, b"[]"), "JSON, but not the answer of a CKAN package_search"),
        (status(200, b'{"success": true}'), "JSON, but not the answer of a CKAN package_search"),
        (
            status(200, b'{"result": {"count": "1", "results": []}}'),
            "JSON, but not the answer of a CKAN package_search",
        ),
        (status(200, b'{"result": {"count": 0, "results": []}}'), "no CSV file matches 'x'"),
        (status(200, b'{"result": {"count": 9, "results": []}}'), "no CSV file matches 'x'"),
    ],
)
def test_a_portal_in_trouble_is_one_clear_error(site: Site, answer: Fault, message: str) -> None:
    site.publish("api/3/action/package_search", b"", answer)
    what = Search(site.url, query="x", delay=0)
    with pytest.raises(CorpusError) as error:
        search(what, QUICK)
    assert str(error.value) == f"{what.address}: {message}"


def test_a_portal_that_is_down_for_a_moment(site: Site) -> None:
    what = portal(site, dataset("d", resource("r")))
    faults = site.faults["/api/3/action/package_search"]
    faults[:0] = [status(502), cut(0), status(200, b"{", Content_Length="99")]
    site.files["/api/3/action/package_search"].body = b"x"
    assert len(search(what, QUICK)) == 1
    faults[:0] = [status(502)] * 5
    with pytest.raises(CorpusError, match="HTTP 502 Bad Gateway; gave up after 5 tries"):
        search(what, QUICK)


@pytest.mark.parametrize("bad", [{"limit": 0}, {"page": 0}, {"delay": -1.0}])
def test_searches_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(CorpusError, match="must be at least"):
        Search(**bad)


def listed(site: Site, *files: str) -> list[Resource]:
    return [Resource(f"d_{name}", f"{site.url}/{name}", f'"{name}", a title', "CC0", "d") for name in files]


def books(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "sources.csv").open(encoding="utf-8", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def test_sources_csv_says_what_became_of_every_file(site: Site, tmp_path: Path) -> None:
    site.publish("a.csv")
    found = listed(site, "a.csv", "none.csv")
    with fetching_listed(found, tmp_path, QUICK) as outcomes:
        assert {row["status"] for row in books(tmp_path).values()} == {"pending"}
        assert len(list(outcomes)) == 2
    good, bad = books(tmp_path)["d_a.csv"], books(tmp_path)["d_none.csv"]
    assert good == {
        "file": "d_a.csv", "url": f"{site.url}/a.csv", "title": '"a.csv", a title', "licence": "CC0", "dataset": "d",
        "checksum": sha(BODY), "size": str(len(BODY)), "status": "fetched", "reason": "",
    }  # fmt: skip
    assert (bad["status"], bad["size"], bad["reason"]) == ("failed", "", f"{site.url}/none.csv: HTTP 404 Not Found")

    site.publish("none.csv", b"1\n")
    with fetching_listed(listed(site, "none.csv"), tmp_path, QUICK) as outcomes:
        list(outcomes)
    assert {name: row["status"] for name, row in books(tmp_path).items()} == {
        "d_a.csv": "fetched",
        "d_none.csv": "fetched",
    }


def test_sources_csv_survives_an_interruption(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.publish("a.csv")
    site.publish("b.csv", BODY, lambda *_: time.sleep(1))
    found = listed(site, "a.csv", "b.csv")
    monkeypatch.setattr(fetch, "PATIENCE", 0.05)
    with suppress(KeyboardInterrupt), fetching_listed(found, tmp_path, QUICK) as outcomes:
        next(outcomes)
        raise KeyboardInterrupt
    assert {name: row["status"] for name, row in books(tmp_path).items()} == {
        "d_a.csv": "fetched",
        "d_b.csv": "pending",
    }
    with fetching_listed(found, tmp_path, QUICK):
        assert books(tmp_path)["d_a.csv"]["status"] == "fetched"


def test_a_sources_csv_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sources.csv").write_text("id,name\n1,x\n")
    with pytest.raises(CorpusError, match=r"sources\.csv: not written by mate fetch"), fetching_listed([], tmp_path):
        pass
    assert (tmp_path / "sources.csv").read_text() == "id,name\n1,x\n"


def test_expected_checksums_hold_for_listed_files(site: Site, tmp_path: Path) -> None:
    site.publish("a.csv")
    with fetching_listed(listed(site, "a.csv"), tmp_path, QUICK, expected={"d_a.csv": sha(b"")}) as outcomes:
        assert "as expected" in next(outcomes).reason


def test_the_books_have_the_columns_that_are_documented() -> None:
    assert set(COLUMNS) >= {"url", "title", "licence", "dataset", "checksum", "size", "status"}
    assert tuple(field.name for field in fields(Resource)) == COLUMNS


def test_a_fetched_folder_is_indexed_without_the_books_and_unfinished_files(site: Site, tmp_path: Path) -> None:
    site.publish("a.csv")
    site.publish("b.csv", BODY, cut(70_000))
    with fetching_listed(listed(site, "b.csv"), tmp_path, ONCE) as outcomes:
        list(outcomes)
    assert names(tmp_path) == [".d_b.csv.part.json", "d_b.csv.part", "sources.csv"]
    with pytest.raises(CorpusError, match="no file found"):
        discover([tmp_path])
    with fetching_listed(listed(site, "a.csv"), tmp_path, ONCE) as outcomes:
        list(outcomes)
    assert names(tmp_path) == [".d_b.csv.part.json", "checksums.sha256", "d_a.csv", "d_b.csv.part", "sources.csv"]
    assert [file.path for file in discover([tmp_path])] == [str(tmp_path / "d_a.csv")]


# School, and the catalogue


def test_school_tables_are_told_by_their_columns(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.csv").write_text("SCHOOL NAME,Program_Type,n\nP.S. 1,GEN ED,3\nP.S. 2,CTT,4\n")
    (tmp_path / "sub" / "b.csv").write_text("School  Name;n\nP.S. 1;3\nP.S. 2;4\n")
    (tmp_path / "c.csv").write_text("town,n\nBonn,3\nUlm,4\n")
    (tmp_path / "notes.md").write_text("# no table")
    (tmp_path / "empty.csv").touch()
    tables = school_tables(tmp_path)
    assert [(table.path.name, table.columns, table.keys, table.complete) for table in tables] == [
        ("a.csv", 3, ("Program Type", "School Name"), True),
        ("c.csv", 2, (), False),
        ("b.csv", 2, ("School Name",), False),
    ]


def test_a_school_folder_must_hold_tables(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such folder"):
        school_tables(tmp_path / "missing")
    (tmp_path / "notes.md").write_text("# no table")
    with pytest.raises(CorpusError, match="no file here holds a table"):
        school_tables(tmp_path)


def test_the_catalogue_has_the_papers_counts() -> None:
    assert [(entry.name, entry.tables, entry.columns, entry.rows) for entry in CATALOGUE] == [
        ("dwtc", 145_000_000, 870_000_000, 1_450_000_000),
        ("govdata", 17_000, 440_000, 62_000_000),
        ("school", 335, None, None),
    ]
