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
from benchmarks.serve import SAMPLES
from tests.api.conftest import write_files


@pytest.mark.skipif(not available(), reason="needs /proc")
def test_users_meet_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_files(tmp_path)
    assert main(["serve", "--store", str(folder / "lake.mate"), "--users", "2", "--seconds", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"\d+ answers in 2 s, [\d.]+ per second; 0 errors", out)
    assert "/api/preview" in out
    assert len(out.splitlines()[-1].split(":")[1].split()) == SAMPLES


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
def test_a_number_of_searches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_files(tmp_path)
    main(["serve", "--store", str(folder / "lake.mate"), "--users", "2", "--searches", "30"])
    searches = re.search(r"/api/search +(\d+)", capsys.readouterr().out)
    assert searches is not None
    assert 30 <= int(searches[1]) <= 31


def test_memory_that_grows() -> None:
    assert serve.is_steady([100, 104, 102, 110, 101, 103])
    assert not serve.is_steady([100, 100, 103, 104, 106, 108])
