"""Systems by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

import baselines.systems.mcr
import baselines.systems.scr
import mate.search.discovery
import mate.search.systems
from mate.errors import QueryError
from mate.search.systems import available, find_system


def test_the_systems_that_are_declared() -> None:
    assert {"mate", "scr", "mcr"} <= set(available())
    assert available() == sorted(available())
    assert find_system("mate") is mate.search.discovery.search
    assert find_system("scr") is baselines.systems.scr.search
    assert find_system("mcr") is baselines.systems.mcr.search


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
    assert available() == ["mate", "ours"]
    assert find_system("ours").__name__ == "loads"
