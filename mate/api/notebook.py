"""Answers as an HTML table in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from mate.api.answers import Answer, SuggestedKey
from mate.display import visible

STYLE = (
    "<style>"
    ".mate-answers{border-collapse:collapse;font-size:13px}"
    ".mate-answers th,.mate-answers td{padding:3px 10px;text-align:left;font-variant-numeric:tabular-nums}"
    ".mate-answers tr.mate-chance{opacity:.55}"
    ".mate-answers caption{caption-side:top;text-align:left;padding:3px 10px;font-weight:600}"
    ".mate-bar{display:inline-block;width:56px;height:8px;margin-right:6px;background:rgba(128,128,128,.22)}"
    ".mate-bar i{display:block;height:100%;background:#3b7dd8}"
    ".mate-mark{padding:0 5px;border:1px solid currentColor;border-radius:3px;font-size:11px}"
    "</style>"
)


BARS = ("of key", "unique", "names")
"""Columns whose percentages are shown as bars, too."""


def answers_html(answers: Sequence[Answer], caption: str, nothing: str) -> str:
    """Return answers as an HTML table, evidence as small bars, all text from data escaped."""
    if not len(answers):
        return f"<p>{_escaped(nothing)}</p>"
    texts = [answer.texts() for answer in answers]
    for answer, text in zip(answers, texts, strict=True):
        if isinstance(answer, SuggestedKey) and answer.unique_part:
            text["unique part"] = ", ".join(answer.unique_part)
    header = [column for column in max(texts, key=len) if column != "source"]
    rows = ""
    for answer, text in zip(answers, texts, strict=True):
        cells = "".join(f"<td>{_cell(column, text.get(column, ''))}</td>" for column in header)
        kind = "mate-chance" if answer.evidence.is_chance else ""
        rows += f'<tr class="{kind}" title="{_escaped(text["source"])}">{cells}</tr>'
    heads = "".join(f"<th>{column}</th>" for column in header)
    return (
        f'{STYLE}<table class="mate-answers"><caption>{_escaped(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _cell(column: str, text: str) -> str:
    if column in BARS and text:
        return f'<span class="mate-bar"><i style="width:{text}"></i></span>{text}'
    is_mark = column == "vs chance" and text == "chance"
    return '<span class="mate-mark">chance</span>' if is_mark else _escaped(text)


def _escaped(text: str) -> str:
    return escape(visible(text))
