"""The values and rows that hash functions are compared on: a file, a corpus, or a synthetic sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mate.errors import CorpusError
from mate.hashing import CorpusStatistics
from mate.values.text import tokens


@dataclass(frozen=True)
class TokenTable:
    """One table as tokens, row after row."""

    width: int
    cells: pa.StringArray

    def __len__(self) -> int:
        return len(self.cells) // self.width


@dataclass(frozen=True)
class Sample:
    """Tables of tokens and where they come from."""

    label: str
    tables: list[TokenTable]

    @cached_property
    def distinct(self) -> pa.StringArray:
        """All distinct tokens."""
        return pa.chunked_array([t.cells for t in self.tables], pa.string()).unique().drop_null()

    @cached_property
    def statistics(self) -> CorpusStatistics:
        """What the hash functions choose their parameters from."""
        return CorpusStatistics(len(self.distinct), float(np.mean([t.width for t in self.tables])))


def from_values(path: Path, seed: int) -> Sample:
    """Return a sample of one value per line; rows of 2 to 30 values are drawn from them."""
    values = tokens(path.read_text(encoding="utf-8").splitlines()).drop_null().unique()
    if len(values) < 100:
        raise CorpusError(f"{path} has {len(values)} distinct values; the comparison needs at least 100")
    random = np.random.default_rng(seed)
    tables = []
    for width in (2, 5, 10, 20, 30):
        drawn = random.integers(0, len(values), 2_000 * width)
        tables.append(TokenTable(width, values.take(pa.array(drawn))))
    return Sample(f"values of {path.name}", [*tables, TokenTable(1, values)])


def from_corpus(directory: Path, most_cells: int) -> Sample:
    """Return the tables of a folder of web tables, CSV, JSON or Parquet files, up to a number of cells."""
    from mate.corpus import Chunk, discover, read

    tables, taken = [], 0
    for file in discover([str(directory)]):
        for item in read(file):
            if isinstance(item, Chunk) and item.rows:
                tables.append(TokenTable(len(item.table.header), tokens(item.cells)))
                taken += len(item.cells)
            if taken >= most_cells:
                return Sample(f"corpus {directory.name} (first {taken:,} cells)", tables)
    if not tables:
        raise CorpusError(f"no table with rows in {directory}")
    return Sample(f"corpus {directory.name}", tables)


def synthetic(seed: int, tables: int = 400) -> Sample:
    """Return tables with columns of the usual kinds: names, places, dates, codes, amounts, years."""
    random = np.random.default_rng(seed)
    syllables = np.array(list(map("".join, product("bdfgklmnprstvz", "aeiou", ("", "n", "r", "l")))))

    def words(count: int) -> npt.NDArray[np.str_]:
        made = np.char.add(random.choice(syllables, count), random.choice(syllables, count))
        return np.where(random.random(count) < 0.5, np.char.add(made, random.choice(syllables, count)), made)

    def digits(count: int, below: int) -> npt.NDArray[np.str_]:
        return random.zipf(1.3, count).clip(0, below).astype(str)

    kinds: list[Callable[[int], npt.NDArray[np.str_]]] = [
        words,
        lambda n: np.char.add(np.char.add(words(n), " "), words(n)),
        lambda n: random.integers(1900, 2030, n).astype(str),
        lambda n: (np.datetime64("1990-01-01") + random.integers(0, 15_000, n)).astype(str),
        lambda n: digits(n, 10**6),
        lambda n: np.char.add(np.char.add(words(n), "-"), digits(n, 999)),
        lambda n: np.round(random.lognormal(3, 2, n), 2).astype(str),
    ]
    made = []
    for _ in range(tables):
        width, height = int(random.integers(2, 25)), int(random.pareto(1.2) * 20) % 2_000 + 5
        columns = [pa.array(kinds[random.integers(len(kinds))](height), pa.string()) for _ in range(width)]
        order = np.arange(height * width).reshape(width, height).T.ravel()
        made.append(TokenTable(width, tokens(pa.concat_arrays(columns).take(pa.array(order)))))
    return Sample(f"synthetic ({tables} tables, seed {seed})", made)


def lengths(values: pa.StringArray) -> float:
    """Return the mean number of characters."""
    return float(pc.mean(pc.utf8_length(values)).as_py())
