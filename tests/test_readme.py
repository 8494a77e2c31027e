"""README's commands and Python run as they stand there, and print what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_commands_print_what_it_says() -> None:
    """``python docs/write_readme.py`` writes it."""
    assert len(re.findall(r"^\$ mate ", "".join(blocks("console")), re.MULTILINE)) >= 5
    assert runpy.run_path(str(ROOT / "docs" / "write_readme.py"))["page"]() == README


def test_the_tour_in_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    assert capsys.readouterr().out.splitlines()[0].startswith("72 synthetic-000028 {'country': 'Country or area'")
    assert len(names["enriched"]) == 152  # type: ignore[arg-type]


def test_every_page_that_it_names_is_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
