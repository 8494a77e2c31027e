"""Systems by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pyarrow as pa
import pytest

import baselines.systems.mcr
import baselines.systems.scr
import mate.search.systems
from mate.errors import QueryError
from mate.search.algorithm_1 import algorithm_1
from mate.search.engine import run
from mate.search.settings import SearchSettings
from mate.search.systems import System, available, find_system
from tests.search.memory_lake import MemoryLake


def test_the_systems_that_are_declared() -> None:
    assert {"column-first", "mate", "mate-length-first", "scr", "mcr", "scr-josie", "mcr-josie"} <= set(available())
    assert available() == sorted(available())
    assert find_system("mate").visit is algorithm_1
    assert find_system() is find_system("column-first")
    assert find_system("scr") is baselines.systems.scr.SYSTEM
    assert find_system("mcr") is baselines.systems.mcr.SYSTEM


@pytest.mark.parametrize("intersects", [False, True])
def test_a_system_says_what_is_fetched_for_it(intersects: bool) -> None:
    seen: list[bool] = []
    system = System("mcr", lambda part: seen.append(part.search.intersects), intersects=intersects)
    run(system, MemoryLake.of([[["a", "b"]]]), pa.table({"x": ["a"], "y": ["b"]}), ["x", "y"], SearchSettings())
    assert set(seen) == {intersects}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mat", 'did you mean "mate"'),
        ("SCR ", 'did you mean "scr"'),
        ("josephine", "known: .*mate"),
        ("", "known: .*mcr"),
    ],
)
def test_an_unknown_name(name: str, hint: str) -> None:
    with pytest.raises(QueryError, match=f'unknown system "{name}"; {hint}'):
        find_system(name)


def test_a_package_may_declare_one(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = EntryPoints([EntryPoint("ours", "json:loads", "mate.systems")])
    monkeypatch.setattr(mate.search.systems, "entry_points", declared.select)
    assert available() == ["column-first", "mate", "ours"]
    assert find_system("ours").__name__ == "loads"
