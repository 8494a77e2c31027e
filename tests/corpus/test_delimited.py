import bz2
import csv
import gzip
import io
import lzma
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mate.corpus import encoding
from mate.corpus.rows import LONGEST_ROW_LINES, STRAY_QUOTE, CsvDialect, Rows
from mate.corpus.table import Chunk, Limits, Reject
from tests.corpus.languages import GERMAN
from tests.corpus.reading import header_of, read_bytes, rejects_of, rows_of

Cells = list[list[str | None]]


def read(data: bytes | str, limits: Limits | None = None, source: str = "towns.csv") -> list[Chunk | Reject]:
    return read_bytes("delimited", data if isinstance(data, bytes) else data.encode(), limits, source)


def table(data: bytes | str) -> Cells:
    found = read(data)
    assert rejects_of(found) == []
    return [list(header_of(found)), *rows_of(found)]


PLAIN = "id,town\n1,Köln\n2,Zürich\n"
READ = [["id", "town"], ["1", "Köln"], ["2", "Zürich"]]


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252", "cp850", "mac_roman"],
)
def test_every_encoding_reads_alike(encoding: str) -> None:
    text = "id,town,motto\n" + "".join(f"{n},Köln,Grüße für Österreich – nein\n" for n in range(5))
    if encoding in ("latin-1", "cp850"):
        text = text.replace("–", "-")
    assert table(text.encode(encoding)) == list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("code_page", ["cp1252", "cp850", "mac_roman"])
def test_stray_bytes_in_utf8_are_read_by_the_code_page_that_fits(code_page: str) -> None:
    text = "id,name\n1,Köln\n2,Zürich\n3,Münster\n4,Jülich\n"
    data = text.encode() + "5,José\n6,Beyoncé and André\n".encode(code_page)
    assert table(data)[-2:] == [["5", "José"], ["6", "Beyoncé and André"]]


def test_stray_bytes_behind_much_utf8_text_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "EVIDENCE_BYTES", 100)
    monkeypatch.setattr(encoding, "BLOCK", 64)  # blocks end inside characters
    text = "id,name\n" + "".join(f"{n},Köln und Zürich – Grüße\n" for n in range(100))
    found = table(text.encode() + "100,José\n".encode("mac_roman"))
    assert found[-2:] == [["99", "Köln und Zürich – Grüße"], ["100", "José"]]


def test_a_blank_of_old_systems_between_words() -> None:
    """The byte is a letter in other code pages, but no small letter stands between capitals."""
    assert rows_of(read(b"id,school\n1,LAB\xffCharter\n2,PS 1\n"))[0] == ["1", "LAB\u00a0Charter"]


