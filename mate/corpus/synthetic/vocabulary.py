"""The values of a synthetic lake that are words or dates: known ones first, then made-up ones."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.corpus.synthetic import words as known
from mate.corpus.synthetic.kinds import KINDS, NAMES
from mate.corpus.synthetic.shapes import starts_of
from mate.corpus.synthetic.splitmix import Numbers, mix, stream, unit_of


class Vocabulary(NamedTuple):
    """The values of all kinds in one array."""

    text: pa.StringArray
    starts: Numbers
    """Where each kind's values begin."""


MISSING = (None, "", "-", "n/a", "NULL", "NaN")
_DAYS = np.arange(np.datetime64("1990-01-01"), np.datetime64("2030-01-01"))
_YEARS = [str(year) for year in [*range(2024, 1899, -1), *range(2025, 2031)]]


@lru_cache(maxsize=8)
def pool_sizes(vocabulary: int) -> tuple[int, ...]:
    """Return how many values each kind has."""
    fixed = {"country": len(known.COUNTRIES), "year": len(_YEARS)} | dict.fromkeys(_DATES, len(_DAYS))
    return tuple(fixed.get(name, round(kind.share * vocabulary)) for name, kind in KINDS.items())


@lru_cache(maxsize=2)
def vocabulary_of(size: int) -> Vocabulary:
    """Return the values of all kinds, the most frequent of each kind first; 1 s per million, once per process."""
    sizes = pool_sizes(size)
    wanted = dict(zip(NAMES, sizes, strict=True))
    family = _composed(known.FAMILY, wanted["family"], known.HEADS, known.MIDDLES, known.FAMILY_ENDS)
    words = _composed(
        known.COMMON, wanted["word"], [head.lower() for head in known.HEADS], known.MIDDLES, known.WORD_ENDS
    )
    days = {name: _dates(style) for name, style in _DATES.items()}
    pools = {
        "given": _composed(known.GIVEN, wanted["given"], known.HEADS, known.MIDDLES, known.GIVEN_ENDS),
        "family": family,
        "place": _composed(known.PLACES, wanted["place"], known.HEADS, known.MIDDLES, known.PLACE_ENDS),
        "country": pa.array(known.COUNTRIES),
        "organisation": _organisations(family, wanted["organisation"]),
        "word": words,
        "phrase": _phrases(words, wanted["phrase"]),
        "year": pa.array(_YEARS),
        **days,
    }
    parts = [pools.get(name, pa.array([], pa.string())) for name in NAMES]
    assert [len(part) for part in parts] == list(sizes)
    starts = len(MISSING) + starts_of(np.array(sizes))
    return Vocabulary(pa.concat_arrays([pa.array(MISSING, pa.string()), *parts]), starts)


def _composed(first: list[str], count: int, heads: list[str], middles: list[str], ends: list[str]) -> pa.StringArray:
    """Return known names, then made-up ones: the rarer, the longer."""
    parts = [pa.array(first, pa.string())]
    have, length = 0, 0
    while have < count:
        lists = [heads, *[middles] * length, ends]
        capacity = int(np.prod([len(syllables) for syllables in lists], dtype=np.float64))
        rank = np.arange(min(capacity, 2 * count)) * 1_000_003 % capacity  # a prime: no name twice
        syllables = []
        for choices in reversed(lists):
            syllables.append(pa.array(choices).take(pa.array(rank % len(choices))))
            rank = rank // len(choices)
        parts.append(pc.binary_join_element_wise(*reversed(syllables), ""))
        names = pc.unique(pa.concat_arrays(parts))
        have, length = len(names), length + 1
    return names.slice(0, count)


def _organisations(family: pa.StringArray, count: int) -> pa.StringArray:
    """Return family names with endings in turn, so that no two are the same."""
    turn, name = np.divmod(np.arange(count), len(family))
    ending = pa.array(known.COMPANIES).take(pa.array((turn + name) % len(known.COMPANIES)))
    return pc.binary_join_element_wise(family.take(pa.array(name)), ending, " ")


def _phrases(words: pa.StringArray, count: int) -> pa.StringArray:
    """Return three to six words each; the first two never come twice, so that no two phrases are the same."""
    base = 1 + int(np.sqrt(count))
    number = np.arange(count) * 1_000_003 % base**2
    key = stream(mix(np.zeros(1, np.uint64)), number)
    chosen = [number % base, number // base]
    chosen += [(unit_of(stream(key, place)) ** 3 * len(words)).astype(np.int64) for place in range(4)]
    length = 3 + (stream(key, 4) % np.uint64(4)).astype(np.int64)
    shown = [
        pc.if_else(pa.array(length > place), words.take(pa.array(word)), pa.scalar(None, pa.string()))
        for place, word in enumerate(chosen)
    ]
    return pc.binary_join_element_wise(*shown, " ", null_handling="skip")


def _dates(style: str) -> pa.StringArray:
    """Return all days in a mixed order."""
    mixed = _DAYS[np.argsort(stream(mix(np.zeros(1, np.uint64)), np.arange(len(_DAYS))))]
    return pc.strftime(pa.array(mixed), style)


_DATES = {"date": "%Y-%m-%d", "german date": "%d.%m.%Y", "american date": "%m/%d/%Y"}
