"""`mate.Lake`: search, suggest, join, tables, and states of a lake."""

from __future__ import annotations

import gc
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import mate
from mate.errors import QueryError, StoreError
from tests.lakes import write_csv

KEY = ["city", "day"]


def names(answers: mate.Answers) -> list[str]:
    return [answer.table.name for answer in answers]


# Search


@pytest.mark.parametrize("kind", ["path", "text", "pandas", "arrow", "batch", "polars", "read", "stream"])
def test_a_query_may_be_any_kind_of_table(lake: mate.Lake, kind: str) -> None:
    frame = pd.read_csv("sensors.csv")
    given = {
        "path": Path("sensors.csv"),
        "text": "sensors.csv",
        "pandas": frame,
        "arrow": pa.Table.from_pandas(frame),
        "batch": pa.RecordBatch.from_pandas(frame),
        "polars": pl.from_pandas(frame),
        "read": mate.read("sensors.csv"),
        "stream": pa.Table.from_pandas(frame).to_reader(),
    }[kind]
    found = lake.search(given, KEY)
    assert [(a.table.name, a.joinability) for a in found] == [("weather", 5), ("traffic", 3)]
    assert found[0].mapping == {"city": "place", "day": "date"}


def test_a_key_that_only_the_first_of_two_header_rows_has(lake: mate.Lake, folder: Path) -> None:
    days = [f"2019-01-0{n}" for n in range(1, 7)]
    rows = [["Bonn", day, str(n), str(n), str(n)] for n, day in enumerate(days)]
    write_csv(folder / "q.csv", ["city", "day", "a", "b", "c"], [["", "", "PM10", "PM25", "NO2"], *rows])
    assert mate.read("q.csv").header == ["city", "day", "a / PM10", "b / PM25", "c / NO2"]
    assert lake.match("q.csv", KEY, "weather").join().columns[2] == "a / PM10"
    assert lake.search("q.csv", ["a"]).key == ("a",)
    assert lake.search("q.csv", ["pm10"]).key == ("a / PM10",)
    assert lake.search_many({"first": ("q.csv", ["a"]), "part": ("q.csv", ["PM10"])}).errors == {}


@pytest.fixture
def years(folder: Path) -> mate.Lake:
    """A lake whose table is known by year and day, and a query with an empty year."""
    rows = [[2000 + n % 6, f"2020-01-{1 + n // 6:02d}", f"v{n}"] for n in range(30)]
    (folder / "years").mkdir()
    write_csv(folder / "years/table.csv", ["jahr", "tag", "value"], [[str(c) for c in row] for row in rows])
    write_csv(folder / "mine.csv", ["year", "day"], [[str(row[0]), str(row[1])] for row in rows] + [["", "2020-01-09"]])
    pd.DataFrame([*rows, [None, None, "last"]], columns=["jahr", "tag", "value"]).astype(
        {"jahr": "float64", "tag": "datetime64[ns]"}
    ).to_parquet(folder / "years/by_pandas.parquet")
    return mate.index("years", "years.mate")


def test_what_pandas_makes_of_a_file_joins_as_the_file_does(years: mate.Lake) -> None:
    """An empty cell turns whole numbers into floats, and parsed dates are times: the same values all the same."""
    frame = pd.read_csv("mine.csv", parse_dates=["day"])
    assert (str(frame["year"].dtype), str(frame["day"].dtype)[:10]) == ("float64", "datetime64")
    given = {
        "path": "mine.csv",
        "read_csv": pd.read_csv("mine.csv"),
        "parse_dates": frame,
        "category": frame.astype({"year": "category"}),
        "arrow": pa.Table.from_pandas(frame),
        "polars": pl.from_pandas(frame),
        "polars with NaN": pl.DataFrame({"year": frame["year"].to_numpy(), "day": frame["day"].to_numpy()}),
    }
    frame.to_parquet("mine.parquet")
    given["parquet"] = "mine.parquet"
    with years:
        for kind, query in given.items():
            found = years.search(query, ["year", "day"])
            assert {(a.table.name, a.joinability) for a in found} == {("table", 30), ("by_pandas", 30)}, kind
            assert found.rows_left_out == 1, kind


