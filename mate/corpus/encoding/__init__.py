"""Which encoding a text file is in, found from all of its bytes.

Bytes that are valid UTF-8 are UTF-8; text with line ends of two bytes is UTF-16. For the rest a code page is chosen.
What remains uncertain is reported: a table in the wrong encoding joins with nothing.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from encodings.aliases import aliases
from itertools import chain
from typing import BinaryIO

from mate.corpus.encoding.code_pages import BLOCK, find_code_page
from mate.errors import CorpusError, did_you_mean

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
    if named is not None and marked is None:
        scan = _TextScan(blocks, named, "replace")
        return TextEncoding(named, "replace", scan.quotes, undecodable=scan.undecodable)
    if marked is None and _is_ebcdic(head[:SAMPLE]):
        raise CorpusError("text in EBCDIC; --encoding names its code page, such as cp037, cp273 or cp500")
    scan = _TextScan(blocks, marked or _utf16_without_bom(head[:SAMPLE]) or "utf-8", "strict")
    if scan.valid:
        escapes = scan.escapes and scan.encoding == "utf-8"
        candidates = (name for name in ISO_2022 if escapes and _is_valid(reopen(), name))
        return TextEncoding(next(candidates, scan.encoding), "strict", scan.quotes)
    encoding, errors, doubt = find_code_page(reopen(), scan.encoding)
    missing = _TextScan(_blocks(reopen()), encoding, errors).undecodable if errors == "replace" else 0
    return TextEncoding(encoding, errors, scan.quotes, doubt, missing)


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: stream.read(BLOCK), b"")


def _is_valid(stream: BinaryIO, encoding: str) -> bool:
    try:
        for _ in codecs.iterdecode(_blocks(stream), encoding):
            pass
    except UnicodeError:
        return False
    return True


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
    """What all bytes of a text say: are they valid, are there quotes, escapes, too many controls, endless lines."""

    def __init__(self, blocks: Iterable[bytes], encoding: str, errors: str) -> None:
        self.encoding = encoding
        self.valid = True
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
        if encoding.startswith("utf-8") and controls > (0.1 if self.valid else 0.05) * size:
            raise CorpusError("binary content")

    def _decode(self, block: bytes, final: bool) -> None:
        if not self.valid:
            return
        try:
            self.undecodable += self._decoder.decode(block, final).count("\ufffd")
        except UnicodeError as error:  # some decoders have no more to say
            if not self.encoding.startswith("utf-8"):
                reason = error.reason if isinstance(error, UnicodeDecodeError) else str(error)
                raise CorpusError(f"not valid {self.encoding.upper()} text: {reason}") from error
            self.valid = False


def _byte_of(character: str, encoding: str) -> bytes:
    """Return the byte of a character: that of ASCII in nearly all encodings."""
    encoded = character.encode(encoding)
    return character.encode() if character.encode() in encoded else encoded
