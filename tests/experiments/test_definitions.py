"""A definition decides where its records lie: readable, and different for whatever makes a difference."""

import subprocess
import sys
from dataclasses import fields, replace

import pytest

from experiments.definitions import Definition, Method, digest, slug

DEFINITION = Definition(
    "hashes", "webtables", "abc", "hashes-1", "WT (10)", "def", Method("mate", "bf", 128), 10, 3, 60.0
)


def test_the_path_can_be_read() -> None:
    path = DEFINITION.path.as_posix()
    assert path.startswith("records/hashes/webtables-abc/wt-10/bf-128-k10-")
    assert path.endswith(f"{DEFINITION.fingerprint}.parquet")


def other(value: object) -> object:
    if isinstance(value, Method):
        return replace(value, bits=256)
    if isinstance(value, bool):
        return not value
    return f"{value}x" if isinstance(value, str) else value + 1  # type: ignore[operator]


@pytest.mark.parametrize("name", [field.name for field in fields(Definition)])
def test_every_part_of_a_definition_changes_the_path(name: str) -> None:
    changed = replace(DEFINITION, **{name: other(getattr(DEFINITION, name))})
    assert changed.path != DEFINITION.path


@pytest.mark.parametrize("name", [field.name for field in fields(Method)])
def test_every_part_of_a_method_changes_the_path(name: str) -> None:
    method = replace(DEFINITION.method, **{name: other(getattr(DEFINITION.method, name))})
    assert replace(DEFINITION, method=method).path != DEFINITION.path


def test_another_process_finds_the_same_path() -> None:
    code = "from tests.experiments.test_definitions import DEFINITION; print(DEFINITION.path.as_posix())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == DEFINITION.path.as_posix()


def test_the_order_of_settings_does_not_matter() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1}) != digest({"a": 1, "b": [3]})


@pytest.mark.parametrize(
    ("text", "part"), [("WT (10)", "wt-10"), ("../x y/ä", "..-x-y"), ("", "unnamed"), ("日本", "unnamed")]
)
def test_names_become_parts_of_a_path(text: str, part: str) -> None:
    assert slug(text) == part


def test_labels_tell_methods_apart() -> None:
    assert Method("mate", "bf-fair", 128).label == "bf 128 (fair)"
    assert Method("mate", "xash", 512).label == "xash 512"
    assert Method("scr").label == "scr"
