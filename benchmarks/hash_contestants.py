"""Who takes part in the hash laboratory: the hash functions that are known, and those of plugins."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

import experiments.hashes  # noqa: F401  (registers the readings of XASH and fair Bloom filters)
from mate.errors import HashError
from mate.hashing import CorpusStatistics, SuperKeyHash, available, find, fit, get
from mate.lake.super_keys import key_words

ORDER = (
    *("xash", "xash-paper", "xash-released"),
    *("bf", "bf-fair-released", "lhbf", "ht", "simhash", "md5", "murmur", "city"),
)
"""Hash functions of fixed size, in the order of the report."""
BY_WIDTH = {"wide": (8, 12, 16, 20, 24, 32), "fingerprint": (8, 12, 16, 20, 32, 63)}
"""Bits per column of those that follow the width; a fingerprint of 63 bits is the number of the token itself."""
EQUAL = (128, 256, 512)
"""Bits per row that those that follow the width are also fitted to."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A hash function at one size. An index tells them apart by name and size."""

    name: str
    bits: int
    parameters: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    """The SHA-256 of the file of a plugin: one that was edited is another hash function."""

    @property
    def label(self) -> str:
        """For people and for file names."""
        return f"{self.name} {self.bits}"

    def function(self) -> SuperKeyHash:
        """Return the hash function."""
        return get(self.name, self.bits, **self.parameters)


def load_plugin(where: str) -> dict[str, str]:
    """Load a Python file or module that registers hash functions, or take one that an installed package offers.

    Return the names that are new, each with the SHA-256 of the file.
    """
    before = set(available())
    path = Path(where)
    if where in before:
        return {where: _checksum(import_module(find(where).__module__).__file__)}
    try:
        if path.suffix == ".py":
            spec = spec_from_file_location(f"plugin_{path.stem}", path)
            if spec is None or spec.loader is None or not path.is_file():
                raise HashError(f"--plugin: there is no file {path}")
            spec.loader.exec_module(module_from_spec(spec))
            file: str | None = str(path)
        else:
            file = import_module(where).__file__
    except HashError:
        raise
    except Exception as error:  # whatever somebody's file does
        raise HashError(f"--plugin {where} cannot be loaded: {type(error).__name__}: {error}") from error
    new = sorted(set(available()) - before)
    if not new:
        raise HashError(
            f"--plugin {where} registers no hash function: decorate a SuperKeyHash with mate.hashing.register"
        )
    return dict.fromkeys(new, _checksum(file))


def _checksum(file: str | None) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""


def contestants(
    corpus: CorpusStatistics,
    widths: npt.NDArray[np.int64],
    only: Sequence[str] = (),
    plugins: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Contestant]:
    """Yield every hash at every size with the parameters for a corpus; `widths` are the columns of its rows.

    `only` has names, or names and sizes: ``wide:20``.
    """
    for entry in dict.fromkeys(only or (*plugins, *ORDER, *BY_WIDTH)):
        name, _, size = entry.partition(":")
        for bits in [int(size)] if size.isdecimal() else _sizes(name, widths):
            function = fit(name, bits, corpus)
            yield Contestant(name, bits, function.parameters, plugins.get(name, ""))


def _sizes(name: str, widths: npt.NDArray[np.int64]) -> list[int]:
    hashing = find(name)
    if not hashing.by_width:
        return [bits for bits in hashing.sizes if bits >= 128] or list(hashing.sizes)
    usual = BY_WIDTH.get(name, (hashing.usual,))
    fitted = (fitting(name, target, widths) for target in EQUAL)
    return sorted({*usual, *(bits for bits in fitted if bits)})


def fitting(name: str, target: int, widths: npt.NDArray[np.int64]) -> int | None:
    """Return the most bits per column with which rows take no more than `target` bits on average; None if none does."""
    fits = [bits for bits in find(name).sizes if row_bytes(get(name, bits), widths).mean() * 8 <= target]
    return max(fits, default=None)


def row_bytes(function: SuperKeyHash, widths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the bytes of the super keys of rows, given their columns."""
    return key_words(function, widths) * 8
