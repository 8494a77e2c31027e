"""What sections 5 and 7.3 say of values and super keys, looked at row by row.

- ``length``: cells whose value is no longer than the length segment has bits.
- ``postings``: the share of all postings that the most frequent hundredth of the values has.
- ``kept``: no false negatives: the super key of every row of the lake, as stored, against the hashes of its values.
- ``fill``: the share of 1-bits in the super keys of rows with six values.
- ``covered``: rows that cover a value of their own table that they do not hold, by the width of the row, by the length
  and type of the value, and by whether the row holds a value that looks like it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from experiments.errors import ExperimentError
from experiments.experiment import LakeExperiment, Measured
from experiments.hashes import described
from experiments.lakes import MeasuredLake
from experiments.probes import ProbedRows, covered, fill
from experiments.queries import rows_of, shuffled
from experiments.scales import Scale
from experiments.stored_keys import missed
from mate.hashing import SuperKeyHash
from mate.hashing.xash import BitLayout
from mate.lake.base import Ids, Index
from mate.lake.folder import LakeFolder
from mate.lake.manifest import HashSpec
from mate.stores import open_index
from mate.values.text import tokens

SEED = 1
SIX = 6
_PER_TABLE = 20
"""Rows of a table that probes are drawn for, at most."""

WIDTHS = {"1-3": (1, 3), "4-6": (4, 6), "7-10": (7, 10), "11-20": (11, 20), "21+": (21, 10**9)}
LENGTHS = {"1-4": (1, 4), "5-8": (5, 8), "9-17": (9, 17), "18+": (18, 10**9)}

SCHEMA = pa.schema(
    [
        ("lake", pa.string()),
        ("label", pa.string()),
        ("kind", pa.string()),
        ("hash", pa.string()),
        ("bits", pa.int64()),
        ("variant", pa.string()),
        ("by", pa.string()),
        ("group", pa.string()),
        ("checked", pa.int64()),
        ("missed", pa.int64()),
        ("share", pa.float64()),
        ("hash_parameters", pa.string()),
    ]
)

Row = dict[str, Any]


def measured(lake: MeasuredLake, address: str, rows: int, scratch: Path) -> list[Row]:
    """Look at all values and rows of a lake, and at a sample of probes."""
    with open_index(address) as index:
        if not isinstance(index, LakeFolder):
            raise ExperimentError(f"{address}: rows are looked at in a lake of segments only")
        found = [*_lengths(index), *_postings(index)]
        probes = draw(index, rows)
        for number, spec in enumerate(index.manifest.hashes):
            own = [_kept(index, number, spec), *_probed(spec.function(), probes)]
            family, variant = described(spec.name)
            facts = {"hash": family, "bits": spec.bits, "variant": variant, "hash_parameters": str(spec)}
            found += [row | facts for row in own]
        label = index.manifest.label
    return [{"lake": lake.name, "label": label, **row} for row in found]


def _lengths(index: LakeFolder) -> Iterator[Row]:
    for bits in (128, 512):
        most = BitLayout.of(bits).length_bits
        short = cells = 0
        for segment in index.segments:
            lengths = pc.utf8_length(segment.texts(np.arange(len(segment.arrays.token_id)))).to_numpy()
            counts = segment.posting_counts(np.arange(len(lengths)))
            short += int(counts[lengths <= most].sum())
            cells += int(counts.sum())
        told = f"at most {most} characters"
        yield {"kind": "length", "bits": bits, "group": told, "checked": cells, "share": short / max(1, cells)}


def _postings(index: LakeFolder) -> Iterator[Row]:
    ids = np.concatenate([segment.arrays.token_id for segment in index.segments])
    counts = [segment.posting_counts(np.arange(len(segment.arrays.token_id))) for segment in index.segments]
    _, place = np.unique(ids, return_inverse=True)
    total = np.sort(np.bincount(place, np.concatenate(counts)))[::-1]
    top = total[: max(1, len(total) // 100)].sum() / total.sum()
    yield {"kind": "postings", "group": "most frequent hundredth", "checked": len(total), "share": float(top)}


def _kept(index: LakeFolder, number: int, spec: HashSpec) -> Row:
    """Count the values of rows whose bits the row's super key does not have."""
    found = [missed(spec.function(), segment, segment.keys[number]) for segment in index.segments]
    checked, wrong = (sum(counts) for counts in zip(*found, strict=True))
    return {"kind": "kept", "checked": checked, "missed": wrong, "share": wrong / max(1, checked)}


