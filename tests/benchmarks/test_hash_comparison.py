"""The hash laboratory measures what it says it measures, and anybody's hash function takes part in everything."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import sample
from benchmarks.__main__ import main
from benchmarks.hash_contestants import contestants, fitting, load_plugin, row_bytes
from benchmarks.hash_page import equal_bytes
from benchmarks.hash_records import Store, ideal_precision, precision
from benchmarks.hash_sample import draw_probes, measure
from benchmarks.sample import Sample, TokenTable
from experiments.probes import covered
from mate.errors import HashError
from mate.hashing import base, get
from tests.experiments.conftest import write_lake

PLUGIN = '''
import zlib
import numpy as np
from mate.hashing import SuperKeyHash, register
from mate.hashing.superkey import from_positions


@register
class Crc(SuperKeyHash):
    """Two bits per value, chosen by its CRC-32."""

    name = "crc"
    sizes = (128, 256)

    def hash_tokens(self, tokens):
        sums = np.array([zlib.crc32((token or "").encode()) for token in tokens.to_pylist()])
        return from_positions(np.column_stack([sums % self.bits, (sums >> 16) % self.bits]), self.bits)
'''


@pytest.fixture(autouse=True)
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_registered", dict(base._registered))


@pytest.fixture(scope="module")
def small() -> Sample:
    return sample.synthetic(seed=3, tables=12)


def widths(data: Sample) -> np.ndarray:
    return np.repeat([t.width for t in data.tables], [len(t) for t in data.tables])


def test_synthetic_samples_are_reproducible(small: Sample) -> None:
    again = sample.synthetic(seed=3, tables=12)
    assert again.distinct.equals(small.distinct)
    assert not sample.synthetic(seed=4, tables=12).distinct.equals(small.distinct)


def test_probes_are_never_members(small: Sample) -> None:
    probes = draw_probes(small, seed=1, rows=300)
    for row in range(len(probes.rows.widths)):
        cells = probes.rows.cells[probes.rows.offsets[row] : probes.rows.offsets[row + 1]].to_pylist()
        for probe in (probes.anywhere[row].as_py(), probes.near[row].as_py()):
            assert probe is None or probe not in cells


@pytest.mark.parametrize(("name", "bits"), [("xash", 128), ("wide", 8), ("wide", 20), ("fingerprint", 12)])
def test_rows_cover_what_they_hold(small: Sample, name: str, bits: int) -> None:
    probes = draw_probes(small, seed=1, rows=300)
    own = probes.rows.cells.take(pa.array(probes.rows.offsets[:-1]))
    found = covered(get(name, bits), probes.rows, own)
    assert (found == own.is_valid().to_numpy(zero_copy_only=False)).all()


def test_measured_figures() -> None:
    data = Sample("by hand", [TokenTable(2, pa.array(["a", "b", "c", "d"])), TokenTable(1, pa.array(["a", "e", None]))])
    result = measure(get("ht", 128), data, draw_probes(data, seed=1), rounds=1)
    distinct_bits = len(np.unique(get("ht", 128).hash(["a", "b", "c", "d", "e"]), axis=0))
    assert result["bits_per_value"] == 1
    assert result["distinct_hashes"] == distinct_bits / 5
    assert 0 < result["fill"]["1-3"] <= 2 / 128
    assert result["bits_per_row"] == 128
    assert result["values_per_second"] > 0


def test_keys_that_follow_the_width_are_fitted_to_equal_bytes(small: Sample) -> None:
    for name in ("wide", "fingerprint"):
        bits = fitting(name, 256, widths(small))
        assert bits
        assert row_bytes(get(name, bits), widths(small)).mean() * 8 <= 256
        assert row_bytes(get(name, bits + 1), widths(small)).mean() * 8 > 256
        assert bits in [c.bits for c in contestants(small.statistics, widths(small), [name])]
    assert fitting("wide", 8, widths(small)) is None


def test_an_ideal_filter_with_equal_bits_per_column() -> None:
    query = {"true_positives": 10, "false_positives_unfiltered": 1024, "precision": 0.5}
    assert ideal_precision({"queries": [query]}, 10) == 10 / (10 + 1)
    assert precision({"queries": [query, {**query, "precision": None}]}) == 0.5


def test_a_plugin_takes_part_in_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sample, search of a lake, page, records that are not measured again, and a comparison of two runs."""
    plugin, lake = tmp_path / "my_hash.py", write_lake(tmp_path / "lake")
    plugin.write_text(PLUGIN)
    options = ["--plugin", str(plugin), "--lake", str(lake), "--queries", "2", "--rounds", "1"]
    options += [word for name in ("crc", "xash", "wide", "fingerprint") for word in ("--only", name)]
    before, after = tmp_path / "before", tmp_path / "after"
    assert main(["hashes", *options, "--corpus", str(lake), "--results", str(before)]) == 0
    assert "crc 128" in capsys.readouterr().out
    records = {(r["place"].split()[0], r["name"], r["bits"]): r for r in Store(before).all()}
    own = records["lake", "crc", 128]
    assert own["key_bytes"] == 16 * own["rows"]
    assert len(own["queries"]) >= 4
    assert all(0 < q["precision"] <= 1 for q in own["queries"] if q["precision"] is not None)
    assert records["corpus", "crc", 256]["bits_per_value"] <= 2
    on_lake = [record for (place, _, _), record in records.items() if place == "lake"]
    assert {target for target, _ in equal_bytes(on_lake)} == {128, 256, 512}
    page = (before / "index.html").read_text()
    assert "crc 256" in page
    assert "Equal bytes" in page
    files = {path: path.stat().st_mtime_ns for path in (before / "records").rglob("*.json")}
    del base._registered["crc"]
    assert main(["hashes", *options, "--corpus", str(lake), "--results", str(before)]) == 0
    assert files == {path: path.stat().st_mtime_ns for path in (before / "records").rglob("*.json")}

    for path in files:
        record = json.loads(path.read_text())
        if record["name"] == "crc" and "bits_per_value" in record:
            record["bits_per_value"] *= 0.5
        target = after / path.relative_to(before)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(record))
    capsys.readouterr()
    assert main(["hashes", "--compare", str(before), str(after)]) == 0
    out = capsys.readouterr().out
    assert "-50.0% better" in out
    assert "bits per value" in out


