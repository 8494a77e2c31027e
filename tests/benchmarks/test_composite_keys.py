"""The benchmark of declared keys, on a folder whose figures can be worked out by hand."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from benchmarks import key_databases
from benchmarks.__main__ import main
from mate.errors import MateError

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
    assert main(["compositekeys", str(folder)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    rows = {tuple(line[1:-7]): line[-7:-1] for line in lines if line and line[0] == "keys"}
    assert rows["composite", "joinability"] == ["1", "0", "1", "0.500", "0.500", "1"]
    assert rows["composite", "usefulness", "without", "names"] == ["1", "0", "1", "0.667", "0.667", "1"]
    assert rows["composite", "usefulness"] == ["1", "1", "1", "1.000", "1.000", "1"]
    assert rows["composite", "best", "single", "column"][:4] == ["1", "0", "1", "0.500"]
    for ranking in (["joinability"], ["usefulness", "without", "names"], ["usefulness"]):
        assert rows["single", *ranking] == ["1", "1", "1", "1.000", "1.000", "1"]
    assert rows["single", "LSH", "Ensemble", "per", "column"][1] == "1"
    hidden = {line[1]: line[2:7] for line in lines if line and line[0] == "keys" and len(line) == 9}
    assert hidden == {"composite": ["1", "1", "1", "1", "1"], "single": ["1", "0", "1", "1", "0"]}


def test_among_other_tables(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "others" / "cities.csv", [["year", "city"], *([f"{n}", f"city {n}"] for n in range(1990, 2020))])
    assert main(["compositekeys", str(folder), "--among", str(tmp_path / "others")]) == 0
    assert "keys among 7" in capsys.readouterr().out


def test_a_database_is_made_by_a_script_in_an_environment_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATE_CACHE", str(tmp_path))
    script = "import pathlib, sys; pathlib.Path(sys.argv[1], 'a.csv').write_text('x,y\\n1,2\\n')"
    monkeypatch.setitem(key_databases.MADE, "toy", key_databases.MadeDatabase((), script, ("a x;y a x;y",)))
    home = tmp_path / "benchmarks" / "environments" / "bin"
    home.mkdir(parents=True)
    (home / "python").symlink_to(sys.executable)
    folder = key_databases.database_folder("toy")
    [key] = key_databases.read_truth(folder)
    assert (key.child.name, key.child_columns, key.kind) == ("a.csv", ("x", "y"), "composite")
    broken = key_databases.MadeDatabase((), "raise OSError('no such data')", ())
    monkeypatch.setitem(key_databases.MADE, "broken", broken)
    with pytest.raises(MateError, match="broken cannot be made with : OSError: no such data"):
        key_databases.database_folder("broken")


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
    assert main(["compositekeys", str(folder)]) == 2
    assert message in capsys.readouterr().err
