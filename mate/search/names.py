"""How well the names of a key fit those of a table: words that headers and the table's name have in common.

Values decide which tables join; names only order tables that their values cannot tell apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from mate.lake.records import TableInfo
from mate.values.text import token

_WORD = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-zà-ÿ])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-zà-ÿ])")
_VOWELS = re.compile(r"(?<!^)[aeiou]")
_PREFIX = 3
"""Letters that a word needs to stand for a longer one that begins with it."""

_KEPT = 100_000
"""Names, and comparisons of two, that are kept: many tables of a lake have the same headers."""


@lru_cache(_KEPT)
def words(name: str) -> frozenset[str]:
    """Return the words of a name, folded as cells are.

    >>> sorted(words("tmIDWinner")), sorted(words("Birth_Year 2"))
    (['id', 'tm', 'winner'], ['2', 'birth', 'year'])
    """
    return frozenset(_WORD.findall(token(_HUMP.sub(" ", name), frozenset()) or ""))


def similarity(key: Sequence[str], table: TableInfo, mapping: Sequence[int]) -> float:
    """Return how well the names of key columns fit the table that they are mapped to, from 0 to 1.

    Half of it is the share of a key column's words that the table's column or the table's name has, averaged over the
    key columns; the other half the share of the words of the table's name that the key columns have.
    """
    wanted = [words(name) for name in key]
    title = words(table.name)
    headers = [words(table.columns[column]) for column in mapping]
    by_column = [_share(own, other | title) for own, other in zip(wanted, headers, strict=True)]
    return (sum(by_column) / len(by_column) + _share(title, frozenset().union(*wanted))) / 2


@lru_cache(_KEPT)
def _share(these: frozenset[str], those: frozenset[str]) -> float:
    """Return the share of some words that others stand for."""
    left = these - those
    same = len(these) - len(left) + sum(any(_is_same(one, other) for other in those) for one in left)
    return same / len(these) if these else 0.0


def _is_same(one: str, other: str) -> bool:
    """Tell whether two words are equal, one begins with the other, or one is short for the other: "tm", "teams"."""
    short, long = sorted((one, other), key=len)
    if len(short) >= _PREFIX and long.startswith(short):
        return True
    return short == long or short in (_consonants(long), _consonants(long.removesuffix("s")))


def _consonants(word: str) -> str:
    return _VOWELS.sub("", word)
