"""The kinds of columns: how their cells are written, how often they occur, what they are called."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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

MOST_KEY_COLUMNS = max(map(len, KEYS))
NAMES = list(KINDS)
ARITY = np.array([len(key) for key in KEYS])
TEMPLATES = np.array([[*map(NAMES.index, key), *[0] * (MOST_KEY_COLUMNS - len(key))] for key in KEYS])
FORM = np.array([kind.form for kind in KINDS.values()])
TEXT = FORM == WORDS
WEIGHTS = np.cumsum([kind.weight for kind in KINDS.values()]) / sum(kind.weight for kind in KINDS.values())
LEAST_MAGNITUDE, MAGNITUDES = np.array([kind.magnitudes for kind in KINDS.values()]).T
HEADER_COUNTS = np.array([len(kind.headers) for kind in KINDS.values()], np.uint64)
HEADERS = np.array([[*kind.headers, *[""] * (8 - len(kind.headers))] for kind in KINDS.values()], object)
