"""What the commands that begin with a table of yours have in common: options, and how answers are shown."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mate.display import fan_out_text, times_text
from mate.errors import MateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mate import Answer, Answers, Explanation, Suggestions

CHANCE = "chance"
"""Stands where a join is no better than what independent columns would give."""

WIDE = 120
"""Columns of a terminal from which on there is room for the source of a table; its name is that of the file."""

EVIDENCE_HELP = """\
what the columns say:
  of key           share of your distinct key combinations that the table holds
  unique           distinct combinations per row in the table: 100% means that each row of yours meets at most one
  rows per match   rows that one of your combinations meets, on average and at most: more than 1 means a fan-out
  vs chance        how many times more combinations match than if the columns had nothing to do with each other;
                   "chance" marks a result that is no better than that
  names            how alike the names of key columns and of the table are, 0% to 100%; --no-names leaves them aside
"""


def add_query(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Declare the options that say what is searched for, and where; with `several`, it may be many queries instead."""
    wanted: dict[str, str] = {"nargs": "?"} if several else {}
    parser.add_argument("query", metavar="QUERY", help="your table: CSV of any dialect, Parquet or JSON", **wanted)  # type: ignore[arg-type]
    parser.add_argument(
        "--key",
        action="append",
        required=not several,
        metavar="A,B",
        help="key columns, separated by commas; may be repeated",
    )
    add_encoding(parser, "QUERY")
    add_store(parser)


def add_encoding(parser: argparse.ArgumentParser, file: str) -> None:
    """Declare how a file of yours is encoded."""
    parser.add_argument("--encoding", metavar="NAME", help=f"encoding of {file}, such as cp1251 (default: found)")


def check_query(options: argparse.Namespace) -> None:
    """Refuse a search without a query or a key."""
    if options.query is None:
        raise MateError("name a table to search with, or many of them: --batch QUERIES")
    if options.key is None:
        raise MateError(f"name the key columns of {options.query}: --key A,B; mate suggest finds some")
    if options.output is not None or options.master != "none":
        raise MateError("-o and --master are for many queries: --batch QUERIES")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Declare where the index is."""
    parser.add_argument(
        "--store", required=True, metavar="LAKE", help="the index: a folder, s3://..., or a database's address"
    )


def split_key(given: Sequence[str], header: Sequence[str]) -> list[str]:
    """Return the key columns; a name that has a comma itself is taken whole."""
    names: list[str] = []
    for text in given:
        names += [text] if text in header else [part.strip() for part in text.split(",")]
    return names


def show_answers(answers: Answers | Suggestions) -> None:
    """Print answers as a table with their evidence, in lines that fit the terminal."""
    from mate.cli.terminal import console, say, show, show_records, table

    names = any(answer.evidence.names is not None for answer in answers)
    rows = [_row(answer, names=names) for answer in answers]
    pairs = [", ".join(f"{key} = {column}" for key, column in answer.mapping.items()) for answer in answers]
    header = ["table", "joinability", "of\nkey", "unique", "rows per\nmatch", "vs\nchance"]
    header += [*(["names"] if names else []), "name"]
    if console().width >= WIDE:
        sources = [answer.table.source for answer in answers]
        body = [[*row, on, source] for row, on, source in zip(rows, pairs, sources, strict=True)]
        show(table([*header, "join on", "source"], body))
    else:
        header[1] = "join-\nability"
        show_records(header, rows, [f"on {on}" for on in pairs])
    if any(answer.evidence.is_chance for answer in answers):
        say(f'"{CHANCE}": no more combinations match than if the columns had nothing to do with each other')


def _row(answer: Answer, *, names: bool) -> list[object]:
    evidence = answer.evidence
    row: list[object] = [
        answer.table_id,
        answer.joinability,
        f"{evidence.containment:.0%}",
        f"{evidence.uniqueness:.0%}",
        fan_out_text(evidence.fan_out, evidence.most_fan_out),
        CHANCE if evidence.is_chance else times_text(answer.joinability, evidence.chance),
    ]
    if names:
        row.append("" if evidence.names is None else f"{evidence.names:.0%}")
    return [*row, answer.table.name]


def show_explanation(explanation: Explanation) -> None:
    """Print the steps and phases of a search."""
    from mate.cli.terminal import show, table

    show(table(("step", "count"), [("  " * step.depth + step.name, step.text) for step in explanation.steps]))
    show(table(("phase", "ms"), [(name, f"{spent:.1f}") for name, spent in explanation.phases()]))
