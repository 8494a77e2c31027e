"""Answers as an HTML table in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from mate.api.results.answers import Answer, SuggestedKey, mapping_text
from mate.display import fan_out_text, times_text, visible

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


def answers_html(answers: Sequence[Answer], caption: str, nothing: str) -> str:
    """Return answers as an HTML table, evidence as small bars, all text from data escaped."""
    if not len(answers):
        return f"<p>{_text(nothing)}</p>"
    cells = [_cells(answer) for answer in answers]
    header = max(cells, key=len)  # one with a unique part, if there is any
    heads = "".join(f"<th>{column}</th>" for column in header)
    rows = ""
    for answer, row in zip(answers, cells, strict=True):
        rows += '<tr class="mate-chance">' if answer.evidence.is_chance else "<tr>"
        rows += "".join(f"<td>{row.get(column, '')}</td>" for column in header) + "</tr>"
    return (
        f'{STYLE}<table class="mate-answers"><caption>{_text(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _cells(answer: Answer) -> dict[str, str]:
    evidence = answer.evidence
    better = times_text(answer.joinability, evidence.chance)
    cells = {
        "table": f"{answer.table_id}",
        "name": f'<span title="{_text(answer.table.source)}">{_text(answer.table.name)}</span>',
        "joinability": f"{answer.joinability:,}",
        "of key": _bar(evidence.containment),
        "unique": _bar(evidence.uniqueness),
        "rows per match": fan_out_text(evidence.fan_out, evidence.most_fan_out),
        "vs chance": '<span class="mate-mark">chance</span>' if evidence.is_chance else better,
        "names": "off" if evidence.names is None else _bar(evidence.names),
        "join on": _text(mapping_text(answer)),
    }
    if isinstance(answer, SuggestedKey) and answer.unique_part:
        cells["unique part"] = _text(", ".join(answer.unique_part))
    return cells


def _bar(value: float) -> str:
    return f'<span class="mate-bar"><i style="width:{min(max(value, 0.0), 1.0):.0%}"></i></span>{value:.0%}'


def _text(text: str) -> str:
    return escape(visible(text))
