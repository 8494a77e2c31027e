"""What a run was asked for, from the command line to the lakes and query sets it means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from experiments import lakes, pypi_lake
from experiments.definitions import ARRAYS
from experiments.errors import ExperimentError
from experiments.lakes import MeasuredLake
from experiments.query_sets import RELEASED_KEY_SIZE, SCHOOL_QUERIES, SetSpec, file_facts, listed
from experiments.scales import Scale
from mate.errors import did_you_mean
from mate.sql.schema import LAYOUTS

RELEASED = {
    "wt10": ("WT (10)", "webtables"),
    "wt100": ("WT (100)", "webtables"),
    "wt1000": ("WT (1000)", "webtables"),
    "od100": ("OD (100)", "opendata"),
    "od1000": ("OD (1000)", "opendata"),
    "od10000": ("OD (10000)", "opendata"),
}
"""Folders that the authors released: their name in the paper, and the corpus they were sampled from."""

EMBEDDED = ("synthetic", "pypi")
CORPORA = ("webtables", "opendata", "school")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Everything that decides what is measured."""

    results: Path
    scale: Scale
    queries: tuple[int, ...]
    """Queries of each set; several numbers are those of sampled sets by size, and the last one holds for the rest."""
    repetitions: int
    timeout: float
    seed: int = 1
    lakes: tuple[str, ...] = ()
    """Names of embedded lakes, or NAME=FOLDER."""
    webtables: Path | None = None
    opendata: Path | None = None
    school: Path | None = None
    kaggle: Path | None = None
    released: Path | None = None
    tier: str = "core"
    stores: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    """Further systems to compare in figure 4."""
    master: str | None = None
    engine: str = ARRAYS
    """What holds the indexes that are built."""
    database: str = ""
    layout: str = LAYOUTS[0]
    all_hashes: bool = False
    """Whether an index in a database has every hash function of tables 2 and 3."""


def chosen_lakes(settings: RunSettings) -> list[MeasuredLake]:
    """Return the lakes that were asked for; the embedded ones if none was."""
    found = [_named(text, settings) for text in settings.lakes]
    found += [lakes.of_index(address) for address in settings.stores]
    if settings.webtables:
        found.append(lakes.of_folder("webtables", settings.webtables, "WT", (10, 100, 1_000)))
    if settings.opendata:
        tier = "" if settings.tier == "all" else settings.tier
        found.append(lakes.of_folder("opendata", settings.opendata, "OD", (100, 1_000, 10_000), tier))
    if settings.school:
        found.append(lakes.of_folder("school", settings.school, "School"))
    if not found:
        found = [lakes.synthetic(settings.scale.tables, settings.seed)]
        found += [] if pypi_lake.missing() else [lakes.pypi()]
    names = [lake.name for lake in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ExperimentError(f'two lakes are called "{twice}"; give one of them another name: --lake NAME=FOLDER')
    if settings.released and not {corpus for _, corpus in RELEASED.values()} & set(names):
        raise ExperimentError("--released: the authors' queries go with their corpora: --webtables DIR, --opendata DIR")
    return [lake if lake.given else _placed(lake, settings) for lake in found]


def _placed(lake: MeasuredLake, settings: RunSettings) -> MeasuredLake:
    """Return a lake with what its index is in."""
    engine, layout = settings.engine, settings.layout
    return replace(lake, engine=engine, database=settings.database, layout=layout, all_hashes=settings.all_hashes)


def _named(text: str, settings: RunSettings) -> MeasuredLake:
    name, equals, folder = text.partition("=")
    if equals:
        if not name or name in (*EMBEDDED, *CORPORA):
            raise ExperimentError(f'"{name}" is no name for a lake of your own; --lake takes NAME=FOLDER')
        return lakes.of_folder(name, Path(folder))
    if name == "synthetic":
        return lakes.synthetic(settings.scale.tables, settings.seed)
    if name == "pypi":
        return lakes.pypi()
    if name in CORPORA:
        raise ExperimentError(f"{name} is a folder of yours: --{name} DIR")
    raise ExperimentError(f'unknown lake "{name}"; {did_you_mean(name, EMBEDDED)} A folder of yours is NAME=FOLDER')


def set_specs(lake: MeasuredLake, all_lakes: list[MeasuredLake], settings: RunSettings) -> list[SetSpec]:
    """Return the query sets of a lake. What the authors released is put to the corpus that it was sampled from."""
    specs = _own(lake, settings)
    names = [other.name for other in all_lakes]
    # The paper puts Kaggle's tables to web tables; they come from no lake, so that any other one will do as well.
    if settings.kaggle and lake.name == ("webtables" if "webtables" in names else names[0]):
        _check_folder("kaggle", settings.kaggle)
        files = [path for path, _ in listed(settings.kaggle, "kaggle", "Kaggle")]
        specs.append(_of_files("Kaggle", "kaggle", settings.kaggle, files, settings.seed))
    if settings.released:
        _check_folder("released", settings.released)
        for folder, (name, corpus) in RELEASED.items():
            path = settings.released / folder
            if path.is_dir() and lake.name == corpus:
                files = [path for path, _ in listed(path, "released", name)]
                specs.append(_of_files(f"released {name}", "released", path, files, settings.seed))
        table = settings.released / "keysize" / RELEASED_KEY_SIZE
        if table.is_file() and lake.name == "opendata":
            specs.append(_of_files("released key size", "released key size", table.parent, [table], settings.seed))
    return specs


def _own(lake: MeasuredLake, settings: RunSettings) -> list[SetSpec]:
    """Return the sets that are taken from the lake's own tables."""
    counts, seed = settings.queries, settings.seed
    if lake.name == "school":
        return [SetSpec("School", "school", min(*counts, SCHOOL_QUERIES), seed)]
    specs = []
    pairs = tuple(pairwise((2, *lake.bounds)))
    for place, (least, below) in enumerate(pairs):
        name, count = f"{lake.prefix} ({below})", counts[min(place, len(counts) - 1)]
        specs.append(SetSpec(name, "sampled", count, seed, least, below, others=pairs[:place]))
    tables = min(settings.scale.key_tables, *counts)
    specs.append(SetSpec(f"{lake.prefix} key size", "key size", tables, seed, 50, 5_000))
    return specs


def _of_files(name: str, role: str, folder: Path, files: list[Path], seed: int) -> SetSpec:
    """Return a set of all queries that somebody put together: none of them is left out."""
    return SetSpec(name, role, len(files), seed, folder=str(folder), files=file_facts(files))


def _check_folder(option: str, folder: Path) -> None:
    if not folder.is_dir():
        raise ExperimentError(f"--{option}: there is no folder {folder}")
