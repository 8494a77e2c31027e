"""`Lake.graph` and its files: Parquet, GraphML, and a page that no name of a table or column can break."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

import mate
from mate.cli.program import main
from tests.lakes import write_csv

EVIL = "</script><img src=x onerror=\"document.title='broken'\">&amp;\x01{{data}}"
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of tables with names that are code, two of which are copies."""
    folder = tmp_path_factory.mktemp("graph")
    (folder / "files").mkdir()
    pairs = [(f"city {n // 8}", f"day {4 * (n // 8) + n % 8}", f"level {n}") for n in range(96)]
    write_csv(folder / "files/stations.csv", [EVIL, "date", "level"], pairs)
    write_csv(folder / "files/copy.csv", [EVIL, "date", "level"], pairs)
    write_csv(folder / "files/readings.csv", ["city", "day", "pm"], [(*p[:2], f"{n}.5") for n, p in enumerate(pairs)])
    with mate.index(folder / "files", folder / "lake.mate") as lake:
        graph = lake.graph()
        assert [path.name for path in graph.write(folder / "graph")] == [
            "nodes.parquet",
            "edges.parquet",
            "graph.graphml",
            "graph.html",
        ]
        assert {edge["kind"] for edge in graph.neighbours(lake.find("copy").table_id)} == {"duplicate", "join"}
    return folder


def test_nodes_and_edges(written: Path) -> None:
    nodes = pq.read_table(written / "graph/nodes.parquet").to_pylist()
    edges = pq.read_table(written / "graph/edges.parquet").to_pylist()
    assert [node["name"] for node in nodes] == ["copy", "readings", "stations"]
    groups = [node["same_columns"] for node in nodes]
    assert groups == [1, None, 1]
    kinds = {(edge["kind"], edge["child_name"], edge["parent_name"]) for edge in edges}
    assert ("duplicate", "copy", "stations") in kinds
    assert ("join", "copy", "stations") not in kinds
    [join] = [e for e in edges if (e["child_name"], e["parent_name"]) == ("readings", "stations")]
    assert (join["key"], join["columns"]) == (["city", "day"], [EVIL, "date"])
    assert (join["containment"], join["uniqueness"], join["key_tuples"]) == (1, 1, 96)


def test_graphml_is_xml_with_all_of_it(written: Path) -> None:
    root = ElementTree.parse(written / "graph/graph.graphml").getroot()
    nodes, edges = list(root.iter(f"{GRAPHML}node")), list(root.iter(f"{GRAPHML}edge"))
    assert len(nodes) == 3
    assert len(edges) == len(pq.read_table(written / "graph/edges.parquet"))
    texts = [data.text or "" for data in nodes[0].iter(f"{GRAPHML}data")]
    assert any(EVIL.replace("\x01", "␁") in text for text in texts)


def test_the_page_holds_its_data_and_loads_nothing(written: Path) -> None:
    page = (written / "graph/graph.html").read_text(encoding="utf-8")
    assert page.count("</script>") == 2
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    [data] = re.findall(r'id="data">(.*?)</script>', page)
    assert json.loads(data)["nodes"][0][4][0] == EVIL.replace("\x01", "␁")


def test_the_command_says_what_it_found(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "--store", str(written / "lake.mate"), "-o", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "3 tables: " in out
    assert "1 pairs of duplicates" in out
    assert str(tmp_path / "out/graph.html") in out
    (tmp_path / "file").touch()
    assert main(["graph", "--store", str(written / "lake.mate"), "-o", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith(f"mate: {tmp_path / 'file'}")


@pytest.mark.usefixtures("spark")
def test_the_same_graph_on_spark(written: Path, tmp_path: Path) -> None:
    store = str(written / "lake.mate")
    before = sorted(written.iterdir())
    assert main(["graph", "--store", store, "-o", str(tmp_path / "out"), "--master", "local[2]"]) == 0
    for name in ("nodes.parquet", "edges.parquet"):
        assert pq.read_table(tmp_path / "out" / name).equals(pq.read_table(written / "graph" / name))
    assert sorted(written.iterdir()) == before
