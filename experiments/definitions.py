"""What is measured, as data: a definition decides where its records lie and whether they are there already."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.hashes import described

CODE = 4
"""Raised when the way of measuring changes, so that older records are not taken for new ones."""


ARRAYS = "arrays"
"""The engine of a lake of segments."""


def titled(lake: str, engine: str) -> str:
    """Return a lake for people, with what holds it, or how it was measured, unless that is arrays."""
    return lake if engine == ARRAYS else f"{lake}, {engine}"


def digest(value: Any) -> str:
    """Return a short name for JSON data, the same in every process."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def slug(text: str) -> str:
    """Return text as a part of a path: ``WT (10)`` becomes ``wt-10``."""
    return re.sub(r"[^a-z0-9.]+", "-", text.casefold()).strip("-") or "unnamed"


@dataclass(frozen=True, slots=True)
class Method:
    """A contestant: a system, the hash function of its row filter, and how it searches.

    The defaults are the paper's: the initial column by cardinality (section 6.1), tables bounded by their
    postings (section 6.2), and no semi-join: key tuples with a value that the lake does not have are searched for.
    """

    system: str = "mate"
    """As `mate.search.systems` knows it, or ``module:function``."""
    hash: str = ""
    """As `mate.hashing` knows it; empty for systems without a row filter."""
    bits: int = 0
    variant: str = ""
    """What sets it apart from a method with the same system, hash and bits."""
    initial_column: str = "cardinality"
    tight_bound: bool = False
    semi_join: bool = False
    own_table: bool = True
    """Whether the query's own table may be among the answers."""
    engine: str = ARRAYS
    """What searches: the arrays of a lake, or a database. Methods are compared on the same engine only."""
    exact: bool = True
    """Whether its answers must equal those of all others."""

    @property
    def family(self) -> str:
        """The hash function without its variant: ``bf`` for ``bf-fair``."""
        return described(self.hash)[0]

    @property
    def variants(self) -> str:
        """The variant of the method, or that of its hash function."""
        return self.variant or described(self.hash)[1]

    @property
    def label(self) -> str:
        """The method for people: ``bf 128 (fair)``."""
        name = f"{self.family} {self.bits}" if self.hash else self.system
        return name + (f" ({self.variants})" if self.variants else "")


@dataclass(frozen=True, slots=True)
class Definition:
    """One method on one query set: what one file of records holds."""

    group: str
    """The folder of its records. Experiments that measure the same share it."""
    lake: str
    lake_fingerprint: str
    index: str
    query_set: str
    queries_fingerprint: str
    method: Method
    k: int
    repetitions: int
    timeout: float
    action: str = "search"
    code: int = CODE

    @property
    def fingerprint(self) -> str:
        """A short name of the whole definition."""
        return digest(asdict(self))

    @property
    def path(self) -> Path:
        """Where its records lie, below the folder of results: readable, with the fingerprint at the end."""
        lake = f"{slug(self.lake)}-{self.lake_fingerprint}"
        name = f"{slug(self.method.label)}-k{self.k}-{self.fingerprint}.parquet"
        return Path("records", self.group, lake, slug(self.query_set), name)
