"""Control characters in names, headers and file names are shown, never sent to the terminal."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.display import fan_out_text, times_text, visible
from tests.commands.conftest import Run

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202e"
STORE = ["--store", f"x{ESCAPE}.mate"]


@given(st.text(st.characters()))
def test_nothing_that_controls_is_left(text: str) -> None:
    shown = visible(text)
    kept = {"\u200c", "\u200d"}
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in kept]
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Köln – 東京 👩‍🚀", "Köln – 東京 👩‍🚀"),
        ("\x1b[31mred", "␛[31mred"),
        ("two\nlines\ttab\x7f", "two␊lines␉tab␡"),
        ("\x9b2J", "\\u009b2J"),
        ("evil\u202etxt.exe", "evil\\u202etxt.exe"),
        ("caf\udce9", "caf\\udce9"),
    ],
)
def test_how_they_are_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()
    (tmp_path / f"lake/evil{ESCAPE}.csv").write_text(f"city{ESCAPE},day{ESCAPE}\nBonn{ESCAPE},1\nUlm,2\nUlm,2,3\n")
    (tmp_path / f"query{ESCAPE}.csv").write_text(f"a{ESCAPE},b\nUlm,2\nBonn{ESCAPE},1\nBonn,1,2\n")
    assert "owned" in without_controls(run("index", "lake", *STORE))
    return tmp_path


def without_controls(printed: tuple[int, str, str]) -> str:
    """Return what a command printed, which controls no terminal."""
    _, out, err = printed
    assert not [c for c in out + err if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs")], out + err
    return out + err


QUERY = f"query{ESCAPE}.csv"
KEY = ["--key", f"a{ESCAPE}", "--key", "b"]
COMMANDS = [
    ["search", QUERY, *KEY],
    ["search", QUERY, *KEY, "--json"],
    ["search", QUERY, *KEY, "--explain", "--system", "mate", "--initial-column", f"a{ESCAPE}"],
    ["search", QUERY, "--key", "none"],
    ["suggest", QUERY],
    ["suggest", QUERY, "--json"],
    ["join", QUERY, *KEY, "--table", "0", "-o", f"out{ESCAPE}.csv"],
    ["stats"],
    ["stats", "--tables"],
    ["stats", "--sources"],
    ["stats", "--rejects"],
    ["stats", "--rejects", "--json"],
    ["update", "--table", "0", "--row", "1", "--column", "none", "--value", "x"],
    ["remove", "--table", "0", "--row", "1"],
    ["sync", "lake", "--dry-run", "--json"],
    ["compact"],
    ["check"],
    ["remove", "--table", "0"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command)[:12].encode().hex())
def test_commands_send_none(folder: Path, run: Run, command: list[str]) -> None:
    next((folder / "lake").iterdir()).with_name(f"new{ESCAPE}.csv").write_text("a\nb\n")
    assert "owned" in without_controls(run(*command, *STORE))


@pytest.mark.usefixtures("folder")
def test_json_keeps_what_it_shows(run: Run) -> None:
    [table] = json.loads(run("stats", "--tables", "--json", *STORE)[1])
    assert table["name"] == f"evil{ESCAPE}"


@pytest.mark.parametrize(
    ("mean", "most", "shown"),
    [(1.0, 1, "1"), (56.0, 56, "56"), (1.75, 9, "1.8 (max 9)"), (2000.5, 4000, "2,000.5 (max 4,000)")],
)
def test_rows_per_match(mean: float, most: int, shown: str) -> None:
    assert fan_out_text(mean, most) == shown


@pytest.mark.parametrize(
    ("joinability", "chance", "shown"), [(12, 5.0, "2.4×"), (1000, 2.0, "500×"), (5000, 1.25, "4,000×"), (7, 0.0, "")]
)
def test_times_of_chance(joinability: int, chance: float, shown: str) -> None:
    assert times_text(joinability, chance) == shown
