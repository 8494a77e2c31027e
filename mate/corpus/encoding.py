"""Which encoding a text file is in, found from all of its bytes.

Bytes that are valid UTF-8 are UTF-8; text with line ends of two bytes is UTF-16. For the rest a code page is chosen.
Western ones (Windows, DOS, Macintosh) differ in signs and a few letters, which scores of our own tell apart best. A
library's statistics of languages tell whether it is another one at all. They know texts in small letters best, so that
one with capitals is given to them in small letters as well. If two answers are as good as each other and would give
different cells, the choice is a doubt, which is reported: a table in the wrong encoding joins with nothing.
"""

from __future__ import annotations

import codecs
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from encodings.aliases import aliases
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import BinaryIO

from mate.errors import CorpusError, did_you_mean

BLOCK = 1 << 20
LONGEST_LINE_BLOCKS = 16
BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
BINARY = {
    b"PK\x03\x04": "a zip archive or Office document",
    b"%PDF-": "a PDF document",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Excel or other OLE document",
    b"PAR1": "a Parquet file",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"SQLite format 3": "an SQLite database",
    b"\x7fELF": "a program",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
}
MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html|head|body|\?xml|!--)", re.IGNORECASE)
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\v\x0e\x0f\x1a\x1b"))
ISO_2022 = ("iso2022_kr", "iso2022_jp_2", "iso2022_jp_2004")
"""Encodings of old systems in Korea and Japan, all of whose bytes are ASCII; the Japanese ones take Korean as well."""
ISO_2022_ESCAPE = b"\x1b$"
SAMPLE = 1 << 16
"""Bytes that tell UTF-16 from other texts; an even number."""

EBCDIC = "cp500"
"""One of the code pages of mainframes; letters, digits and spaces are the same in most of them."""
EBCDIC_SHARE = 0.7
"""Of a text in EBCDIC, at least so much is letters, digits, and the marks below."""

_EBCDIC_MARKS = " ,;\t.-:/'_()\r\n\x85"
_ASCII_MARKS = "\n\r\t,;| 0123456789"
_WHITE = "\n\r\t\f\v\x1a\u3000\ufeff"
_TRIAL = "a;1\r\n"


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """How the bytes of a file become text."""

    name: str
    errors: str
    """The codec's error handler: a UTF-8 file with stray bytes of a code page is read as both."""
    quotes: bool
    """Whether there is a double quote anywhere."""
    doubt: str | None = None
    """Another encoding that is as likely."""
    undecodable: int = 0
    """Characters that stand for bytes which the encoding does not have."""

    def text(self, stream: BinaryIO) -> io.TextIOWrapper:
        """Return the text of bytes, its line ends as they are."""
        return io.TextIOWrapper(stream, self.name, self.errors, newline="")


def find_encoding(reopen: Callable[[], BinaryIO], named: str | None = None) -> TextEncoding:
    """Read all bytes and find the encoding; a file that is no text raises `CorpusError`.

    ``reopen`` returns the plain bytes from their start; it is called again if they are not Unicode. An encoding
    that is named holds for all files but those that begin with a byte order mark.
    """
    stream = reopen()
    head = stream.read(BLOCK)
    blocks = chain([head], _blocks(stream))
    _refuse_other_formats(head)
    marked = next((name for mark, name in BOMS.items() if head.startswith(mark)), None)
    given = None if marked else named
    if not (marked or given) and _is_ebcdic(head[:SAMPLE]):
        raise CorpusError("text in EBCDIC; --encoding names its code page, such as cp037, cp273 or cp500")
    likely = marked or given or _utf16_without_bom(head[:SAMPLE]) or "utf-8"
    scan = _TextScan(blocks, likely, "replace" if given else "strict")
    if scan.problem and not likely.startswith("utf-8"):
        raise CorpusError(f"not valid {likely.upper()} text: {scan.problem}")
    if given:
        return TextEncoding(given, "replace", scan.quotes, undecodable=scan.undecodable)
    if not scan.problem:
        escapes = scan.escapes and likely == "utf-8"
        shifts = (name for name in ISO_2022 if escapes and not _TextScan(_blocks(reopen()), name, "strict").problem)
        return TextEncoding(next(shifts, likely), "strict", scan.quotes)
    encoding, errors, doubt = find_code_page(reopen(), likely)
    missing = _TextScan(_blocks(reopen()), encoding, errors).undecodable if errors == "replace" else 0
    return TextEncoding(encoding, errors, scan.quotes, doubt, missing)


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: stream.read(BLOCK), b"")


def check_encoding(name: str) -> str:
    """Return the usual name of an encoding that somebody has named, if it is one of text."""
    try:
        found = codecs.lookup(name)
        if not found._is_text_encoding or _TRIAL.encode(name).decode(name) != _TRIAL:
            raise LookupError(name)
        codecs.getincrementaldecoder(name)("replace").decode(_TRIAL.encode(name))
    except (LookupError, ValueError):
        known = sorted(set(aliases.values()))
        raise CorpusError(f'no text encoding is called "{name}"; {did_you_mean(name, known)}') from None
    return found.name