def test_one_fraction_leaves_numbers_and_times_as_they_are(years: mate.Lake) -> None:
    with years:
        assert not years.search(pd.DataFrame({"year": [2000.0, 2001.5]}), "year")
        assert not years.search(pd.DataFrame({"day": pd.to_datetime(["2020-01-01 00:00", "2020-01-02 12:30"])}), "day")


def test_answers_carry_evidence(lake: mate.Lake) -> None:
    weather, traffic = lake.search("sensors.csv", KEY)
    assert (weather.evidence.containment, weather.evidence.uniqueness) == (5 / 6, 1)
    assert (traffic.evidence.fan_out, traffic.evidence.most_fan_out) == (4 / 3, 2)
    assert weather.evidence.names is not None
    for found in (lake.search("sensors.csv", KEY, names=False), lake.suggest("sensors.csv", names=False)):
        assert found
        assert all(one.evidence.names is None for one in found)
    assert lake.match("sensors.csv", KEY, "weather", names=False).evidence.names is None


def test_answers_are_a_sequence(lake: mate.Lake) -> None:
    found = lake.search("sensors.csv", KEY)
    assert len(found) == 2
    assert found[-1] is found[1]
    assert list(found[:1]) == [found[0]]
    assert isinstance(found[:1], mate.Answers)
    assert (len(found[:1].to_pandas()), found[:1].key) == (1, ("city", "day"))
    assert found[0] in found
    assert (found.key, found.key_tuples, found.rows_left_out) == (("city", "day"), 6, 0)
    assert "weather (5), traffic (3)" in repr(found)
    assert bool(lake.search(pa.table({"a": ["nowhere"]}), ["a"])) is False


def test_ranks(lake: mate.Lake, tmp_path: Path) -> None:
    """A table that holds every pair twenty times joins more, and is less useful."""
    rows = [[c, d, str(n)] for c in ("Bonn", "Ulm", "Kiel") for d in (1, 2, 3) for n in range(20)]
    many = write_csv(tmp_path / "many.csv", ["a", "b", "n"], [[c, f"2019-01-0{d}", n] for c, d, n in rows])
    lake.add(many)
    assert names(lake.search("sensors.csv", KEY)) == ["weather", "traffic", "many"]
    assert names(lake.search("sensors.csv", KEY, rank="joinability")) == ["many", "weather", "traffic"]
    with pytest.raises(QueryError, match="usefulnes"):
        lake.search("sensors.csv", KEY, rank="usefulnes")


def test_excluded_tables(lake: mate.Lake) -> None:
    lake.add("sensors.csv")
    assert names(lake.search("sensors.csv", KEY)) == ["sensors", "weather", "traffic"]
    assert names(lake.search("sensors.csv", KEY, exclude="self")) == ["weather", "traffic"]
    assert names(lake.search("sensors.csv", KEY, exclude=["weather", 4])) == ["traffic"]
    with pytest.raises(QueryError, match=r'exclude takes a list of tables, such as \["weather"\]'):
        lake.search("sensors.csv", KEY, exclude="weather")  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="read from a file"):
        lake.search(pd.read_csv("sensors.csv"), KEY, exclude="self")


@pytest.mark.parametrize("system", ["column-first", "mate", "scr", "mcr"])
def test_every_system_gives_the_same_answers(lake: mate.Lake, system: str) -> None:
    found = lake.search("sensors.csv", KEY, system=system)
    assert found.to_dicts() == lake.search("sensors.csv", KEY, system=mate.SearchSystem(system)).to_dicts()
    assert [(a.table.name, a.joinability) for a in found] == [("weather", 5), ("traffic", 3)]
    assert found.explain().system == system


