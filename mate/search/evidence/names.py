"""How well the names of a key fit those of a table: words that headers and the table's name have in common.

Values decide which tables join; names only order tables that their values cannot tell apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.lake.records import TableInfo
from mate.values.text import token

Floats = npt.NDArray[np.float64]

_WORD = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-zà-ÿ])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-zà-ÿ])")
_VOWELS = re.compile(r"(?<!^)[aeiou]")
_PREFIX, _LONGEST_PREFIX = 3, 40
"""Letters that a word needs, and may have, to stand for a longer one that begins with it."""

_KEPT, _FORMS_KEPT = 100_000, 10_000
"""Names whose words, and words whose forms, are kept: many tables of a lake have the same headers."""


@lru_cache(_KEPT)
def words(name: str) -> frozenset[str]:
    """Return the words of a name, folded as cells are.

    >>> sorted(words("tmIDWinner")), sorted(words("Birth_Year 2"))
    (['id', 'tm', 'winner'], ['2', 'birth', 'year'])
    """
    return frozenset(_WORD.findall(token(_HUMP.sub(" ", name), frozenset()) or ""))


def common_words(names: Iterable[str]) -> frozenset[str]:
    """Return the words that the names of all columns of a table have, such as a prefix: they tell nothing of a column.

    >>> sorted(common_words(["c_id", "c_d_id", "c_since"]))
    ['c']
    """
    every = [words(name) for name in names]
    return frozenset.intersection(*every) if len(every) > 2 else frozenset()


def similarity(key: Sequence[str], table: TableInfo, mapping: Sequence[int]) -> float:
    """Return how well the names of key columns fit the table that they are mapped to, from 0 to 1.

    Half of it is the share of a key column's words that the table's column or the table's name has, averaged over the
    key columns; the other half the share of the words of the table's name that the key columns have.
    """
    wanted = [words(name) for name in key]
    title = words(table.name)
    by_column = [_share(own, words(table.columns[at]), title) for own, at in zip(wanted, mapping, strict=True)]
    return (sum(by_column) / len(by_column) + _share(title, *wanted)) / 2


class NameIndex:
    """Names of columns and tables by their words, so that one name is compared with very many at once."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._size: list[int] = []
        self._words: dict[str, list[int]] = {}
        """The names that have each word."""
        self._short: dict[str, set[str]] = {}
        """The words that each form stands for."""
        self._uses: Counter[str] = Counter()
        """How many tables have each word in their names."""

    def add(self, names: Sequence[str]) -> list[int]:
        """Return numbers for the names of a table and its columns."""
        self._uses.update(frozenset().union(*map(words, names)))
        return [self._number(name) for name in names]

    def _number(self, name: str) -> int:
        found = self._ids.get(name)
        if found is None:
            found, own = self._ids.setdefault(name, len(self._size)), words(name)
            self._size.append(len(own))
            for word in own:
                if word not in self._words:
                    self._words[word] = []
                    for form in _forms(word):
                        self._short.setdefault(form, set()).add(word)
                self._words[word].append(found)
        return found

    def compare(self, own: frozenset[str], columns: Ids, tables: Ids, usual: float) -> tuple[Floats, Floats]:
        """Return how well the words of a name fit columns of tables, given by their names' numbers.

        First how alike it and each column's name are (the Dice coefficient of their words), then its `similarity` with
        column and table, in which words that more than `usual` tables have in their names tell nothing.
        """
        counted = set[str]()
        fit, among, title = np.zeros(len(columns)), np.zeros(len(columns)), np.zeros(len(self._size))
        for word in own:
            same = self._short.get(word, set()) | (_forms(word) & self._words.keys())
            fit += self._have(same)[columns]
            telling = {one for one in same if self._uses[one] <= usual}
            has = self._have(telling)
            among += has[columns] | has[tables]
            for one in telling - counted:
                title[self._words[one]] += 1
            counted |= telling
        size = np.array(self._size, np.int64)
        titles = title[tables] / np.maximum(1, size[tables])
        alike = np.minimum(1, 2 * fit / np.maximum(1, len(own) + size[columns]))
        return alike, (among / max(1, len(own)) + titles) / 2

    def _have(self, words: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Tell which names have one of some words."""
        found = np.zeros(len(self._size), np.bool_)
        for word in words:
            found[self._words[word]] = True
        return found


def _share(these: frozenset[str], *those: frozenset[str]) -> float:
    """Return the share of some words that others stand for."""
    same = sum(any(is_among(one, others) for others in those) for one in these)
    return same / len(these) if these else 0.0


def is_among(one: str, others: frozenset[str]) -> bool:
    """Tell whether one of some words is equal to a word, or stands for it.

    Two words are the same if they are equal, one begins with the other, or one is short for the other: "tm", "teams".
    """
    return one in _forms_of(others) or not _forms(one).isdisjoint(others)


@lru_cache(_FORMS_KEPT)
def _forms_of(words: frozenset[str]) -> frozenset[str]:
    """Return what may stand for one of some words."""
    return frozenset().union(*map(_forms, words))


@lru_cache(_FORMS_KEPT)
def _forms(word: str) -> frozenset[str]:
    """Return what may stand for a word: itself, its beginnings, and its first letter and consonants.

    The consonants of a plural are also taken without its end.
    """
    beginnings = (word[:size] for size in range(_PREFIX, min(len(word), _LONGEST_PREFIX + 1)))
    return frozenset({word, *beginnings, _VOWELS.sub("", word), _VOWELS.sub("", word.removesuffix("s"))})
