"""The comparison harness measures what it says it measures."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import sample
from benchmarks.__main__ import main
from benchmarks.hashes import contestants, draw_probes, measure
from benchmarks.sample import Sample, TokenTable
from mate.hashing import get


@pytest.fixture(scope="module")
def small() -> Sample:
    return sample.synthetic(seed=3, tables=12)


def test_synthetic_samples_are_reproducible(small: Sample) -> None:
    again = sample.synthetic(seed=3, tables=12)
    assert again.distinct.equals(small.distinct)
    assert not sample.synthetic(seed=4, tables=12).distinct.equals(small.distinct)


def test_probes_are_never_members(small: Sample) -> None:
    probes = draw_probes(small, seed=1, rows=300)
    for row in range(len(probes.widths)):
        cells = probes.cells[probes.offsets[row] : probes.offsets[row + 1]].to_pylist()
        for probe in (probes.anywhere[row].as_py(), probes.near[row].as_py()):
            assert probe is None or probe not in cells


def test_measured_figures() -> None:
    data = Sample("by hand", [TokenTable(2, pa.array(["a", "b", "c", "d"])), TokenTable(1, pa.array(["a", "e", None]))])
    result = measure(get("ht", 128), data, draw_probes(data, seed=1), rounds=1)
    distinct_bits = len(np.unique(get("ht", 128).hash(["a", "b", "c", "d", "e"]), axis=0))
    assert result.bits_per_value == 1
    assert result.distinct_hashes == distinct_bits / 5
    assert 0 < result.fill["1-3"] <= 2 / 128
    assert result.values_per_second > 0


def test_the_fair_bloom_filter_stands_beside_the_papers(small: Sample) -> None:
    filters = {f.bits: [] for f in contestants(small, ["bf"])}
    for function in contestants(small, ["bf"]):
        filters[function.bits].append(function.parameters["hashes"])
    assert all(len(set(counts)) == 2 for counts in filters.values())


def test_values_file_json_and_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = tmp_path / "values.txt"
    values.write_text("\n".join(f"value {i}" for i in range(300)), encoding="utf-8")
    out, figure = tmp_path / "new" / "out.json", tmp_path / "new" / "out.png"
    options = ["--values", str(values), "--only", "xash", "--only", "ht", "--rounds", "1"]
    assert main(["hashes", *options, "--json", str(out), "--figure", str(figure)]) == 0
    record = json.loads(out.read_text())
    assert [(r["hash"], r["bits"]) for r in record["results"]] == [
        *(("xash", bits) for bits in (64, 128, 256, 512)),
        *(("ht", bits) for bits in (128, 256, 512)),
    ]
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert "near misses" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--values", "missing.txt"], "missing.txt"),
        (["--only", "xahs"], 'unknown hash "xahs"; did you mean "xash"?'),
    ],
)
def test_bad_input(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hashes", *options]) == 2
    assert message in capsys.readouterr().err


def test_too_few_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = tmp_path / "few.txt"
    values.write_text("one\ntwo\n", encoding="utf-8")
    assert main(["hashes", "--values", str(values)]) == 2
    assert "has 2 distinct values; the comparison needs at least 100" in capsys.readouterr().err
