"""The manifest: what an index consists of and how it was built. Replacing it publishes a new state atomically."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, fields
from operator import add, sub
from typing import Any, Self

from mate.errors import StoreError
from mate.hashing import SuperKeyHash, get
from mate.limits import Limits
from mate.values.text import NORMALISATION_VERSION

FORMAT_VERSION = 2

MANY_SEGMENTS = 16
MANY_SUPERSEDED = 0.1
"""From so many segments, or this fraction of superseded cells, compacting is advised."""

_LIMITS: dict[str, tuple[type, ...]] = {limit.name: (int,) for limit in fields(Limits)} | {
    "layout_tables": (bool,),
    "encoding": (str, type(None)),
}
"""The types of each limit's values."""


_FILE_NAME = re.compile(r"(?!\.{1,2}$)[^/\0]+", re.DOTALL)


class OtherVersionError(StoreError):
    """A sound index of another version of MATE."""


@dataclass(frozen=True, slots=True)
class HashSpec:
    """A hash function as the manifest records it."""

    name: str = "xash"
    bits: int = 128
    parameters: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, function: SuperKeyHash) -> Self:
        """Describe a hash function."""
        return cls(function.name, function.bits, function.parameters)

    def function(self) -> SuperKeyHash:
        """Return the hash function."""
        return get(self.name, self.bits, **self.parameters)

    def __str__(self) -> str:
        options = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}:{self.bits}" + (f":{options}" if options else "")


@dataclass(frozen=True, slots=True)
class Counts:
    """How much an index, or a part of it, has."""

    tables: int = 0
    columns: int = 0
    rows: int = 0
    cells: int = 0
    """Cells that have a token, which is the number of postings."""
    rejects: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(add, astuple(self), astuple(other)))

    def __sub__(self, other: Counts) -> Counts:
        return Counts(*map(sub, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """A segment of a lake, and what later segments supersede in it."""

    name: str
    counts: Counts
    """As written."""
    files: dict[str, tuple[int, int]]
    """Size and CRC-32 by name."""
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
    """What an index consists of and how it was built; a query must hash and normalise in the same way."""

    hashes: tuple[HashSpec, ...]
    nulls: tuple[str, ...]
    counts: Counts
    """Of what is in use."""
    distinct_tokens: int
    """When the index was built or compacted: the parameters of hash functions follow from it."""
    limits: dict[str, Any] = field(default_factory=dict)
    """How files were read (`mate.limits.Limits`); changes read them in the same way."""
    label: str = ""
    """The kind of data where it matters, such as "synthetic"."""
    built: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    build: str = ""
    """A unique name."""
    next_table: int = 0
    """The first number that was never used."""
    operations: int = 0
    """Changes since the index was built or compacted."""
    changed: str = ""
    """Time of the last change."""
    segments: tuple[SegmentRecord, ...] = ()
    layout: str = ""
    """Where a database stores super keys (`mate.sql`)."""
    notes: dict[str, Any] = field(default_factory=dict)
    """Notes of a database on its tables."""
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
        """Parse the manifest of the index at `where`; raise StoreError for one that this version cannot read."""
        try:
            record = json.loads(text)
            _check_versions(record, where)
            if record.pop("checksum") != _checksum(record):
                raise StoreError(f"{where} is damaged: the manifest does not have its checksum")
            manifest = cls(
                **{
                    **record,
                    "hashes": tuple(HashSpec(**spec) for spec in record["hashes"]),
                    "nulls": tuple(record["nulls"]),
                    "counts": Counts(**record["counts"]),
                    "segments": tuple(map(SegmentRecord.of, record["segments"])),
                }
            )
            _check_values(manifest)
            return manifest
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(f"{where} has a manifest that cannot be read: {error}") from error

    def hash_number(self, name: str | None = None, bits: int | None = None) -> int:
        """Return the number of a hash function of the index, the first one by default."""
        for number, spec in enumerate(self.hashes):
            if (name is None or spec.name == name) and (bits is None or spec.bits == bits):
                return number
        asked = f"{name or 'hash function'}" + (f" with {bits} bits" if bits else "")
        raise StoreError(f"the index has no {asked}; it was built with: {', '.join(map(str, self.hashes)) or 'none'}")

    @property
    def is_scattered(self) -> bool:
        """Whether compacting pays: there are many segments, or many superseded cells."""
        stored = sum(segment.counts.cells for segment in self.segments)
        return len(self.segments) >= MANY_SEGMENTS or stored > (1 + MANY_SUPERSEDED) * self.counts.cells


def _check_values(manifest: Manifest) -> None:
    """Raise ValueError for values that no index has."""
    segments = manifest.segments
    names = [name for segment in segments for name in (segment.name, *segment.files)]
    texts = [manifest.label, manifest.built, manifest.build, manifest.changed, manifest.layout, *manifest.nulls, *names]
    texts += [source for segment in segments for source in segment.superseded_sources]
    numbers = [manifest.distinct_tokens, manifest.next_table, manifest.operations, *astuple(manifest.counts)]
    numbers += [n for segment in segments for n in (*astuple(segment.counts), *segment.superseded_tables)]
    mappings = (manifest.limits, manifest.versions, manifest.notes)
    for holds, problem in (
        (all(type(number) is int and 0 <= number < 2**63 for number in numbers), "a count is no whole number"),
        (all(isinstance(text, str) for text in texts), "a text is something else"),
        (all(_FILE_NAME.fullmatch(str(name)) for name in names), "a name of a segment or file is not allowed"),
        (len({segment.name for segment in segments}) == len(segments), "two segments have one name"),
        (all(type(h.name) is str and type(h.bits) is int for h in manifest.hashes), "a hash has no name or size"),
        (all(isinstance(mapping, dict) for mapping in mappings), "settings are no mapping"),
        (all(type(value) in _LIMITS.get(name, ()) for name, value in manifest.limits.items()), "a limit is unknown"),
    ):
        if not holds:
            raise ValueError(problem)


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
