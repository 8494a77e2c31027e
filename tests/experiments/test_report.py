"""The report from end to end: on whole results, on partial ones, on damaged ones, on none."""

from __future__ import annotations

import html.parser
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd
import pytest

from experiments.__main__ import main
from experiments.registry import EXPERIMENTS
from experiments.reporting import summary
from experiments.reporting.claims import CLAIMS, verdicts
from experiments.reporting.figures import FIGURES
from experiments.reporting.figures.searching import figure4 as draw_figure4
from experiments.reporting.page import render
from experiments.reporting.results import Results, read_results
from experiments.reporting.tables import TABLES, tables
from experiments.reporting.verdicts import SIGNS
from experiments.reporting.writing import write
from tests.experiments.made_up import both_alphas, results, search, systems

NOT_A_NUMBER = re.compile(r"\b(nan|NaN|<NA>|None|inf)\b")


@pytest.fixture
def copy(measured: Path, tmp_path: Path) -> Path:
    """Results of all experiments, to be changed."""
    folder = tmp_path / "results"
    shutil.copytree(measured, folder, ignore=shutil.ignore_patterns("lakes", "report"))
    return folder


@pytest.fixture(scope="module")
def report(measured: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    assert main(["report", "--results", str(measured), "--out", str(out)]) == 0
    return out


def pixels(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    from matplotlib.image import imread

    return np.asarray(imread(path), dtype=np.float64)[..., :3]


def test_every_file_is_there(report: Path, measured: Path) -> None:
    found = read_results(measured)
    names = {table.name for experiment in TABLES for table in tables(found, experiment)}
    assert names >= {"table1", "figure4", "figure4-ratios", "table2", "table2-ratios", "table3", "fair-bloom-filter"}
    assert names >= {
        "top-k",
        "figure5",
        "figure6-runtime",
        "initial-column",
        "index-generation",
        "collisions",
        "phases",
    }
    for name in names:
        for ending in (".md", ".csv", "-numbers.csv"):
            assert (report / "tables" / f"{name}{ending}").stat().st_size > 50
    figures = {"figure4", "figure4-ratios", "phases", "table2", "table3", "top-k", "figure5", "figure6"}
    figures |= {"initial-column", "index-generation", "collisions"}
    assert {path.stem for path in (report / "figures").iterdir()} == figures
    for name in figures:
        assert (report / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        image = pixels(report / "figures" / f"{name}.png")
        assert image.shape[0] > 200
        assert (image.min(axis=2) < 0.9).mean() > 0.005, f"{name} is empty"
    for name in ("verdicts.md", "verdicts.csv", "verdict-cases.csv", "index.html"):
        assert (report / name).stat().st_size > 1000


def test_there_is_no_text_that_is_not_a_number(report: Path) -> None:
    page = re.sub(r"base64,[^\"]*", "", (report / "index.html").read_text(encoding="utf-8"))
    assert not NOT_A_NUMBER.findall(page)
    for path in [*(report / "tables").glob("*.md"), report / "verdicts.md"]:
        assert not NOT_A_NUMBER.findall(path.read_text(encoding="utf-8")), path.name


class Links(html.parser.HTMLParser):
    """Collects what a page refers to, its identifiers, and checks that its elements are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []
        self.names: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "iframe", "object")
        for name, value in attrs:
            if name in ("src", "href", "srcset", "data", "action"):
                self.references.append(value or "")
            if name == "id":
                self.names.add(value or "")
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_else(report: Path) -> None:
    text = (report / "index.html").read_text(encoding="utf-8")
    page = Links()
    page.feed(text)
    assert not page.open
    inside = [r for r in page.references if r.startswith("#")]
    images = [r for r in page.references if r.startswith("data:image/png;base64,")]
    assert len(inside) + len(images) == len(page.references)
    assert {reference[1:] for reference in inside} <= page.names
    assert len(images) == 11
    assert "url(" not in text
    assert "@import" not in text


def test_the_page_says_what_was_measured_and_how(report: Path, measured: Path) -> None:
    text = (report / "index.html").read_text(encoding="utf-8")
    command = json.loads((measured / "experiments" / "figure4.json").read_text(encoding="utf-8"))
    assert command["lakes"]["mine"]["arrays"]["command"].replace("'", "&#x27;") in text
    for claim in CLAIMS:
        assert f"<b>{claim.name}</b>".replace("'", "&#x27;") in text
    for name in EXPERIMENTS:
        assert f"<h2 id={name}>" in text
    assert "only 2 queries in a set" in text
    assert "mine (1000): mine has no table for it" in text
    assert "synthetic" not in text.replace(str(measured), "")


def test_the_terminal_shows_verdicts_and_where_the_page_is(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "figure5", "--results", str(measured), "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if "every component adds precision" in line]
    assert any(sign in line for sign in SIGNS.values())
    assert "faster than SCR" not in out
    assert "alpha of this lake" not in out
    assert f"report: {tmp_path / 'out' / 'index.html'}" in out
    assert {path.name for path in (tmp_path / "out" / "figures").iterdir()} == {"figure5.png", "figure5.pdf"}


def test_the_terminal_shows_what_verdicts_rest_on_if_asked(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "figure4", "--details", "--results", str(measured), "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "measured here" in out
    assert "alpha of this lake" in out


def test_the_report_lies_in_the_results_unless_said(copy: Path) -> None:
    assert main(["report", "collisions", "--results", str(copy)]) == 0
    assert (copy / "report" / "index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure44"], 'unknown experiment "figure44"; did you mean "figure4"'),
        ([], "there are no results in"),
        (["table2"], "there are no results of table2"),
    ],
)
def test_no_results_are_one_clear_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *arguments, "--results", str(tmp_path / "none")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (tmp_path / "none").exists()


def test_a_damaged_record_is_one_clear_line(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = next((copy / "records" / "components").rglob("*.parquet"))
    path.write_bytes(path.read_bytes()[:200])
    assert main(["report", "--results", str(copy)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert path.name in line
    assert "--redo" in line
    assert not (copy / "report").exists()


def test_a_damaged_plan_is_one_clear_line(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "experiments" / "figure4.json").write_text('{"lakes": 1}', encoding="utf-8")
    assert main(["report", "--results", str(copy)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "figure4.json cannot be read" in line


def test_a_query_set_that_is_not_finished_is_left_out_and_told(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    next((copy / "records" / "systems").rglob("mine-100/scr-k10-*.parquet")).unlink()
    assert main(["report", "figure4", "--results", str(copy)]) == 0
    out = capsys.readouterr().out
    assert "missing: figure4: mine, mine (100): 1 of 12 files are missing" in out
    assert "make it with: python -m experiments" in out
    numbers = (copy / "report" / "tables" / "figure4-numbers.csv").read_text(encoding="utf-8")
    assert "mine (10)" in numbers
    assert "mine (100)" not in numbers
    assert "1 of 12 files are missing" in (copy / "report" / "index.html").read_text(encoding="utf-8")


def test_what_was_not_run_is_told_with_its_command(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for plan in (copy / "experiments").iterdir():
        if plan.stem not in ("collisions", "index-generation"):
            plan.unlink()
    shutil.rmtree(copy / "records" / "index-generation")
    assert main(["report", "--results", str(copy)]) == 0
    out = capsys.readouterr().out
    assert f"missing: figure6: not run yet; make it with: python -m experiments run figure6 --results {copy}" in out
    assert "missing: index-generation: mine: 3 of 3 files are missing" in out
    assert {path.stem for path in (copy / "report" / "figures").iterdir()} == {"collisions"}
    text = (copy / "report" / "index.html").read_text(encoding="utf-8")
    assert "<h2 id=figure6>" not in text
    assert "not run yet" in text


def test_a_figure_does_not_outlive_its_results(copy: Path) -> None:
    assert main(["report", "figure5", "collisions", "--results", str(copy)]) == 0
    mine, gone = (copy / "report" / "figures" / name for name in ("mine.png", "figure5.png"))
    mine.write_bytes(b"mine")
    assert gone.exists()
    assert main(["report", "collisions", "--results", str(copy)]) == 0
    assert not gone.exists()
    assert mine.exists()


def test_nothing_finished_is_told(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(copy / "records")
    assert main(["report", "--results", str(copy)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "nothing is finished" in line
    assert "go on with: python -m experiments" in line


def test_synthetic_lakes_are_labelled_everywhere() -> None:
    found = results({"figure4": systems()}, {"webtables": "synthetic", "opendata": ""})
    (drawn, *_) = draw_figure4(found)
    titles = [axis.get_title(loc="left") for axis in drawn.figure.axes]
    assert titles == ["webtables (synthetic)", "opendata"]
    (table, *_) = tables(found, "figure4")
    assert {row[0] for row in table.rows} == {"webtables (synthetic)", "opendata"}
    text = render(found, [], {}, {})
    assert "The results for webtables (synthetic) come from synthetic tables" in text


def test_a_system_that_never_finished_gets_an_empty_bar_and_no_number() -> None:
    rows = [search("mine", "mine (10)", q, m) for q in range(3) for m in both_alphas("xash 128")]
    rows += [search("mine", "mine (10)", q, "mcr", seconds=None) for q in range(3)]
    rows += [search("mine", "mine (10)", q, "scr", seconds=None if q else 1.0) for q in range(3)]
    found = results({"figure4": rows})
    (drawn, *_) = draw_figure4(found)
    (axis,) = drawn.figure.axes
    assert [text.get_text() for text in axis.texts] == ["3/3 late", "2/3 late"]
    heights = [bar.get_height() for bar in axis.patches]
    assert heights == [1.0, 1.0, 60.0, 1.0]
    assert axis.patches[2].get_facecolor()[:3] == (1.0, 1.0, 1.0)
    (table, *_) = tables(found, "figure4")
    assert "none finished · 3 late" in table.rows[0]


def test_hostile_names_are_text() -> None:
    name = "<script>alert(1)</script> | ** & \"'"
    rows = [search(name, f"{name} (10)", q, m) for q in range(6) for m in ("scr", *both_alphas("xash 128"))]
    found = results({"figure4": rows, "table2": rows})
    made = {experiment: tables(found, experiment) for experiment in ("figure4", "table2")}
    text = render(found, [], made, {})
    page = Links()
    page.feed(text)
    assert not page.open
    assert "<script" not in text
    assert all(line.startswith("|") for line in made["figure4"][0].markdown().splitlines()[2:4])


@pytest.mark.parametrize(
    "methods", [("scr",), ("xash 128",), ("scr", "xash 128", "bf 512"), ("my.package:search", "bf 128")]
)
def test_few_methods_are_enough(methods: tuple[str, ...], tmp_path: Path) -> None:
    """An index that was there already may lack hash functions, and a system of one's own may be the only one."""
    rows = [search("mine", "mine (100)", q, method) for q in range(3) for method in methods]
    rows += [
        search("mine", "mine (10)", q, method, seconds=None, precision=None) for q in range(3) for method in methods
    ]
    names = ("table1", "figure4", "table2", "table3", "top-k", "figure5", "figure6", "initial-column")
    found = results(dict.fromkeys(names, rows))
    page = write(found, verdicts(found), tmp_path / "out")
    assert not NOT_A_NUMBER.findall(re.sub(r"base64,[^\"]*", "", page.read_text(encoding="utf-8")))


def test_every_experiment_has_tables_and_most_have_figures() -> None:
    assert set(TABLES) == set(EXPERIMENTS)
    assert set(FIGURES) == set(EXPERIMENTS) - {"table1", "own-table", "bloom-mistakes", "length-first", "row-filter"}


def test_queries_of_a_set_that_experiments_differ_in() -> None:
    frames = {
        name: pd.DataFrame({"lake": "a", "query_set": "A (10)", "query": [f"q{number % most}" for number in range(9)]})
        for name, most in (("figure4", 5), ("table3", 2))
    }
    other = pd.DataFrame({"lake": ["a", "b"], "query_set": ["A (100)", "A (10)"], "query": ["q", "q"]})
    found = cast(Results, SimpleNamespace(frames={**frames, "figure5": other}))
    assert summary._sets(found, "a") == "A (10): 2 to 5, A (100): 1"
