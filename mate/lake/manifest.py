"""The manifest: what an index is made of and with. Replacing it publishes a new state, all at once."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from mate.errors import StoreError
from mate.hashing import SuperKeyHash, get
from mate.limits import Limits
from mate.values.text import NORMALISATION_VERSION

FORMAT_VERSION = 2

MANY_SEGMENTS = 16
MUCH = 0.1
"""Compacting is advised from so many segments on, or from this share of superseded cells on."""

_LIMITS: dict[str, tuple[type, ...]] = {limit.name: (int,) for limit in fields(Limits)} | {
    "layout_tables": (bool,),
    "encoding": (str, type(None)),
}
"""The types that each of the limits may have."""


class OtherVersionError(StoreError):
    """An index that another version of MATE has written: nothing is wrong with it."""


@dataclass(frozen=True, slots=True)
class HashSpec:
    """A hash function as the manifest records it."""

    name: str
    bits: int
    parameters: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, function: SuperKeyHash) -> Self:
        """Return the specification of a hash function."""
        return cls(function.name, function.bits, function.parameters)

    def function(self) -> SuperKeyHash:
        """Return the hash function itself."""
        return get(self.name, self.bits, **self.parameters)

    def __str__(self) -> str:
        options = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}:{self.bits}" + (f":{options}" if options else "")


@dataclass(frozen=True, slots=True)
class Counts:
    """How much an index, or a part of it, holds."""

    tables: int = 0
    columns: int = 0
    rows: int = 0
    cells: int = 0
    """Cells that have a token, which is the number of postings."""
    rejects: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(own + more for own, more in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    def __sub__(self, other: Counts) -> Counts:
        return Counts(*(own - less for own, less in zip(asdict(self).values(), asdict(other).values(), strict=True)))


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """A segment of a lake, and what of it later segments supersede."""

    name: str
    counts: Counts
    """As written."""
    files: dict[str, tuple[int, int]]
    """Size and CRC-32 of every file."""
    superseded_tables: tuple[int, ...] = ()
    superseded_sources: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Size of all its files."""
        return sum(size for size, _ in self.files.values())

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return the segment in a record of a manifest."""
        files = {name: (int(size), int(crc)) for name, (size, crc) in record["files"].items()}
        superseded = {name: tuple(record[name]) for name in ("superseded_tables", "superseded_sources")}
        return cls(**{**record, "counts": Counts(**record["counts"]), "files": files, **superseded})


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index is made of and with; a query must hash and normalise exactly so."""

    hashes: tuple[HashSpec, ...]
    nulls: tuple[str, ...]
    counts: Counts
    """Of what is in use."""
    distinct_tokens: int
    """When the index was built or compacted: what the parameters of hash functions follow from."""
    limits: dict[str, Any] = field(default_factory=dict)
    """How much of a table was taken in (`mate.limits.Limits`), so that later changes are read in the same way."""
    label: str = ""
    """A word on the data where it matters, such as "synthetic"."""
    built: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    build: str = ""
    """A name that no other build has."""
    next_table: int = 0
    """The first number that no table ever had."""
    operations: int = 0
    """Changes since the index was built or compacted."""
    changed: str = ""
    """When the last one was made."""
    segments: tuple[SegmentRecord, ...] = ()
    layout: str = ""
    """Where a database keeps super keys (`mate.sql`)."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What a database remembers of its tables."""
    normalisation: int = NORMALISATION_VERSION
    format: int = FORMAT_VERSION

    @property
    def cell_characters(self) -> int:
        """A longer cell was kept but not indexed."""
        return int(self.limits["cell_characters"])

    def to_json(self) -> str:
        """Return the manifest as JSON, with a checksum."""
        record = asdict(self)
        return json.dumps({**record, "checksum": _checksum(record)}, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str, where: str) -> Self:
        """Return the manifest of the index at `where`, refusing what this version cannot read right."""
        try:
            record = json.loads(text)
            _check_versions(record, where)
            if record.pop("checksum") != _checksum(record):
                raise StoreError(f"{where} is damaged: the manifest does not have its checksum")
            found = cls(
                **{
                    **record,
                    "hashes": tuple(HashSpec(**spec) for spec in record["hashes"]),
                    "nulls": tuple(record["nulls"]),
                    "counts": Counts(**record["counts"]),
                    "segments": tuple(map(SegmentRecord.of, record["segments"])),
                }
            )
            _check_values(found)
            return found
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(f"{where} has a manifest that cannot be read: {error}") from error

    def hash_number(self, name: str | None = None, bits: int | None = None) -> int:
        """Return the place of a hash function among those of the index, the first one unless asked otherwise."""
        for number, spec in enumerate(self.hashes):
            if (name is None or spec.name == name) and (bits is None or spec.bits == bits):
                return number
        asked = f"{name or 'hash function'}" + (f" with {bits} bits" if bits else "")
        raise StoreError(f"the index has no {asked}; it was built with: {', '.join(map(str, self.hashes)) or 'none'}")

    @property
    def is_scattered(self) -> bool:
        """Whether compacting pays: there are many segments, or much of what they hold is superseded."""
        stored = sum(segment.counts.cells for segment in self.segments)
        return len(self.segments) >= MANY_SEGMENTS or stored > (1 + MUCH) * self.counts.cells

    def segment(self, name: str) -> SegmentRecord:
        """Return a segment by name."""
        return next(segment for segment in self.segments if segment.name == name)


def _check_values(manifest: Manifest) -> None:
    """Raise ValueError for values that no index has: what follows relies on them."""
    segments = manifest.segments
    texts = (manifest.label, manifest.built, manifest.build, manifest.changed, manifest.layout, *manifest.nulls)
    names = [name for segment in segments for name in (segment.name, *segment.files)]
    numbers = [manifest.distinct_tokens, manifest.next_table, manifest.operations]
    for counts in (manifest.counts, *(segment.counts for segment in segments)):
        numbers += asdict(counts).values()
    for segment in segments:
        numbers += segment.superseded_tables
        texts += segment.superseded_sources
    if any(type(number) is not int or not 0 <= number < 2**63 for number in numbers):
        raise ValueError("a count is no whole number")
    if not all(isinstance(text, str) for text in (*texts, *names)):
        raise ValueError("a text is none")
    if any(name in ("", ".", "..") or "/" in name or "\0" in name for name in names):
        raise ValueError("a segment or a file of it is not named as such")
    if len({segment.name for segment in segments}) < len(segments):
        raise ValueError("two segments have one name")
    if any(type(spec.name) is not str or type(spec.bits) is not int for spec in manifest.hashes):
        raise ValueError("a hash function has no name or size")
    if not all(isinstance(mapping, dict) for mapping in (manifest.limits, manifest.versions, manifest.notes)):
        raise ValueError("a list of settings is none")
    if any(type(value) not in _LIMITS.get(name, ()) for name, value in manifest.limits.items()):
        raise ValueError("a limit is not known, or is of another type")


def _checksum(record: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(record, sort_keys=True, ensure_ascii=False).encode())


def _check_versions(record: Mapping[str, Any], where: str) -> None:
    if record["format"] != FORMAT_VERSION:
        raise OtherVersionError(
            f"{where} has format {record['format']}, this version of MATE reads format {FORMAT_VERSION}: "
            + ("upgrade MATE" if record["format"] > FORMAT_VERSION else "build the index again with mate index")
        )
    if record["normalisation"] != NORMALISATION_VERSION:
        raise OtherVersionError(
            f"{where} was built with normalisation {record['normalisation']}, this version of MATE uses "
            f"{NORMALISATION_VERSION}: build the index again with mate index"
        )
