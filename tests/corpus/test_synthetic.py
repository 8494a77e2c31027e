"""The synthetic lake and the command that writes it (one file: test modules here need unique names)."""

import argparse
import hashlib
import os
import pickle
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate.cli import index as command
from mate.corpus import Chunk, Limits, discover, read
from mate.corpus.synthetic import SyntheticLake
from mate.corpus.synthetic.values import KINDS, vocabulary_of
from mate.errors import CorpusError, MateError
from mate.values.text import token, tokens

SMALL = SyntheticLake(tables=60, rows=40, columns=6, vocabulary=2_000, joinable=0.6)
Row = tuple[str | None, ...]


def rows_of(chunks: Iterable[Chunk]) -> dict[int, list[Row]]:
    """Return the tokens of each table, row by row."""
    found: dict[int, list[Row]] = defaultdict(list)
    for chunk in chunks:
        width = len(chunk.table.header)
        assert chunk.first_row == len(found[chunk.table.position])
        values = tokens(chunk.cells).to_pylist()
        found[chunk.table.position] += [tuple(values[i : i + width]) for i in range(0, len(values), width)]
    return dict(found)


def whole(lake: SyntheticLake) -> list[Chunk]:
    return list(lake.read(0, lake.tables))


# --- the same settings, the same tables ---


@given(st.lists(st.integers(0, SMALL.tables), max_size=6), st.integers(20, 3_000))
@settings(max_examples=10)
def test_a_table_depends_neither_on_the_split_nor_on_the_chunk_size(cuts: list[int], chunk_cells: int) -> None:
    bounds = [0, *sorted(cuts), SMALL.tables]
    parts = [
        chunk for first, stop in pairwise(bounds) for chunk in SMALL.read(first, stop, Limits(chunk_cells=chunk_cells))
    ]
    assert all(chunk.rows == 1 or len(chunk.cells) <= chunk_cells for chunk in parts)
    joined: dict[int, list[str | None]] = defaultdict(list)
    for chunk in parts:
        joined[chunk.table.position] += chunk.cells.to_pylist()
    assert joined == {chunk.table.position: chunk.cells.to_pylist() for chunk in whole(SMALL)}
    assert {chunk.table for chunk in parts} == {chunk.table for chunk in whole(SMALL)}


def digest(chunks: Iterable[Chunk]) -> str:
    """Return the SHA-256 of names and cells."""
    written = hashlib.sha256()
    for chunk in chunks:
        named = "" if chunk.first_row else f"{chunk.table.name}: {chunk.table.header}\n"
        written.update((named + "".join(f"{cell!r}\n" for cell in chunk.cells.to_pylist())).encode())
    return written.hexdigest()


@pytest.mark.parametrize(
    ("address", "tables"),
    [
        (
            "synthetic:tables=300,seed=7,rows=30",
            "dd42fbe035909443208eb3d6c5a7b6c003ff13cfcf8f4da9528d4a8ab46cf75f",
        ),
        (
            "synthetic:tables=200,seed=3,rows=20,columns=6,vocabulary=5000,skew=0.5,joinable=0.8",
            "93557a7ae72ed507dc5aa4e5cb332f1f89b410b938ce237b68414669c68ce4bf",
        ),
        (
            "synthetic:tables=150,seed=1,rows=10,vocabulary=300000,skew=1.7",
            "2cb60a8f7ece88d8923c05d258b566cf3c45cea7621a8bd4265f07ba267ddf41",
        ),
    ],
)
def test_a_seed_gives_the_same_bytes_for_ever(address: str, tables: str) -> None:
    """A change here changes every lake, and old results no longer compare."""
    assert digest(whole(SyntheticLake.parse(address))) == tables


def test_another_seed_gives_other_tables() -> None:
    ours, theirs = rows_of(whole(SMALL)), rows_of(whole(replace(SMALL, seed=2)))
    assert not any(ours[number] == theirs[number] for number in ours)


def test_a_larger_lake_begins_with_the_smaller_one() -> None:
    larger = list(replace(SMALL, tables=5_000).read(0, SMALL.tables))
    assert rows_of(larger) == rows_of(whole(SMALL))


def test_tables_say_where_they_are_from() -> None:
    table = next(iter(SMALL.read(12, 13))).table
    assert (table.source, table.position, table.line) == (SMALL.address, 12, 13)
    assert table.name == "synthetic 000012"
    assert len(set(table.header)) == len(table.header)


def test_a_lake_and_its_chunks_travel_between_processes() -> None:
    chunk = next(iter(SMALL.read(0, 1)))
    assert pickle.loads(pickle.dumps(SMALL)) == SMALL
    assert len(pickle.dumps(chunk)) < 1_000 + 2 * chunk.cells.nbytes


# --- settings ---


@given(
    st.builds(
        SyntheticLake,
        tables=st.integers(1, 10**7),
        seed=st.integers(0, 2**63 - 1),
        rows=st.integers(1, 10_000),
        skew=st.floats(0, 3),
        near_misses=st.floats(0, 1),
    )
)
def test_an_address_holds_all_settings(lake: SyntheticLake) -> None:
    assert SyntheticLake.parse(lake.address) == lake


