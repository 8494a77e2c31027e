"""Inputs to begin with, and ways to spoil them. Everything follows from a seed."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random

import pyarrow as pa
import pyarrow.parquet as pq

from tests.corpus.languages import ENCODED, table

TOKENS = (
    b'"', b'""', b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\\", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xfe\xff",
    b"[", b"]", b"{", b"}", b":", b'x","y', b"1", b"-1", b"9" * 25, b"null", b"NaN", b"\\ud800", b"a" * 3000, b"\xc3",
    b"\xf0\x9f\x92\xa9",
    b'{"relation":[[', b"PAR1", b"\x1f\x8b\x08", b"<html>", b"1e999",
)  # fmt: skip
"""What readers know, put where it is not expected."""


def delimited(dice: random.Random) -> bytes:
    """Return a small table in some language and encoding, or a few of the marks that matter."""
    if dice.random() < 0.3:
        return b"".join(dice.choices((*TOKENS[:14], b"x", b"2", b" "), k=dice.randrange(40)))
    encoding = dice.choice([*ENCODED, "utf-8", "utf-16", "utf-16-le", "utf-32"])
    language = dice.choice(ENCODED.get(encoding, next(iter(ENCODED.values()))))
    return table(language, dice.choice([1, 3, 20]), dice.choice(",;\t|"), dice.random()).encode(encoding, "replace")


def dwtc(dice: random.Random) -> bytes:
    """Return some records of a shard."""
    lines = []
    for _ in range(dice.randrange(1, 5)):
        relation = [
            [dice.choice(["x", "", "1", "ä"]) for _ in range(dice.randrange(5))] for _ in range(dice.randrange(4))
        ]
        record = {"relation": relation, "hasHeader": dice.random() < 0.7, "pageTitle": "t", "headerRowIndex": 0}
        record["headerPosition"] = dice.choice(["FIRST_ROW", "FIRST_COLUMN", "NONE", "MIXED", 3])
        lines.append(json.dumps(record))
    return "\n".join(lines).encode()


def json_records(dice: random.Random) -> bytes:
    """Return records of several shapes, as an array or one per line."""
    values = ["x", 1, 2.5, None, True, [1, "a"], {"b": [None]}, "\ud83d\ude00"]
    records = [{f"k{dice.randrange(4)}": dice.choice(values) for _ in range(dice.randrange(4))} for _ in range(4)]
    if dice.random() < 0.5:
        return json.dumps(records).encode()
    return "\n".join(map(json.dumps, records)).encode()


def parquet(dice: random.Random) -> bytes:
    """Return a small Parquet file of several types."""
    rows = dice.randrange(1, 9)
    columns = {
        "text": pa.array([f"v{n}" for n in range(rows)]),
        "number": pa.array([n * 1.5 for n in range(rows)]),
        "list": pa.array([[n, None] for n in range(rows)]),
        "time": pa.array([n * 10**15 for n in range(rows)], pa.timestamp("ns", "Europe/Berlin")),
        "coded": pa.array([f"c{n % 2}" for n in range(rows)]).dictionary_encode(),
    }
    names = dice.sample(list(columns), dice.randrange(1, len(columns) + 1))
    stream = io.BytesIO()
    pq.write_table(pa.table({name: columns[name] for name in names}), stream, row_group_size=max(1, rows // 2))
    return stream.getvalue()


SEEDS = {"delimited": delimited, "dwtc": dwtc, "json": json_records, "parquet": parquet}


def spoiled(data: bytes, dice: random.Random) -> bytes:
    """Change bytes in a few places: flip, cut, repeat, swap, insert."""
    for _ in range(dice.choice([0, 1, 1, 2, 4])):
        at, size = dice.randrange(len(data) + 1), dice.choice([1, 1, 4, 50])
        how = dice.randrange(6)
        if how == 0 and at < len(data):
            data = data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]
        elif how == 1:
            data = data[:at]
        elif how == 2:
            data = data[:at] + data[at + size :]
        elif how == 3:
            data = data[:at] + dice.choice(TOKENS) + data[at:]
        elif how == 4:
            data = data[:at] + data[at : at + size] * dice.choice([2, 50]) + data[at + size :]
        else:
            data = data[:at] + dice.randbytes(size) + data[at + size :]
    return data


def packed(data: bytes, dice: random.Random) -> bytes:
    """Compress some of the inputs, and spoil some of these again."""
    how = dice.randrange(12)
    if how > 3:
        return data
    pack = (gzip.compress, bz2.compress, lzma.compress, lambda plain: bytes(pa.compress(plain, "zstd", asbytes=True)))[
        how
    ]
    return spoiled(pack(data), dice) if dice.random() < 0.6 else pack(data)
