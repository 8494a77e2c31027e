"""The settings of a synthetic lake, and its address, which says them all."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from mate.errors import CorpusError, did_you_mean

SCHEME = "synthetic:"

_BOUNDS: dict[str, tuple[float, float]] = {
    "tables": (1, 10**9),
    "seed": (0, 2**63 - 1),
    "rows": (1, 10_000),
    "columns": (2, 100),
    "vocabulary": (1_000, 20_000_000),
    "skew": (0, 3),
    "joinable": (0, 1),
    "near_misses": (0, 1),
}


@dataclass(frozen=True)
class LakeSettings:
    """What decides every cell of a lake."""

    tables: int = 1_000
    seed: int = 1
    rows: int = 1_000
    """Mean height of a table, at most 10,000; the median is a fifth of it, the tallest a thousand times it."""
    columns: int = 9
    """Mean width of a table."""
    vocabulary: int = 200_000
    """Distinct names, places, words and phrases; dates, numbers and codes come on top."""
    skew: float = 1.0
    """Exponent of the power law of value frequencies; 0 makes all values equally frequent."""
    joinable: float = 0.3
    """Share of the tables that belong to a domain."""
    near_misses: float = 0.5
    """Share of such a table's rows that share only one value with a key tuple."""

    def __post_init__(self) -> None:
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise CorpusError(f"{SCHEME}{name} must be from {least:,} to {most:,}, not {value:,}")

    @classmethod
    def parse(cls, address: str) -> Self:
        """Return the lake of an address such as ``synthetic:tables=1000,seed=7``; what is left out is default."""
        scheme, _, settings = address.partition(":")
        if scheme != SCHEME[:-1]:
            raise CorpusError(f'not a synthetic lake: "{address}"; expected something like {cls().address}')
        values: dict[str, Any] = {}
        for setting in filter(None, settings.split(",")):
            name, _, value = (part.strip() for part in setting.partition("="))
            if name not in _BOUNDS:
                raise CorpusError(f'{SCHEME} has no setting "{name}"; {did_you_mean(name, _BOUNDS)}')
            if name in values:
                raise CorpusError(f'{SCHEME}{name} is set twice in "{address}"')
            values[name] = _number(name, value)
        return cls(**values)

    @property
    def address(self) -> str:
        """The settings as text that `parse` reads: tables and seed always, others where they are not default."""
        shown = {name: getattr(self, name) for name in _BOUNDS}
        default = {field.name: field.default for field in fields(self) if field.name not in ("tables", "seed")}
        return SCHEME + ",".join(f"{name}={value}" for name, value in shown.items() if default.get(name) != value)


def _number(name: str, value: str) -> float:
    whole = isinstance(getattr(LakeSettings, name), int)
    try:
        return int(value) if whole else float(value)
    except ValueError:
        raise CorpusError(f"{SCHEME}{name} takes a {'whole ' if whole else ''}number, not {value!r}") from None