def test_the_explanation_is_typed(lake: mate.Lake) -> None:
    explanation = lake.search("sensors.csv", KEY).explain()
    steps = {step.name: step for step in explanation.steps}
    assert steps["answers"].count == 2
    assert steps["whose values all occur in the index"].depth == 1
    assert explanation.total_seconds == sum(explanation.seconds.values()) > 0
    assert "distinct key tuples of the query" in str(explanation)
    paper = lake.search("sensors.csv", KEY, system=mate.SearchSystem("mate", "xash:128", "day")).explain()
    assert "postings of the initial column, day" in [step.name for step in paper.steps]


def test_answers_as_tables(lake: mate.Lake) -> None:
    found = lake.search("sensors.csv", KEY)
    frame = found.to_pandas()
    assert list(frame["table"]) == ["weather", "traffic"]
    assert list(frame["containment"]) == [5 / 6, 0.5]
    assert set(frame.columns) >= {"joinability", "mapping", "uniqueness", "fan_out", "chance", "names", "is_chance"}
    assert found.to_arrow().num_rows == 2
    none = lake.search(pa.table({"a": ["nowhere"]}), ["a"])
    assert len(none.to_pandas()) == 0
    assert none.to_arrow().schema == found.to_arrow().schema
    assert found.to_arrow().schema.names == list(frame.columns)
    suggested = lake.suggest("sensors.csv")
    assert lake.suggest(pa.table({"a": ["nowhere"]})).to_arrow().schema == suggested.to_arrow().schema
    assert suggested.to_arrow().schema.names == ["key", *frame.columns, "unique_part", "copies"]
    assert found.to_dicts()[0]["mapping"] == {"city": "place", "day": "date"}


def test_an_answer_shows_what_it_is(lake: mate.Lake, folder: Path) -> None:
    best = lake.search("sensors.csv", KEY)[0]
    assert repr(best) == "<Answer: weather (table 3) joins 5 key tuples on city = place, day = date>"
    assert repr(lake.suggest("sensors.csv")[0]).startswith("<SuggestedKey: events (table 0) joins 3 key tuples on city")
    write_csv(folder / "evil.csv", ["\x1b[2J", "n"], [["Ulm", "1"], ["Bonn", "2"]])
    lake.add("evil.csv")
    assert "\x1b" not in repr(lake.match("sensors.csv", "city", "evil"))


def test_answers_are_not_pickled(lake: mate.Lake, recwarn: pytest.WarningsRecorder) -> None:
    found = lake.search("sensors.csv", KEY)
    for thing in (found[0], found, lake.suggest("sensors.csv")):
        with pytest.raises(StoreError, match="cannot be pickled; keep to_dicts"):
            pickle.dumps(thing)
    gc.collect()
    assert not [warning for warning in recwarn.list if "Snapshot" in str(warning.message)]


# Suggest


def test_suggestions_are_explained(stations: Path) -> None:
    with mate.open(stations / "lake.mate") as lake:
        found = lake.suggest(stations / "query.csv")
    explanation = found.explain()
    steps = {step.name: step.count for step in explanation.steps}
    assert (explanation.system, steps["tables with enough values of a column"]) == ("suggest", 1)
    assert steps["keys of several columns checked on a sample"] == 1
    assert steps["suggestions"] == len(found)
    assert [name for name, _ in explanation.phases()] == ["cover", "keys", "answer", "total"]


def test_a_key_of_two_columns_is_found(stations: Path) -> None:
    query = pd.read_csv(stations / "query.csv")
    with mate.open(stations / "lake.mate") as lake:
        found = lake.suggest(query)
        assert (found[0].key, found[0].table.name, found[0].unique_part) == (("city", "day"), "stations", None)
        joined = found[0].join()
        assert list(joined.columns) == ["city", "day", "value", "level"]
        assert list(joined["level"]) == [f"level {n}" for n in range(0, 96, 2)]
        assert found.to_pandas()["key"][0] == "city, day"
        assert all(one.key == ("city",) for one in lake.suggest(query, columns=["city"]))
        assert len(lake.suggest(query, k=1)) == 1
        with pytest.raises(QueryError, match='query has no column "cty"'):
            lake.suggest(query, columns=["cty"])


