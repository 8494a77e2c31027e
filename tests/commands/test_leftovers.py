"""What nobody has foreseen is one line: no traceback, no password, no control character."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mate.cli import program
from mate.cli.program import TRACEBACK, main
from mate.termination import terminated_like_interrupted
from tests.commands.conftest import Run, assert_refused


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(27, "File too large", "big.mate/x"), "big.mate/x: File too large"),
        (OSError(27, "File too large"), "File too large"),
        (MemoryError("malloc of size 64 failed"), "there is not enough memory for this"),
        (RuntimeError("Failed to launch worker thread"), "there is not enough memory for this"),
        (ImportError("libgomp.so: failed to map segment from shared object"), "there is not enough memory for this"),
        (UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates"), "a name that was given is not valid UTF-8"),
        (
            KeyError("\x1b[2J\nx"),
            "this should not have happened (KeyError: '\\x1b[2J\\nx'); MATE_TRACEBACK=1 shows where",
        ),
    ],
)
def test_every_error_is_one_line(monkeypatch: pytest.MonkeyPatch, run: Run, error: Exception, line: str) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr("mate.cli.changes._run_compact", fail)
    assert run("compact", "--store", "x") == (2, "", f"mate: {line}\n")
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(type(error)):
        main(["compact", "--store", "x"])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "arguments",
    [["index", "lake", "--store", "st\udcff.mate"], ["remove", "--store", "lake.mate", "--table", "\udcff"]],
)
def test_names_that_are_no_text(run: Run, arguments: list[str]) -> None:
    code, _, err = run(*arguments)
    assert code in (0, 2)
    assert err.count("\n") <= 1
    assert "should not have happened" not in err


def test_control_characters_that_were_typed_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["\x1b[2J"], ["search", "--store", "x", "q", "--\x1b[2J"]):
        with pytest.raises(SystemExit):
            main(arguments)
        err = capsys.readouterr().err
        assert "\x1b" not in err
        assert "[2J" in err


@pytest.mark.parametrize(
    "address",
    [
        " vertica://u:geheim@h/d",
        "\tpostgresql://u:geheim@h/d",
        "jdbc:vertica://u:geheim@h/d",
        "//u:geheim@h/d",
        " mysql://u:geheim@h",
        "1x://u:geheim@h",
        "Vertica://u:geheim@h/d",
        "VERTICA://u:geheim@h:x/d",
    ],
)
@pytest.mark.parametrize("command", ["search sensors.csv --key city", "index lake", "stats", "check", "sync lake"])
def test_no_password_is_repeated(folder: Path, run: Run, address: str, command: str) -> None:
    before = sorted(folder.iterdir())
    found = run(*command.split(), "--store", address)
    assert_refused(found, "")
    assert "geheim" not in found[2]
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_whoever_is_asked_to_end_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, run: Run, number: signal.Signals
) -> None:
    before = signal.signal(number, signal.SIG_DFL)
    try:
        monkeypatch.setattr("mate.cli.changes._run_compact", lambda _: os.kill(os.getpid(), number))
        assert run("compact", "--store", "x") == (130, "", "mate: interrupted\n")
        assert signal.getsignal(number) is signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN)  # as nohup does
        with terminated_like_interrupted():
            assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_too_little_memory_is_said_at_the_start() -> None:
    code = (
        "import resource, sys; from mate.cli.program import command\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({program.LEAST_MEMORY - 1}, resource.RLIM_INFINITY))\n"
        "sys.argv = ['mate', 'hashes']; sys.exit(command())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mate: this process may use 999 MB of memory (ulimit -v); mate needs 1,000 MB\n"
