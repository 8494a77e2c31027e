"""Which encoding a text file is in, found from all of its bytes.

Bytes that are valid UTF-8 are UTF-8. Of the rest, the single-byte code pages of Western Europe are tried,
and the one wins under which the non-ASCII characters stand where letters and signs stand in real text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from mate.errors import CorpusError

BLOCK = 1 << 20
LONGEST_LINE_BLOCKS = 16
EVIDENCE_BYTES = 200_000
SINGLE_BYTE = ("cp1252", "cp850", "mac_roman")
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
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1a\x1b"))

_UTF8_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|([\x80-\xff])"
)
_CONTEXT = 12
_ASCII_START = re.compile(rb"\A[^\n\r\x80-\xff]*")
_ASCII_END = re.compile(rb"[^\n\r\x80-\xff]*\Z")
_HIGH_CONTEXT = re.compile(rb"[^\n\r]{0,12}[\x80-\xff][^\n\r]{0,12}")
_IN_WORD = re.compile(r"(?<=[^\W\d_])[^\x00-\x7f](?=[^\W\d_])")
_OPENED_LATE = re.compile(r"(?<=[^\W\d_])[‚„]")
_PAIR_NOT_ASCII = re.compile(r"(?s)(?=((?:[^\x00-\x7f].|.[^\x00-\x7f])))")
"""Two characters next to each other, not both of them ASCII; pairs overlap."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_COMMON_LETTERS = frozenset("äöüßÄÖÜéèêëàâáãåæçíìîïñóòôõøœúùûýÿšžÉÈÀÁÂÅÆÇÍÎÑÓÔØÚŠŽ’‘´")
_COMMON_SIGNS = frozenset("–—„“”‚‘’…•€£§°²³µ½¼¾«»®©™·´¹º±×¿¡†\xa0\xad")

_COMMON = _COMMON_LETTERS | _COMMON_SIGNS


@dataclass(frozen=True, slots=True)
class Survey:
    """What one pass over a text file tells."""

    encoding: str
    errors: str
    """The codec's error handler: a UTF-8 file with stray bytes of a code page is read as both."""
    quotes: bool
    """Whether there is a double quote anywhere."""


def _handler(code_page: str) -> str:
    """Name the error handler that reads stray bytes by a code page."""
    return f"mate.{code_page}"


