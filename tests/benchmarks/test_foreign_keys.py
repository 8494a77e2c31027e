"""The benchmark of declared foreign keys, on a folder whose figures can be worked out by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks.__main__ import main

TRUTH = """lake,child,child_columns,parent,parent_columns,kind
sport,players,year;team,teams,year;team,composite
sport,players,player,people,player,single
"""


def write(path: Path, rows: list[list[str]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Each team of each year once in `teams` and in `splits`, twice in `games`; a person once in `people`."""
    seasons = [[f"{year}", f"team {n}"] for year in range(1990, 1996) for n in range(5)]
    sport = tmp_path / "keys" / "sport"
    sport.parent.mkdir()
    write(sport / "teams.csv", [["year", "team", "wins"], *([*s, f"{n} wins"] for n, s in enumerate(seasons))])
    write(sport / "splits.csv", [["year", "team", "home"], *([*s, f"{n} home"] for n, s in enumerate(seasons))])
    write(sport / "games.csv", [["year", "team", "game"], *([*s, f"g{n}"] for n, s in enumerate(seasons * 2))])
    write(sport / "people.csv", [["player", "born"], *([f"player {n}", f"{1960 + n % 9}"] for n in range(40))])
    rows = [[f"player {n}", *seasons[n * 7 % len(seasons)], f"{n} goals"] for n in range(40)]
    write(sport / "players.csv", [["player", "year", "team", "goals"], *rows])
    write(sport.parent / "more" / "colours.csv", [["colour", "hex"], *([f"colour {n}", f"{n:06x}"] for n in range(9))])
    (sport.parent / "truth.csv").write_text(TRUTH)
    return sport.parent


def test_the_figures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`teams` ties with `splits` and `games` by count, with `splits` by usefulness, with none by names."""
    assert main(["foreignkeys", str(folder)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["composite", "joinability", "1", "0", "1", "0.500", "0.500", "1"] in lines
    assert ["composite", "usefulness", "without", "names", "1", "0", "1", "0.667", "0.667", "1"] in lines
    assert ["composite", "usefulness", "1", "1", "1", "1.000", "1.000", "1"] in lines
    for ranking in (["joinability"], ["usefulness", "without", "names"], ["usefulness"]):
        assert ["single", *ranking, "1", "1", "1", "1.000", "1.000", "1"] in lines
    assert ["composite", "1", "1", "1", "1"] in lines
    assert ["single", "1", "0", "1", "1"] in lines


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (None, "has no truth.csv"),
        ("lake,child\nsport,players\n", "truth.csv has no column 'parent'"),
        (TRUTH + "sport,players,a,clubs,b,single\n", "clubs.csv, which is not there"),
    ],
)
def test_a_folder_without_its_truth(
    folder: Path, truth: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if truth is None:
        (folder / "truth.csv").unlink()
    else:
        (folder / "truth.csv").write_text(truth)
    assert main(["foreignkeys", str(folder)]) == 2
    assert message in capsys.readouterr().err
