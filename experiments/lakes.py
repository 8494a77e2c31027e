"""Lakes: a corpus, and the indexes that experiments search, built once and kept below the folder of results."""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from experiments import pypi_lake
from experiments.definitions import digest, slug
from experiments.errors import ExperimentError
from experiments.hashes import Spec, compared, components
from mate.build.build import BuildSettings, HashRequest, Summary, build
from mate.build.duckdb_target import DuckDBTarget
from mate.build.progress import Progress
from mate.corpus import Limits
from mate.hashing import CorpusStatistics
from mate.store import open_store
from mate.store.base import FORMAT_VERSION, HashSpec

DESCRIPTIONS = ("manifest.csv", "sources.csv")
"""Files at the top of a corpus that describe it and are no part of it."""
SPARK_FROM = 500_000_000
"""Bytes of a corpus from which on its indexes are built on Spark, on all cores."""

MAIN = "main"
HASHES = "hashes"


class Request(HashRequest):
    """A hash function asked for, which may be one of `experiments.hashes`."""

    __slots__ = ()

    def chosen(self, corpus: CorpusStatistics) -> HashSpec:
        """Return the specification for a corpus."""
        found = HashRequest.chosen(self, corpus)
        return Spec(found.name, found.bits, found.parameters)


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """An index that experiments need."""

    name: str
    hashes: tuple[tuple[str, int], ...]
    layout: str
    josie: bool

    @property
    def fingerprint(self) -> str:
        """A short name of what is in it."""
        return digest(asdict(self))

    def settings(self, master: str) -> BuildSettings:
        """Return how it is built."""
        requests = tuple(Request(name, bits) for name, bits in self.hashes)
        return BuildSettings(requests, self.layout, josie=self.josie, master=master)


INDEXES = {
    MAIN: IndexSpec(MAIN, (("xash", 128), ("xash-paper", 128)), "per_cell", True),
    HASHES: IndexSpec(HASHES, (*compared(), *components()), "per_row", False),
}
"""``main`` is what `mate index --josie` builds, with XASH by the paper's alpha as well. ``hashes`` carries every hash
function in all sizes and the variants of figure 5, super keys once a row: with them in every posting it would be many
times larger."""


@dataclass(frozen=True, slots=True)
class Lake:
    """A corpus as experiments see it."""

    name: str
    prefix: str
    """What its query sets are called: ``WT`` for web tables."""
    bounds: tuple[int, ...]
    """Cardinalities that its sampled query sets stay below."""
    paths: tuple[str, ...] = ()
    fingerprint: str = ""
    size: int = 0
    """Bytes of its files."""
    store: str = ""
    """An index that is already there; then there is no corpus."""
    label: str = ""
    limits: Limits = field(default_factory=Limits)

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"{slug(self.name)}-{self.fingerprint}"

    def address(self, results: Path, index: str) -> str:
        """Return where an index of it is, or will be."""
        if self.store:
            return self.store
        name = f"{index}-{INDEXES[index].fingerprint}-format{FORMAT_VERSION}.duckdb"
        return str(results / "lakes" / self.folder / name)

    def has_index(self, results: Path, index: str) -> bool:
        """Tell whether the index is there."""
        return bool(self.store) or Path(self.address(results, index)).is_file()


def build_index(lake: Lake, results: Path, index: str, master: str | None, progress: Progress) -> Summary | None:
    """Build an index of a lake unless it is there."""
    if lake.has_index(results, index):
        return None
    chosen = master or ("local[*]" if lake.size >= SPARK_FROM else "none")
    with DuckDBTarget(lake.address(results, index)) as target:
        settings = replace(INDEXES[index].settings(chosen), limits=lake.limits)
        return build(lake.paths, target, settings, progress)


def synthetic(tables: int, seed: int) -> Lake:
    """Return a made-up lake."""
    from mate.corpus.synthetic import SyntheticLake

    made = SyntheticLake(tables=tables, seed=seed)
    size = made.expected_cells * 8
    return Lake(
        "synthetic", "synthetic", (10, 100, 1_000), (made.address,), digest(made.address), size, "", "synthetic"
    )


def of_folder(name: str, folder: Path, prefix: str = "", bounds: tuple[int, ...] = (), tier: str = "") -> Lake:
    """Return the lake of a folder; of a corpus with tiers only the given one."""
    root = folder.expanduser()
    if not root.exists():
        raise ExperimentError(f"{name}: there is no folder {folder}")
    files = [root] if root.is_file() else _files(root, tier)
    if not files:
        raise ExperimentError(f"{name}: {folder} holds no files" + (f" of the tier {tier}" if tier else ""))
    facts = [(str(path.relative_to(root.parent)), *_facts(path)) for path in files]
    bounds = bounds or (10, 100, 1_000, 10_000)
    size = sum(fact[1] for fact in facts)
    return Lake(name, prefix or name, bounds, tuple(map(str, files)), digest(sorted(facts)), size)


def _files(root: Path, tier: str) -> list[Path]:
    """Return the files of a corpus without those that describe it, and without hidden ones."""
    chosen = _of_tier(root, tier) if tier else None
    found = (path for path in sorted(root.rglob("*")) if path.is_file())
    return [
        path
        for path in found
        if not (path.parent == root and path.name in DESCRIPTIONS)
        and not any(part.startswith(".") for part in path.relative_to(root).parts)
        and (chosen is None or path.relative_to(root).as_posix() in chosen)
    ]


def _of_tier(root: Path, tier: str) -> set[str] | None:
    """Return the files of a tier, None if the corpus knows no tiers."""
    manifest = root / DESCRIPTIONS[0]
    if not manifest.is_file():
        return None
    with manifest.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    if not rows or not {"tier", "path"} <= set(rows[0]):
        return None
    tiers = sorted({row["tier"] for row in rows})
    if tier not in tiers:
        raise ExperimentError(f"{manifest} has no tier {tier}; it has: {', '.join(tiers)}")
    return {row["path"] for row in rows if row["tier"] == tier}


def _facts(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def of_store(address: str) -> Lake:
    """Return an index that is already there as a lake: nothing is built, and what it lacks is left out."""
    with open_store(address) as store:
        manifest = store.manifest
        name = Path(address).stem if "://" not in address else "vertica"
        bounds = (10, 100, 1_000, 10_000)
        return Lake(name, name, bounds, (), digest(manifest.to_json()), 0, address, manifest.label)


def pypi() -> Lake:
    """Return the lake of the tables inside openly licensed packages."""
    files = pypi_lake.files()
    size = sum(path.stat().st_size for path in files)
    limits = Limits(rows=pypi_lake.MOST_ROWS)
    fingerprint = digest([pypi_lake.versions(), [path.name for path in files], asdict(limits)])
    return Lake("pypi", "pypi", (100, 1_000), tuple(map(str, files)), fingerprint, size, limits=limits)
