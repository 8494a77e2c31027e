"""`python -m experiments fetch` as a person meets it, against a web server on this machine."""

from __future__ import annotations

import argparse
import functools
import gzip
import hashlib
import http.server
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.__main__ import main
from experiments.corpora import command
from experiments.corpora.bars import DownloadBars
from mate.errors import MateError

SHARD = gzip.compress(b'{"relation": [["a", "1"]]}\n' * 500)


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m experiments")
    command.add(root.add_subparsers(required=True))
    return root


def run(*arguments: str | Path) -> int:
    options = parser().parse_args(list(map(str, arguments)))
    code: int = options.run(options)
    return code


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Be quiet."""


class Site:
    """A folder on the web; CKAN's answer is a file in it as well."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
        )
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def portal(self, *names: str) -> None:
        resources = [{"id": name, "format": "CSV", "url": f"{self.url}/{name}.csv", "license": "CC0"} for name in names]
        packages = {"count": 1, "results": [{"id": "d", "name": "bäder", "title": "Bäder", "resources": resources}]}
        path = self.folder / "api/3/action/package_search"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"success": True, "result": packages}))


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("NO_PROXY", "*")
    site = Site(tmp_path_factory.mktemp("site"))
    threading.Thread(target=site.server.serve_forever, args=(0.01,), daemon=True).start()
    yield site
    site.server.shutdown()
    site.server.server_close()