def _register(code_page: str) -> None:
    def read_stray(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        return error.object[error.start : error.end].decode(code_page, "replace"), error.end

    codecs.register_error(_handler(code_page), read_stray)


for _code_page in SINGLE_BYTE:
    _register(_code_page)


def survey(reopen: Callable[[], BinaryIO]) -> Survey:
    """Read all bytes and find the encoding; a file that is no text raises `CorpusError`.

    ``reopen`` returns the plain bytes from their start; it is called again when they are not Unicode.
    """
    stream = reopen()
    head = stream.read(BLOCK)
    _refuse_other_formats(head)
    scan = _Scan(_announced(head) or "utf-8")
    block = head
    while block:
        scan.feed(block)
        block = stream.read(BLOCK)
    scan.finish()
    if scan.valid:
        return Survey(scan.encoding, "strict", scan.quotes)
    return _not_unicode(scan, _Evidence(reopen()))


def _not_unicode(scan: _Scan, evidence: _Evidence) -> Survey:
    if evidence.sound > evidence.stray:
        return Survey(scan.encoding, _handler(_single_byte(bytes(evidence.stray_contexts))), scan.quotes)
    return Survey(_single_byte(bytes(evidence.contexts)), "replace", scan.quotes)


def _refuse_other_formats(head: bytes) -> None:
    if not head.strip(b"\x00 \t\r\n\x1a\xef\xbb\xbf"):
        raise CorpusError("empty file" if not head or head.strip(b"\x00") else "binary content")
    for magic, what in BINARY.items():
        if head.startswith(magic):
            raise CorpusError(f"{what}, not delimited text")
    if MARKUP.match(head):
        xml = b"<?xml" in head[:100] and b"<html" not in head[:2_000].lower()
        raise CorpusError("an XML document, not delimited text" if xml else "an HTML page, not delimited text")


def _announced(head: bytes) -> str | None:
    bom = next((name for mark, name in BOMS.items() if head.startswith(mark)), None)
    return bom or _utf16_without_bom(head[:4_096])


def _utf16_without_bom(head: bytes) -> str | None:
    """Western text in UTF-16 has a NUL in nearly every second byte, and only there."""
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if half < 4 or max(even, odd) < 0.6 * half or min(even, odd) > 0.02 * half:
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


class _Scan:
    """Block by block: is it valid, how many control characters, how long without a line end."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self.valid = True
        self.quotes = False
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._bytes = 0
        self._controls = 0
        self._blocks_without_line_end = 0

    def feed(self, block: bytes) -> None:
        self._bytes += len(block)
        self._controls += len(block) - len(block.translate(None, CONTROLS))
        self.quotes = self.quotes or b'"' in block
        self._refuse_endless_line(block)
        if self.valid:
            self._decode(block, final=False)

    def finish(self) -> None:
        if self.valid:
            self._decode(b"", final=True)
        if self.encoding.startswith("utf-8"):
            self._refuse_binary(0.1 if self.valid else 0.05)

    def _decode(self, block: bytes, final: bool) -> None:
        try:
            self._decoder.decode(block, final)
        except UnicodeDecodeError as error:
            if not self.encoding.startswith("utf-8"):
                raise CorpusError(f"not valid {self.encoding.upper()} text: {error.reason}") from error
            self.valid = False

    def _refuse_endless_line(self, block: bytes) -> None:
        ended = b"\n" in block or b"\r" in block
        self._blocks_without_line_end = 0 if ended else self._blocks_without_line_end + 1
        if self._blocks_without_line_end > LONGEST_LINE_BLOCKS:
            raise CorpusError(f"a line of more than {LONGEST_LINE_BLOCKS} MB")

    def _refuse_binary(self, share: float) -> None:
        if self._controls > share * self._bytes:
            raise CorpusError("binary content")


class _Evidence:
    """Non-ASCII bytes with what surrounds them, and how many of them are sound UTF-8."""

    def __init__(self, stream: BinaryIO) -> None:
        self.contexts = bytearray()
        self.stray_contexts = bytearray()
        self.sound = 0
        self.stray = 0
        rest = b""
        while (len(self.contexts) < EVIDENCE_BYTES or not self.stray) and (block := stream.read(BLOCK)):
            lines, end, rest = (rest + block).rpartition(b"\n")
            self._collect(lines + end)
        self._collect(rest)

    def _collect(self, block: bytes) -> None:
        for match in _HIGH_CONTEXT.finditer(block) if len(self.contexts) < EVIDENCE_BYTES else ():
            self.contexts += match.group() + b"\n"
        for match in _UTF8_SEQUENCE.finditer(block):
            if match.group(1) is None:
                self.sound += 1
            else:
                self.stray += 1
                self._collect_stray(block, match.start())

    def _collect_stray(self, block: bytes, at: int) -> None:
        """Keep a stray byte with the ASCII around it."""
        if len(self.stray_contexts) < EVIDENCE_BYTES:
            before, after = block[max(0, at - _CONTEXT) : at], block[at + 1 : at + 1 + _CONTEXT]
            self.stray_contexts += _ASCII_END.findall(before)[0] + block[at : at + 1] + _ASCII_START.findall(after)[0]
            self.stray_contexts += b"\n"


def _single_byte(evidence: bytes) -> str:
    return max(SINGLE_BYTE, key=lambda name: _plausibility(evidence.decode(name, "replace")))


def _plausibility(text: str) -> float:
    """Score how well the non-ASCII characters fit: only letters inside words, signs as well elsewhere.

    A capital right after a small letter speaks against them, and so does an opening quote after any letter.
    """
    inside = sum(1.0 if c in _COMMON_LETTERS else -2.0 for c in _IN_WORD.findall(text) if not c.isspace())
    anywhere = sum(0.5 if c in _COMMON else -0.5 for c in _NOT_ASCII.findall(text))
    capitals: int = sum(a.islower() and b.isupper() for a, b in _PAIR_NOT_ASCII.findall(text))
    misplaced: int = capitals + len(_OPENED_LATE.findall(text))
    return inside + anywhere - 2.0 * misplaced - 5.0 * text.count("\ufffd")
