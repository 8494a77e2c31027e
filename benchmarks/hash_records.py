"""Raw records of the hash laboratory, one file per contestant and place, and metrics that are computed from them.

A record that is there is not measured again, so that a run that was stopped goes on. A metric is an entry: what it is
called, whether more of it is better, how it is written, and a function of a record.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.hash_contestants import Contestant
from experiments import machine
from experiments.definitions import digest, slug
from mate.errors import MateError

CODE = 2
"""Raised when the way of measuring changes."""

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Metric:
    """A number of a contestant."""

    name: str
    more_is_better: bool
    write: Callable[[float], str]
    of: Callable[[Record], float | None]


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def precision(record: Record) -> float | None:
    """Return the mean precision over the queries that have candidates."""
    return _mean([query["precision"] for query in record.get("queries", ()) if query["precision"] is not None])


def ideal_precision(record: Record, bits_per_column: float) -> float | None:
    """Return the precision of an ideal filter that spends so many bits on every column, whatever the row.

    A set of w values told apart with an error of e takes at least w * log2(1 / e) bits, so that of the pairs that do
    not join at least 2^-(bits per column) pass. (Those whose row holds all values pass a filter by sets besides;
    fingerprints, which know columns, can stop them.) It is no bound for filters that give more bits per column to
    some rows than to others, as a key of fixed size does to narrow ones.
    """
    found = []
    for query in record.get("queries", ()):
        kept, wrong = query["true_positives"], query["false_positives_unfiltered"] * 2**-bits_per_column
        if kept + wrong:
            found.append(kept / (kept + wrong))
    return _mean(found)


def milliseconds(record: Record) -> float | None:
    """Return what a search takes on average."""
    found = _mean([query["seconds"] for query in record.get("queries", ())])
    return None if found is None else 1_000 * found


def seconds_ratio(record: Record) -> float | None:
    """Return the seconds of all searches relative to those without a row filter, in the same run."""
    plain = sum(query["seconds_unfiltered"] for query in record.get("queries", ()))
    return sum(query["seconds"] for query in record["queries"]) / plain if plain else None


def bits_per_row(record: Record) -> float | None:
    """Return the bits that the super key of a row takes on average."""
    if record.get("rows"):
        return 8 * float(record["key_bytes"]) / float(record["rows"])
    return record.get("bits_per_row")


def _field(name: str) -> Callable[[Record], float | None]:
    return lambda record: record.get(name)


METRICS = (
    Metric("bits per row", False, "{:.0f}".format, bits_per_row),
    Metric("M values/s", True, lambda v: f"{v / 1e6:.2f}", _field("values_per_second")),
    Metric("× mmh3 loop", True, "{:.2f}".format, _field("times_mmh3")),
    Metric("bits per value", False, "{:.1f}".format, _field("bits_per_value")),
    Metric("distinct hashes", True, "{:.4f}".format, _field("distinct_hashes")),
    Metric("false positives", False, "{:.3%}".format, _field("false_positives")),
    Metric("near misses", False, "{:.3%}".format, _field("near_misses")),
    Metric("precision", True, "{:.3f}".format, precision),
    Metric("ms per search", False, "{:.1f}".format, milliseconds),
    Metric("seconds / SCR", False, "{:.2f}×".format, seconds_ratio),
    Metric("key bytes", False, "{:,.0f}".format, _field("key_bytes")),
    Metric("index bytes", False, "{:,.0f}".format, _field("index_bytes")),
)


@dataclass(frozen=True)
class Store:
    """A folder of records."""

    folder: Path

    def measured(
        self, contestant: Contestant, place: str, settings: Record, measure: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the record of a contestant at a place: the one that is there, else a new one, which is then stored."""
        told = {**asdict(contestant), "place": place, "settings": dict(settings), "code": CODE}
        name = f"{slug(contestant.label)}-{digest(told)}.json"
        path = self.folder / "records" / slug(place) / name
        if path.exists():
            return _read(path)
        record = {**told, "machine": machine.describe(), "versions": machine.versions(), **measure()}
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{name}.{os.getpid()}.part")
        part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        part.replace(path)
        return record

    def all(self) -> list[dict[str, Any]]:
        """Return all records."""
        return [_read(path) for path in sorted((self.folder / "records").rglob("*.json"))]

    def by_place(self) -> list[list[dict[str, Any]]]:
        """Return the last record of every contestant, by where it was measured, of all calls."""
        found: dict[str, dict[tuple[str, int], dict[str, Any]]] = {}
        for path in sorted((self.folder / "records").rglob("*.json"), key=_written):
            record = _read(path)
            found.setdefault(record["place"], {})[record["name"], record["bits"]] = record
        return [list(records.values()) for records in found.values()]


def _written(path: Path) -> int:
    return path.stat().st_mtime_ns


def _read(path: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MateError(f"{path} cannot be read ({error}): delete it, and it is measured again") from None
    return record


def differences(before: Path, after: Path) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Yield place, contestant, metric, both numbers and the change, where two folders have the same contestant."""
    ends = [{(r["place"], r["name"], r["bits"]): r for r in Store(folder).all()} for folder in (before, after)]
    if not ends[0] or not ends[1]:
        raise MateError(
            f"{before if not ends[0] else after} holds no records: python -m benchmarks hashes --results DIR"
        )
    for key in (key for key in ends[0] if key in ends[1]):
        for metric in METRICS:
            one, other = (metric.of(end[key]) for end in ends)
            if one is not None and other is not None and metric.write(one) != metric.write(other):
                better = (other > one) == metric.more_is_better
                change = f"{other / one - 1:+.1%}" if one else "new"
                place, name, bits = key
                told = f"{change} {'better' if better else 'worse'}"
                yield place, f"{name} {bits}", metric.name, metric.write(one), metric.write(other), told
