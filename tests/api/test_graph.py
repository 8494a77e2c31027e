"""`Lake.graph` and its files: Parquet, GraphML, and a page that no name of a table or column can break."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from mate.cli.program import main
from tests.api.conftest import SHOWN_EVIL

GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


def test_nodes_and_edges(graphed: Path) -> None:
    nodes = pq.read_table(graphed / "graph/nodes.parquet").to_pylist()
    edges = pq.read_table(graphed / "graph/edges.parquet").to_pylist()
    groups = {node["name"]: node["same_columns"] for node in nodes}
    assert groups == {"copy": 1, "levels": None, "readings": None, "stations": 1}
    kinds = {(edge["kind"], edge["child_name"], edge["parent_name"]) for edge in edges}
    assert ("duplicate", "copy", "stations") in kinds
    assert ("join", "copy", "stations") not in kinds
    [join] = [e for e in edges if (e["child_name"], e["parent_name"]) == ("readings", "stations")]
    assert (join["key"], join["columns"]) == (["city", "day"], ["town", "date"])
    assert (join["containment"], join["uniqueness"], join["key_tuples"]) == (0.5, 1, 96)


def test_graphml_is_xml_with_all_of_it(graphed: Path) -> None:
    root = ElementTree.parse(graphed / "graph/graph.graphml").getroot()
    nodes, edges = list(root.iter(f"{GRAPHML}node")), list(root.iter(f"{GRAPHML}edge"))
    assert len(nodes) == 4
    assert len(edges) == len(pq.read_table(graphed / "graph/edges.parquet"))
    assert any(SHOWN_EVIL in (data.text or "") for data in nodes[2].iter(f"{GRAPHML}data"))


def test_the_page_holds_its_data_and_loads_nothing(graphed: Path) -> None:
    page = (graphed / "graph/graph.html").read_text(encoding="utf-8")
    assert page.count("</script>") == 2
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    [data] = re.findall(r'id="data">(.*?)</script>', page)
    assert json.loads(data)["nodes"]["columns"][2][2] == SHOWN_EVIL


def test_the_command_says_what_it_found(graphed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "--store", str(graphed / "{{data}}.mate"), "-o", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "4 tables: " in out
    assert "1 pairs of duplicates" in out
    assert str(tmp_path / "out/graph.html") in out
    (tmp_path / "file").touch()
    assert main(["graph", "--store", str(graphed / "{{data}}.mate"), "-o", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith(f"mate: {tmp_path / 'file'}")


@pytest.mark.usefixtures("spark")
def test_the_same_graph_on_spark(graphed: Path, tmp_path: Path) -> None:
    store = str(graphed / "{{data}}.mate")
    before = sorted(graphed.iterdir())
    assert main(["graph", "--store", store, "-o", str(tmp_path / "out"), "--master", "local[2]"]) == 0
    for name in ("nodes.parquet", "edges.parquet"):
        assert pq.read_table(tmp_path / "out" / name).equals(pq.read_table(graphed / "graph" / name))
    assert sorted(graphed.iterdir()) == before
