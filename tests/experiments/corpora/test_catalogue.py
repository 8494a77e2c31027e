"""The catalogue of the paper's corpora."""

from __future__ import annotations

from experiments.corpora.catalogue import CATALOGUE


def test_the_catalogue_has_the_papers_counts() -> None:
    assert [(entry.name, entry.tables, entry.columns, entry.rows) for entry in CATALOGUE] == [
        ("dwtc", 145_000_000, 870_000_000, 1_450_000_000),
        ("govdata", 17_000, 440_000, 62_000_000),
        ("school", 335, None, None),
    ]
