"""`Lake.search_many`: the same answers as one by one, on threads and on Spark; errors in their place; resumed."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mate
from mate.api import batch
from mate.errors import MateError, QueryError
from tests.lakes import write_csv

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = ["city", "day"]
PIECES = ("containment", "uniqueness", "usefulness", "fan_out", "most_fan_out", "chance", "is_chance", "names")


@pytest.fixture(scope="module")
def random_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of four segments with many tables that tie, some superseded, and twenty queries, or the first twelve."""
    folder = tmp_path_factory.mktemp("many")
    draw = random.Random(7)
    for part in range(4):
        (folder / f"part{part}").mkdir()
        for table in range(8):
            rows = [
                (f"a{draw.randrange(12)}", f"b{draw.randrange(6)}", str(n)) for n in range(draw.choice([5, 20, 60]))
            ]
            write_csv(folder / f"part{part}/t{part}{table}.csv", ["left", draw.choice(["right", "b"]), "n"], rows)
    with mate.index(folder / "part0", folder / "lake.mate") as lake:
        for part in range(1, 4):
            lake.add(folder / f"part{part}")
        lake.update("t00", [(0, "left", "a3")])
        assert lake.stats().segments == 5
    (folder / "queries").mkdir()
    for number in range(20):
        rows = [(f"a{draw.randrange(14)}", f"b{draw.randrange(7)}") for _ in range(draw.choice([3, 10, 40]))]
        write_csv(folder / f"queries/q{number:02d}.csv", ["a", "b"], rows)
    shutil.copytree(folder / "queries", folder / "few", ignore=shutil.ignore_patterns("q1[2-9].csv"))
    return folder


@pytest.fixture
def many(random_lake: Path) -> Iterator[mate.Lake]:
    with mate.open(random_lake / "lake.mate") as lake:
        yield lake


def one_by_one(lake: mate.Lake, folder: Path, **options: Any) -> list[dict[str, Any]]:
    """Return what single searches answer, as rows of a batch."""
    rows = []
    for path in sorted(folder.iterdir()):
        for rank, answer in enumerate(lake.search(path, ["a", "b"], **options), start=1):
            evidence = {name: getattr(answer.evidence, name) for name in PIECES}
            own = {"query": path.name, "rank": rank, "table_id": answer.table_id, "table": answer.table.name}
            rest = {"source": answer.table.source, "mapping": answer.mapping, "joinability": answer.joinability}
            rows.append({**own, **rest, "key_tuples": answer.evidence.key_tuples, **evidence, "error": None})
    return rows


def rows_of(found: mate.BatchAnswers) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = found.to_arrow().to_pylist(maps_as_pydicts="strict")
    return rows


@pytest.mark.parametrize("options", [{}, {"k": 3, "names": False}, {"rank": "joinability", "k": 40}])
def test_threads_answer_as_one_by_one(many: mate.Lake, random_lake: Path, options: Any) -> None:
    queries = random_lake / "queries"
    found = many.search_many(queries, ["a", "b"], **options)
    expected = one_by_one(many, queries, **options)
    assert len(expected) >= 60
    assert rows_of(found) == expected


@pytest.mark.parametrize("options", [{"k": 3}, {"rank": "joinability", "k": 40, "system": "mate"}])
def test_spark_answers_as_one_by_one(many: mate.Lake, random_lake: Path, options: Any, spark: SparkSession) -> None:
    queries = random_lake / "queries"
    watched = Watched()
    found = many.search_many(queries, **options, master="local[2]", progress=watched)
    assert rows_of(found) == one_by_one(many, queries, **options)
    phase, total, done = watched.noted[-1]
    assert (phase, done) == ("search queries 1 to 20 of 20", total)


# Queries


