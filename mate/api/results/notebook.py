"""Answers as an HTML table in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from mate.api.results.answers import Answer, mapping_text
from mate.display import fan_out_text, times_text, visible

STYLE = (
    "<style>"
    ".mate-answers{border-collapse:collapse;font-size:13px}"
    ".mate-answers th,.mate-answers td{padding:3px 10px;text-align:left;vertical-align:middle;white-space:nowrap}"
    ".mate-answers td.mate-wrap{white-space:normal;min-width:12em}"
    ".mate-answers td.mate-number,.mate-answers th.mate-number{text-align:right;font-variant-numeric:tabular-nums}"
    ".mate-answers tr.mate-chance{opacity:.55}"
    ".mate-answers caption{caption-side:top;text-align:left;padding:3px 10px;font-weight:600}"
    ".mate-bar{display:inline-block;width:56px;height:8px;margin-right:6px;background:rgba(128,128,128,.22);"
    "border-radius:2px;overflow:hidden;vertical-align:middle}"
    ".mate-bar i{display:block;height:100%;background:#3b7dd8}"
    ".mate-mark{padding:0 5px;border:1px solid currentColor;border-radius:3px;font-size:11px}"
    "</style>"
)
HEADER = ("table", "name", "joinability", "of key", "unique", "rows per match", "vs chance", "names", "join on")
NUMBERS = {"table", "joinability", "rows per match", "vs chance"}


def answers_html(answers: Sequence[Answer], caption: str) -> str:
    """Return answers as an HTML table, evidence as small bars, all text from data escaped."""
    if not len(answers):
        return f"<p>no table of the lake joins with {_text(caption)}</p>"
    parts = any(getattr(answer, "unique_part", None) for answer in answers)
    header = (*HEADER, "unique part") if parts else HEADER
    heads = "".join(f'<th class="mate-number">{h}</th>' if h in NUMBERS else f"<th>{h}</th>" for h in header)
    rows = "".join(_row(answer, parts=parts) for answer in answers)
    return (
        f'{STYLE}<table class="mate-answers"><caption>{_text(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(answer: Answer, *, parts: bool) -> str:
    evidence = answer.evidence
    better = times_text(answer.joinability, evidence.chance)
    cells = [
        _number(f"{answer.table_id}"),
        f'<td class="mate-wrap" title="{_text(answer.table.source)}">{_text(answer.table.name)}</td>',
        _number(f"{answer.joinability:,}"),
        _bar(evidence.containment),
        _bar(evidence.uniqueness),
        _number(fan_out_text(evidence.fan_out, evidence.most_fan_out)),
        _number('<span class="mate-mark">chance</span>' if evidence.is_chance else better),
        "<td>off</td>" if evidence.names is None else _bar(evidence.names),
        f'<td class="mate-wrap">{_text(mapping_text(answer))}</td>',
    ]
    if parts:
        cells.append(f"<td>{_text(', '.join(getattr(answer, 'unique_part', None) or ()))}</td>")
    chance = ' class="mate-chance"' if evidence.is_chance else ""
    return f"<tr{chance}>{''.join(cells)}</tr>"


def _number(html: str) -> str:
    return f'<td class="mate-number">{html}</td>'


def _bar(value: float) -> str:
    bar = f'<span class="mate-bar"><i style="width:{min(max(value, 0.0), 1.0):.0%}"></i></span>'
    return f"<td>{bar}{value:.0%}</td>"


def _text(text: str) -> str:
    return escape(visible(text))
