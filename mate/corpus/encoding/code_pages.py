"""Which code page a text is in that is not Unicode: a library's statistics of languages, and scores of our own.

Western code pages (Windows, DOS, Macintosh) differ in signs and a few letters, which our own scores tell apart best.
The detector, trained on texts of many languages, tells whether it is another code page at all. It knows texts in small
letters best, so that one with capitals is given to it in small letters as well. If two answers are as good as each
other and would give different cells, the choice is a doubt, which is reported; the less text there is, the sooner.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from functools import partial
from typing import BinaryIO

BLOCK = 1 << 20
EVIDENCE_BYTES = 200_000
SCORED_BYTES = 8_000
"""Bytes of cells that languages are told by."""
WESTERN = ("cp1252", "cp850", "mac_roman")
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


_STRAY_HANDLERS = {code_page: f"mate.{code_page}" for code_page in WESTERN}
for _code_page, _handler in _STRAY_HANDLERS.items():
    codecs.register_error(_handler, partial(_read_stray, _code_page))


def find_code_page(stream: BinaryIO, utf_8: str) -> tuple[str, str, str | None]:
    """Return encoding, error handler and rival of a text that is not valid UTF-8; `utf_8` if most of it is."""
    evidence = _Evidence(stream)
    if evidence.sound > evidence.stray:
        return utf_8, _STRAY_HANDLERS[_western(evidence.stray_contexts)], None
    likelihoods = _likelihoods(evidence.cells[:SCORED_BYTES])
    likelihood, share = max(likelihoods.get(name, 0.0) for name in WESTERN), NEARLY
    best = max((name for name in OTHERS if name in likelihoods), key=likelihoods.__getitem__, default=None)
    if best is None or likelihoods[best] < CLEARLY * likelihood or evidence.high_bytes < LEAST_BYTES:
        best = _western(evidence.cells)
    else:
        likelihood, share = likelihoods[best], TWIN
    return best, "replace", _rival(evidence, best, likelihoods, share * likelihood, likelihood)


def _rival(
    evidence: _Evidence, best: str, likelihoods: dict[str, float], least: float, likelihood: float
) -> str | None:
    """Return the likeliest other encoding, if it is as good as the answer and cells would read differently by it."""
    characters = evidence.characters(best)
    if best not in WESTERN and characters < LITTLE:
        least = LITTLE_TEXT * likelihood
    # Our own scores choose among the Western ones: they are doubted if the detector finds next to nothing for it.
    doubted = best not in WESTERN or likelihoods.get(best, 0.0) < LITTLE_TEXT * likelihood
    others = (*WESTERN, *OTHERS) if characters < SMALL and doubted else OTHERS
    text = evidence.cells.decode(best, "replace")
    likely = (name for name in others if likelihoods.get(name, 0.0) > least)
    differing = (name for name in likely if evidence.cells.decode(name, "replace") != text)
    return max(differing, key=likelihoods.__getitem__, default=None)


def _likelihoods(cells: bytes) -> dict[str, float]:
    """Return how likely each encoding is that can hold these bytes, whether the text is in capitals or not."""
    detected = _detected(cells)
    likelihoods: dict[str, float] = {}
    for name in (*WESTERN, *OTHERS):
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
    return {name: likelihood for name, likelihood in likelihoods.items() if likelihood}


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

    names = {codecs.lookup(name).name: name for name in (*WESTERN, *OTHERS)}
    # If nothing fits, the answer is its usual guess, with next to no confidence.
    answers = chardet.detect_all(
        cells,
        ignore_threshold=True,
        max_bytes=EVIDENCE_BYTES,
        compat_names=False,
        include_encodings=[name.replace("mac_", "mac-") for name in names.values()],
    )
    detected: dict[str, float] = {}
    for answer in answers:
        name = names.get(codecs.lookup(answer["encoding"] or "ascii").name)
        if name is not None:
            detected[name] = max(detected.get(name, 0.0), answer["confidence"])
    return detected


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
