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
    by_column = [_share(own, words(table.columns[at]), title) for own, at in zip(wanted, mapping, strict=True)]
    return (sum(by_column) / len(by_column) + _share(title, *wanted)) / 2


def _share(these: frozenset[str], *those: frozenset[str]) -> float:
    """Return the share of some words that others stand for."""
    same = sum(any(is_among(one, others) for others in those) for one in these)
    return same / len(these) if these else 0.0


@lru_cache(_KEPT)
def is_among(one: str, others: frozenset[str]) -> bool:
    """Tell whether one of some words is equal to a word, or stands for it."""
    return one in others or any(_is_same(one, other) for other in others)


def _is_same(one: str, other: str) -> bool:
    """Tell whether two words are equal, one begins with the other, or one is short for the other: "tm", "teams"."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if len(short) >= _PREFIX and long.startswith(short):
        return True
    return short == long or short in _short_forms(long)


@lru_cache(_KEPT)
def _short_forms(word: str) -> tuple[str, str]:
    """Return what may stand for a word: its first letter and consonants, of a plural also without its end."""
    return _VOWELS.sub("", word), _VOWELS.sub("", word.removesuffix("s"))