def lines_end_in_bytes(encoding: str) -> bool:
    """Tell whether a text can be cut behind the bytes of line ends: one byte each, and no state to carry over."""
    stateful = encoding.startswith(("iso2022", "hz", "utf-7", "utf_7"))
    return not stateful and b"\r\n".decode(encoding, "replace") == "\r\n"


def _refuse_other_formats(head: bytes) -> None:
    if not head.strip(b"\x00 \t\r\n\x1a\xef\xbb\xbf"):
        raise CorpusError("empty file" if not head or head.strip(b"\x00") else "binary content")
    for magic, what in BINARY.items():
        if head.startswith(magic):
            raise CorpusError(f"{what}, not delimited text")
    if MARKUP.match(head):
        xml = b"<?xml" in head[:100] and b"<html" not in head[:2_000].lower()
        raise CorpusError("an XML document, not delimited text" if xml else "an HTML page, not delimited text")


def _utf16_without_bom(head: bytes) -> str | None:
    """Tell UTF-16 by its line ends, delimiters and digits, which are ASCII characters in any language.

    They have a NUL beside them. Read with the bytes the wrong way round, they are characters that hardly occur.
    """
    if b"\x00" not in head:
        return None
    texts = {name: head[: len(head) & ~1].decode(name, "replace") for name in ("utf-16-le", "utf-16-be")}
    marks = {name: sum(map(text.count, _ASCII_MARKS)) for name, text in texts.items()}
    best = max(texts, key=lambda name: marks[name])
    text = texts[best]
    strange = sum(not (c.isprintable() or c in _WHITE) for c in text)
    if marks[best] < max(2, 0.02 * len(text)) or sum(marks.values()) > 1.5 * marks[best] or strange > 0.01 * len(text):
        return None
    return best


def _is_ebcdic(head: bytes) -> bool:
    """Tell EBCDIC, in which line ends, spaces, letters and digits are other bytes than in all other encodings."""
    if b"\n" in head or b" " in head:
        return False
    text = head.decode(EBCDIC)
    known = sum(text.count(mark) for mark in _EBCDIC_MARKS) + sum(c.isascii() and c.isalnum() for c in text)
    lines = text.count("\n") + text.count("\x85")
    return lines > 0 and known > EBCDIC_SHARE * len(text)


class _TextScan:
    """What all bytes of a text say: problems, quotes, escapes; too many controls and endless lines are refused."""

    def __init__(self, blocks: Iterable[bytes], encoding: str, errors: str) -> None:
        self.problem = ""
        """Why they are not valid, if they are not."""
        self.quotes = False
        self.escapes = False
        self.undecodable = 0
        """Signs for what cannot be decoded."""
        self._decoder = codecs.getincrementaldecoder(encoding)(errors)
        quote, *line_ends = (_byte_of(character, encoding) for character in '"\n\r')
        size = controls = blocks_without_line_end = 0
        for block in blocks:
            size += len(block)
            controls += len(block) - len(block.translate(None, CONTROLS))
            self.quotes = self.quotes or quote in block
            self.escapes = self.escapes or ISO_2022_ESCAPE in block
            ended = any(line_end in block for line_end in line_ends)
            blocks_without_line_end = 0 if ended else blocks_without_line_end + 1
            if blocks_without_line_end > LONGEST_LINE_BLOCKS:
                raise CorpusError(f"a line of more than {LONGEST_LINE_BLOCKS} MB")
            self._decode(block, final=False)
        self._decode(b"", final=True)
        if encoding.startswith("utf-8") and controls > (0.05 if self.problem else 0.1) * size:
            raise CorpusError("binary content")

    def _decode(self, block: bytes, final: bool) -> None:
        try:
            self.undecodable += 0 if self.problem else self._decoder.decode(block, final).count("\ufffd")
        except UnicodeError as error:  # some decoders have no more to say
            self.problem = error.reason if isinstance(error, UnicodeDecodeError) else str(error)


def _byte_of(character: str, encoding: str) -> bytes:
    """Return the byte of a character: that of ASCII in nearly all encodings."""
    encoded = character.encode(encoding)
    return character.encode() if character.encode() in encoded else encoded


# --- code pages ---

