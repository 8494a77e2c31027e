"""Runs the shell sessions of README.md and writes what their commands print: python docs/write_readme.py

A test holds the file to what this writes. A command that prints nothing there is run, and its output left out.
"""

from __future__ import annotations

import io
import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path

from mate.cli.program import main

PAGE = Path(__file__).parent.parent / "README.md"
BEGIN, END = "```console", "```"
WIDTH = "110"
"""Columns of the terminal that README shows."""


def page() -> str:
    """Return README with what its commands print now, in a new folder."""
    before, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), WIDTH
    try:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            return "\n".join(_lines(PAGE.read_text(encoding="utf-8").split("\n")))
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before


def _lines(lines: list[str]) -> Iterator[str]:
    inside = False
    for place, line in enumerate(lines):
        inside = (inside or line == BEGIN) and line != END
        if not inside or line == BEGIN:
            yield line
        elif line.startswith("$ "):
            yield line
            printed = _run(line.removeprefix("$ "))
            if lines[place + 1] != END and not lines[place + 1].startswith("$ "):
                yield from printed


def _run(command: str) -> list[str]:
    program, *arguments = shlex.split(command)
    with redirect_stdout(io.StringIO()) as out:
        if program != "mate" or main(arguments):
            raise SystemExit(f"README: {command} failed")
    return [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