def test_an_address_shows_what_is_not_default() -> None:
    assert SyntheticLake().address == "synthetic:tables=1000,seed=1"
    assert SyntheticLake.parse("synthetic:") == SyntheticLake.parse("synthetic") == SyntheticLake()
    assert SyntheticLake.parse("synthetic:seed=7, skew=1").address == "synthetic:tables=1000,seed=7"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("synthetic:tabels=5", 'no setting "tabels"; did you mean "tables"?'),
        ("synthetic:tables=many", "synthetic:tables takes a whole number, not 'many'"),
        ("synthetic:tables=1.5", "synthetic:tables takes a whole number, not '1.5'"),
        ("synthetic:skew=", "synthetic:skew takes a number, not ''"),
        ("synthetic:tables=0", "synthetic:tables must be from 1 to 10,000,000, not 0"),
        ("synthetic:joinable=nan", "synthetic:joinable must be from 0 to 1, not nan"),
        ("synthetic:seed=1,seed=2", "synthetic:seed is set twice"),
        ("lake.csv", 'not a synthetic lake: "lake.csv"; expected something like synthetic:tables=1000,seed=1'),
    ],
)
def test_wrong_settings_are_explained(address: str, message: str) -> None:
    with pytest.raises(CorpusError, match=re.escape(message)):
        SyntheticLake.parse(address)


# --- split ---


@given(st.integers(1, 300), st.integers(1, 80))
@settings(max_examples=30)
def test_a_split_covers_every_table_once(tables: int, parts: int) -> None:
    ranges = replace(SMALL, tables=tables).split(parts)
    assert [number for part in ranges for number in part] == list(range(tables))
    assert len(ranges) <= parts
    assert all(ranges)


def test_a_split_is_balanced_by_cells() -> None:
    lake = SyntheticLake(tables=20_000, rows=100)
    sizes = lake._shapes(np.arange(lake.tables))
    cells = sizes.rows * sizes.columns
    shares = [cells[part.start : part.stop].sum() for part in lake.split(8)]
    assert max(shares) - min(shares) <= 2 * cells.max()
    even = [cells[start : start + 2_500].sum() for start in range(0, 20_000, 2_500)]
    assert np.std(shares) < np.std(even)


def test_expected_cells_are_those_that_come() -> None:
    assert SMALL.expected_cells == sum(len(chunk.cells) for chunk in whole(SMALL))


# --- content ---


def test_widths_and_heights_spread_as_in_open_data() -> None:
    shapes = SyntheticLake()._shapes(np.arange(100_000))
    assert 8.5 < shapes.columns.mean() < 9.5
    assert 5 <= np.median(shapes.columns) <= 7
    assert shapes.columns.min() == 2
    assert 100 < shapes.columns.max() < 1_000
    assert 800 < shapes.rows.mean() < 1_200
    assert 150 < np.median(shapes.rows) < 250
    assert shapes.rows.max() > 100_000
    tail = [(shapes.rows > height).mean() for height in (1_000, 10_000)]
    assert 10 < tail[0] / tail[1] < 20  # a power law of exponent 1.2: 10**1.2 = 15.8


def slope(lake: SyntheticLake) -> float:
    """Fit the exponent of the rank-frequency curve, on all tokens with a letter in them."""
    counts = Counter(t for table in rows_of(whole(lake)).values() for row in table for t in row if t and t[0].isalpha())
    frequency = np.array(sorted(counts.values(), reverse=True)[:1_000], float)
    assert len(frequency) == 1_000
    return float(-np.polyfit(np.log(np.arange(3, 1_001)), np.log(frequency[2:]), 1)[0])


def test_value_frequencies_follow_the_skew() -> None:
    lake = SyntheticLake(tables=150, rows=200, vocabulary=5_000)
    plain = slope(lake)
    assert 0.75 < plain < 1.35
    assert slope(replace(lake, skew=0.3)) < plain - 0.2
    assert slope(replace(lake, skew=1.6)) > plain + 0.2


@given(st.floats(0, 3), st.integers(1, 10**7))
def test_ranks_stay_within_the_vocabulary(skew: float, size: int) -> None:
    ranks = SyntheticLake(skew=skew)._rank(np.array([0, 0.5, 1 - 2**-53]), np.full(3, size))
    assert ranks[0] == 0
    assert 0 <= ranks[1] <= ranks[2] < size


def test_cells_are_valid_text_of_many_kinds() -> None:
    cells = pa.concat_arrays([chunk.cells for chunk in whole(replace(SMALL, tables=200))])
    cells.validate(full=True)
    values = cells.to_pylist()
    texts = {value for value in values if value}
    assert 0.01 < sum(token(value or "") is None for value in values) / len(values) < 0.03
    assert sum(value != token(value, frozenset()) and value.isupper() for value in texts) / len(texts) > 0.005
    assert any("  " in value for value in texts)
    assert any(not unicodedata.normalize("NFKD", value)[0].isascii() for value in texts)
    for pattern in (r"\d{4}-\d\d-\d\d", r"\d\d\.\d\d\.\d{4}", r"\d+\.\d\d", r"[A-Z]{2}-\d{6}", r"[0-9a-f]{10}", r"\d+"):
        assert any(re.fullmatch(pattern, value) for value in texts), pattern