def test_a_non_ascii_letter_late_in_the_file_is_seen() -> None:
    text = "id,town\n" + "1,Bonn\n" * 200_000 + "2,Köln\n"
    assert rows_of(read(text.encode("latin-1")))[-1] == ["2", "Köln"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_delimiter_and_line_end(delimiter: str, end: str) -> None:
    assert table(PLAIN.replace(",", delimiter).replace("\n", end)) == READ


ROWS = {
    "decimal commas are no delimiters": ("ort;wert;anteil\na;1,5;2,5\nb;2,5;3,5\n", 1, ["a", "1,5", "2,5"]),
    "commas in text are no delimiters": ("id;town\n1;Bonn, Stadt\n2;Köln, Stadt\n", 2, ["2", "Köln, Stadt"]),
    "a space before an opening quote": ('id, town\n1, "Bonn, Stadt"\n2, "Köln, Stadt"\n', 1, ["1", "Bonn, Stadt"]),
    "a backslash before a quote": ('id,motto\n1,"say \\"hi\\", go"\n2,"b"\n', 1, ["1", 'say "hi", go']),
    "backslashes where quotes are doubled": ('id,path\n1,"C:\\temp\\"\n2,"a ""b"""\n', 1, ["1", "C:\\temp\\"]),
    "a cell that is another delimiter": ("n,sign\n100,|\n101,|\n102,|\n", 1, ["100", "|"]),
    "a single column": ("town\nBonn\nKöln\n", 1, ["Bonn"]),
    "blanks are kept": ("id,town\n1,  Bonn \n2,\u00a0x\u00a0\n3,\n", 1, ["1", "  Bonn "]),
    "NUL stays in its cell": ("id,town\n1,Bo\0nn on the Rhine\n2,Köln\n", 1, ["1", "Bo\0nn on the Rhine"]),
    "equal and empty names": ("id,a,,a\n1,x,y,z\n", 0, ["id", "a", "", "a"]),
    "row names without a heading": ('"a","b"\n"1",5,6\n"2",7,8\n', 0, ["", "a", "b"]),
    "missing values are no header": ("id,a,b,c\nx1,NA,NA,NA\nx2,1,2,3\nx3,1,2,3\n", 0, ["id", "a", "b", "c"]),
    "a name of texts does not reach over numbers": (
        "town;;women;\n;;number;share\nBonn;1;5;10\nUlm;2;6;11\nJena;3;7;12\nTrier;4;8;13\n",
        0,
        ["town", "", "women / number", "women / share"],
    ),
    "two header rows": (
        ";;women;;men;\n;;number;share;number;share\n1;Bonn;5;10;6;11\n2;Köln;6;11;7;12\n",
        0,
        ["", "", "women / number", "women / share", "men / number", "men / share"],
    ),
    "two header rows over two columns of numbers": (
        "town;women;\nname;number;share\nBonn;5;10\nUlm;6;11\nJena;7;12\n",
        0,
        ["town / name", "women / number", "women / share"],
    ),
    "nearly empty rows are no titles if most are": ("a;;\nb;;\nc;;\nd;;\ne;5;6\n", 1, ["b", "", ""]),
    "a value that is missing below an empty name": ("town;\nBonn;unknown\nUlm;6\nJena;7\n", 1, ["Bonn", "unknown"]),
    "a last row of one value": ("town;year;n\nBonn;2020;5\nKöln;2020;6\nAachen;;\n", -1, ["Aachen", "", ""]),
    "signs of Windows": (
        "id,sign\n1,„zitiert“\n2,10 € – 20 €\n3,Müller’s\n4,Ä\n".encode("cp1252"),
        2,
        ["2", "10 € – 20 €"],
    ),
}


@pytest.mark.parametrize(("data", "row", "cells"), ROWS.values(), ids=ROWS)
def test_a_row_is_read_as_it_is_meant(data: str | bytes, row: int, cells: list[str]) -> None:
    assert table(data)[row] == cells


@pytest.mark.parametrize(
    "data",
    [
        "1,2021,17\n2,2021,18\n3,2021,19\n",
        "party;CDU;Union\nparty;SPD;Social\nlist;FDP;Free\n",
        "2021-08-13\t12\n2021-08-14\t13\n",
    ],
)
def test_a_first_row_like_the_others_is_no_header(data: str) -> None:
    found = read(data)
    assert set(header_of(found)) == {""}
    assert len(rows_of(found)) == 3 - data.count("\t") // 2


@pytest.mark.parametrize(
    "header",
    ["town,2014,2015", ",2014,2015", "town,2020-01-01,2020-01-02", "0,1,2", ",0,1", "#town, cases, deaths"],
)
def test_headers_of_years_dates_and_numbers(header: str) -> None:
    assert table(f"{header}\nBonn,100,7.5\nKöln,200,8.5\n")[0] == header.split(",")


MARKED = (
    '7,"t","Bees by state"\n7,"h","","","",""\n7,"h","","on January","lost","lost"\n7,"h","State","","",""\n'
    '7,"h","","colonies","colonies","share"\n7,"h","","","",""\n7,"u","","(number)","(number)","(percent)"\n'
)
"""Every line says which table it is of and what kind of line it is."""
BEES = ["", "h / u", "State", "on January / colonies / (number)", "lost / colonies / (number)"]
TITLED = "Table 7;;;\nDeaths: months, sex; Germany; year;\nAll causes;;;\nCount;;;\n;;male;female\n"


@pytest.mark.parametrize(
    ("above", "row", "header", "titles"),
    [
        (MARKED, '7,"d","State {n}",{n}00,{n}0,{n}.5\n', [*BEES, "lost / share / (percent)"], 1),
        (TITLED, "19{n};May;{n}1;{n}2\n", ["", "", "male", "female"], 4),
        (
            "year;month;male;female\nGermany;;;\n",
            "20{n};May;{n}1;{n}2\n",
            ["year / Germany", "month", "male", "female"],
            0,
        ),
    ],
    ids=["marked lines", "titles", "a group below the header"],
)
def test_titles_end_where_the_names_begin(above: str, row: str, header: list[str], titles: int) -> None:
    found = read(above + "".join(row.format(n=n) for n in range(10, 20)))
    assert header_of(found) == header
    first = row.format(n=10).strip().replace('"', "")
    assert rows_of(found)[0] == first.split(";" if ";" in row else ",")
    assert rejects_of(found) == [(1, "row", "line above the header", titles)] * bool(titles)


def test_a_first_row_without_measures_is_data_where_no_name_follows() -> None:
    rows = "".join(f"NRW;town {n};{n};{n}\n" for n in range(1, 9))
    found = read(f"NRW;town 0;;\n{rows}")
    assert rows_of(found)[0] == ["NRW", "town 0", "", ""]
    assert set(header_of(found)) == {""}


@pytest.mark.parametrize("names", ["day\tplace cases deaths", "day place cases deaths", "day;place;cases;deaths"])
def test_a_header_with_another_delimiter_than_the_rows(names: str) -> None:
    rows = "".join(f"2021-08-{n}\tBonn\t{n}\t0\n" for n in range(10, 30))
    assert table(f"{names}\n{rows}")[:2] == [["day", "place", "cases", "deaths"], ["2021-08-10", "Bonn", "10", "0"]]


@pytest.mark.parametrize(
    "line", ["cases and deaths by day of 2021", "cases, deaths", "cases cases deaths deaths", "1 2 3 4"]
)
def test_a_title_is_no_header_with_another_delimiter(line: str) -> None:
    rows = "".join(f"2021-08-{n}\tBonn\t{n}\t0\n" for n in range(10, 30))
    found = read(f"{line}\n{rows}")
    assert set(header_of(found)) == {""}
    assert rejects_of(found) == [(1, "row", "line above the header", 1)]


def test_lines_above_the_header_and_a_footer() -> None:
    data = (
        "Table 12;;\n\nPopulation by town;;\ntown;year;people\nBonn;2020;5\nKöln;2020;6\nAachen;2020;7\n"
        '__________\n"© Statistics\nof the land"\nStand: 2020\n'
    )
    found = read(data)
    assert header_of(found) == ["town", "year", "people"]
    assert rows_of(found)[-1] == ["Aachen", "2020", "7"]
    assert rejects_of(found) == [(1, "row", "line above the header", 2), (8, "row", "footer line", 3)]
    assert next(item.table.line for item in found if isinstance(item, Chunk)) == 4


def test_a_footer_padded_with_delimiters() -> None:
    found = read("town;people\nBonn;5\nKöln;6\n;\nSource: the land;\n")
    assert rejects_of(found) == [(5, "row", "footer line", 1)]


def test_ragged_rows() -> None:
    found = read(
        "id,a,b\n1,x,y\n2,x\n\n3,x,y,,\n4,x,y,z\n5,x,y\n6,x,y\n7,x,y\n8,x,y\n9,x,y\n10,x,y\n11,x,y\n12,a,b,c,d\n"
    )
    rows = rows_of(found)
    assert rows[:3] == [["1", "x", "y"], ["2", "x", None], ["3", "x", "y"]]
    assert len(rows) == 10
    assert rejects_of(found) == [
        (6, "row", "4 cells where the header has 3", 1),
        (14, "row", "5 cells where the header has 3", 1),
    ]


def test_a_table_wider_than_its_header_is_widened() -> None:
    found = read("id,a\n" + "1,x,y\n2,x\n" * 5)
    assert header_of(found) == ["id", "a", ""]
    assert rows_of(found)[:2] == [["1", "x", "y"], ["2", "x", None]]
    assert rejects_of(found) == []


def test_a_stray_quote_costs_one_line() -> None:
    found = read('id\ttown\n1\t"Bonn\n2\tKöln\n3\t"Aachen"\n4\tUlm\n')
    assert rows_of(found) == [["1", '"Bonn'], ["2", "Köln"], ["3", "Aachen"], ["4", "Ulm"]]
    assert rejects_of(found) == [(2, "row", STRAY_QUOTE, 1)]


def test_quotes_inside_a_quoted_cell() -> None:
    found = read('id,motto\n1,"say "hi" now"\n2,"b"\n')
    assert rows_of(found) == [["1", 'say "hi" now'], ["2", "b"]]


def test_a_stray_quote_without_a_partner_does_not_swallow_the_file() -> None:
    body = "".join(f"{n},Bonn\n" for n in range(40_000))
    found = read(f'id,town\n{body}x,"Köln\n{body}')
    assert len(rows_of(found)) == 80_001
    assert rejects_of(found) == [(40_002, "row", STRAY_QUOTE, 1)]


def test_a_cell_of_absurdly_many_lines_is_two_stray_quotes() -> None:
    body = "".join(f"{n},Bonn\n" for n in range(LONGEST_ROW_LINES + 5))
    found = read(f'id,town\n1,"a\n{body}2,b"\n3,"c"\n')
    assert len(rows_of(found)) == LONGEST_ROW_LINES + 8
    assert rejects_of(found)[0] == (2, "row", STRAY_QUOTE, 1)


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_very_long_cell_is_no_stray_quote(quote: str) -> None:
    cell = quote + "a" * (2 << 20) + quote
    found = read(f"id,town\n1,b\n2,{cell},c,d\n3,d\n4,{cell}\n")
    assert [len(row[1]) for row in rows_of(found)] == [1, 1, 2 << 20]
    assert rejects_of(found) == [(3, "row", "4 cells where the header has 2", 1)]


@pytest.mark.parametrize(
    "lines",
    [
        'q",",""\n' * 50_000,
        ('q",",""\n' * 900 + 'x,"a"b\n') * 50,
        ('q",",""\n' * 3_000 + 'x"\n') * 15,
        '1,"abc\n' * 50_000,
    ],
    ids=["never closed", "closed amid a cell", "closed late", "all open"],
)
def test_many_stray_quotes_take_linear_time(lines: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenised = 0

    def counted(lines: Iterable[str]) -> Iterator[str]:
        nonlocal tokenised
        for line in lines:
            tokenised += 1
            yield line

    plain_reader = CsvDialect.reader
    monkeypatch.setattr(CsvDialect, "reader", lambda dialect, lines: plain_reader(dialect, counted(lines)))
    rows = Rows(lines.splitlines(keepends=True), CsvDialect(), 2)
    while rows.take(1_000):
        pass
    assert tokenised < 12 * lines.count("\n")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"\n \r\n\n", "empty file"),
        (b"\xef\xbb\xbf", "empty file"),
        (b"\0" * 100, "binary content"),
        (b"id,town\n", "no data rows"),
        (b"\x89\x00\x01\x02\xff\xfe\x00\x03,\n" * 50, "binary content"),
        (b"a,b\n" + b"\0\1\2\3" * 20, "binary content"),
        (b"PK\x03\x04....", "a zip archive or Office document, not delimited text"),
        (b"%PDF-1.4\n", "a PDF document, not delimited text"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or other OLE document, not delimited text"),
        (b"<!DOCTYPE html>\n<html></html>", "an HTML page, not delimited text"),
        (b"\n <HTML><body>404</body>", "an HTML page, not delimited text"),
        (b'<?xml version="1.0"?><rows/>', "an XML document, not delimited text"),
        (b"\xff\xfea\x00,\x00b", "not valid UTF-16 text: truncated data"),
        (gzip.compress(PLAIN.encode(), mtime=0)[:-12], "truncated gzip stream"),
        (bz2.compress(PLAIN.encode())[:-4], "truncated bz2 stream"),
        (lzma.compress(PLAIN.encode())[:-4], "truncated xz stream"),
        (pa.compress(PLAIN.encode() * 99, "zstd", asbytes=True)[:-4], "truncated zstd stream"),
        (gzip.compress(PLAIN.encode(), mtime=0)[:-8] + b"\xff" * 8, "corrupt gzip stream"),
        (b"x" * (18 << 20), "a line of more than 16 MB"),
    ],
)
def test_what_is_no_table_is_one_reject(data: bytes, reason: str) -> None:
    assert rejects_of(read(data)) == [(None, "file", reason, 1)]
    assert rows_of(read(data)) == []


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, lzma.compress, lambda data: pa.compress(data, "zstd", asbytes=True)]
)
def test_compressed_files_are_looked_through(pack) -> None:  # type: ignore[no-untyped-def]
    found = read(pack(PLAIN.encode()), source="data/towns.csv.gz")
    assert [header_of(found), *rows_of(found)] == READ
    assert next(item.table.name for item in found if isinstance(item, Chunk)) == "towns"


