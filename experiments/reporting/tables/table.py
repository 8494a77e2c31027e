"""A table in the paper's shape, and how it is written: Markdown, CSV, HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pandas as pd

BEST = "**"
"""Around a cell that is the best of its row."""


@dataclass(frozen=True)
class Table:
    """A table as people read it, and the numbers behind it."""

    name: str
    """Its file, without the ending."""
    title: str
    header: tuple[tuple[str, str], ...]
    """One pair a column: the group it belongs to, and its own name; groups of neighbours are written once."""
    rows: tuple[tuple[str, ...], ...]
    numbers: pd.DataFrame
    """Everything in long form, unrounded."""
    notes: tuple[str, ...] = ()
    left: int = 2
    """So many columns at the beginning are names, not numbers."""
    minor: bool = False
    """Whether it is a detail, folded away on the page."""
    texts: tuple[int, ...] = ()
    """Columns of running text, which may be wrapped."""

    @property
    def in_paper(self) -> bool:
        """Whether it has the paper's layout."""
        return self.name.startswith("table") and any(note.startswith("Ours") for note in self.notes)

    @property
    def flat(self) -> list[str]:
        """Return the header in one line."""
        return [f"{group} {name}".strip() for group, name in self.header]

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [f"**{self.title}**", "", _line(self.flat)]
        lines.append("|" + "|".join("---" if i < self.left else "---:" for i in range(len(self.header))) + "|")
        lines += [_line(row) for row in self.rows]
        lines += ["", *(f"{note}  " for note in self.notes)] if self.notes else []
        return "\n".join(lines).rstrip() + "\n"

    def write(self, folder: Path) -> list[Path]:
        """Write NAME.md and NAME.csv in the paper's shape, and NAME-numbers.csv; return the files."""
        folder.mkdir(parents=True, exist_ok=True)
        text, shape, numbers = (folder / f"{self.name}{end}" for end in (".md", ".csv", "-numbers.csv"))
        text.write_text(self.markdown(), encoding="utf-8")
        plain = [[cell.replace(BEST, "") for cell in row] for row in self.rows]
        pd.DataFrame(plain, columns=self.flat).to_csv(shape, index=False)
        self.numbers.to_csv(numbers, index=False)
        return [text, shape, numbers]

    def latex(self) -> str:
        """Return the table in LaTeX (booktabs), as the paper has its tables."""
        groups = [(group, len(list(own))) for group, own in groupby(self.header, key=lambda pair: pair[0])]
        lines = [" & ".join(rf"\multicolumn{{{n}}}{{c}}{{{_latex(group)}}}" for group, n in groups) + r" \\"]
        lines.append(" & ".join(_latex(name) for _, name in self.header) + r" \\ \midrule")
        lines += [" & ".join(map(_latex, row)) + r" \\" for row in self.rows]
        columns = "l" * self.left + "r" * (len(self.header) - self.left)
        begin = [r"\begin{table*}", rf"\caption{{{_latex(self.title)}. {_latex(' '.join(self.notes))}}}"]
        inner = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"]
        return "\n".join([*begin, r"\resizebox{\textwidth}{!}{%", *inner, "}", r"\end{table*}"]) + "\n"

    def html(self) -> str:
        """Return the table in HTML, wide ones to be scrolled."""
        body = "".join(
            f"<tr>{''.join(self._cell(place, cell) for place, cell in enumerate(row))}</tr>" for row in self.rows
        )
        notes = "".join(f"<p class=note>{html.escape(note)}</p>" for note in self.notes)
        caption = html.escape(self.title)
        inner = f"<div class=wide><table><caption>{caption}</caption><thead>{self._head()}</thead>"
        inner += f"<tbody>{body}</tbody></table></div>{notes}"
        return f"<details><summary>{caption}</summary>{inner}</details>" if self.minor else inner

    def _cell(self, place: int, text: str) -> str:
        """Return a cell; in the paper's layout its number stands below ours, so that wide tables can be printed."""
        cell = _cell(text, place < self.left, place in self.texts)
        return cell.replace("&nbsp;/&nbsp;", "<br>").replace(" / ", "<br>") if self.in_paper else cell

    def _head(self) -> str:
        """Return one line of headings, or two where columns are grouped."""
        grouped = any(group for group, _ in self.header)
        first, second = [], []
        for place, (group, name) in enumerate(self.header):
            names = " class=name" if place < self.left or place in self.texts else ""
            if not group:
                first.append(f"<th{names}{' rowspan=2' * grouped}>{html.escape(name)}</th>")
                continue
            second.append(f"<th{names}>{html.escape(name)}</th>")
            if place and self.header[place - 1][0] == group:
                continue
            span = next((i for i, (g, _) in enumerate(self.header[place:]) if g != group), len(self.header) - place)
            first.append(f"<th colspan={span}>{html.escape(group)}</th>")
        return f"<tr>{''.join(first)}</tr>" + (f"<tr>{''.join(second)}</tr>" if grouped else "")


_SPECIAL = {"±": r"$\pm$", "≥": r"$\geq$", "−": "$-$", "–": "--", "|": r"\textbar{}", "^": r"\^{}", "×": r"$\times$"}


def _latex(text: str) -> str:
    """Return text for LaTeX, what is bold between asterisks."""
    plain = re.sub(r"([&%$#_{}])", r"\\\1", text)
    plain = "".join(_SPECIAL.get(sign, sign) for sign in plain)
    return re.sub(r"\*\*(.+?)\*\*", r"\\textbf{\1}", plain)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _cell(text: str, name: bool, running: bool) -> str:
    inner = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text))
    inner = inner if running or len(text) > 40 else inner.replace(" ", "&nbsp;")
    return f"<th scope=row>{inner}</th>" if name else f"<td{' class=text' * running}>{inner}</td>"


def best(text: str) -> str:
    """Mark a cell as the best of its row."""
    return f"{BEST}{text}{BEST}"
