"""The benchmark of the page, with two users for a moment."""

import os
import re
import socket
import socketserver
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest

from benchmarks import serve
from benchmarks.__main__ import main
from benchmarks.memory import available
from tests.api.conftest import write_files


@pytest.mark.skipif(not available(), reason="needs /proc")
def test_users_meet_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_files(tmp_path)
    assert main(["serve", "--store", str(folder / "lake.mate"), "--users", "2", "--seconds", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"\d+ answers in 2 s, [\d.]+ per second; 0 errors", out)
    assert "/api/preview" in out
    assert "/api/suggest" in out
    steps = ["start", *(f"{tenth}0%" for tenth in range(1, 10)), "end"]
    assert re.findall(r"([\w%]+) \d+(?:,|$)", out.splitlines()[-1]) == steps


def test_errors_are_counted_and_end_the_benchmark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), Broken) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(serve, "_served", lambda _: nullcontext((server.server_address[1], os.getpid())))
        assert main(["serve", "--store", "nothing", "--users", "1", "--searches", "9"]) == 1
        server.shutdown()
    out = capsys.readouterr().out
    assert "/api/tables: 500: 50" in out
    assert "/api/tables: RemoteDisconnected: 50" in out
    assert "100 errors" in out


@pytest.mark.skipif(not available(), reason="needs /proc")
def test_it_ends_on_time_whatever_is_still_open(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = socket.create_server(("127.0.0.1", 0))  # takes connections, and never answers
    monkeypatch.setattr(serve, "_served", lambda _: nullcontext((silent.getsockname()[1], os.getpid())))
    with silent:
        assert main(["serve", "--store", "nothing", "--users", "3", "--seconds", "0.3"]) == 1
    out = capsys.readouterr().out
    assert "0 answers in 0 s" in out
    assert "3 questions still open at the end" in out


def test_waiting_is_what_the_server_says() -> None:
    assert serve.waiting("wait;dur=12.5, work;dur=3.0") == 12.5
    assert serve.waiting("") == 0


class Broken(socketserver.StreamRequestHandler):
    """Answers every second request with an error, and the others with nothing."""

    asked = 0

    def handle(self) -> None:
        for line in iter(self.rfile.readline, b""):
            if line.strip():
                continue
            type(self).asked += 1
            if self.asked % 2 == 0:
                return
            self.wfile.write(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.skipif(not available(), reason="needs /proc")
def test_a_number_of_searches_and_no_suggestion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_files(tmp_path)
    main(["serve", "--store", str(folder / "lake.mate"), "--users", "2", "--searches", "30"])
    out = capsys.readouterr().out
    searches = re.search(r"/api/search +(\d+)", out)
    assert searches is not None
    assert 30 <= int(searches[1]) <= 31
    assert "/api/suggest" not in out
    assert re.match(r"memory (is steady|grows): the last 3 tenths have", out.splitlines()[-1])


def test_memory_that_grows() -> None:
    assert serve.growth_of([10, 50, 100, 104, 102, 0, 0, 0, 110, 101, 103]) < serve.GROWTH
    assert serve.growth_of([10, 100, 100, 100, 103, 0, 0, 0, 106, 106, 108]) > serve.GROWTH


def test_a_key_has_columns_with_values() -> None:
    columns = [{"name": name, "distinct": distinct} for name, distinct in (("a", 0), ("b", 2), ("c", 1), ("d", 3))]
    assert serve.first_columns(columns) == ["b", "c"]
    assert serve.first_columns(columns[:1]) == ["a"]
