"""Lakes: a corpus, and the index that experiments search, built once and kept below the folder of results."""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass, field
from pathlib import Path

from experiments import pypi_lake
from experiments.bloom_mistakes import MISTAKES
from experiments.definitions import ARRAYS, digest, slug
from experiments.errors import ExperimentError
from experiments.hashes import READINGS, Spec, compared, components
from mate.build.build import BuildSettings, HashRequest, Summary, build
from mate.build.engine import AUTO, Progress
from mate.corpus import Limits
from mate.hashing import CorpusStatistics
from mate.lake.folder import MANIFEST
from mate.lake.manifest import FORMAT_VERSION, HashSpec
from mate.sql.address import Address, kind_of
from mate.sql.dialects import dialect_of, open_session
from mate.sql.dialects.failures import MissingError
from mate.sql.schema import LAYOUTS, SHARED, Generation
from mate.sql.super_keys import key_form
from mate.stores import open_index, open_target

SERVERS = ("postgresql", "vertica")
ENGINES = (ARRAYS, "duckdb", *SERVERS)
"""What an index can be in."""

DESCRIPTIONS = ("manifest.csv", "sources.csv")
"""Files at the top of a corpus that describe it and are no part of it."""


class Request(HashRequest):
    """A hash function asked for, which may be one of `experiments.hashes`."""

    __slots__ = ()

    def chosen(self, corpus: CorpusStatistics) -> HashSpec:
        """Return the specification for a corpus."""
        found = HashRequest.chosen(self, corpus)
        return Spec(found.name, found.bits, found.parameters)


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """What an index carries besides the cells."""

    hashes: tuple[tuple[str, int], ...] = ()
    """Hash functions by name and size."""

    @property
    def fingerprint(self) -> str:
        """A short name of what is in it."""
        return digest(asdict(self))

    def settings(self, master: str, limits: Limits) -> BuildSettings:
        """Return how it is built."""
        requests = tuple(Request(name, bits) for name, bits in self.hashes)
        return BuildSettings(requests, master=master, limits=limits)


MISTAKEN = [(name, 128) for name in MISTAKES]
ALL_HASHES = IndexSpec(tuple(dict.fromkeys([("xash", 128), *compared(), *components(), *MISTAKEN])))
"""The index that all experiments search: every hash function in all sizes, the variants of figure 5, and mistakes. A
search reads the super keys of one hash function only, so that the others cost space and no time. XASH comes first: what
a search uses that names no hash function."""
IN_DATABASES = IndexSpec((*((name, 128) for name in (*READINGS, "bf", "bf-fair-released")), ("xash", 512), ("bf", 512)))
"""The index in a database unless all are asked for. Every posting carries the super keys of its row, as in the paper,
so that in a database of rows each hash function makes all searches read more."""

ALL_IN_DATABASES = IndexSpec(tuple(dict.fromkeys([("xash", 128), *compared()])))
"""Every hash function and size of tables 2 and 3. In a database of columns, a search reads those that it asks for."""