def test_help_needs_no_heavy_import() -> None:
    script = (
        "import argparse, sys; from experiments.corpora import command;"
        "root = argparse.ArgumentParser(); command.add(root.add_subparsers()); root.format_help();"
        "sys.exit(sum(name in sys.modules for name in ('numpy', 'pyarrow', 'rich', 'urllib.request')))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("arguments", [("fetch", "list"), ("fetch", "--list"), ("fetch",)])
def test_the_list_has_all_that_a_reader_needs(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert run(*arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    for fact in (
        "145,000,000 tables, 870,000,000 columns, 1,450,000,000 rows",
        "17,000 tables, 440,000 columns, 62,000,000 rows",
        "335 tables",
        "no public download address",
        "python -m experiments fetch dwtc --shards 0-9 --to DIR",
        "python -m experiments fetch govdata --to DIR --limit 500",
        "mate index DIR --store lake.mate",
        "licence",
    ):
        assert fact in out


def test_the_examples_of_the_help_are_understood() -> None:
    pages = (command.EPILOG, command.DWTC_EPILOG, command.GOVDATA_EPILOG)
    start = "  python -m experiments "
    lines = [line for page in pages for line in page.splitlines() if line.startswith(start)]
    assert len(lines) >= 10
    for line in lines:
        example = line.removeprefix(start).split("   ")[0].replace('"', "")
        parser().parse_args(example.split())


def test_shards_are_fetched_then_kept(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (0, 1, 17):
        (site.folder / f"dwtc-{number:03}.json.gz").write_bytes(SHARD)
    arguments = ("fetch", "dwtc", "--shards", "0-1,17", "--to", tmp_path, "--base-url", site.url, "--test")
    assert run(*arguments) == 0
    assert capsys.readouterr().out.split(": ", 1)[1].startswith("3 shards fetched (")
    assert (tmp_path / "dwtc-017.json.gz").read_bytes() == SHARD
    assert run(*arguments) == 0
    assert capsys.readouterr().out == f"{tmp_path}: 0 shards fetched (0 bytes), 3 already there, 0 failed\n"


def test_a_failed_shard_is_an_error_but_the_others_arrive(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site.folder / "dwtc-002.json.gz").write_bytes(SHARD)
    with pytest.raises(MateError) as error:
        run("fetch", "dwtc", "--shards", "1-3", "--to", tmp_path, "--base-url", site.url)
    first = f"{site.url}/dwtc-001.json.gz: HTTP 404 File not found"
    assert str(error.value) == f"2 of 3 shards failed, the first with {first}"
    out, err = capsys.readouterr()
    assert "1 shards fetched" in out
    assert f"dwtc-001.json.gz: {first}\n" in err
    assert (tmp_path / "dwtc-002.json.gz").exists()


def test_expected_checksums(site: Site, tmp_path: Path) -> None:
    (site.folder / "dwtc-000.json.gz").write_bytes(SHARD)
    expected = tmp_path / "expected"
    arguments = ("fetch", "dwtc", "--shards", "0", "--base-url", site.url, "--checksums", expected)
    expected.write_text(f"{hashlib.sha256(SHARD).hexdigest()}  dwtc-000.json.gz\n")
    assert run(*arguments, "--to", tmp_path / "good") == 0
    expected.write_text(f"{'0' * 64}  dwtc-000.json.gz\n")
    with pytest.raises(MateError, match="as expected"):
        run(*arguments, "--to", tmp_path / "bad")


def test_a_portal_with_some_dead_addresses(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site.portal("a", "b", "dead")
    for name in "ab":
        (site.folder / f"{name}.csv").write_text("id,town\n1,Bonn\n")
    arguments = ("fetch", "govdata", "--to", tmp_path, "--base-url", site.url, "--delay", "0")
    assert run(*arguments) == 0
    out, err = capsys.readouterr()
    assert out == f"{tmp_path}: 2 files fetched (30 bytes), 0 already there, 1 failed\n"
    assert f"asking {site.url}/api/3/action/package_search" in err
    assert f"d_dead.csv: {site.url}/dead.csv: HTTP 404" in err
    sources = (tmp_path / "sources.csv").read_text(encoding="utf-8")
    assert sources.splitlines()[0] == "file,url,title,licence,dataset,checksum,size,status,reason"
    assert f"d_a.csv,{site.url}/a.csv,Bäder,CC0,bäder," in sources

    assert run(*arguments, "--strict") == 1
    assert run(*arguments, "--strict", "--limit", "2") == 0


def test_a_portal_with_nothing_but_dead_addresses(site: Site, tmp_path: Path) -> None:
    site.portal("dead", "gone")
    with pytest.raises(MateError, match=r"nothing was fetched, .*sources\.csv says why; the first: http.*HTTP 404"):
        run("fetch", "govdata", "--to", tmp_path, "--base-url", site.url)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dwtc", "--shards", "x", "--to", "to"], "shards are given as numbers"),
        (["dwtc", "--shards", "0", "--to", "to", "--base-url", "file:///tmp"], "only http and https"),
        (["dwtc", "--shards", "0", "--to", "to", "--parallel", "0"], "must be at least 1"),
        (["dwtc", "--shards", "0", "--to", "to", "--checksums", "missing"], "missing: No such file"),
        (["govdata", "--to", "to", "--limit", "0"], "limit and page must be at least 1"),
        (["govdata", "--to", "to", "--base-url", "ftp://x"], "only http and https"),
        (["school"], r"has no public download address.*python -m experiments fetch school --from DIR"),
        (["school", "--from", "missing"], "missing: no such folder"),
    ],
)
def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MateError, match=message) as error:
        run("fetch", *arguments)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "to").exists()


def test_an_error_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", "dwtc", "--shards", "501", "--to", "to"]) == 2
    assert capsys.readouterr() == ("", "experiments: there is no shard 501: they are numbered 0 to 500\n")


def test_fetch_needs_none_of_the_baselines() -> None:
    script = (
        "import sys; sys.modules.update(dict.fromkeys(('mmh3', 'cityhash', 'simhash', 'matplotlib')));"
        "from experiments.__main__ import main; sys.exit(main(['fetch']))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False, capture_output=True).returncode == 0


def test_school_says_which_files_will_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "town.csv").write_text("town,n\nBonn,3\nUlm,4\n")
    assert run("fetch", "school", "--from", tmp_path) == 1
    (tmp_path / "size.csv").write_text("SCHOOL NAME,PROGRAM TYPE,n\nP.S. 1,GEN ED,3\nP.S. 2,CTT,4\n")
    capsys.readouterr()
    assert run("fetch", "school", "--from", tmp_path) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["size.csv", "3", "yes", "yes"] in rows
    assert ["town.csv", "2"] in rows
    assert rows[-1][:6] == ["2", "tables,", "1", "with", "both", "Program"]


def test_the_bars_count_files_and_bytes() -> None:
    screen = DownloadBars(4)
    with screen:
        screen.started("a", 10, 100)
        screen.received("a", 90)
        screen.started("b", 0, None)
        screen.received("b", 5)
        screen.started("b", 0, 300)  # tried again
        whole = screen._bars.tasks[0]
        assert (whole.completed, whole.total) == (95, 800)
        assert [task.description for task in screen._bars.tasks] == ["0 of 4 files", "a", "b"]
        assert [task.completed for task in screen._bars.tasks] == [95, 100, 0]
        screen.ended("a")
        screen.ended("never started")
    assert [task.description for task in screen._bars.tasks] == ["0 of 4 files", "b"]


def test_ctrl_c_leaves_at_once_and_the_next_run_goes_on(site: Site, tmp_path: Path) -> None:
    ranges: list[str | None] = []

    class Stuck(http.server.BaseHTTPRequestHandler):
        """Sends the first bytes of the shard, then nothing; asked for the rest, the rest."""

        def do_GET(self) -> None:
            ranges.append(self.headers.get("Range"))
            start = 40 if ranges[-1] else 0
            self.send_response(206 if start else 200)
            self.send_header("ETag", '"1"')
            self.send_header("Content-Length", str(len(SHARD) - start))
            self.send_header("Content-Range", f"bytes {start}-{len(SHARD) - 1}/{len(SHARD)}")
            self.end_headers()
            self.wfile.write(SHARD[start:] if start else SHARD[:40])
            self.wfile.flush()
            if not start:
                time.sleep(20)

        def log_message(self, format: str, *args: Any) -> None:
            """Be quiet."""

    site.server.RequestHandlerClass = Stuck
    site.server.daemon_threads = True
    site.server.block_on_close = False
    arguments = ["fetch", "dwtc", "--shards", "0", "--to", str(tmp_path), "--base-url", site.url]
    process = subprocess.Popen([sys.executable, "-m", "experiments", *arguments], stderr=subprocess.PIPE)
    part = tmp_path / "dwtc-000.json.gz.part"
    deadline = time.monotonic() + 20
    while not (part.exists() and part.stat().st_size == 40) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=15)
    assert (process.returncode, said) == (130, b"experiments: interrupted\n")
    assert part.read_bytes() == SHARD[:40]

    assert run(*arguments) == 0
    assert ranges == [None, "bytes=40-"]
    assert (tmp_path / "dwtc-000.json.gz").read_bytes() == SHARD
