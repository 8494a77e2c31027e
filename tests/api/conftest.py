"""A folder with a small lake, its index and a query: what the examples of docstrings and documentation use too."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

import mate
from tests.lakes import write_csv

FILES = {
    "sensors.csv": """city,day,PM10
Bonn,2019-01-01,30
Bonn,2019-01-02,28
Ulm,2019-01-01,41
Ulm,2019-01-02,37
Kiel,2019-01-01,12
Kiel,2019-01-03,14
""",
    "lake/weather.csv": """date,place,temperature,wind
2019-01-01,Bonn,4,3
2019-01-02,Bonn,6,5
2019-01-01,Ulm,-2,1
2019-01-01,Kiel,5,9
2019-01-03,Kiel,6,8
2019-01-04,Kiel,7,7
""",
    "lake/traffic.csv": """Stadt,Tag,Autos
Bonn,2019-01-01,4100
Bonn,2019-01-01,3900
Ulm,2019-01-02,2500
Kiel,2019-01-01,1800
""",
    "lake/inhabitants.csv": """town,inhabitants
Bonn,330579
Ulm,126790
Kiel,246243
""",
    "lake/events.csv": """event,town
market,Bonn
concert,Ulm
regatta,Kiel
market,Hamm
""",
}


def write_files(folder: Path) -> Path:
    """Write the files and index them."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with chdir(folder):  # so that sources are relative, and copies of the folder are alike
        mate.index("lake", "lake.mate").close()
    return folder


@pytest.fixture(scope="session")
def stations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake where each of twelve cities has eight days of its own, and a query with every other pair."""
    return write_stations(tmp_path_factory.mktemp("stations"))


def write_stations(folder: Path) -> Path:
    """Write the files and index them."""
    pairs = [(f"city {n // 8}", f"day {4 * (n // 8) + n % 8}") for n in range(96)]
    (folder / "lake").mkdir()
    write_csv(
        folder / "lake/stations.csv", ["town", "date", "level"], [(*p, f"level {n}") for n, p in enumerate(pairs)]
    )
    write_csv(folder / "query.csv", ["city", "day", "value"], [(*pair, f"{n}.5") for n, pair in enumerate(pairs[::2])])
    mate.index(folder / "lake", folder / "lake.mate").close()
    return folder


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("api"))


@pytest.fixture
def folder(shared_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder that a test may change, as the working directory."""
    own = tmp_path / "own"
    shutil.copytree(shared_folder, own)
    monkeypatch.chdir(own)
    return own


@pytest.fixture
def lake(folder: Path) -> Iterator[mate.Lake]:
    with mate.open("lake.mate") as opened:
        yield opened


EVIL = "pm</script><img src=x onerror=\"document.title='broken'\">&amp;\x01{{data}}"
SHOWN_EVIL = EVIL.replace("\x01", "␁")


@pytest.fixture(scope="session")
def graphed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake and its graph: stations, their copy, readings with half of their keys there, a table that joins nothing.

    The name of a column, and that of the lake, are code that a page must show and not obey.
    """
    folder = tmp_path_factory.mktemp("graph")
    (folder / "files").mkdir()
    pairs = [(f"city {n // 8}", f"day {4 * (n // 8) + n % 8}", f"level {n}") for n in range(96)]
    half = [(*pair[:2], f"{n}.5") for n, pair in enumerate(pairs[:48])]
    half += [(f"town {n}", f"date {n}", f"{n}.7") for n in range(48)]
    write_csv(folder / "files/stations.csv", ["town", "date", "level"], pairs)
    write_csv(folder / "files/copy.csv", ["town", "date", "level"], pairs)
    write_csv(folder / "files/readings.csv", ["city", "day", EVIL], half)
    write_csv(folder / "files/levels.csv", ["x"], [(f"alone {n}",) for n in range(9)])
    with mate.index(folder / "files", folder / "{{data}}.mate") as lake:
        graph = lake.graph()
        written = graph.write(folder / "graph")
        assert [path.name for path in written] == ["nodes.parquet", "edges.parquet", "graph.graphml", "graph.html"]
        assert {edge["kind"] for edge in graph.neighbours(lake.find("copy").table_id)} == {"duplicate", "join"}
    return folder
