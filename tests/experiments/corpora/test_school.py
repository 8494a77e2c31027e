"""School tables in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.corpora.school import school_tables
from mate.errors import CorpusError


def test_school_tables_are_recognised_by_their_columns(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.csv").write_text("SCHOOL NAME,Program_Type,n\nP.S. 1,GEN ED,3\nP.S. 2,CTT,4\n")
    (tmp_path / "sub" / "b.csv").write_text("School  Name;n\nP.S. 1;3\nP.S. 2;4\n")
    (tmp_path / "c.csv").write_text("town,n\nBonn,3\nUlm,4\n")
    (tmp_path / "notes.md").write_text("# no table")
    (tmp_path / "empty.csv").touch()
    tables = school_tables(tmp_path)
    assert [(table.path.name, table.columns, table.keys, table.complete) for table in tables] == [
        ("a.csv", 3, ("Program Type", "School Name"), True),
        ("c.csv", 2, (), False),
        ("b.csv", 2, ("School Name",), False),
    ]


def test_a_school_folder_must_hold_tables(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such folder"):
        school_tables(tmp_path / "missing")
    (tmp_path / "notes.md").write_text("# no table")
    with pytest.raises(CorpusError, match="no file here holds a table"):
        school_tables(tmp_path)