def test_a_plugin_and_keys_by_width_in_a_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has an index of its own there, with the same precision as on arrays; the answers are compared with SCR's."""
    plugin, lake, results = tmp_path / "my_hash.py", write_lake(tmp_path / "lake"), tmp_path / "results"
    plugin.write_text(PLUGIN)
    options = [
        "--plugin",
        str(plugin),
        "--lake",
        str(lake),
        "--queries",
        "1",
        "--rounds",
        "1",
        "--results",
        str(results),
    ]
    options += [word for name in ("crc:128", "wide:20", "fingerprint:16") for word in ("--only", name)]
    for engine in ("arrays", "duckdb"):
        assert main(["hashes", *options, "--corpus", str(lake), "--engine", engine]) == 0
        base._registered.pop("crc")
    found = {(r["place"], r["name"]): r for r in Store(results).all() if "queries" in r}
    assert len(found) == 6
    for (place, name), record in found.items():
        assert record["index_bytes"] > record["key_bytes"] > 0
        assert [q["precision"] for q in record["queries"]] == [
            q["precision"] for q in found[place.replace(", duckdb", ""), name]["queries"]
        ]
    assert main(
        ["hashes", *options, "--only", "xash", "--lake", str(next(results.rglob("*.mate"))), "--engine", "duckdb"]
    )
    assert "--engine builds its own" in capsys.readouterr().err


def test_an_edited_plugin_is_measured_again(tmp_path: Path) -> None:
    """The page shows the last record of each contestant of all calls."""
    plugin, values = tmp_path / "my_hash.py", tmp_path / "words.txt"
    values.write_text("\n".join(f"word {i}" for i in range(2_000)))
    options = ["--values", str(values), "--rounds", "1", "--results", str(tmp_path / "results")]
    for text in (PLUGIN, PLUGIN + "# edited"):
        plugin.write_text(text)
        base._registered.pop("crc", None)
        assert main(["hashes", *options, "--plugin", str(plugin), "--only", "crc"]) == 0
    base._registered.pop("crc")
    store = Store(tmp_path / "results")
    assert len({record["source"] for record in store.all()}) == 2
    assert main(["hashes", *options, "--only", "xash"]) == 0
    (shown,) = store.by_place()
    assert len([record for record in shown if (record["name"], record["bits"]) == ("crc", 128)]) == 1
    page = (tmp_path / "results" / "index.html").read_text()
    assert "crc 128" in page
    assert "xash 128" in page


def test_a_later_contestant_leaves_the_others_alone(tmp_path: Path) -> None:
    """It gets an index of its own; parameters are those of the lake, not those of another sample."""
    lake, values, results = write_lake(tmp_path / "lake"), tmp_path / "words.txt", tmp_path / "results"
    values.write_text("\n".join(f"word {i}" for i in range(2_000)))
    options = ["--lake", str(lake), "--values", str(values), "--queries", "1", "--rounds", "1"]
    options += ["--results", str(results), "--only", "bf"]
    assert main(["hashes", *options]) == 0
    first = {path: path.stat().st_mtime_ns for path in results.rglob("*.json") if path.parent.name != "lakes"}
    assert main(["hashes", *options, "--only", "ht"]) == 0
    assert first == {path: path.stat().st_mtime_ns for path in first}
    assert len(list((results / "lakes").glob("*.mate"))) == 2
    on_lake = [record for record in Store(results).all() if record["place"] == "lake lake"]
    assert {record["name"] for record in on_lake} == {"bf", "ht"}
    for record in on_lake:
        told = record["hash_parameters"]
        assert all(f"{key}={value}" in told for key, value in record["parameters"].items())


def test_an_installed_hash_function_can_be_named() -> None:
    (entry,) = load_plugin("wide").items()
    assert entry[0] == "wide"
    assert len(entry[1]) == 64


@pytest.mark.parametrize(
    ("text", "message"),
    [("x = 1", "registers no hash function"), ("1 / 0", "cannot be loaded: ZeroDivisionError"), (None, "no file")],
)
def test_a_plugin_that_is_none(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    with pytest.raises(HashError, match=message):
        load_plugin(str(tmp_path / "mine.py"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--values", "missing.txt"], "missing.txt"),
        (["--only", "xahs"], 'unknown hash "xahs"; did you mean "xash"?'),
        (["--compare", "missing", "missing"], "holds no records"),
    ],
)
def test_bad_input(
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["hashes", *options]) == 2
    assert message in capsys.readouterr().err


def test_too_few_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = tmp_path / "few.txt"
    values.write_text("one\ntwo\n", encoding="utf-8")
    assert main(["hashes", "--values", str(values)]) == 2
    assert "has 2 distinct values; the comparison needs at least 100" in capsys.readouterr().err