@pytest.mark.parametrize("size", [1_000, 50_000])
def test_every_word_is_a_token_of_its_own_and_noise_does_not_change_it(size: int) -> None:
    words = vocabulary_of(size)
    for start, count, name in zip(words.starts.tolist(), words.sizes.tolist(), KINDS, strict=True):
        texts = words.text.slice(start, count)
        normal = tokens(texts)
        assert normal.null_count == 0, name
        assert len(normal.unique()) == count, name
        assert tokens(pa.compute.utf8_upper(texts)).equals(normal), name


# --- composite keys ---


def combinations(lake: SyntheticLake) -> list[dict[str, set[Row]]]:
    """Return for each table with the key columns of the first domain its values in them, alone and together."""
    found = []
    for chunk in whole(lake):
        shapes = lake._shapes(np.array([chunk.table.position]))
        columns = lake._columns(shapes)
        if shapes.domain[0] == 0:
            places = np.argsort(columns.slot)[-(columns.slot >= 0).sum() :].tolist()
            rows = rows_of([replace(chunk, first_row=0)])[chunk.table.position]
            together = {tuple(row[place] for place in places) for row in rows}
            found.append({"together": together, "alone": {(row[places[0]],) for row in rows}})
    return found


def shared(tables: list[dict[str, set[Row]]], what: str) -> int:
    """Count what pairs of tables have in common."""
    return sum(len(one[what] & other[what]) for one, other in pairwise(tables))


def test_tables_of_a_domain_join_and_near_misses_follow_their_rate() -> None:
    few, some, many = (combinations(replace(SMALL, tables=300, near_misses=rate)) for rate in (0.0, 0.5, 0.9))
    assert len(few) > 5
    assert shared(few, "together") > shared(some, "together") > shared(many, "together") > 0
    assert shared(some, "alone") > shared(some, "together")


# --- mate synthetic ---


def run(*arguments: str) -> int:
    root = argparse.ArgumentParser()
    command.add(root.add_subparsers())
    options = root.parse_args(["synthetic", *arguments])
    code: int = options.run(options)
    return code


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_files_read_back_as_the_same_tokens(tmp_path: Path, format: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "lake"
    settings = ("--tables", "60", "--rows", "40", "--columns", "6", "--vocabulary", "2000", "--joinable", "0.6")
    assert run(str(folder), *settings, "--format", format) == 0
    assert capsys.readouterr().out == f"60 tables, {SMALL.expected_cells:,} cells in {folder}\n"
    ours = {chunk.table.position: chunk for chunk in whole(SMALL)}
    files = discover([folder])
    assert len(files) == len(list(folder.iterdir())) == 60
    for number, file in enumerate(files):
        (chunk,) = read(file)
        assert isinstance(chunk, Chunk)
        assert Path(file.path).name == f"synthetic-{number:06d}.{format}"
        assert chunk.table.header == ours[number].table.header
        assert tokens(chunk.cells).equals(tokens(ours[number].cells))


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_table_of_several_chunks_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    whole_read = SyntheticLake.read
    monkeypatch.setattr(
        SyntheticLake, "read", lambda lake, first, stop: whole_read(lake, first, stop, Limits(chunk_cells=50))
    )
    run(str(tmp_path), "--tables", "5", "--rows", "40", "--format", format)
    monkeypatch.undo()
    lake = SyntheticLake(tables=5, rows=40)
    for file, table in zip(discover([tmp_path]), rows_of(whole(lake)).values(), strict=True):
        chunks = [chunk for chunk in read(file) if isinstance(chunk, Chunk)]
        assert list(rows_of(chunks).values()) == [table]


def test_a_folder_with_files_is_left_alone_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    with pytest.raises(MateError, match="is not empty; name another folder, or add --force"):
        run(str(tmp_path), "--tables", "2", "--rows", "5")
    assert len(list(tmp_path.iterdir())) == 1
    run(str(tmp_path), "--tables", "2", "--rows", "5", "--force")
    assert len(list(tmp_path.iterdir())) == 3
    assert (tmp_path / "mine.txt").read_text() == "keep me"


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MateError, match="file: File exists"):
        run(str(tmp_path / "file"))


def test_help_names_the_defaults() -> None:
    defaults = {field.name: field.default for field in fields(SyntheticLake)}
    assert [name.replace("-", "_") for name, *_ in command.SETTINGS] == list(defaults)
    for name, kind, _, text in command.SETTINGS:
        default = defaults[name.replace("-", "_")]
        assert isinstance(default, kind)
        assert text.endswith(f"(default: {default})"), os.linesep.join((name, text))