# Join


def test_a_join_keeps_types_index_and_order(lake: mate.Lake) -> None:
    frame = pd.read_csv("sensors.csv").set_index(pd.Index(list("abcdef")))[::-1]
    joined = lake.search(frame, KEY)[0].join()
    assert list(joined.index) == list("fedcba")
    assert joined["PM10"].dtype == frame["PM10"].dtype
    assert list(joined["wind"]) == ["8", "9", None, "1", "5", "3"]


def test_what_several_matches_become(lake: mate.Lake) -> None:
    query = pa.table({"c": ["Bonn", "Ulm", "Oslo"], "d": ["2019-01-01", "2019-01-02", "2019-01-01"]})
    first = lake.match(query, ["c", "d"], "traffic").join()
    assert first.column("Autos").to_pylist() == ["4100", "2500", None]
    every = lake.match(query, ["c", "d"], "traffic").join(matches="all")
    assert every.column("Autos").to_pylist() == ["4100", "3900", "2500", None]
    assert every.column("c").to_pylist() == ["Bonn", "Bonn", "Ulm", "Oslo"]
    frame = query.to_pandas().set_index(pd.Index(["x", "x", "y"]))
    repeated = lake.match(frame, ["c", "d"], "traffic").join(matches="all")
    assert list(repeated.index) == ["x", "x", "x", "y"]
    assert list(repeated["Autos"]) == ["4100", "3900", "2500", None]
    one = lake.match(query, ["c", "d"], "traffic").join(matches="aggregate")
    assert one.column("Autos").to_pylist() == [4000.0, 2500.0, None]
    assert one.column("matching rows").to_pylist() == [2, 1, None]
    with pytest.raises(QueryError, match='matches can be first, all, aggregate, not "last"'):
        lake.match(query, ["c", "d"], "traffic").join(matches="last")


def test_a_join_comes_back_as_the_query_was(lake: mate.Lake) -> None:
    frame = pd.read_csv("sensors.csv")
    assert isinstance(lake.match("sensors.csv", KEY, "weather").join(), pd.DataFrame)
    assert isinstance(lake.match(frame, KEY, "weather").join(), pd.DataFrame)
    assert isinstance(lake.match(pa.Table.from_pandas(frame), KEY, "weather").join(), pa.Table)
    polars = lake.match(pl.from_pandas(frame), KEY, "weather").join("all")
    assert isinstance(polars, pl.DataFrame)
    assert polars.schema["PM10"] == pl.Int64
    joined = lake.match(frame, KEY, "weather").enrich()
    assert joined.to_arrow().num_rows == joined.to_polars().height == len(joined.to_pandas()) == 6


