"""What `import mate` offers, and what it costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mate

HEAVY = ("numpy", "pyarrow", "pandas", "pyspark", "rich", "duckdb", "vertica_python")


def loaded(script: str, folder: Path) -> set[str]:
    """Return the heavy packages that a script loads in a process of its own."""
    ask = f"; import sys; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script + ask], capture_output=True, text=True, check=True, cwd=folder)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_costs_nothing(tmp_path: Path) -> None:
    assert loaded("import mate; dir(mate); mate.__version__", tmp_path) == set()


def test_a_search_loads_neither_compiler_nor_spark_nor_database_clients(folder: Path) -> None:
    script = "import mate; mate.open('lake.mate').search('sensors.csv', ['city', 'day'])"
    assert loaded(script, folder) <= {"numpy", "pyarrow", "pandas"}  # Arrow itself loads pandas where it is installed


def test_every_public_name_is_there() -> None:
    for name in mate.__all__:
        assert getattr(mate, name).__doc__, name
    assert set(mate.__all__) <= set(dir(mate))


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'mate' has no attribute 'serach'"):
        mate.serach  # type: ignore[attr-defined]  # noqa: B018


EXTRAS = ("pandas", "polars", "pyspark", "duckdb", "psycopg", "vertica_python", "starlette", "uvicorn", "matplotlib")
BARE = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import mate
import pyarrow as pa

with mate.index("lake", "bare.mate") as lake:
    found = lake.search("sensors.csv", ["city", "day"])
    print([answer.table.name for answer in found], found.to_arrow().num_rows)
    print(lake.suggest("sensors.csv")[0].key)
    query = pa.table({{"city": ["Bonn"], "day": ["2019-01-01"]}})
    print(lake.match(query, ["city", "day"], "weather").join().column("wind").to_pylist())
    lake.match("sensors.csv", ["city", "day"], "weather").enrich().write("out.csv")
    try:
        found.to_pandas()
    except mate.MateError as error:
        print(error)
"""


def test_a_bare_installation_indexes_searches_suggests_and_joins(folder: Path) -> None:
    """Packages that are extras are not needed; where one is, the error says how to install it."""
    done = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    tables, key, wind, error = done.stdout.splitlines()
    assert (tables, key, wind) == ("['weather', 'traffic'] 2", "('city',)", "['3']")
    assert "pip install" in error
    assert (folder / "out.csv").exists()
