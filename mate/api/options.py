"""Options that are given by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypedDict

from mate.errors import MateError, did_you_mean

if TYPE_CHECKING:
    from mate.api.arguments import Tables
    from mate.api.system import SearchSystem
    from mate.build.progress import Progress
    from mate.limits import Limits


class WorkOptions(TypedDict, total=False):
    """Where work runs."""

    master: str
    """"none": in this process, the default of graphs and batches; "local[*]" or an address: on Spark; "auto": by size,
    only for builds and changes, their default."""
    spark: Mapping[str, str]
    """Settings of Spark."""
    verbose: bool
    """Show Spark's log."""
    progress: Progress
    """Receives the progress of the work."""


class ChangeOptions(WorkOptions, total=False):
    """Options of every change, with those of `WorkOptions`."""

    wait: float
    """Seconds to wait for another build or change of the lake to end; default 10."""
    memory: int
    """Bytes that a task may use to write a segment; default 2 GB."""


class IndexOptions(WorkOptions, total=False):
    """Options of `mate.index`, with those of `WorkOptions`."""

    format: str
    """Format of all files: "csv", "parquet", "json" or "dwtc"; detected per file by default."""
    hashes: str | Sequence[str]
    """Hash functions of super keys, as NAME[:BITS[:PARAMETER=NUMBER,...]]; default "xash", and "fingerprint:16" in
    PostgreSQL and DuckDB."""
    bits: int
    """Size of super keys where a hash does not name one; default 128. Without `hashes`, the size of "xash"."""
    nulls: str | Iterable[str]
    """Further texts that count as no value."""
    limits: Limits
    """Limits on what is read of a table."""
    strict: bool
    """Publish nothing if anything is rejected."""
    memory: int | str
    """What a task may use to write a segment, in bytes or as "4GB"; default 2 GB."""
    segments: int
    """Number of segments; by default as few as memory and cores allow."""


class GraphOptions(WorkOptions, total=False):
    """Options of `Lake.graph`, with those of `WorkOptions`."""

    work: str | PathLike[str]
    """On Spark: a folder that all workers see, for the merged directory; default: the folder of the lake."""


class BatchOptions(WorkOptions, total=False):
    """Options of `Lake.search_many`, with those of `WorkOptions`."""

    k: int
    """Tables per query; default 10."""
    rank: str
    """"usefulness" (default) or "joinability"."""
    names: bool
    """Whether the names of columns and tables count; default True."""
    exclude: Tables
    """Tables to leave out; "self": those of each query's own file."""
    system: SearchSystem | str
    """How to search."""
    encoding: str
    """Encoding of the queries' files; detected by default."""


def check_options(call: str, given: Mapping[str, object], known: type) -> None:
    """Refuse options that a call does not have."""
    names = known.__annotations__
    for name in given:
        if name not in names:
            raise MateError(f'{call} has no option "{name}"; {did_you_mean(name, names)}')
