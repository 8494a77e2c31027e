"""The program itself, and `mate hashes` and `mate hash`, as a person meets them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import mate
from mate import __version__
from mate.cli.program import main
from tests.commands.conftest import Run, assert_refused
from tests.keys import unpacked


def test_version_and_help_need_no_heavy_import() -> None:
    script = (
        "import sys; from mate.cli.program import parser; parser().format_help();"
        "sys.exit(sum(name in sys.modules for name in ('numpy', 'pyarrow', 'pyspark', 'duckdb', 'rich')))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"mate {__version__}\n"


def test_hashes_lists_every_hash_of_the_paper(run: Run) -> None:
    code, out, _ = run("hashes")
    assert code == 0
    assert {line.split()[0] for line in out.splitlines()[2:] if line.strip()} >= {
        "bf", "city", "fingerprint", "ht", "lhbf", "md5", "murmur", "simhash", "wide", "xash",
    }  # fmt: skip


def test_hash_shows_the_bits_of_the_papers_figure(run: Run) -> None:
    code, out, _ = run("hash", "--hash", "xash:128:alpha=4", "Muhammad")
    assert (code, out.count("8 51 62 100")) == (0, 2)


def test_hash_sizes_a_key_by_the_columns_of_the_row(run: Run) -> None:
    assert run("hash", "--hash", "wide:20", *"abcdefg")[1].startswith("wide(bits=20")
    assert len(mate.hash_values("abcdefg", "wide:20").super_key) == 3, "seven columns of 20 bits take three words"


@pytest.mark.parametrize("function", ["fingerprint:16", "fingerprint"])
def test_a_row_has_its_fingerprints_in_the_order_of_columns(run: Run, function: str) -> None:
    code, out, _ = run("hash", "--hash", function, "muhammad", "", "us")
    assert code == 0
    *_, first, second, third, row = [line.split() for line in out.splitlines() if line.strip()]
    prints = [first[-1], second[-1], third[-1]]
    assert prints[1] == "0"
    assert row == ["super", "key", *prints]
    hashed = mate.hash_values(["muhammad", "", "us"], function)
    assert unpacked(np.array(hashed.super_key, np.uint64), 3, 16) == [int(text, 16) for text in prints]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("xahs", 'unknown hash "xahs"; did you mean "xash"?'),
        ("xash:100", "xash has no 100-bit version; it has: 64, 128, 256, 512"),
        ("xash:128:alpha=0", "alpha must be a whole number from 1 (the length bit alone) to 38, not 0"),
        ("xash:128:alpha", "a hash is written NAME[:BITS[:PARAMETER=VALUE,...]], not 'xash:128:alpha'"),
        ("xash:128:beta=3", "xash does not take these parameters"),
    ],
)
def test_errors_are_one_line(run: Run, function: str, message: str) -> None:
    assert_refused(run("hash", "--hash", function, "lee"), message)
