"""Options that builds and changes take by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from mate.errors import MateError, did_you_mean

if TYPE_CHECKING:
    from mate.build.progress import Progress
    from mate.limits import Limits


class ChangeOptions(TypedDict, total=False):
    """What every change takes."""

    wait: float
    """Seconds to wait for another build or change of the lake to end; 10 unless given."""
    master: str
    """Where tasks run: "none", in this process; "local[*]" or an address, on Spark; "auto", by size."""
    spark: Mapping[str, str]
    """Settings of Spark."""
    memory: int
    """Bytes that a task may use to write a segment; 2 GB unless given."""
    verbose: bool
    """Show what Spark logs."""
    progress: Progress
    """Is told how far the work is."""


class IndexOptions(TypedDict, total=False):
    """What a build takes."""

    format: str
    """How all files are read: "csv", "parquet", "json" or "dwtc"; found for each file unless given."""
    hashes: str | Sequence[str]
    """One or several hash functions of super keys, as NAME[:BITS[:PARAMETER=NUMBER,...]]; unless given, "xash",
    and "fingerprint:16" in PostgreSQL and DuckDB."""
    bits: int
    """Size of super keys where a hash does not say it; 128 unless given. Alone it is the size of "xash"."""
    nulls: str | Iterable[str]
    """One or several texts that count as no value, besides the usual ones."""
    limits: Limits
    """How much of a table is taken in."""
    strict: bool
    """Publish nothing if anything at all was rejected."""
    master: str
    """Where tasks run: "none", in this process; "local[*]" or an address, on Spark; "auto", by size."""
    spark: Mapping[str, str]
    """Settings of Spark."""
    memory: int | str
    """What a task may use to write a segment, in bytes or as "4GB"; 2 GB unless given."""
    segments: int
    """How many segments; as few as memory and cores allow unless given."""
    verbose: bool
    """Show what Spark logs."""
    progress: Progress
    """Is told how far the build is."""


def check_options(what: str, given: Mapping[str, object], known: Mapping[str, object]) -> None:
    """Refuse options that there are not."""
    for name in given:
        if name not in known:
            raise MateError(f'{what} has no option "{name}"; {did_you_mean(name, known)}')