def test_a_list_of_queries_and_what_is_wrong_with_some(lake: mate.Lake, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sensors.csv").rename(folder / "sub/sensors.csv")
    (folder / "sub/empty.csv").write_text("")
    listed = [
        ("whole", "sub/sensors.csv", "city;day"),
        ("typo", "sub/sensors.csv", "citty; day"),
        ("", "sub/nowhere.csv", "city"),
        ("nothing in it", "sub/empty.csv", "city"),
        ("all", "sub/sensors.csv", ""),
    ]
    found = lake.search_many(write_csv(folder / "queries.csv", ["name", "query", "key"], listed))
    assert [row["table"] for row in found["whole"]] == ["weather", "traffic"]
    assert found["whole"][0]["mapping"] == {"city": "place", "day": "date"}
    assert found.errors["typo"] == 'sensors has no column "citty"; did you mean "city"?'
    assert "nowhere.csv" in found.errors["sub/nowhere.csv"]
    assert "empty.csv" in found.errors["nothing in it"]
    assert found["typo"] == found["all"] == []
    assert (len(found), found.answers, len(found.errors)) == (5, 2, 3)
    assert repr(found) == "<BatchAnswers: 5 queries, 2 answers, 3 errors>"


def test_tables_in_memory_and_names_of_their_own(lake: mate.Lake) -> None:
    table = pa.table({"town": ["Bonn", "Ulm"], "on": ["2019-01-01", "2019-01-02"]})
    pairs = lake.search_many([(table, ["town", "on"]), (table, "town")])
    assert pairs.queries == ["query 0", "query 1"]
    named = lake.search_many({"both": (table, ["town", "on"]), "town": (table, "town")})
    assert [row["table"] for row in named["both"]] == [row["table"] for row in pairs["query 0"]]
    assert named.to_pandas().columns[0] == "query"
    with pytest.raises(QueryError, match='no query of the batch is called "x"'):
        named["x"]


def test_a_query_leaves_its_own_table_out(lake: mate.Lake, folder: Path) -> None:
    found = lake.search_many("lake", ["town"], exclude="self")
    assert [row["table"] for row in found["events.csv"]][:1] == ["inhabitants"]
    assert "has no column" in found.errors["weather.csv"]


@pytest.mark.parametrize(
    ("queries", "options", "message"),
    [
        (["sensors.csv"], {}, "a pair of a table and its key"),
        ([("sensors.csv", KEY), ("sensors.csv", ["city"])], {}, 'two queries of the batch are called "sensors.csv"'),
        ([("sensors.csv", KEY)], {"key": ["city"]}, "a key of their own"),
        ("sensors.csv", {}, "needs the columns query and key, and has city, day, PM10"),
        ("lake", {"k": 0}, "k must be a whole number"),
        ("lake", {"rank": "usefullness"}, 'did you mean "usefulness"'),
        ("lake", {"ranks": 1}, 'search_many has no option "ranks"'),
        ("lake", {"into": "lake"}, "lake is a folder"),
        ("lake", {"into": "lake", "master": "no-such-master"}, "lake is a folder"),  # before Spark is started
        ("lake", {"exclude": ["wether"]}, "wether"),
        ("lake", {"encoding": "latn1"}, 'no text encoding is called "latn1"'),
        ("nowhere", {}, "nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(lake: mate.Lake, queries: Any, options: Any, message: str) -> None:
    with pytest.raises(MateError, match=message):
        lake.search_many(queries, **options)


# Files


class StoppedError(Exception):
    pass


class Watched:
    """Progress that is noted, with something to do at the start, and a number of queries to stop after."""

    def __init__(self, most: int = 1000, at_start: Callable[[], object] = bool) -> None:
        self._most, self._at_start = most, at_start
        self.noted: list[tuple[str, int, int]] = []

    def start(self, phase: str, total: int) -> None:
        self.phase, self.total = phase, total
        self._at_start()

    def update(self, done: int, **counts: int) -> None:
        self.noted.append((self.phase, self.total, done))
        if done > self._most:
            raise StoppedError


@pytest.fixture
def rounds_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "ROUND", 4)


def stopped(lake: mate.Lake, queries: Any, target: Path, **options: Any) -> None:
    """Begin a batch, and stop it after two rounds of four queries."""
    with pytest.raises(StoppedError):
        lake.search_many(queries, into=target, progress=Watched(10), **options)
    assert not target.exists()


@pytest.mark.usefixtures("rounds_of_four")
@pytest.mark.parametrize(("torn", "resumed"), [(None, 8), ("000000.parquet", 4)])
def test_a_stopped_batch_goes_on(
    many: mate.Lake, random_lake: Path, tmp_path: Path, torn: str | None, resumed: int
) -> None:
    queries, target = random_lake / "few", tmp_path / "answers.parquet"
    stopped(many, queries, target)
    if torn:
        (tmp_path / ".answers.parquet.parts" / torn).write_bytes(b"torn")
    found = many.search_many(queries, into=target)
    assert found.resumed == resumed
    assert rows_of(found) == rows_of(many.search_many(queries))
    assert pq.read_table(target).equals(found.to_arrow())
    assert many.search_many(queries, into=target).resumed == 0  # a batch that has ended begins again


@pytest.mark.usefixtures("rounds_of_four")
@pytest.mark.parametrize(
    ("before", "then"),
    [
        ({}, {"k": 1}),
        ({}, {"exclude": ["t01"]}),
        ({"exclude": ["t01"]}, {"exclude": ["t02"]}),
        ({}, {"exclude": "self"}),
    ],
)
def test_parts_of_another_batch_are_not_used(
    many: mate.Lake, random_lake: Path, tmp_path: Path, before: Any, then: Any
) -> None:
    queries, target = random_lake / "few", tmp_path / "answers.parquet"
    stopped(many, queries, target, **before)
    found = many.search_many(queries, into=target, **then)
    assert found.resumed == 0
    assert rows_of(found) == rows_of(many.search_many(queries, **then))


def test_two_runs_do_not_write_one_file(many: mate.Lake, random_lake: Path, tmp_path: Path) -> None:
    def second_run() -> None:
        with pytest.raises(QueryError, match=r"another run is writing .*answers.parquet"):
            many.search_many(random_lake / "few", into=tmp_path / "answers.parquet")

    watched = Watched(at_start=second_run)
    found = many.search_many(random_lake / "few", into=tmp_path / "answers.parquet", progress=watched)
    assert rows_of(found) == rows_of(many.search_many(random_lake / "few"))


def test_a_bad_table_in_memory_is_an_error_in_its_place(lake: mate.Lake, tmp_path: Path) -> None:
    good = pa.table({"town": ["Bonn", "Ulm"]})
    queries = {"bad": (pa.table({}), "town"), "worse": (object(), "town"), "good": (good, "town")}
    found = lake.search_many(queries, into=tmp_path / "answers.parquet")
    assert list(found.errors) == ["bad", "worse"]
    assert found["good"]


@pytest.mark.usefixtures("rounds_of_four")
def test_tables_in_memory_differ_by_the_names_of_their_columns(lake: mate.Lake, tmp_path: Path) -> None:
    """With the names swapped, the same columns ask for something else."""
    cells = [["Bonn", "Ulm"], ["330579", "126790"]]
    one, other = (pa.table(cells, names=names) for names in (["a", "b"], ["b", "a"]))
    stopped(lake, {f"q{n}": (one, "a") for n in range(12)}, tmp_path / "answers.parquet")
    assert lake.search_many({f"q{n}": (other, "a") for n in range(12)}, into=tmp_path / "answers.parquet").resumed == 0


def test_files_are_read_in_the_encoding_that_is_given(lake: mate.Lake, folder: Path) -> None:
    (folder / "asked").mkdir()
    (folder / "asked/one.csv").write_bytes("Straße,n\nBonn,1\nUlm,2\n".encode("cp500"))
    assert "one.csv" in lake.search_many("asked", "Straße").errors
    assert [row["table"] for row in lake.search_many("asked", "Straße", encoding="cp500")["one.csv"]]
