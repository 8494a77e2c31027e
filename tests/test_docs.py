"""The documentation's code runs."""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import mate
from mate.cli.program import main
from tests.api.conftest import write_files

DOCS = Path(__file__).parent.parent / "docs"


def test_the_index_names_every_page() -> None:
    named = set(re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / "README.md").read_text(encoding="utf-8")))
    assert named == {path.name for path in DOCS.glob("*.md")} - {"README.md"}


def test_the_example_of_an_added_hash_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (DOCS / "hashes.md").read_text(encoding="utf-8"), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[[")


def test_the_join_by_chance_is_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    text = (DOCS / "evidence.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (console,) = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    exec(compile(example, "evidence.md", "exec"), {})
    index, search, *printed = console.splitlines()
    for command in (index, search):
        capsys.readouterr()
        assert main(shlex.split(command.removeprefix("$ mate "))) == 0
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == printed
    assert sum("  chance  " in line and "batting" in line for line in printed) == 1


def test_the_reference_is_that_of_the_code() -> None:
    """``python docs/write_api.py`` writes it."""
    expected: str = runpy.run_path(str(DOCS / "write_api.py"))["page"]()
    assert (DOCS / "api.md").read_text(encoding="utf-8") == expected
    assert all(f"mate.{name}" in expected for name in mate.__all__)


def test_the_beginning_of_the_api_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", (DOCS / "api.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, "api.md", "exec"), names)
    assert len(names["enriched"]) == 6  # type: ignore[arg-type]


def test_the_commands_are_those_of_the_packaged_records() -> None:
    """``python docs/write_commands.py`` writes them."""
    written: str = runpy.run_path(str(DOCS / "write_commands.py"))["page"]()
    assert (DOCS / "experiments.md").read_text(encoding="utf-8") == written


def test_the_tree_is_that_of_the_code() -> None:
    """``python docs/write_tree.py`` writes it; lines may have come and gone since."""
    written = runpy.run_path(str(DOCS / "write_tree.py"))
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    shown = page.partition(written["BEGIN"])[2].partition(written["END"])[0].strip()
    assert re.sub(r"\| [\d,]+ \|", "|  |", shown) == written["tree"](counts=False)
    for path in set(re.findall(r"`((?:\w+/)+[a-z_0-9]+\.pyx?)`", page)):
        assert (DOCS.parent / path).exists() or (DOCS.parent / "mate" / path).exists(), path
