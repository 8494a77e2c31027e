"""`python -m benchmarks foreignkeys`: how well declared foreign keys are found, by ranking, and with the key hidden.

FOLDER has folders of tables, which are indexed as one lake, and a ``truth.csv``: lake (the folder), child,
child_columns, parent, parent_columns, kind; tables by the names of their files, columns joined by ``;``. A child's own
table is left out of its answers.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from rich.progress import track

from mate.build.build import BuildSettings, build
from mate.build.lake_target import LakeTarget
from mate.cli.terminal import console, table
from mate.errors import MateError
from mate.lake.folder import LakeFolder, open_folder
from mate.search.engine import SearchSettings
from mate.search.query import read_query
from mate.search.results import Result
from mate.search.suggest import SuggestionSettings, suggest
from mate.search.systems import find_system

if TYPE_CHECKING:
    from mate.cli import Commands

K = 20
TRUTH = "truth.csv"
HIDDEN = (1, 3, 10)
"""Places among which a hidden key is looked for."""

RANKED = ("kind", "ranking", "keys", "strictly first", "first or tied", "MRR", "MRR by parent", "mapping right")

Score: TypeAlias = Callable[[Result], tuple[float, ...]]


@dataclass(frozen=True)
class Ranking:
    """A ranking, and the score that decides whether two tables tie in it."""

    name: str
    settings: SearchSettings
    score: Score


RANKINGS = (
    Ranking("joinability", SearchSettings(), lambda r: (r.joinability,)),
    Ranking(
        "usefulness without names",
        SearchSettings(rank="usefulness", names=False),
        lambda r: (r.evidence.usefulness, r.joinability),
    ),
    Ranking(
        "usefulness",
        SearchSettings(rank="usefulness"),
        lambda r: (r.evidence.usefulness, r.evidence.names or 0.0, r.joinability),
    ),
)


@dataclass(frozen=True)
class ForeignKey:
    """A declared key."""

    child: Path
    child_columns: tuple[str, ...]
    parent: Path
    parent_columns: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class Placed:
    """Where a key's parent came in an answer."""

    key: ForeignKey
    before: int
    tied: int
    """Tables with the same score, the parent itself included; 0 if it was not found."""
    mapped: bool
    """Whether every key column was mapped to the declared one."""

    @property
    def reciprocal(self) -> float:
        """1 / expected rank: tables that tie share the mean of their places."""
        return 1 / (self.before + (self.tied + 1) / 2) if self.tied else 0.0


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser(
        "foreignkeys",
        help="declared foreign keys: found by which ranking, and without being told the key",
        description=__doc__,
    )
    parser.add_argument("folder", metavar="FOLDER", help="folders of tables, and truth.csv")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Index, search, suggest, print."""
    folder = Path(options.folder)
    keys = read_truth(folder)
    with tempfile.TemporaryDirectory(prefix="mate-foreign-keys-") as store:
        address = Path(store, "lake.mate")
        with LakeTarget(address) as target:
            build([str(path) for path in sorted(folder.iterdir()) if path.is_dir()], target, BuildSettings())
        with open_folder(address) as lake:
            numbers = {Path(info.source): info.table_id for info in lake.tables()}
            rows = [row for ranking in RANKINGS for row in _ranked_rows(lake, numbers, keys, ranking)]
            hidden = list(_hidden_rows(lake, numbers, keys))
    screen = console()
    rows.sort(key=lambda row: str(row[0]))
    screen.print(table(RANKED, rows, title=f"declared keys, top {K}"))
    places = [f"among {most}" if most > 1 else "first" for most in HIDDEN]
    screen.print(table(("kind", "keys", *places), hidden, title="hidden keys"))


def read_truth(folder: Path) -> list[ForeignKey]:
    """Read the declared keys."""
    try:
        with (folder / TRUTH).open(newline="", encoding="utf-8") as stream:
            records = list(csv.DictReader(stream))
            return [_foreign_key(folder, record) for record in records]
    except FileNotFoundError:
        raise MateError(f"{folder} has no {TRUTH}, which declares the keys to find") from None
    except KeyError as error:
        raise MateError(f"{folder / TRUTH} has no column {error}") from None


def _foreign_key(folder: Path, record: Mapping[str, str]) -> ForeignKey:
    child, parent = (folder / record["lake"] / f"{record[name]}.csv" for name in ("child", "parent"))
    for path in (child, parent):
        if not path.is_file():
            raise MateError(f"{folder / TRUTH} names the table {path}, which is not there")
    own, other = (tuple(record[f"{name}_columns"].split(";")) for name in ("child", "parent"))
    return ForeignKey(child, own, parent, other, record["kind"])


def place(lake: LakeFolder, numbers: Mapping[Path, int], keys: Sequence[ForeignKey], ranking: Ranking) -> list[Placed]:
    """Search for every key, and return where its parent came."""
    search = find_system()
    placed = []
    for key in track(keys, ranking.name, console=console(stderr=True), transient=True):
        settings = SearchSettings(
            k=K, exclude=frozenset({numbers[key.child]}), rank=ranking.settings.rank, names=ranking.settings.names
        )
        results = list(search(lake, key.child, key.child_columns, settings=settings))
        placed.append(_placed(key, results, numbers[key.parent], ranking.score))
    return placed


def _placed(key: ForeignKey, results: Sequence[Result], parent: int, score: Score) -> Placed:
    for result in results:
        if result.table_id == parent:
            scores = [score(other) for other in results]
            own = score(result)
            mapped = tuple(result.mapping.values()) == key.parent_columns
            return Placed(key, sum(other > own for other in scores), scores.count(own), mapped)
    return Placed(key, len(results), 0, mapped=False)


def _ranked_rows(
    lake: LakeFolder, numbers: Mapping[Path, int], keys: Sequence[ForeignKey], ranking: Ranking
) -> Iterable[tuple[object, ...]]:
    """Return a row of the table for each kind of key."""
    by_kind: dict[str, list[Placed]] = defaultdict(list)
    for placed in place(lake, numbers, keys, ranking):
        by_kind[placed.key.kind].append(placed)
    for kind, every in by_kind.items():
        parents: dict[Path, list[float]] = defaultdict(list)
        for placed in every:
            parents[placed.key.parent].append(placed.reciprocal)
        yield (
            kind,
            ranking.name,
            len(every),
            sum(p.before == 0 and p.tied == 1 for p in every),
            sum(p.before == 0 and p.tied > 0 for p in every),
            f"{fmean(p.reciprocal for p in every):.3f}",
            f"{fmean(map(fmean, parents.values())):.3f}",
            sum(p.mapped for p in every),
        )


def find_hidden(lake: LakeFolder, numbers: Mapping[Path, int], keys: Sequence[ForeignKey]) -> list[int | None]:
    """Return for every key the place, from 1 on, of its columns and parent among the suggestions; None: not there."""
    suggested: dict[Path, list[tuple[frozenset[str], int]]] = {}
    for child in track({key.child: None for key in keys}, "suggest", console=console(stderr=True), transient=True):
        settings = SuggestionSettings(k=max(HIDDEN), exclude=frozenset({numbers[child]}))
        found = suggest(lake, read_query(child), settings)
        suggested[child] = [(frozenset(s.key), s.result.table_id) for s in found]
    wanted = [(suggested[key.child], (frozenset(key.child_columns), numbers[key.parent])) for key in keys]
    return [found.index(one) + 1 if one in found else None for found, one in wanted]


def _hidden_rows(
    lake: LakeFolder, numbers: Mapping[Path, int], keys: Sequence[ForeignKey]
) -> Iterable[tuple[object, ...]]:
    places: dict[str, list[int | None]] = defaultdict(list)
    for key, found in zip(keys, find_hidden(lake, numbers, keys), strict=True):
        places[key.kind].append(found)
    for kind, every in sorted(places.items()):
        yield kind, len(every), *(sum(p is not None and p <= most for p in every) for most in HIDDEN)
