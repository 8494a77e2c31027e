"""A package has all that a report needs, and nothing else; a damaged one is refused."""

import lzma
from pathlib import Path

import pytest

from experiments.__main__ import main
from experiments.errors import ExperimentError
from experiments.package import read
from experiments.records import load
from tests.experiments.conftest import Experiments


@pytest.fixture
def package(experiments: Experiments, results: Path, tmp_path: Path) -> Path:
    assert experiments("table1", "initial-column") == 0
    laboratory = results / "hashes/records/sample/xash-1.json"
    laboratory.parent.mkdir(parents=True)
    laboratory.write_text("{}")
    target = tmp_path / "new" / "results.tar.xz"
    assert main(["pack", str(target), "--results", str(results)]) == 0
    return target


def test_there_and_back(package: Path, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other"
    assert main(["unpack", str(package), "--results", str(other)]) == 0
    for name in ("table1", "initial-column"):
        assert load(other, name).equals(load(results, name))
    assert (other / "hashes/records/sample/xash-1.json").read_text() == "{}"
    assert not (other / "lakes").exists()
    assert not (other / "queries").exists()
    assert main(["report", "--results", str(other)]) == 0
    assert (other / "report" / "index.html").is_file()
    capsys.readouterr()
    assert main(["unpack", str(package), "--results", str(other)]) == 0  # the same again changes nothing


def test_what_is_there_is_not_overwritten(
    package: Path, tmp_path: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (results / "experiments" / "table1.json").write_text("{}")
    assert main(["unpack", str(package), "--results", str(results)]) == 2
    assert "is there already and differs" in capsys.readouterr().err


def test_damage_is_found(package: Path, tmp_path: Path) -> None:
    whole = lzma.decompress(package.read_bytes())
    place = whole.rindex(b"PAR1") - 40
    package.write_bytes(lzma.compress(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]))
    with pytest.raises(ExperimentError, match=r"is damaged: .* is not what was packed"):
        read(package)
    package.write_bytes(b"nothing")
    with pytest.raises(ExperimentError, match="no package of results, or is damaged"):
        read(package)


def test_nothing_to_pack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", str(tmp_path / "p.tar.xz"), "--results", str(tmp_path / "none")]) == 2
    assert "there are no results" in capsys.readouterr().err
