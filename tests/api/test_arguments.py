"""Wrong arguments get one clear error; those that mean the same are taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import mate

KEY = ["city", "day"]
NO_TABLE = "the query must be a path, a pandas or polars DataFrame, or an Arrow table"
Call = Callable[[Any], object]


def search(query: object = "sensors.csv", key: object = KEY, **options: Any) -> Call:
    return lambda lake: lake.search(query, key, **options)


def suggest(**options: Any) -> Call:
    return lambda lake: lake.suggest("sensors.csv", **options)


def index(**options: Any) -> Call:
    return lambda _: mate.index("lake", "again.mate", **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (search(rank=None), 'there is no ranking "None"; known: joinability, usefulness'),
        (search(k=0), "k must be a whole number of at least 1, not 0"),
        (search(k=1.5), "k must be a whole number of at least 1, not 1.5"),
        (search(k=True), "k must be a whole number of at least 1, not True"),
        (search(k=None), "k must be a whole number of at least 1, not None"),
        (lambda lake: lake.graph(5), "most_columns must be a whole number from 1 to 4, not 5"),
        (lambda lake: lake.graph(masters="local[2]"), 'graph has no option "masters"; did you mean "master"'),
        (lambda lake: lake.remove("weather", mster="none"), 'a change has no option "mster"; did you mean "master"?'),
        (index(hashs=["xash"]), 'mate.index has no option "hashs"; did you mean "hashes"?'),
        (index(format="xls"), 'there is no format "xls"'),
        (suggest(k="3"), "k must be a whole number of at least 1, not '3'"),
        (suggest(most_columns="a"), "most_columns must be a whole number from 1 to 4, not 'a'"),
        (suggest(most_columns=2.5), "most_columns must be a whole number from 1 to 4, not 2.5"),
        (
            lambda lake: lake.match("sensors.csv", KEY, "weather").join(None),
            "matches can be first, all, aggregate, not",
        ),
        (lambda lake: lake.update("weather", [(10**30, 0, "x")]), "weather has no row"),
        (lambda lake: lake.update("weather", [(0, 9, "x")]), "weather has no column 10; it has 4"),
        (lambda lake: lake.update("weather", [(0, "wnd", "x")]), 'weather has no column "wnd"; it has: date'),
        (lambda lake: lake.remove_rows("weather", range(10**15)), "weather has no row 7; it has 6 rows"),
        (lambda lake: lake.add("none.csv"), "none.csv: no such file or folder"),
        (index(memory="much"), "memory takes a number of bytes or a size such as 2GB, not 'much'"),
        (search("sensors.csv", ["city", "dya"]), 'sensors has no column "dya"; did you mean "day"?'),
        (search("sensors.csv", []), "a query needs at least one key column"),
        (search("sensors.csv", ""), 'sensors has no column ""; known: '),
        (search("sensors.csv", ["city", "city"]), 'the key names the column "city" twice'),
        (search("none.csv", ["a"]), "none.csv: no such file or folder"),
        (search("lake", ["a"]), "lake is a folder; a query table is one file"),
        (search(pa.table({"a": [None, None]}), ["a"]), "no row of query has a value in every key column (a)"),
        (search(pa.table({"a": ["", "n/a"]}), ["a"]), "no row of query has a value in every key column (a)"),
        (search(pa.table({"a": pa.array([], pa.string())}), ["a"]), "the query has no rows"),
        (search(pd.DataFrame(), ["a"]), "the query has no columns"),
        (search(pd.DataFrame([[1, 2]], columns=["a", "a"]), ["a"]), 'the query has several columns "a"; give each'),
        (search(pd.DataFrame([[1, 2]], columns=[1, "1"]), ["1"]), 'the query has several columns "1"; give each'),
        (search(pd.Series([1]), ["a"]), f"{NO_TABLE}, not Series"),
        (search(pl.LazyFrame({"a": [1]}), ["a"]), f"{NO_TABLE}, not LazyFrame"),
        (search(pl.Series([1]), ["a"]), f"{NO_TABLE}, not Series"),
        (search(pa.array([1]), ["a"]), f"{NO_TABLE}, not Int64Array"),
        (search({"a": [1]}, ["a"]), f"{NO_TABLE}, not dict"),
        (search(None, ["a"]), f"{NO_TABLE}, not NoneType"),
        (
            search(pd.DataFrame({"a": pd.Series(["\ud800", "b"], dtype=object)}), "a"),
            "column \"a\" has text that is not valid Unicode: '\\ud800'",
        ),
    ],
)
def test_a_wrong_argument_is_one_clear_error(lake: mate.Lake, call: Call, message: str) -> None:
    before = lake.stats().manifest
    with pytest.raises(mate.MateError) as error:
        call(lake)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert lake.stats().manifest == before
    assert not Path("again.mate").exists()
    assert not Path("new").exists()


def test_whole_numbers_of_numpy_are_taken(lake: mate.Lake) -> None:
    assert [len(lake.search("sensors.csv", KEY, k=k)) for k in (np.int64(1), 2**63, 10**30)] == [1, 2, 2]
    assert len(lake.suggest("sensors.csv", k=np.int64(1), most_columns=np.int64(2))) == 1
    assert lake.find(np.int64(3)).name == "weather"
    excluded = pd.Series([3, 2])
    assert not lake.search("sensors.csv", KEY, exclude=excluded)
    lake.update(np.int64(3), [(np.int64(0), np.int64(3), "9")])  # type: ignore[list-item]
    assert lake.table("weather", "arrow").column("wind")[0].as_py() == "9"


def test_values_of_an_unusual_type_are_text(lake: mate.Lake) -> None:
    assert not lake.search(pd.DataFrame({"a": [1 + 2j, 3j]}), "a")


def test_one_value_may_stand_for_a_list(folder: Path) -> None:
    (folder / "lake/gaps.csv").write_text("letter,code\nn,n.a.\na,1\nx,2\n")
    with mate.index("lake", "again.mate", nulls="n.a.", hashes="xash:256", memory="1GB") as lake:
        assert [spec["bits"] for spec in lake.stats().manifest["hashes"]] == [256]
        query = pd.DataFrame({"letter": ["n", "a", "x"]})
        assert lake.match(query, "letter", "gaps").joinability == 3
        with pytest.raises(mate.MateError, match="no row of query has a value in every key column"):
            lake.search(pd.DataFrame({"code": ["n.a."]}), "code")
