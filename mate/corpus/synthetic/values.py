"""What the columns of a synthetic lake hold: the draws that all depends on, kinds of columns, words and dates, cells.

Every key has a stream of draws, each at its place: splitmix64 as a hash of key and place. A kind's values are known
words first, then made-up ones.
"""

from __future__ import annotations

from functools import lru_cache
from string import ascii_uppercase
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mate.corpus.synthetic.words import COMPANIES, ENDS, HEADS, KNOWN, MIDDLES
from mate.values.arrow import strings_from_buffers
from mate.values.splitmix import Hashes, stream

Numbers: TypeAlias = npt.NDArray[np.int64]
Units: TypeAlias = npt.NDArray[np.float64]


def unit_of(hashes: Hashes) -> Units:
    """Return numbers from 0 to just below 1, from the upper 53 bits."""
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


FORMS = 8
WORDS, UPPER, SPACED, INTEGER, AMOUNT, CODE, IDENTIFIER, SERIAL = range(FORMS)


class ValueKind(NamedTuple):
    """A kind of column: how its cells are written, how often it occurs, what it is called."""

    form: int
    weight: float
    headers: tuple[str, ...]
    share: float = 0.0
    """Share of the vocabulary."""
    magnitudes: tuple[int, int] = (0, 1)
    """Numbers: the least power of ten that a column reaches, and how many there are."""


KINDS = {
    "given": ValueKind(WORDS, 5, ("first name", "given_name", "Vorname", "FirstName", "prénom"), 0.04),
    "family": ValueKind(WORDS, 6, ("last name", "surname", "Nachname", "LastName", "nom"), 0.20),
    "place": ValueKind(WORDS, 9, ("city", "Ort", "town", "location", "municipality", "Gemeinde"), 0.15),
    "country": ValueKind(WORDS, 5, ("country", "Land", "nation", "pays", "Country or area")),
    "organisation": ValueKind(WORDS, 5, ("organisation", "store", "company", "Träger", "operator"), 0.11),
    "word": ValueKind(WORDS, 14, ("category", "type", "Art", "label", "status", "title", "group", "Thema"), 0.35),
    "phrase": ValueKind(WORDS, 5, ("description", "notes", "Bezeichnung", "remarks"), 0.15),
    "year": ValueKind(WORDS, 6, ("year", "Jahr", "season", "reporting year")),
    "date": ValueKind(WORDS, 5, ("date", "Datum", "day", "reported on")),
    "german date": ValueKind(WORDS, 2, ("Stand", "Stichtag", "Datum")),
    "american date": ValueKind(WORDS, 2, ("updated", "date", "Date of record")),
    "integer": ValueKind(INTEGER, 18, ("count", "Anzahl", "total", "population", "points", "rank"), 0.0, (1, 6)),
    "amount": ValueKind(AMOUNT, 8, ("amount", "Betrag", "price", "value", "share", "average"), 0.0, (3, 5)),
    "code": ValueKind(CODE, 4, ("code", "Kennziffer", "product", "SKU", "reference"), 0.0, (2, 4)),
    "identifier": ValueKind(IDENTIFIER, 1, ("key", "hash", "uid")),
    "serial": ValueKind(SERIAL, 5, ("id", "no.", "Nr.", "lfd. Nr.", "index")),
}
KEYS = (
    ("given", "family", "place"),
    ("place", "date"),
    ("country", "year"),
    ("code", "organisation"),
    ("given", "family", "date", "place"),
    ("country", "place", "year"),
    ("code", "place", "date"),
    ("word", "country", "year"),
)
"""The key tuples that domains are made of."""

NAMES = list(KINDS)
ARITY = np.array([len(key) for key in KEYS])
TEMPLATES = np.array([[*map(NAMES.index, key), *[0] * (max(ARITY) - len(key))] for key in KEYS])
FORM = np.array([kind.form for kind in KINDS.values()])
TEXT = FORM == WORDS
WEIGHTS = np.cumsum([kind.weight for kind in KINDS.values()]) / sum(kind.weight for kind in KINDS.values())
LEAST_MAGNITUDE, MAGNITUDES = np.array([kind.magnitudes for kind in KINDS.values()]).T
HEADERS = [kind.headers for kind in KINDS.values()]


class ColumnBatch(NamedTuple):
    """Columns of a batch of tables, one table's after the other's."""

    owner: Numbers
    key: Hashes
    slot: Numbers
    """Place in the domain's key tuple, -1 for a column outside the key."""
    kind: Numbers
    salt: Hashes
    """The column's key, for key columns that of the domain's slot: what its values depend on."""
    size: Numbers
    """How many values it draws from: those of a vocabulary, or a power of ten for numbers."""
    choices: Numbers
    """Distinct values of a categorical column, else 0."""


def starts_of(sizes: Numbers) -> Numbers:
    """Return where each of several groups begins, one after the other."""
    return np.cumsum(sizes) - sizes


# --- words and dates ---


class Vocabulary(NamedTuple):
    """The values of all kinds in one array."""

    text: pa.StringArray
    starts: Numbers
    """Where each kind's values begin."""
    sizes: Numbers


MISSING = (None, "", "-", "n/a", "NULL", "NaN")
_DAYS = np.arange(np.datetime64("1990-01-01"), np.datetime64("2030-01-01"))
_DATES = {"date": "%Y-%m-%d", "german date": "%d.%m.%Y", "american date": "%m/%d/%Y"}
_YEARS = [str(year) for year in [*range(2024, 1899, -1), *range(2025, 2031)]]