@dataclass(frozen=True, slots=True)
class MeasuredLake:
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
    given: str = ""
    """The address of an index that is already there; then there is no corpus."""
    label: str = ""
    limits: Limits = field(default_factory=Limits)
    engine: str = ARRAYS
    """What holds the index: arrays, or a kind of database."""
    database: str = ""
    """The address of a database server, where the index is not in a file."""
    layout: str = LAYOUTS[0]
    """Where a database has super keys."""
    all_hashes: bool = False
    """Whether a database has every hash function."""

    @property
    def where(self) -> str:
        """What holds the index, as records name it: the engine, and its layout unless it is the paper's."""
        return self.engine if self.layout == LAYOUTS[0] else f"{self.engine} {self.layout}"

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"{slug(self.name)}-{self.fingerprint}"

    @property
    def index(self) -> IndexSpec:
        """What its index carries, unless it is given."""
        if self.engine == ARRAYS:
            return ALL_HASHES
        return ALL_IN_DATABASES if self.all_hashes else IN_DATABASES

    @property
    def index_name(self) -> str:
        """Names what its index carries."""
        suffix = "" if self.engine == ARRAYS else "-" + slug(self.where)
        return "given" if self.given else self.index.fingerprint + suffix

    def hashes(self) -> set[tuple[str, int]]:
        """Return the hash functions whose super keys its index has or will have, by name and size."""
        if not self.given:
            return set(self.index.hashes)
        with open_index(self.given) as index:
            return {(spec.name, spec.bits) for spec in index.manifest.hashes}

    def address(self, results: Path) -> str:
        """Return where its index is, or will be."""
        if self.given:
            return self.given
        path = results / "lakes" / self.folder / f"{self.index_name}-format{FORMAT_VERSION}"
        if self.engine == ARRAYS:
            return f"{path}.mate"
        if self.database:
            separator = "&" if "?" in self.database else "?"
            name = f"mate_{digest((self.folder, path.name))[:16]}"
            return f"{self.database}{separator}schema={name}&layout={self.layout}"
        return f"{self.engine}:{path}.duckdb?layout={self.layout}"

    def statements(self, results: Path) -> list[str]:
        """Return what makes the tables of its index in a database, and what drops them, without asking a server."""
        address = Address.parse(self.address(results))
        dialect, schema = dialect_of(address.kind), address.schema
        hashes = [Request(name, bits).chosen(CorpusStatistics(1_000_000, 6.0)) for name, bits in self.index.hashes]
        keys = tuple(key_form(spec.function()).column(place) for place, spec in enumerate(hashes))
        made = Generation(schema, 1, keys, self.layout, self.limits.cell_characters, dialect.buckets)
        tables = [(f"{schema}.{table.name}", table) for table in SHARED]
        tables += [(made.name(table.name), table) for table in made.tables()]
        found = [dialect.create_schema.format(schema=schema)]
        found += [dialect.create_table(name, table) for name, table in tables]
        return [*found, *dialect.after_load(made, 0.1), self._drop(schema)]

    @staticmethod
    def _drop(schema: str) -> str:
        return f"DROP SCHEMA IF EXISTS {schema} CASCADE"

    def drop(self, results: Path) -> None:
        """Remove its index from a database; that of a folder stays."""
        if self.engine == ARRAYS or self.given:
            return
        address = Address.parse(self.address(results))
        with open_session(address, writes=True) as session:
            session.execute(self._drop(address.schema))
            session.commit()

    def has_index(self, results: Path) -> bool:
        """Tell whether the index is there."""
        if self.given or self.engine == ARRAYS:
            return bool(self.given) or Path(self.address(results), MANIFEST).is_file()
        try:
            open_index(self.address(results)).close()
        except MissingError:
            return False
        return True


def build_index(lake: MeasuredLake, results: Path, master: str | None, progress: Progress) -> Summary | None:
    """Build the index of a lake unless it is there."""
    if lake.has_index(results):
        return None
    with open_target(lake.address(results)) as target:
        return build(lake.paths, target, lake.index.settings(master or AUTO, lake.limits), progress)


def synthetic(tables: int, seed: int) -> MeasuredLake:
    """Return a made-up lake."""
    from mate.corpus.synthetic import SyntheticLake

    made = SyntheticLake(tables=tables, seed=seed)
    size = made.expected_cells * 8
    return MeasuredLake(
        "synthetic", "synthetic", (10, 100, 1_000), (made.address,), digest(made.address), size, "", "synthetic"
    )


def of_folder(name: str, folder: Path, prefix: str = "", bounds: tuple[int, ...] = (), tier: str = "") -> MeasuredLake:
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
    return MeasuredLake(name, prefix or name, bounds, tuple(map(str, files)), digest(sorted(facts)), size)


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


def of_index(address: str) -> MeasuredLake:
    """Return an index that is already there as a lake: nothing is built, and what it lacks is left out."""
    with open_index(address) as index:
        manifest = index.manifest
        name = Path(address).stem if "://" not in address else address.partition(":")[0]
        bounds = (10, 100, 1_000, 10_000)
        engine = kind_of(address) or ARRAYS
        fingerprint = digest(manifest.to_json())
        return MeasuredLake(name, name, bounds, (), fingerprint, 0, address, manifest.label, engine=engine)


def pypi() -> MeasuredLake:
    """Return the lake of the tables inside openly licensed packages."""
    files = pypi_lake.files()
    size = sum(path.stat().st_size for path in files)
    limits = Limits(rows=pypi_lake.MOST_ROWS)
    fingerprint = digest([pypi_lake.versions(), [path.name for path in files], asdict(limits)])
    return MeasuredLake("pypi", "pypi", (100, 1_000), tuple(map(str, files)), fingerprint, size, limits=limits)
