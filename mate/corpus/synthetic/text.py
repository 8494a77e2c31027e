"""Cells of a synthetic lake as text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mate.corpus.synthetic.kinds import FORM, FORMS, SERIAL, SPACED, UPPER, WORDS
from mate.corpus.synthetic.shapes import Columns
from mate.corpus.synthetic.splitmix import Hashes, Numbers, Units
from mate.corpus.synthetic.vocabulary import MISSING, vocabulary_of
from mate.values.arrow import strings_from_buffers

_IN_2048_MISSING, _IN_2048_UPPER, _IN_2048_SPACED = 40, 20, 20
"""Cells in 2,048 that hold no value, or text that only normalisation makes equal to its token."""


class Drawn(NamedTuple):
    """Cells before they are text: for each its column, row, rank among the column's values, draw and noise."""

    column: Numbers
    row: Numbers
    rank: Numbers
    unit: Units
    noise: Numbers


def written(columns: Columns, drawn: Drawn, vocabulary: int) -> pa.StringArray:
    """Return the text of cells."""
    column, row, rank, unit, noise = drawn
    kind = columns.kind[column]
    form = FORM[kind]
    missing = (noise < _IN_2048_MISSING) & (columns.slot[column] < 0) & (form != SERIAL)
    words = vocabulary_of(vocabulary)
    entry = np.where(missing, noise % len(MISSING), words.starts[kind] + rank)
    form[missing] = WORDS
    dirty = np.where((form == WORDS) & ~missing, noise - _IN_2048_MISSING, -1)
    upper = (dirty >= 0) & (dirty < _IN_2048_UPPER)
    spaced = (dirty >= _IN_2048_UPPER) & (dirty < _IN_2048_UPPER + _IN_2048_SPACED)
    form[upper], form[spaced] = UPPER, SPACED
    groups = [np.flatnonzero(form == number) for number in range(FORMS)]
    plain, shouted, wide, integer, amount, code, identifier, serial = groups
    texts = [
        words.text.take(pa.array(entry[plain])),
        pc.utf8_upper(words.text.take(pa.array(entry[shouted]))),
        _spaced_out(words.text.take(pa.array(entry[wide]))),
        pa.array(rank[integer]).cast(pa.string()),
        _amounts(rank[amount]),
        _codes(columns.salt[column[code]], rank[code]),
        _identifiers(unit[identifier]),
        pa.array(row[serial] + 1).cast(pa.string()),
    ]
    back = np.empty(len(form), np.int64)
    back[np.concatenate(groups)] = np.arange(len(form))
    return pa.concat_arrays(texts).take(pa.array(back))


def _spaced_out(text: pa.StringArray) -> pa.StringArray:
    return pc.binary_join_element_wise(" ", pc.replace_substring(text, " ", "  "), " ", "")


def _amounts(cents: Numbers) -> pa.StringArray:
    whole = pa.array(cents // 100).cast(pa.string())
    return pc.binary_join_element_wise(whole, _TWO_DIGITS.take(pa.array(cents % 100)), ".")


def _codes(salt: Hashes, rank: Numbers) -> pa.StringArray:
    """Return codes such as ``KX-004120``, the letters the column's or the domain's own."""
    data = np.empty((len(rank), 9), np.uint8)
    data[:, 0] = 65 + salt % np.uint64(26)
    data[:, 1] = 65 + (salt >> np.uint64(8)) % np.uint64(26)
    data[:, 2] = ord("-")
    for place in range(6):
        data[:, 8 - place] = 48 + rank // 10**place % 10
    return _fixed_width(data)


def _identifiers(unit: Units) -> pa.StringArray:
    value = (unit * 2.0**40).astype(np.int64)
    digits = (value[:, None] >> np.arange(36, -4, -4)) & 15
    return _fixed_width(_HEXADECIMAL[digits])


def _fixed_width(data: npt.NDArray[np.uint8]) -> pa.StringArray:
    return strings_from_buffers(data.ravel(), np.arange(len(data) + 1) * data.shape[1])


_TWO_DIGITS = pa.array([f"{number:02d}" for number in range(100)])
_HEXADECIMAL = np.frombuffer(b"0123456789abcdef", np.uint8)
