"""A table whose parts are read by several tasks is one table."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate.build import parts
from mate.build import sources as pipeline_sources
from mate.build.build import BuildSettings, build
from mate.build.engine import LocalEngine
from mate.build.lake_target import LakeTarget
from mate.lake.folder import open_folder
from mate.stores import open_target
from tests.sql.compare import same
from tests.sql.places import EVERYWHERE, PLACES, open_database


@pytest.mark.parametrize(("kind", "layout"), EVERYWHERE)
def test_a_file_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, layout: str) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "a.csv").write_text("town,n\n" + "".join(f"Köln {n % 9},{n}\n" for n in range(600)))
    (lake / "b.csv").write_text("town,n\nUlm,1\n")
    settings = BuildSettings(master="none", segments=3)
    with LakeTarget(tmp_path / "whole.mate") as whole:
        build([str(lake)], whole, settings)
    monkeypatch.setattr(parts, "LEAST_PART", 1_000)
    monkeypatch.setattr(pipeline_sources, "_LEAST_UNIT", 1_000)
    monkeypatch.setattr(LocalEngine, "parallelism", 2)
    with PLACES[kind](layout=layout) as address:
        with open_target(address) as target:
            summary = build([str(lake)], target, settings)
        assert parts.PHASE in summary.seconds
        with open_database(address) as index:
            same(index, open_folder(tmp_path / "whole.mate"))