@lru_cache(maxsize=2)
def vocabulary_of(size: int) -> Vocabulary:
    """Return the values of all kinds, the most frequent of each kind first; 1 s per million, once per process."""
    wanted = {name: round(kind.share * size) for name, kind in KINDS.items()}
    days = pa.array(_DAYS[np.argsort(stream(np.zeros(1, np.uint64), np.arange(len(_DAYS))))])
    made_up = {name: _composed(name, wanted[name]) for name in ENDS}
    pools = {
        **made_up,
        **{name: pc.strftime(days, style) for name, style in _DATES.items()},
        "country": pa.array(KNOWN["country"]),
        "organisation": _organisations(made_up["family"], wanted["organisation"]),
        "phrase": _phrases(made_up["word"], wanted["phrase"]),
        "year": pa.array(_YEARS),
    }
    parts = [pools.get(name, pa.array([], pa.string())) for name in NAMES]
    sizes = np.array(list(map(len, parts)))
    return Vocabulary(
        pa.concat_arrays([pa.array(MISSING, pa.string()), *parts]), len(MISSING) + starts_of(sizes), sizes
    )


def _composed(kind: str, count: int) -> pa.StringArray:
    """Return known names, then made-up ones: the rarer, the longer."""
    heads = [head.lower() for head in HEADS] if kind == "word" else HEADS
    parts = [pa.array(KNOWN[kind], pa.string())]
    have, length = 0, 0
    while have < count:
        lists = [heads, *[MIDDLES] * length, ENDS[kind]]
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
    cycle, name = np.divmod(np.arange(count), len(family))
    ending = pa.array(COMPANIES).take(pa.array((cycle + name) % len(COMPANIES)))
    return pc.binary_join_element_wise(family.take(pa.array(name)), ending, " ")


def _phrases(words: pa.StringArray, count: int) -> pa.StringArray:
    """Return three to six words each; the first two never come twice, so that no two phrases are the same."""
    base = 1 + int(np.sqrt(count))
    number = np.arange(count) * 1_000_003 % base**2
    key = stream(np.zeros(1, np.uint64), number)
    chosen = [number % base, number // base]
    chosen += [(unit_of(stream(key, place)) ** 3 * len(words)).astype(np.int64) for place in range(4)]
    length = 3 + (stream(key, 4) % np.uint64(4)).astype(np.int64)
    shown = [
        pc.if_else(pa.array(length > place), words.take(pa.array(word)), pa.scalar(None, pa.string()))
        for place, word in enumerate(chosen)
    ]
    return pc.binary_join_element_wise(*shown, " ", null_handling="skip")


# --- cells ---

_NOISE = (40, 60, 80)
"""Up to these bounds of 2,048, cells hold no value, or text that only normalisation makes equal to its token."""


class CellDraws(NamedTuple):
    """Cells before they are text: for each its column, row, rank among the column's values, draw and noise."""

    column: Numbers
    row: Numbers
    rank: Numbers
    unit: Units
    noise: Numbers


def cell_texts(columns: ColumnBatch, draws: CellDraws, vocabulary: int) -> pa.StringArray:
    """Return the text of cells."""
    column, row, rank, unit, noise = draws
    kind = columns.kind[column]
    form, text = FORM[kind], TEXT[kind]
    band = np.searchsorted(_NOISE, noise, side="right")
    missing = (band == 0) & (columns.slot[column] < 0) & (form != SERIAL)
    form[(band == 1) & text], form[(band == 2) & text], form[missing] = UPPER, SPACED, WORDS
    words = vocabulary_of(vocabulary)
    entry = np.where(missing, noise % len(MISSING), words.starts[kind] + rank)
    groups = [np.flatnonzero(form == number) for number in range(FORMS)]
    plain, shouted, wide, integer, amount, code, identifier, serial = groups
    texts = [
        words.text.take(pa.array(entry[plain])),
        pc.utf8_upper(words.text.take(pa.array(entry[shouted]))),
        pc.binary_join_element_wise(
            " ", pc.replace_substring(words.text.take(pa.array(entry[wide])), " ", "  "), " ", ""
        ),
        _digits(rank[integer], 1),
        pc.binary_join_element_wise(_digits(rank[amount] // 100, 1), _digits(rank[amount] % 100, 2), "."),
        _codes(columns.salt[column[code]], rank[code]),
        _identifiers(unit[identifier]),
        _digits(row[serial] + 1, 1),
    ]
    back = np.empty(len(form), np.int64)
    back[np.concatenate(groups)] = np.arange(len(form))
    return pa.concat_arrays(texts).take(pa.array(back))


def _digits(numbers: Numbers, width: int) -> pa.StringArray:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width, "0")


def _codes(salt: Hashes, rank: Numbers) -> pa.StringArray:
    """Return codes such as ``KX-004120``, the letters the column's or the domain's own."""
    letters = (_CAPITALS.take(pa.array((salt >> np.uint64(shift)) % np.uint64(26))) for shift in (0, 8))
    return pc.binary_join_element_wise(*letters, "-", _digits(rank, 6), "")


def _identifiers(unit: Units) -> pa.StringArray:
    """Return ten hexadecimal digits each."""
    digits = (unit * 2.0**40).astype(">i8").tobytes().hex().encode()
    data = np.frombuffer(digits, np.uint8).reshape(-1, 16)[:, 6:]
    return strings_from_buffers(data.ravel(), np.arange(len(data) + 1) * 10)


_CAPITALS = pa.array(list(ascii_uppercase))
