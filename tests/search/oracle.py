"""Joinability straight from equation 2 of the paper: slow, obvious, and sharing no code with the library's search."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from mate.values.text import token

Rows = Sequence[Sequence[str | None]]


def token_of(cell: str | None) -> str | None:
    return None if cell is None else token(cell)


def key_tuples(rows: Rows, key: Sequence[int]) -> set[tuple[str, ...]]:
    """Return the distinct combinations of key values of the query that have no empty cell."""
    found = {tuple(token_of(row[column]) for column in key) for row in rows}
    return {values for values in found if None not in values}  # type: ignore[misc]


def joinability(query: set[tuple[str, ...]], table: Rows) -> tuple[int, tuple[int, ...]]:
    """Return the highest number of key tuples that a mapping of columns finds, and the smallest such mapping."""
    width = len(next(iter(query)))
    tokens = [[token_of(cell) for cell in row] for row in table]
    best: tuple[int, tuple[int, ...]] = (0, ())
    for mapping in permutations(range(len(table[0])), width):
        projected = {tuple(row[column] for column in mapping) for row in tokens}
        found = len(query & projected)  # type: ignore[operator]
        if found > best[0]:
            best = (found, mapping)
    return best


def top_k(rows: Rows, key: Sequence[int], tables: Sequence[Rows], k: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return (joinability, table, mapping) of the k best tables."""
    query = key_tuples(rows, key)
    scored = [(*joinability(query, table), number) for number, table in enumerate(tables)] if query else []
    joinable = [(score, number, mapping) for score, mapping, number in scored if score]
    return sorted(joinable, key=lambda entry: (-entry[0], entry[1]))[:k]