EVIDENCE_BYTES = 200_000
SCORED_BYTES = 8_000
"""Bytes of cells that languages are told by."""
WESTERN = ("cp1252", "cp850", "mac-roman")
OTHERS = (
    "cp1250", "iso8859-2", "cp852", "cp1251", "koi8-r", "koi8-u", "cp866", "iso8859-5", "cp1253", "iso8859-7", "cp1254",
    "cp1255", "cp1256", "cp1257", "cp874", "cp932", "euc_jis_2004", "gb18030", "big5hkscs", "cp949",
)  # fmt: skip
"""Encodings that tables are found in; each with the larger set of characters if there are several of its kind."""
CLEARLY = 2.0
"""How many times as likely as the Western ones another code page must be to be taken."""
LEAST_BYTES = 4
"""Bytes beyond ASCII, in different cells, below which no other code page is clear."""
SMALL = 20
"""Characters beyond ASCII, in different cells, below which a Western code page may be meant after all."""
LITTLE = 100
"""The same, below which an answer that is not Western is doubted sooner."""
NEARLY, TWIN, LITTLE_TEXT = 0.9, 0.999, 0.3
"""From this share of the answer's likelihood on, another encoding is a doubt: beside a Western answer; beside another
one, since code pages of one kind score nearly the same; where there is little text."""
STRANGE = 10.0
"""How much a sign in the middle of a word speaks against a code page, in letters."""