class Probes(NamedTuple):
    """Rows, and for each a value of its own table that it does not hold."""

    rows: ProbedRows
    held: Ids
    """The values of each row."""
    value: pa.StringArray
    width: npt.NDArray[np.str_]
    length: npt.NDArray[np.str_]
    type: npt.NDArray[np.str_]
    similar: npt.NDArray[np.str_]


def draw(index: Index, rows: int) -> Probes:
    """Draw rows of tables in random order, and a value for each that another row of the table has."""
    nulls = frozenset(index.manifest.nulls)
    dice = np.random.default_rng(SEED)
    whole: list[list[str | None]] = []
    held: list[list[str]] = []
    values: list[str] = []
    for table in shuffled(index, np.random.default_rng(SEED)):
        cells = [tokens(row, nulls).to_pylist() for row in rows_of(index, table, 200)]
        cells = [row for row in cells if any(row)]
        body = [[cell for cell in row if cell is not None] for row in cells]
        for place in dice.permutation(len(body))[:_PER_TABLE].tolist():
            other = body[int(dice.integers(len(body)))]
            value = other[int(dice.integers(len(other)))]
            if value not in body[place]:
                whole.append(cells[place])
                held.append(body[place])
                values.append(value)
        if len(held) >= rows:
            break
    return Probes(
        ProbedRows(pa.array([cell for row in whole for cell in row], pa.string()), np.cumsum([0, *map(len, whole)])),
        np.array([len(row) for row in held], np.int64),
        pa.array(values, pa.string()),
        np.array([_named(len(row), WIDTHS) for row in held]),
        np.array([_named(len(value), LENGTHS) for value in values]),
        np.array([type_of(value) for value in values]),
        np.array(["similar" if looks_like(v, row) else "other" for v, row in zip(values, held, strict=True)]),
    )


def _named(size: int, bounds: Mapping[str, tuple[int, int]]) -> str:
    return next(name for name, (least, most) in bounds.items() if least <= size <= most)


def type_of(value: str) -> str:
    """Return what a value is made of: digits, letters, or both."""
    digits, letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    return "digits and letters" if digits and letters else "digits" if digits else "letters"


def looks_like(value: str, row: list[str]) -> bool:
    """Tell whether a row holds a value as long as this one with most characters at the same places."""
    return any(
        len(other) == len(value) and 2 * sum(a == b for a, b in zip(value, other, strict=True)) > len(value)
        for other in row
    )


def _probed(function: SuperKeyHash, probes: Probes) -> Iterator[Row]:
    """Yield how often rows cover values that they do not hold, and how full rows of six values are."""
    found = covered(function, probes.rows, probes.value)
    yield {"kind": "covered", "by": "all", "group": "all", "checked": len(found), "share": _mean(found)}
    for by in ("width", "length", "type", "similar"):
        groups = getattr(probes, by)
        for group in dict.fromkeys(groups.tolist()):
            own = found[groups == group]
            yield {"kind": "covered", "by": by, "group": group, "checked": len(own), "share": _mean(own)}
    six = probes.held == SIX
    if six.any():
        full = fill(function, probes.rows)[six]
        yield {"kind": "fill", "group": "six values", "checked": int(six.sum()), "share": float(full.mean())}


def _mean(flags: Any) -> float:
    return float(flags.mean()) if len(flags) else 0.0


def parts(lake: MeasuredLake, address: str, scale: Scale) -> Iterator[Measured]:
    """Yield the one measurement."""
    settings = {"rows": scale.tokens, "seed": SEED}
    yield Measured("rows", settings, partial(measured, lake, address, scale.tokens))


EXPERIMENT = LakeExperiment(
    name="row-filter",
    regenerates="Sections 5, 6.3, 7.3",
    what="values and super keys row by row: lengths, postings, fill, false negatives and positives",
    group="row-filter",
    schema=SCHEMA,
    parts=parts,
)
