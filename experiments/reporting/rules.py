"""The rules of the verdicts, from ``experiments/rules.toml``: their words and their numbers, and when they changed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "rules.toml"


@cache
def _file() -> Mapping[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def changed() -> str:
    """Return when the rules changed last, and why."""
    return f"{_file()['changed']}: {_file()['reason']}"


def threshold(name: str) -> float:
    """Return a number that all claims share."""
    return float(_file()["thresholds"][name])


def number(claim: str, name: str) -> float:
    """Return a number of one claim."""
    return float(_file()["claims"][claim][name])


def related(claim: str) -> list[str]:
    """Return the claims that are tested on the same measurements, so that their verdicts are not independent."""
    groups = [[name, *entry["related"]] for name, entry in _file()["claims"].items() if "related" in entry]
    return [name for group in groups if claim in group for name in group if name != claim]


def text(claim: str) -> str:
    """Return the rule of a claim, its numbers filled in."""
    entry = _file()["claims"][claim]
    numbers = {
        **_file()["thresholds"],
        **{name: value for name, value in entry.items() if name not in ("rule", "related")},
    }
    phrases = {name: phrase.format_map(_Partial(numbers)) for name, phrase in _file()["phrases"].items()}
    filled: str = entry["rule"].format_map({**numbers, **phrases})
    return filled


class _Partial(dict[str, Any]):
    """Leaves what a phrase needs and a claim does not have."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"