_STRAY = re.compile("[\udc80-\udcff]")
_STRAY_CONTEXT = re.compile("[^\n\r\x80-\U0010ffff]{0,12}(?:[\udc80-\udcff][^\n\r\x80-\U0010ffff]{0,12})+")
"""Bytes that are not valid UTF-8, as Python escapes them, and the ASCII around them."""
_IN_WORD = re.compile(r"(?<=[^\W\d_])[^\x00-\x7f](?=[^\W\d_])")
_WITHIN_WORDS = frozenset("’‘´·–—\u2011\xad\u30fb\u200c\u200d")
"""Signs that stand between letters."""
_OPENED_LATE = re.compile(r"(?<=[^\W\d_])[‚„]")
_PAIR_NOT_ASCII = re.compile(r"(?s)(?=((?:[^\x00-\x7f].|.[^\x00-\x7f])))")
"""Two characters next to each other, not both of them ASCII; pairs overlap."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_COMMON_LETTERS = frozenset("äöüßÄÖÜéèêëàâáãåæçíìîïñóòôõøœúùûýÿšžÉÈÀÁÂÅÆÇÍÎÑÓÔØÚŠŽ’‘´")
_COMMON = _COMMON_LETTERS | frozenset("–—„“”‚‘’…•€£§°²³µ½¼¾«»®©™·´¹º±×¿¡†\xa0\xad")
_BETWEEN_CELLS = re.compile(rb"[,;\t\r\n]+|(?<![\x80-\xff])\|+")
"""No byte of these is part of a longer character in any encoding here; a bar behind a byte beyond ASCII may be."""


def _read_stray(code_page: str, error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode(code_page, "replace"), error.end


for _code_page in WESTERN:
    codecs.register_error(f"mate.{_code_page}", partial(_read_stray, _code_page))


def find_code_page(stream: BinaryIO, utf_8: str) -> tuple[str, str, str | None]:
    """Return encoding and error handler of a text that is not valid UTF-8; `utf_8` if most of it is.

    Also a rival: the likeliest other encoding, if it is as good as the answer and cells would read differently by it.
    """
    evidence = _Evidence(stream)
    if evidence.sound > evidence.stray:
        return utf_8, f"mate.{_western(evidence.stray_contexts)}", None
    likelihoods = _likelihoods(evidence.cells[:SCORED_BYTES])
    western = max(likelihoods[name] for name in WESTERN)
    best = max(OTHERS, key=likelihoods.__getitem__)
    likelihood, share = likelihoods[best], TWIN if evidence.characters(best) >= LITTLE else LITTLE_TEXT
    if not likelihood or likelihood < CLEARLY * western or evidence.high_bytes < LEAST_BYTES:
        best, likelihood, share = _western(evidence.cells), western, NEARLY
    # Our own scores choose among the Western ones: they are doubted if the detector finds next to nothing for it.
    doubted = best not in WESTERN or likelihoods[best] < LITTLE_TEXT * likelihood
    others = (*WESTERN, *OTHERS) if doubted and evidence.characters(best) < SMALL else OTHERS
    text = evidence.cells.decode(best, "replace")
    rivals = (name for name in others if likelihoods[name] > share * likelihood)
    differing = (name for name in rivals if evidence.cells.decode(name, "replace") != text)
    return best, "replace", max(differing, key=likelihoods.__getitem__, default=None)


def _likelihoods(cells: bytes) -> dict[str, float]:
    """Return how likely each encoding is that can hold these bytes, whether the text is in capitals or not."""
    detected = _detected(cells)
    likelihoods = dict.fromkeys((*WESTERN, *OTHERS), 0.0)
    for name in likelihoods:
        text = cells.decode(name, "ignore")
        valid = text.encode(name, "ignore")
        likelihood = detected.get(name, 0.0)
        if name not in detected and len(valid) < len(cells):
            if name not in WESTERN:
                continue
            likelihood = _detected(valid).get(name, 0.0)  # a byte that it does not have may be a slip
        if _in_capitals(text):
            likelihood = max(likelihood, _detected(text.lower().encode(name, "ignore")).get(name, 0.0))
        likelihoods[name] = likelihood * _soundness(text, len(cells) - len(valid))
    return likelihoods


def _in_capitals(text: str) -> bool:
    """Tell whether most letters beyond ASCII are capitals."""
    letters = _NOT_ASCII.findall(text)
    return sum(map(str.isupper, letters)) > sum(map(str.islower, letters))


def _soundness(text: str, lost: int) -> float:
    """Score from 0 to 1 how well characters fit each other: words have no signs inside.

    Bytes that are no characters, which were ``lost``, speak against them as well.
    """
    characters = _NOT_ASCII.findall(text)
    strange = lost + sum(map(_is_strange, _IN_WORD.findall(text)))
    strange += sum(unicodedata.category(character) in ("Cc", "Co", "Cn") for character in characters)
    return max(0.0, 1.0 - STRANGE * strange / max(1, sum(map(str.isalpha, characters))))


def _is_strange(character: str) -> bool:
    """Tell whether a character does not belong between two letters."""
    if character.isalpha() or character.isspace() or character in _WITHIN_WORDS:
        return False
    return not unicodedata.category(character).startswith("M")


def _detected(cells: bytes) -> dict[str, float]:
    """Return what the detector says, for the encodings that it knows."""
    import chardet

    # If nothing fits, the answer is its usual guess, with next to no confidence.
    answers = chardet.detect_all(
        cells,
        ignore_threshold=True,
        max_bytes=EVIDENCE_BYTES,
        compat_names=False,
        include_encodings=[*WESTERN, *OTHERS],
    )
    answers.sort(key=itemgetter("confidence"))  # of several with one name, the last one counts
    return {codecs.lookup(answer["encoding"] or "ascii").name: answer["confidence"] for answer in answers}


class _Evidence:
    """Cells with bytes beyond ASCII, and how many of these bytes are valid UTF-8."""

    def __init__(self, stream: BinaryIO) -> None:
        self.sound = self.stray = 0
        """Characters in UTF-8, and bytes that are none."""
        self._cells = bytearray()
        self._contexts = bytearray()
        rest = b""
        while (len(self._cells) < EVIDENCE_BYTES or not self.stray) and (block := stream.read(BLOCK)):
            lines, end, rest = (rest + block).rpartition(b"\n")
            self._collect(lines + end)
        self._collect(rest)
        self.cells = bytes(self._cells[:EVIDENCE_BYTES])
        """One per line."""
        self.stray_contexts = bytes(self._contexts[:EVIDENCE_BYTES])
        """Stray bytes with the ASCII around them."""
        self._distinct = b"\n".join(set(bytes(self._cells).splitlines()))
        self.high_bytes = sum(byte > 127 for byte in self._distinct)
        """Bytes beyond ASCII in different cells."""

    def characters(self, encoding: str) -> int:
        """Count the characters beyond ASCII in different cells."""
        return len(_NOT_ASCII.findall(self._distinct.decode(encoding, "replace")))

    def _collect(self, block: bytes) -> None:
        for cell in _BETWEEN_CELLS.split(block) if len(self._cells) < EVIDENCE_BYTES else ():
            if not cell.isascii():
                self._cells += cell + b"\n"
        text = block.decode("utf-8", "surrogateescape")
        stray = len(_STRAY.findall(text))
        self.stray += stray
        self.sound += len(text) - len(text.encode("ascii", "ignore")) - stray
        if stray and len(self._contexts) < EVIDENCE_BYTES:
            contexts = "\n".join([*_STRAY_CONTEXT.findall(text), ""])
            self._contexts += contexts.encode("utf-8", "surrogateescape")


def _western(contexts: bytes) -> str:
    return max(WESTERN, key=lambda name: _plausibility(contexts.decode(name, "replace")))


def _plausibility(text: str) -> float:
    """Score how well the non-ASCII characters fit: only letters inside words, signs as well elsewhere.

    A capital right after a small letter speaks against them, and so does an opening quote after any letter.
    """
    inside = sum(1.0 if c in _COMMON_LETTERS else -2.0 for c in _IN_WORD.findall(text) if not c.isspace())
    anywhere = sum(0.5 if c in _COMMON else -0.5 for c in _NOT_ASCII.findall(text))
    misplaced: int = sum(a.islower() and b.isupper() for a, b in _PAIR_NOT_ASCII.findall(text))
    misplaced += len(_OPENED_LATE.findall(text))
    return inside + anywhere - 2.0 * misplaced - 5.0 * text.count("\ufffd")