HOSTILE = ['"', '""', "'", "\t", "\\", '\\"', "\n", "\r\n", "a,b", "a;b", "|", "\ufeff", "é", "=1+1"]
HOSTILE += ["NUL \0 in a longer text", "'; DROP TABLE t;--"]
LATIN = st.characters(codec="latin-1", exclude_categories=["Cc"])
ANY = st.characters(exclude_categories=["Cs", "Cc"])
TOWN = st.sampled_from(GERMAN.places.split())


def tables(alphabet: st.SearchStrategy[str]) -> st.SearchStrategy[list[list[str]]]:
    """Tables of any text: the row number in front makes every row data and every width known."""
    cell = st.one_of(st.text(alphabet, max_size=12), st.sampled_from([text for text in HOSTILE if text.isascii()]))
    return st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(cell, min_size=width, max_size=width), min_size=2, max_size=12)
    )


def written(rows: list[list[str]], **dialect: object) -> tuple[str, list[list[str]]]:
    header = ["number", *(f"column {n}" for n in range(len(rows[0])))]
    whole = [header, *([str(100 + n), *row] for n, row in enumerate(rows))]
    out = io.StringIO()
    csv.writer(out, **dialect).writerows(whole)  # type: ignore[arg-type]
    return out.getvalue(), whole


