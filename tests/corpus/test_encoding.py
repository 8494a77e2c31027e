"""The encoding of every table is found, in many languages and at any size; what remains uncertain is said."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mate.build.build import BuildSettings, build
from mate.build.changes.updates import Updates
from mate.build.lake_target import LakeTarget
from mate.corpus import Chunk, Limits, Reject, check_encoding
from mate.corpus.encoding import find_encoding, lines_end_in_bytes
from mate.corpus.formats import CUTTERS
from mate.errors import CorpusError
from mate.lake.folder import open_folder
from mate.search.query import read_query
from tests.corpus.languages import (
    CZECH,
    ENCODED,
    FRENCH,
    GERMAN,
    GREEK,
    JAPANESE,
    KOREAN,
    RUSSIAN,
    TURKISH,
    UNICODE,
    Language,
    table,
)
from tests.corpus.reading import read_bytes
from tests.lakes import cells_of, sync

CASES = [(encoding, language) for encoding, languages in ENCODED.items() for language in languages]
HARD = {("iso8859-2", CZECH), ("cp1250", CZECH)}
"""Where the two encodings of a language differ in so few letters that a doubt remains."""
UTF_16 = [(encoding, language) for encoding in ("utf-16-le", "utf-16-be") for language in UNICODE]


def read(data: bytes, limits: Limits | None = None) -> tuple[list[Chunk], list[Reject]]:
    found = read_bytes("delimited", data, limits, "t.csv")
    return [i for i in found if isinstance(i, Chunk)], [i for i in found if isinstance(i, Reject)]


def check(data: bytes, encoding: str, delimiter: str) -> tuple[bool, list[Reject]]:
    """Return whether cells are as they were written, and what is rejected."""
    chunks, rejects = read(data)
    cells = [cell for chunk in chunks for cell in chunk.cells.to_pylist()]
    lines = data.decode(encoding).split("\r\n")[1:-1]
    assert all("the encoding is uncertain" in reject.reason for reject in rejects)
    return cells == [cell for line in lines for cell in line.split(delimiter)], rejects


@pytest.mark.parametrize("rows", [1, 3, 30, 1_000])
@pytest.mark.parametrize(("encoding", "language"), CASES + UTF_16)
def test_tables_in_all_encodings(encoding: str, language: Language, rows: int) -> None:
    for delimiter in ";\t":
        data = table(language, rows, delimiter, seed=rows).encode(encoding, "replace")
        right, rejects = check(data, encoding, delimiter)
        assert right
        assert rejects == [] or rows < 30 or (encoding, language) in HARD


def with_ascii_header(language: Language, rows: int, delimiter: str, seed: int) -> str:
    lines = table(language, rows, delimiter, seed).split("\r\n")
    return "\r\n".join([delimiter.join("abcdefg"), *lines[1:]])


def towns(language: Language, rows: int, delimiter: str, seed: int) -> str:
    dice = random.Random(seed)
    places = language.places.split()
    lines = ["id" + delimiter + "city", *(f"{row}{delimiter}{dice.choice(places)}" for row in range(rows)), ""]
    return "\r\n".join(lines)


def capitals(language: Language, rows: int, delimiter: str, seed: int) -> str:
    return table(language, rows, delimiter, seed).upper()


def towns_in_capitals(language: Language, rows: int, delimiter: str, seed: int) -> str:
    return towns(language, rows, delimiter, seed).upper()


@pytest.mark.parametrize("rows", [3, 30, 300])
@pytest.mark.parametrize(("encoding", "language"), CASES)
@pytest.mark.parametrize("make", [with_ascii_header, towns, capitals, towns_in_capitals])
def test_tables_with_little_to_tell_by(
    make: Callable[[Language, int, str, int], str], encoding: str, language: Language, rows: int
) -> None:
    """No table is garbled without a word: with a header in ASCII, with nothing but names of towns, or in capitals."""
    right, rejects = check(make(language, rows, ";", rows).encode(encoding, "replace"), encoding, ";")
    assert right or rejects
    assert right or rows < 300 or (language is TURKISH and make in (capitals, towns_in_capitals))


def test_capitals_are_as_clear_as_small_letters() -> None:
    for encoding, language in (("cp1251", RUSSIAN), ("koi8-r", RUSSIAN), ("cp1253", GREEK), ("cp1252", FRENCH)):
        assert check(table(language, 300).upper().encode(encoding, "replace"), encoding, ";") == (True, [])


def test_small_tables_say_when_they_may_read_differently() -> None:
    for text, encoding in (("José,Málaga\r\nPeña,Cádiz", "cp1252"), ("ｱｲｳ,1\r\nｶｷｸ,2", "cp932")):
        right, rejects = check(f"a,b\r\n{text}\r\n".encode(encoding), encoding, ",")
        assert right or rejects


def test_utf_8_costs_no_detector() -> None:
    program = (
        "import io, sys; from mate.corpus import Limits, delimited\n"
        "assert list(delimited.read('t', io.BytesIO('Stra\\u00dfe;a\\n\\u041c\\u043e;1\\n'.encode()), Limits()))\n"
        "assert 'chardet' not in sys.modules\n"
        "assert list(delimited.read('t', io.BytesIO('Stra\\u00dfe;a\\n\\u00fcber;1\\n'.encode('cp1252')), Limits()))\n"
        "assert 'chardet' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_mark_of_the_byte_order_is_believed_whatever_is_given() -> None:
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        chunks, rejects = read(table(RUSSIAN, 5).encode(encoding), Limits(encoding="cp1252"))
        assert (chunks[0].table.header, rejects) == (RUSSIAN.header, [])


def test_an_encoding_that_is_given_is_taken() -> None:
    data = b"ort,n\nK+APY-ln,1\n"  # all its bytes are ASCII, which looks like UTF-8
    chunks, rejects = read(data, Limits(encoding="utf-7"))
    assert (chunks[0].cells.to_pylist(), rejects) == (["Köln", "1"], [])
    german = "Straße;Ort\nBäckerweg;Köln\n".encode("cp1252")
    chunks, rejects = read(german, Limits(encoding="cp1251"))
    assert chunks[0].cells.to_pylist() == german.decode("cp1251").split("\n")[1].split(";")
    assert rejects == []


@pytest.mark.parametrize("encoding", ["cp037", "cp273", "cp500", "cp1140", "cp1026"])
def test_a_text_in_ebcdic_is_refused_until_its_code_page_is_named(encoding: str) -> None:
    """The code pages of mainframes differ too little to tell which it is."""
    quoted = 'Ort,Wert\n"Bonn, Beuel",1\nUlm,"2"\n'
    for text in (table(GERMAN, 1), table(GERMAN, 300), "ID;CITY\n1;BONN\n", "a\x851,5\x852,5\x85", quoted):
        chunks, [reject] = read(text.encode(encoding, "replace"))
        assert (chunks, reject.kind) == ([], "file")
        assert reject.reason == "text in EBCDIC; --encoding names its code page, such as cp037, cp273 or cp500"
    chunks, rejects = read(quoted.encode(encoding), Limits(encoding=encoding))
    assert (chunks[0].cells.to_pylist(), rejects) == (["Bonn, Beuel", "1", "Ulm", "2"], [])


def test_a_long_text_in_ebcdic_has_line_ends() -> None:
    data = ("number,town\n" + "1,Aachen and some more\n" * 900_000).encode("cp037")
    assert find_encoding(lambda: io.BytesIO(data), "cp037").undecodable == 0


SHIFTING = {"iso2022_jp": JAPANESE, "iso2022_jp_2": JAPANESE, "iso2022_jp_2004": JAPANESE, "iso2022_kr": KOREAN}


@pytest.mark.parametrize(("encoding", "language"), SHIFTING.items())
def test_texts_that_shift_to_other_characters(encoding: str, language: Language) -> None:
    """All their bytes are ASCII, and so they look like UTF-8."""
    for rows in (1, 300):
        data = table(language, rows).encode(encoding, "ignore")
        assert check(data, encoding, ";") == (True, [])


@pytest.mark.parametrize("encoding", ["iso2022_jp", "iso2022_jp_2", "iso2022_jp_2004"])
def test_a_lone_escape_is_no_shift(encoding: str) -> None:
    assert read(b"a,b\n\x1b$,1\nx,2\n")[0][0].cells.to_pylist() == ["\x1b$", "1", "x", "2"]
    [reject] = read(b"a,b\n\x1b$,1\nx,2\n", Limits(encoding=encoding))[1]
    assert reject.reason.startswith(f"not valid {encoding.upper()} text: ")


def test_utf_16_has_no_shifts() -> None:
    """Some of its characters have the bytes of an escape."""
    data = "ab;n\n\u241b\u1b24\u5324;1\n".encode("utf-16-le")
    assert read(data)[0][0].cells.to_pylist() == ["\u241b\u1b24\u5324", "1"]


def test_what_is_uncertain_is_said() -> None:
    """A single letter may be that of many code pages."""
    data = "a;b\nß;1\nx;2\n".encode("cp1252")
    chunks, rejects = read(data)
    assert chunks[0].cells.to_pylist() == ["ß", "1", "x", "2"]
    [reject] = rejects
    assert (reject.kind, reject.source) == ("cell", "t.csv")
    assert reject.reason.startswith("the encoding is uncertain: read as ")
    assert "--encoding" in reject.reason
    assert read(data, Limits(encoding="cp1252"))[1] == []


def test_bytes_that_no_character_has_are_counted() -> None:
    data = table(GERMAN, 40).encode("cp1252").replace(b"Bonn", b"B\x81nn")
    found = data.count(b"\x81")
    chunks, rejects = read(data)
    assert "B\ufffdnn" in [cell for chunk in chunks for cell in chunk.cells.to_pylist()]
    assert [(r.kind, r.count) for r in rejects] == [("cell", found)]
    assert rejects[0].reason.startswith("bytes that are not cp1252, each read as")


def test_a_file_in_parts_says_the_same_as_the_whole() -> None:
    data = table(GERMAN, 3_000).encode("cp1252").replace(b"Bonn", b"B\x81nn")
    cutting = CUTTERS["delimited"]("t.csv", io.BytesIO(data), Limits(), 20_000)
    assert cutting is not None
    parts = cutting.settle([cutting.look(io.BytesIO(data), span) for span in cutting.spans])
    found = [item for part in parts.parts for item in part.read(io.BytesIO(data), Limits())]  # type: ignore[union-attr]
    assert len(parts.parts) > 3  # type: ignore[union-attr]
    assert [item for item in found if isinstance(item, Reject)] == read(data)[1] != []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32", "iso2022_jp", "hz", "utf-7", "cp500"])
def test_texts_that_cannot_be_cut_at_bytes(encoding: str) -> None:
    assert not lines_end_in_bytes(encoding)
    data = table(GERMAN, 900).encode(encoding, "replace")
    assert CUTTERS["delimited"]("t", io.BytesIO(data), Limits(encoding=encoding), 9) is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1251", "gb18030", "big5hkscs", "cp932", "cp949"])
def test_texts_that_can(encoding: str) -> None:
    assert lines_end_in_bytes(encoding)


def test_names_of_encodings() -> None:
    assert check_encoding("Windows-1251") == "cp1251"
    for wrong in ("cp12555", "rot13", "hex", "undefined", "x\0y", "", "idna"):
        with pytest.raises(CorpusError, match="no text encoding is called"):
            check_encoding(wrong)
    with pytest.raises(CorpusError, match='did you mean "cp1251"'):
        BuildSettings(limits=Limits(encoding="cp-1251x")).check()


def test_binary_files_are_no_utf_16() -> None:
    for data in (bytes(range(256)) * 40, b"\0\1\2\3" * 900, b"MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff\0\0" * 300):
        with pytest.raises(CorpusError, match="binary content"):
            find_encoding(lambda data=data: io.BytesIO(data))


def test_the_encoding_is_kept_for_later_changes(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "a.csv").write_bytes("имя;город\nИван;Уфа\n".encode("koi8-r"))
    with LakeTarget(tmp_path / "a.mate") as target:
        build([str(folder)], target, BuildSettings(master="none", limits=Limits(encoding="koi8-r")))
    (folder / "b.csv").write_bytes("имя;город\nЯна;Омск\n".encode("koi8-r"))
    sync(Updates(str(tmp_path / "a.mate")), [str(folder)])
    with open_folder(tmp_path / "a.mate") as lake:
        assert [cells_of(lake, number) for number in (0, 1)] == [[["Иван", "Уфа"]], [["Яна", "Омск"]]]


def test_a_query_in_an_encoding_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_bytes("a;b\nЁ;1\n".encode("cp866"))
    assert read_query(tmp_path / "q.csv", "cp866").columns.column("a").to_pylist() == ["Ё"]
