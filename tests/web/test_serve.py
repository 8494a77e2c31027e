"""The command `mate serve`."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from mate.cli.program import main
from tests.web.serving import served


def fetch(address: str, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_serves_this_machine(web_folder: Path) -> None:
    with served(web_folder) as address:
        assert address.startswith("http://127.0.0.1:")
        assert "<title>MATE</title>" in fetch(address)[1]
        assert fetch(f"{address}api/lake")[0] == 200
        assert fetch(f"{address}api/lake", Host="evil.example")[0] == 403


def test_serves_others_with_a_token(web_folder: Path) -> None:
    with served(web_folder, "--host", "0.0.0.0") as printed:
        address, _, token = printed.partition("#token=")
        assert len(token) >= 32
        assert fetch(f"{address}api/lake")[0] == 403
        assert fetch(f"{address}api/lake", Authorization=f"Bearer {token}")[0] == 200


@pytest.mark.parametrize(
    ("options", "terminal", "display", "opened"),
    [([], True, ":0", 1), ([], True, "", 0), ([], False, ":0", 0), (["--no-open"], True, ":0", 0)],
)
def test_the_browser_is_opened_on_a_desktop(
    web_folder: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], terminal: bool, display: str, opened: int
) -> None:
    seen: list[str] = []
    monkeypatch.setattr("webbrowser.open", seen.append)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("mate.web.app.serve", lambda _, address, ready: ready(address))
    assert main(["serve", "--store", str(web_folder / "lake.mate"), *options]) == 0
    assert seen == ["http://127.0.0.1:8765/"] * opened


def test_errors_are_one_line(web_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--store", str(web_folder / "nothing.mate")]) == 2
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--store", str(web_folder / "lake.mate"), "--port", port]) == 2
    assert main(["serve", "--store", str(web_folder / "lake.mate"), "--port", "70000"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[1] == f"mate: cannot listen on 127.0.0.1:{port}: Address already in use"
