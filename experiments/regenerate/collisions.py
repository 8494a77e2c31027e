"""Section 6.4: how likely two values collide under XASH and under LHBF, by the paper's formulas and measured.

The paper compares 2 / (|a| (|a| - 1)), the chance that two values set the same two bits of an LHBF, with the chance
that two values have the same K rare characters at the same places, and the same length. Three readings of the latter:

- ``product``: 1/(37 beta) * 1/(36 beta) * ... * 1/((37-K+1) beta), as the text says,
- ``printed``: 1/beta * (1/(37-K+1))^K, as the inequality is printed, and with 1/17 * 1/beta for the length,
- ``set``: 1 / (C(37, K) beta^K), because XASH does not keep the order of the characters.

All assume that characters, places and lengths are equally likely, which they are not. So collisions are also counted:
of the lake's own tokens, drawn at random, the share of pairs with the same hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import comb, prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from experiments.experiment import LakeExperiment, Measured
from experiments.hashes import compared, components, described
from experiments.lakes import MeasuredLake
from experiments.queries import rows_of, shuffled
from experiments.scales import Scale
from mate.hashing.xash import SEGMENTS, BitLayout
from mate.lake.base import Index
from mate.stores import open_index
from mate.values.text import tokens

SIZES = (128, 256, 512)
CHARACTERS = range(1, 8)
SEED = 1
_ROWS = 200
"""Rows of a table that tokens are taken from."""

SCHEMA = pa.schema(
    [
        ("lake", pa.string()),
        ("label", pa.string()),
        ("kind", pa.string()),
        ("hash", pa.string()),
        ("bits", pa.int64()),
        ("variant", pa.string()),
        ("reading", pa.string()),
        ("characters", pa.int64()),
        ("length", pa.bool_()),
        ("probability", pa.float64()),
        ("below_lhbf", pa.bool_()),
        ("tokens", pa.int64()),
        ("distinct_hashes", pa.int64()),
        ("colliding_pairs", pa.int64()),
        ("mean_ones", pa.float64()),
        ("hash_parameters", pa.string()),
    ]
)


def lhbf(bits: int) -> float:
    """Return the paper's chance of a collision under LHBF."""
    return 2 / (bits * (bits - 1))


def xash(bits: int, characters: int, reading: str, length: bool) -> float:
    """Return the chance of a collision under XASH by one reading of the paper."""
    layout, alphabet = BitLayout.of(bits), len(SEGMENTS)
    if reading == "printed":
        chance = (1 / layout.beta) * (1 / (alphabet - characters + 1)) ** characters
    elif reading == "product":
        chance = prod(1 / ((alphabet - i) * layout.beta) for i in range(characters))
    else:
        chance = 1 / (comb(alphabet, characters) * layout.beta**characters)
    return chance / layout.length_bits if length else chance


def formulas(scratch: Path) -> list[dict[str, Any]]:
    """Return what the formulas say."""
    rows: list[dict[str, Any]] = []
    for bits in SIZES:
        rows.append({"kind": "formula", "hash": "lhbf", "bits": bits, "probability": lhbf(bits)})
        for reading in ("product", "printed", "set"):
            for length in (False, True):
                for characters in CHARACTERS:
                    chance = xash(bits, characters, reading, length)
                    # With the length the paper's inequality has 1 / (|a| (|a| - 1)), without the 2.
                    bound = lhbf(bits) / 2 if length and reading == "printed" else lhbf(bits)
                    rows.append(
                        {
                            "kind": "formula",
                            "hash": "xash",
                            "bits": bits,
                            "reading": reading,
                            "characters": characters,
                            "length": length,
                            "probability": chance,
                            "below_lhbf": chance < bound,
                        }
                    )
    return [{"lake": "", "label": "", "variant": "", **row} for row in rows]


def measured(lake: MeasuredLake, address: str, count: int, scratch: Path) -> list[dict[str, Any]]:
    """Count pairs of the lake's tokens that have the same hash, for every hash function of the index."""
    with open_index(address) as index:
        texts = sample_tokens(index, count)
        wanted = [*compared(), *components()]
        specs = [spec for spec in index.manifest.hashes if (spec.name, spec.bits) in wanted]
        label = index.manifest.label
    rows = []
    for spec in specs:
        keys = spec.function().hash(texts)
        same = _group_sizes(keys)
        family, variant = described(spec.name)
        pairs = int((same * (same - 1) // 2).sum())
        rows.append(
            {
                "lake": lake.name,
                "label": label,
                "kind": "measured",
                "hash": family,
                "bits": spec.bits,
                "variant": variant,
                "probability": pairs / (len(texts) * (len(texts) - 1) / 2),
                "tokens": len(texts),
                "distinct_hashes": len(same),
                "colliding_pairs": pairs,
                "mean_ones": float(np.bitwise_count(keys).sum(axis=1).mean()),
                "hash_parameters": str(spec),
            }
        )
    return rows


def sample_tokens(index: Index, count: int, seed: int = SEED) -> pa.StringArray:
    """Return up to `count` distinct tokens from tables drawn at random, the first rows of each."""
    nulls = frozenset(index.manifest.nulls)
    found: set[str] = set()
    for table in shuffled(index, np.random.default_rng(seed)):
        rows = rows_of(index, table, _ROWS)
        found.update(tokens([cell for cells in rows for cell in cells], nulls).unique().drop_null().to_pylist())
        if len(found) >= count:
            break
    return pa.array(sorted(found)[:: max(1, len(found) // count)][:count], pa.string())


def _group_sizes(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    rows = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.dtype.itemsize * keys.shape[1]))).ravel()
    return np.unique(rows, return_counts=True)[1].astype(np.int64)


def parts(lake: MeasuredLake, address: str, scale: Scale) -> Iterator[Measured]:
    """Yield the formulas, which are the same for every lake, and the count."""
    yield Measured("formulas", {"sizes": SIZES, "characters": list(CHARACTERS)}, formulas, shared=True)
    yield Measured("measured", {"tokens": scale.tokens, "seed": SEED}, partial(measured, lake, address, scale.tokens))


EXPERIMENT = LakeExperiment(
    name="collisions",
    regenerates="Section 6.4",
    what="collisions of XASH and LHBF, computed and counted",
    group="collisions",
    schema=SCHEMA,
    parts=parts,
)
