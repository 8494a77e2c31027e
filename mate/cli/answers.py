"""How answers, their evidence and their explanation are printed."""

from __future__ import annotations

import mate
from mate.cli.terminal import console, say, show, show_records, table
from mate.display import fan_out_text, times_text

CHANCE = "chance"
"""Marks a join that is no better than what independent columns would give."""
WIDE = 120
"""From this width on, a terminal has room for the source of each table."""

EVIDENCE_HELP = """\
what the columns say:
  of key           share of your distinct key combinations that the table holds
  unique           distinct combinations per row in the table: 100% means that each row of yours meets at most one
  rows per match   rows that one of your combinations meets, on average and at most: more than 1 means a fan-out
  vs chance        how many times more combinations match than if the columns had nothing to do with each other;
                   "chance" marks a result that is no better than that
  names            how alike the names of key columns and of the table are, 0% to 100%; --no-names ignores them
"""


def show_answers(answers: mate.Answers | mate.Suggestions) -> None:
    """Print answers as a table with their evidence, in lines that fit the terminal."""
    with_names = any(answer.evidence.names is not None for answer in answers)
    rows = [_row(answer, with_names=with_names) for answer in answers]
    mappings = [", ".join(f"{key} = {column}" for key, column in answer.mapping.items()) for answer in answers]
    header = ["table", "joinability", "of\nkey", "unique", "rows per\nmatch", "vs\nchance"]
    header += [*(["names"] if with_names else []), "name"]
    if console().width >= WIDE:
        sources = [answer.table.source for answer in answers]
        body = [[*row, on, source] for row, on, source in zip(rows, mappings, sources, strict=True)]
        show(table([*header, "join on", "source"], body))
    else:
        header[1] = "join-\nability"
        show_records(header, rows, [f"on {on}" for on in mappings])
    if any(answer.evidence.is_chance for answer in answers):
        say(f'"{CHANCE}": no more combinations match than if the columns had nothing to do with each other')


def _row(answer: mate.Answer, *, with_names: bool) -> list[object]:
    evidence = answer.evidence
    row: list[object] = [
        answer.table_id,
        answer.joinability,
        f"{evidence.containment:.0%}",
        f"{evidence.uniqueness:.0%}",
        fan_out_text(evidence.fan_out, evidence.most_fan_out),
        CHANCE if evidence.is_chance else times_text(answer.joinability, evidence.chance),
    ]
    if with_names:
        row.append("" if evidence.names is None else f"{evidence.names:.0%}")
    return [*row, answer.table.name]


def show_explanation(explanation: mate.Explanation) -> None:
    """Print the steps and phases of a search."""
    show(table(("step", "count"), [("  " * step.depth + step.name, step.text) for step in explanation.steps]))
    show(table(("phase", "ms"), [(name, f"{spent:.1f}") for name, spent in explanation.phases()]))
