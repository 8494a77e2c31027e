"""How results look on a terminal: one console, one style of table, and no control character that comes from data."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mate.display import is_control, visible

PIPE_WIDTH = 200


def console(*, stderr: bool = False) -> Console:
    """Return the console to print to; piped output is not squeezed into 80 columns, unless COLUMNS asks for it."""
    screen = Console(stderr=stderr, highlight=False)
    if screen.is_terminal or os.environ.get("COLUMNS", "").isdecimal():
        return screen
    return Console(stderr=stderr, highlight=False, width=PIPE_WIDTH)


def say(text: str) -> None:
    """Print a line that may hold names and paths; lines that are ours stay lines."""
    shown = "\n".join(map(visible, text.split("\n")))
    console().print(Text(shown), soft_wrap=True)


def show(shown: Table) -> None:
    """Print a table."""
    console().print(shown)


def print_json(record: object) -> None:
    """Print plain data as JSON; control characters are escaped, also those that JSON would let through."""
    text = json.dumps(record, ensure_ascii=False, indent=1)
    if not text.isascii() or "\x7f" in text:
        text = "".join(f"\\u{ord(c):04x}" if _escaped(c) else c for c in text)
    sys.stdout.write(f"{text}\n")


def _escaped(character: str) -> bool:
    """Tell what to escape; JSON's own line breaks stay, and what has no short escape is left to the reader's font."""
    return character != "\n" and is_control(character) and ord(character) <= 0xFFFF


class Complaints(logging.Handler):
    """Prints warnings of the library as errors are printed."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning."""
        sys.stderr.write(f"mate: {visible(record.getMessage())}\n")


def table(header: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> Table:
    """Return a plain table; cells that look like numbers stand to the right."""
    body = [[_cell(value) for value in row] for row in rows]
    result = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(header):
        numeric = bool(body) and all(_numeric(row[i].plain) for row in body)
        result.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in body:
        result.add_row(*row)
    return result


def show_records(header: Sequence[str], rows: Sequence[Sequence[object]], notes: Sequence[str]) -> None:
    """Print rows for a narrow terminal, each with a note on a line of its own; the last column takes what is left."""
    cells = [[_cell(value).plain for value in row] for row in rows]
    heads = [name.split("\n") for name in header]
    lines = max(map(len, heads))
    tops = [[""] * (lines - len(name)) + name for name in heads]
    widths = [max(map(cell_len, column)) for column in zip(*cells, *zip(*tops, strict=True), strict=True)]
    left = sum(widths[:-1]) + 2 * (len(widths) - 1)
    for line in zip(*tops, strict=True):
        say(_aligned(line, widths))
    say("─" * min(console().width, left + widths[-1]))
    for row, note in zip(cells, notes, strict=True):
        say(_aligned(row, widths))
        console().print(Padding(Text(visible(note)), (0, 0, 0, widths[0] + 2), expand=False))


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return a line of cells, all to the right but the last."""
    padded = [" " * (width - cell_len(cell)) + cell for cell, width in zip(cells[:-1], widths, strict=False)]
    return "  ".join([*padded, cells[-1]])


def _cell(value: object) -> Text:
    """Cell contents are data: never markup, never sent to the terminal as they are."""
    if isinstance(value, Text):
        return value
    if isinstance(value, float):
        return Text(f"{value:,.2f}" if abs(value) >= 0.01 or value == 0 else f"{value:.2g}")
    return Text(f"{value:,}" if isinstance(value, int) else visible(str(value)))


def _numeric(text: str) -> bool:
    """Tell numbers from text made of digits, such as keys in hexadecimal."""
    return len(text) < 20 and not text.strip("0123456789,.%+- ×")