def test_a_join_is_written(lake: mate.Lake, tmp_path: Path) -> None:
    joined = lake.match("sensors.csv", KEY, "weather").enrich()
    joined.write(tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv").shape == (6, 5)
    joined.write(tmp_path / "out.parquet")
    assert pd.read_parquet(tmp_path / "out.parquet").shape == (6, 5)
    for path, message in (
        (tmp_path / "out.xlsx", r'has the ending "\.xlsx"; results are written as \.csv, \.parquet, \.pq'),
        (tmp_path / "out", "has no ending"),
    ):
        with pytest.raises(QueryError, match=message):
            joined.write(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "out.parquet", "own"]


def test_cells_that_a_spreadsheet_would_run(lake: mate.Lake, tmp_path: Path) -> None:
    write_csv(tmp_path / "new.csv", ["place", "=1+1"], [["Bonn", "=cmd|' /C calc'!A0"], ["Ulm", "-5"], ["Kiel", "@x"]])
    lake.add(tmp_path / "new.csv")
    joined = lake.match(pa.table({"city": ["Bonn", "Ulm", "Kiel"]}), "city", "new").enrich()
    joined.write(tmp_path / "raw.csv")
    assert (tmp_path / "raw.csv").read_text() == "city,=1+1\nBonn,=cmd|' /C calc'!A0\nUlm,-5\nKiel,@x\n"
    joined.write(tmp_path / "safe.csv", safe=True)
    assert (tmp_path / "safe.csv").read_text() == "city,'=1+1\nBonn,'=cmd|' /C calc'!A0\nUlm,-5\nKiel,'@x\n"


# Tables


def test_tables_by_number_name_and_file(lake: mate.Lake) -> None:
    assert [table.name for table in lake.tables()] == ["events", "inhabitants", "traffic", "weather"]
    for which in (1, "1", "inhabitants", "lake/inhabitants.csv", lake.tables()[1]):
        assert lake.find(which).name == "inhabitants"
    assert lake.table("inhabitants").to_dict("list") == {
        "town": ["Bonn", "Ulm", "Kiel"],
        "inhabitants": ["330579", "126790", "246243"],
    }
    assert lake.table(1, into="polars").height == lake.table(1, into="arrow").num_rows == 3


@pytest.mark.parametrize("which", [-1, 4, 2**63, 2**80, "²", "9" * 30, "nothing"])
def test_a_table_that_is_not_there(lake: mate.Lake, which: int | str) -> None:
    with pytest.raises(mate.MateError, match="has no table"):
        lake.find(which)


# Changes


def test_a_lake_sees_its_own_changes(lake: mate.Lake, tmp_path: Path) -> None:
    assert lake.add(write_csv(tmp_path / "new.csv", ["a", "b"], [["x", "y"]])).added[0].name == "new"
    lake.add_rows("new", pa.table({"b": ["z"]}))
    lake.add_column("new", pd.DataFrame({"c": [1, 2]}))
    lake.update("new", [(1, "a", "w"), (0, 2, "3")])
    assert lake.table("new", into="arrow").to_pydict() == {"a": ["x", "w"], "b": ["y", "z"], "c": ["3", "2"]}
    lake.remove_rows("new", [0])
    lake.remove_column("new", "b")
    assert lake.table("new", into="arrow").to_pydict() == {"a": ["w"], "c": ["2"]}
    assert lake.stats().changes == 6
    lake.remove(["new", 0])
    assert [table.name for table in lake.tables()] == ["inhabitants", "traffic", "weather"]
    lake.compact()
    assert lake.check().sound
    assert lake.sync("lake").added[0].name == "events"


def test_others_see_changes_after_a_refresh(lake: mate.Lake) -> None:
    with mate.open("lake.mate") as other:
        found = other.search("sensors.csv", KEY)
        lake.remove("weather")
        assert names(other.search("sensors.csv", KEY)) == ["weather", "traffic"]
        other.refresh()
        assert names(other.search("sensors.csv", KEY)) == ["traffic"]
        assert list(found[0].join()["wind"]) == ["3", "5", "1", None, "9", "8"]  # the state that it came from


# Closing, threads


def test_a_closed_lake_says_so_and_answers_stay(lake: mate.Lake) -> None:
    found, suggested = lake.search("sensors.csv", KEY), lake.suggest("sensors.csv")
    counted = lake.search("sensors.csv", KEY, rank="joinability")
    counted[0].evidence  # noqa: B018 (asked for while the lake is open)
    lake.close()
    lake.close()
    for shown in (found, suggested):
        assert len(shown.to_pandas()) == len(shown.to_dicts()) == len(shown) > 0
        assert shown[0].table.name in shown._repr_html_()
        assert repr(shown[0])
        assert str(shown.explain())
        assert shown[0].added
    assert counted[0].evidence == found[0].evidence
    calls = (
        lambda: lake.search("sensors.csv", KEY),
        lambda: lake.suggest("sensors.csv"),
        lambda: lake.match("sensors.csv", KEY, 1),
        lambda: lake.table(1),
        lambda: lake.remove(1),
        lambda: suggested[0].matches,
        *(lake.tables, lake.stats, lake.refresh, lake.compact, lake.check),
        *(counted.to_pandas, found[0].join, found[0].pairs),
    )
    for call in calls:
        with pytest.raises(StoreError, match=r"^lake.mate is closed; open it again with mate.open\(...\)$"):
            call()


def test_threads_search_while_the_lake_changes(lake: mate.Lake, tmp_path: Path) -> None:
    """Every answer is that of one state: before or after the table came."""
    states = {("weather", "traffic"), ("copy", "weather", "traffic"), ("weather", "copy", "traffic")}
    copy = tmp_path / "copy.csv"
    copy.write_text(Path("lake/weather.csv").read_text())
    done = threading.Event()

    def search() -> set[tuple[str, ...]]:
        seen = set()
        while not done.is_set():
            found = lake.search("sensors.csv", KEY)
            assert len(found[0].join()) == 6
            seen.add(tuple(names(found)))
        return seen

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(search) for _ in range(3)]
        try:
            for _ in range(3):
                lake.add(copy)
                lake.remove("copy")
        finally:
            done.set()
    assert set.union(*(job.result() for job in running)) <= states


