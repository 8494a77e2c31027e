import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.corpus import json_records
from mate.corpus.table import Limits
from tests.corpus.reading import Found, cells_of, header_of, read_bytes, rejects_of


def read(data: bytes | str, limits: Limits | None = None) -> Found:
    return read_bytes("json", data if isinstance(data, bytes) else data.encode(), limits)


OBJECTS = [
    {"town": "Köln", "people": 5},
    {"people": 6.5, "river": None, "open": True},
    {"town": "", "tags": ["a", {"b": 1}]},
]
HEADER = ["town", "people", "river", "open", "tags"]
CELLS = ["Köln", "5", None, None, None, None, "6.5", None, "true", None, "", None, None, None, '["a", {"b": 1}]']


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(OBJECTS),
        json.dumps(OBJECTS, indent=2),
        "\ufeff \n" + json.dumps(OBJECTS, ensure_ascii=False),
        "\n".join(map(json.dumps, OBJECTS)),
        "\n\n".join(map(json.dumps, OBJECTS)) + "\n",
    ],
)
def test_json_objects_as_an_array_or_as_lines(data: str) -> None:
    for packed in (data.encode(), gzip.compress(data.encode())):
        found = read(packed)
        assert rejects_of(found) == []
        assert header_of(found) == HEADER
        assert cells_of(found) == CELLS


def test_an_element_longer_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "BLOCK", 7)
    assert cells_of(read(json.dumps(OBJECTS, ensure_ascii=False))) == CELLS


@pytest.mark.parametrize(
    ("data", "rejects"),
    [
        ("", [(None, "file", "empty file", 1)]),
        ("  \n", [(None, "file", "empty file", 1)]),
        ("[]", [(None, "file", "no data rows", 1)]),
        ('[{"a": 1}', [(None, "file", "invalid JSON: end of file where , is expected", 1)]),
        ('[{"a": 1} {"a": 2}]', [(None, "file", "invalid JSON: { where , is expected", 1)]),
        ('[{"a": }]', [(None, "file", "invalid JSON: Expecting value", 1)]),
        (b'[{"a": "\xff"}]', [(None, "file", "invalid UTF-8", 1)]),
        ("[" * 100_000, [(None, "file", "invalid JSON: nested too deeply or a number too long", 1)]),
        ("[1, 22]", [(1, "record", "a number where an object is expected", 2), (None, "file", "no data rows", 1)]),
        (gzip.compress(json.dumps(OBJECTS).encode(), mtime=0)[:-9], [(None, "file", "truncated gzip stream", 1)]),
    ],
)
def test_json_that_is_no_table(data: bytes | str, rejects: list[tuple[int | None, str, str, int]]) -> None:
    assert rejects_of(read(data)) == rejects
    assert cells_of(read(data)) == []


def test_bad_json_records_are_left_out() -> None:
    lines = ['{"a": 1}', "{", '"x"', "{}", rb'{"a": "\ud800"}'.decode(), '{"a": 2}']
    found = read("\n".join(lines))
    assert cells_of(found) == ["1", "2"]
    assert rejects_of(found) == [
        (2, "record", "invalid JSON: Expecting property name enclosed in double quotes at column 2", 1),
        (3, "record", "a string where an object is expected", 1),
        (4, "record", "an object without keys", 1),
        (5, "record", r"half a surrogate pair (\ud800), which is not text", 1),
    ]


def test_a_line_that_is_too_long_is_one_bad_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "LONGEST_RECORD", 20)
    found = read('{"a": 1}\n{"a": "' + "x" * 90 + '"}\n{"a": 2}\n{\n')
    assert cells_of(found) == ["1", "2"]
    assert [(line, count) for line, _, _, count in rejects_of(found)] == [(2, 1), (4, 1)]


def test_json_records_that_would_be_nearly_empty_are_left_out() -> None:
    wide = {f"k{n}": 1 for n in range(101)}
    for data in (json.dumps([{"k1": 1}, wide, {"k1": 1}]), "\n".join(map(json.dumps, [{"k1": 1}, wide, {"k1": 1}]))):
        found = read(data)
        assert cells_of(found) == ["1"] * 101
        assert rejects_of(found) == [(1, "record", "too few keys to be a row of 101", 2)]
    del wide["k0"]
    assert len(cells_of(read(json.dumps([{"k1": 1}, wide])))) == 200
    alone = read(json.dumps([{f"k{n}": 1} for n in range(101)]))
    assert [reject[2] for reject in rejects_of(alone)] == ["too few keys to be a row of 101", "no data rows"]


FEW = st.dictionaries(st.text(max_size=5), st.text(max_size=8), min_size=1, max_size=12)
"""Together no more keys than a row may lack most of: objects with few of over a hundred keys are rejects."""


@given(st.lists(FEW, min_size=1, max_size=8))
def test_any_json_text_comes_back(objects: list[dict[str, str]]) -> None:
    found = read(json.dumps(objects))
    header = header_of(found)
    assert header == list(dict.fromkeys(key for item in objects for key in item))
    assert cells_of(found) == [item.get(key) for item in objects for key in header]