@given(
    tables(ANY),
    st.sampled_from(",;\t|"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(["\n", "\r\n"]),
)
@example([["a;b", "c;d"], ["e;f", "g;h"]], ",", "utf-8", "\n")
@settings(max_examples=150)
def test_quoted_tables_come_back(rows: list[list[str]], delimiter: str, encoding: str, end: str) -> None:
    text, whole = written(rows, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator=end)
    assert table(text.encode(encoding)) == whole


@given(tables(st.sampled_from("abcxyz019 .-äöüß")), st.sampled_from(",;\t|"))
@settings(max_examples=150)
def test_minimally_quoted_tables_come_back(rows: list[list[str]], delimiter: str) -> None:
    text, whole = written(rows * 3, delimiter=delimiter)
    assert table(text.encode()) == whole


@given(st.lists(st.tuples(TOWN, TOWN), min_size=2, max_size=12), st.sampled_from(",;\t|"))
@example([("München", "Güstrow"), ("Güstrow", "Güstrow")], ",")
@example([("Würzburg", "Ulm"), ("Würzburg", "Ulm")], "|")
@settings(max_examples=50)
def test_words_of_a_language_come_back_in_its_code_page(rows: list[tuple[str, str]], delimiter: str) -> None:
    """Two words alone may leave a doubt, which is reported; they are read right all the same."""
    text, whole = written(list(map(list, rows * 3)), delimiter=delimiter)
    found = read(text.encode("cp1252"))
    assert [header_of(found), *rows_of(found)] == whole
    assert all("read as cp1252" in reason for _, _, reason, _ in rejects_of(found))


@given(tables(LATIN), st.sampled_from(",;\t"))
@settings(max_examples=100)
def test_backslash_quoted_tables_come_back(rows: list[list[str]], delimiter: str) -> None:
    rows = [*rows, ['say "hi", "you"'] * len(rows[0])]
    text, whole = written(rows, delimiter=delimiter, quoting=csv.QUOTE_ALL, doublequote=False, escapechar="\\")
    assert table(text) == whole


@given(st.binary(max_size=400))
@settings(max_examples=200)
def test_any_bytes_give_chunks_or_rejects(data: bytes) -> None:
    assert read(data)


def test_a_table_that_is_too_wide_is_refused_before_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are filled up to the width would be a thousand times the file."""
    monkeypatch.setattr("mate.corpus.header._columns", lambda *_: pytest.fail("rows were filled up"))
    data = (",".join(f"c{n}" for n in range(5_000)) + "\n" + ",".join(["1"] * 5_000) + "\na,b\n" * 5).encode()
    [reject] = read(data, Limits(columns=2_000))
    assert isinstance(reject, Reject)
    assert reject.reason == "5000 columns, more than the limit of 2000"
