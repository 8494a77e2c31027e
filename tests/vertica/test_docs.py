"""What docs/databases.md says of Vertica adds up, and is what the tests do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mate.sql.dialects.vertica import Vertica
from mate.sql.schema import Column, Content, Generation
from tests.vertica.test_reader import GRANTS

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "databases.md").read_text(encoding="utf-8")
ROW = re.compile(r"\| `(\w+)` \| ([\d.]+) G \| (\d+) B: (\d+) GB \| (.*): (\d+) B: (\d+) GB \|")


def test_the_grants_are_those_that_are_tried() -> None:
    for grant in GRANTS:
        assert f"    {grant};\n" in TEXT


@pytest.mark.parametrize("name", ["postings", "cells", "tokens"])
def test_the_capacity_of_a_table_is_that_of_its_columns(name: str) -> None:
    [row] = [found for found in ROW.finditer(TEXT) if found[1] == name]
    records, octets, on_wire, per_record, on_disk = (float(row[n]) for n in (2, 3, 4, 6, 7))
    columns = re.findall(r"([\d.]+) [a-z]", re.sub(r"\(.*?\)", "", row[5]))
    assert len(columns) == len(
        Generation("mate", 1, (Column("key0", Content.KEY, 16),), "per_cell", 1_000, Vertica.buckets).columns(name)
    )
    assert sum(map(float, columns)) == pytest.approx(per_record)
    assert records * octets == pytest.approx(on_wire, rel=0.02)
    assert records * per_record == pytest.approx(on_disk, rel=0.02)


def test_the_capacity_of_all_tables_is_their_sum() -> None:
    rows = ROW.findall(TEXT)
    [together] = re.findall(r"\| \*\*together\*\* \| (\d+) G \| \*\*([\d.]+) TB\*\* \| \*\*(\d+) GB\*\* \|", TEXT)
    assert sum(float(row[1]) for row in rows) == pytest.approx(float(together[0]), rel=0.02)
    assert sum(float(row[3]) for row in rows) == pytest.approx(1_000 * float(together[1]), rel=0.02)
    assert sum(float(row[6]) for row in rows) == pytest.approx(float(together[2]), rel=0.02)


def test_the_server_to_copy_gets_the_secrets_that_it_asks_for() -> None:
    recipe = (DOCS / "vertica-server.yaml").read_text(encoding="utf-8")
    wanted = set(re.findall(r"(?:licenseSecret|passwordSecret|credentialSecret): (\w+)", recipe))
    wanted |= set(re.findall(r"secretKeyRef: \{name: (\w+)", recipe))
    assert wanted == set(re.findall(r"create secret generic (\w+)", TEXT)) == {"license", "password", "storage"}
    assert "NOT TESTED" in recipe
