"""How results look on a terminal: one console, one style of table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text


def console(*, stderr: bool = False) -> Console:
    """Return the console to print to; piped output is not squeezed into 80 columns."""
    screen = Console(stderr=stderr, highlight=False)
    return screen if screen.is_terminal else Console(stderr=stderr, highlight=False, width=200)


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


def _cell(value: object) -> Text:
    """Cell contents are data, never markup."""
    if isinstance(value, float):
        return Text(f"{value:,.2f}" if abs(value) >= 0.01 or value == 0 else f"{value:.2g}")
    return Text(f"{value:,}" if isinstance(value, int) else str(value))


def _numeric(text: str) -> bool:
    """Tell numbers from text made of digits, such as keys in hexadecimal."""
    return len(text) < 20 and not text.strip("0123456789,.%+- ")
