"""Output on a terminal: one style of table, progress bars, JSON, and no control character from data.

Rich is imported when something is printed, so that help answers at once.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Self

from mate.display import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPE_WIDTH = 200


def console(*, stderr: bool = False) -> Console:
    """Return the console; output to a pipe is not squeezed into 80 columns, unless COLUMNS asks for it."""
    from rich.console import Console

    screen = Console(stderr=stderr, highlight=False)
    if screen.is_terminal or os.environ.get("COLUMNS", "").isdecimal():
        return screen
    return Console(stderr=stderr, highlight=False, width=PIPE_WIDTH)


def say(text: str) -> None:
    """Print text that may contain names and paths: its line breaks stay, other control characters are shown."""
    shown = "\n".join(map(visible, text.split("\n")))
    console().print(shown, soft_wrap=True, markup=False, emoji=False)


def show(shown: Table) -> None:
    """Print a table."""
    console().print(shown)


def print_json(record: object) -> None:
    """Print plain data as JSON; everything but ASCII is escaped, and so are all control characters."""
    sys.stdout.write(json.dumps(record, indent=1).replace("\x7f", "\\u007f") + "\n")


def table(header: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> Table:
    """Return a plain table; columns of numbers are aligned to the right. Without a name, columns have no head."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    body = [[_cell(value) for value in row] for row in rows]
    result = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, show_header=any(header))
    for i, name in enumerate(header):
        numeric = bool(body) and all(_is_numeric(row[i]) for row in body)
        result.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in body:
        result.add_row(*map(Text, row))
    return result


def show_records(header: Sequence[str], rows: Sequence[Sequence[object]], notes: Sequence[str]) -> None:
    """Print rows for a narrow terminal, each with a note on a line of its own; the last column may be of any width."""
    from rich.cells import cell_len
    from rich.padding import Padding
    from rich.text import Text

    cells = [[_cell(value) for value in row] for row in rows]
    heads = list(zip(*(f"\n{name}".split("\n")[-2:] for name in header), strict=True))
    widths = [max(map(cell_len, column)) for column in zip(*heads, *cells, strict=True)]

    def aligned(cells: Sequence[str]) -> str:
        padded = [" " * (width - cell_len(cell)) + cell for cell, width in zip(cells[:-1], widths, strict=False)]
        return "  ".join([*padded, cells[-1]])

    say("\n".join(map(aligned, heads)))
    say("─" * min(console().width, sum(widths) + 2 * (len(widths) - 1)))
    for row, note in zip(cells, notes, strict=True):
        say(aligned(row))
        console().print(Padding(Text(visible(note)), (0, 0, 0, widths[0] + 2), expand=False))


def _cell(value: object) -> str:
    """Return the text of a cell; data is never sent to the terminal as it is."""
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) >= 0.01 or value == 0 else f"{value:.2g}"
    return f"{value:,}" if isinstance(value, int) else visible(str(value))


def _is_numeric(text: str) -> bool:
    """Return whether a cell is a number, not text made of digits, such as a key in hexadecimal."""
    return len(text) < 20 and not text.strip("0123456789,.%+- ×")


class ProgressBar:
    """Shows the progress of a build or change on standard error: on a terminal, not in a pipe."""

    def __init__(self, first_phase: str = "begin") -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            TextColumn("{task.description:18}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[counts]}"),
            TimeElapsedColumn(),
            console=console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task(first_phase, total=None, counts="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def start(self, phase: str, total: int) -> None:
        """Start a phase."""
        self._progress.reset(self._task, total=total, description=phase, counts="")

    def update(self, done: int, **counts: int) -> None:
        """Show how much is done, and the rate."""
        text = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        if counts.get("cells"):
            seconds = max(self._progress.tasks[0].elapsed or 0, 1e-3)
            text += f" ({counts['cells'] / seconds / 1e3:,.0f} k/s)"
        self._progress.update(self._task, completed=done, counts=text)