# Sizes and addresses


def test_a_million_rows(lake: mate.Lake) -> None:
    size = 1_000_000
    frame = pd.DataFrame({"city": ["Bonn", "Ulm", "Kiel", "Oslo"] * (size // 4), "day": ["2019-01-01"] * size})
    frame["day"] = frame["day"].where(frame.index % 8 < 4, [f"day {n}" for n in range(size)])
    best = lake.search(frame, KEY)[0]
    assert (best.table.name, best.joinability) == ("weather", 3)
    joined = best.join()
    assert len(joined) == size
    assert joined["wind"].notna().sum() == size // 8 * 3


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("none.mate", "there is no index at none.mate"),
        ("", "a lake is named by a path or the address of a database"),
        ("mysql://root:geheim@host/db", "mysql:// is no address of an index"),
        ("Vertica://dbadmin:geheim@host/db", "a Vertica address must not hold a password"),
    ],
)
def test_addresses_that_are_none(folder: Path, address: object, message: str) -> None:
    with pytest.raises(StoreError, match=message) as error:
        mate.open(address)  # type: ignore[arg-type]
    assert "geheim" not in str(error.value)


def test_one_table_is_matched_as_a_search_would(lake: mate.Lake) -> None:
    for found in lake.search("sensors.csv", ["city", "day"]):
        alone = lake.match("sensors.csv", ["city", "day"], found.table)
        assert (alone.joinability, alone.mapping) == (found.joinability, found.mapping)
        assert alone.added == alone.enrich().added
        partners = dict(alone.pairs())
        joined = alone.enrich().to_arrow().column(alone.added[0]).to_pylist()
        theirs = lake.table(found.table, "arrow").column(alone.added[0]).to_pylist()
        assert joined == [theirs[partners[row]] if row in partners else None for row in range(len(joined))]
    with pytest.raises(mate.MateError, match="does not join"):
        lake.match("sensors.csv", "PM10", "events")


def test_rows_of_a_table(lake: mate.Lake) -> None:
    whole = lake.table("weather", "arrow")
    assert lake.table("weather", "arrow", range(2)).equals(whole.slice(0, 2))
    assert lake.table("weather", "arrow", [4, 0, 4]).equals(whole.take([4, 0, 4]))
    assert lake.table("weather", "arrow", []).num_rows == 0
    for wrong, message in (([6], "has 6 rows, and no row 6"), ([-1], "no row -1")):
        with pytest.raises(mate.MateError, match=message):
            lake.table("weather", "arrow", wrong)
