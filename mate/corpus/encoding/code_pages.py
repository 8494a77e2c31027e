"""Which code page a text is in that is not Unicode: a library's statistics of languages, and scores of our own.

Western code pages (Windows, DOS, Macintosh) differ in signs and a few letters, which our own scores tell apart best.
The detector, trained on texts of many languages, tells whether it is another code page at all. It knows texts in small
letters best, so that one in capitals is shown to it in small letters as well. Where two answers are as good as each
other and would give different cells, the choice is a doubt, which is reported; the less text there is, the sooner.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass
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
"""Encodings that tables are found in; each with the larger set of characters where there are several of its kind."""
CLEARLY = 2.0
"""How many times as likely as the Western ones another code page must be to be taken."""
LEAST_BYTES = 4
"""Bytes beyond ASCII, in different cells, below which no other code page is clear."""
NEARLY = 0.9
"""From this share of the likelihood of the answer on, one of another kind is a doubt."""
TWIN = 0.999
"""The same, for code pages of one kind: these score nearly the same by nature."""
SMALL = 20
"""Characters beyond ASCII, in different cells, below which a Western code page may be meant after all."""
LITTLE_TEXT = ((SMALL, 0.3), (100, NEARLY))
"""Where there are fewer characters than this, another code page is a doubt from this share of the likelihood on.

That is of answers that are not Western: those have scores of our own.
"""
EAST_ASIAN = ("cp932", "euc_jis_2004", "gb18030", "big5hkscs", "cp949")
EAST_ASIAN_SHARE = 0.5
"""The share for one East Asian encoding beside another, where there are fewer than 100 characters: they overlap."""
MIXED = 3.0
"""How much a letter of another script that touches an ASCII letter speaks against a code page."""
STRANGE = 10.0
"""The same, for a sign in the middle of a word."""

_UTF8_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|([\x80-\xff])"
)
_CONTEXT = 12
_ASCII_START = re.compile(rb"\A[^\n\r\x80-\xff]*")
_ASCII_END = re.compile(rb"[^\n\r\x80-\xff]*\Z")
_HIGH_CONTEXT = re.compile(rb"[^\n\r]{0,12}[\x80-\xff][^\n\r]{0,12}")
_IN_WORD = re.compile(r"(?<=[^\W\d_])[^\x00-\x7f](?=[^\W\d_])")
_AT_ASCII = re.compile(r"[^\x00-\x7f](?=[A-Za-z])|(?<=[A-Za-z])[^\x00-\x7f]")
_SIGN_BEFORE_WORD = re.compile(r"(?<![^\W\d_])[©®¬¦¤¶](?=[^\W\d_])")
_WITHIN_WORDS = frozenset("’‘´·–—\u2011\xad\u30fb\u200c\u200d")
"""Signs that stand between letters."""
_OPENED_LATE = re.compile(r"(?<=[^\W\d_])[‚„]")
_PAIR_NOT_ASCII = re.compile(r"(?s)(?=((?:[^\x00-\x7f].|.[^\x00-\x7f])))")
"""Two characters next to each other, not both of them ASCII; pairs overlap."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_COMMON_LETTERS = frozenset("äöüßÄÖÜéèêëàâáãåæçíìîïñóòôõøœúùûýÿšžÉÈÀÁÂÅÆÇÍÎÑÓÔØÚŠŽ’‘´")
_COMMON_SIGNS = frozenset("–—„“”‚‘’…•€£§°²³µ½¼¾«»®©™·´¹º±×¿¡†\xa0\xad")

_COMMON = _COMMON_LETTERS | _COMMON_SIGNS
_MARKS = re.compile(rb"[,;\t\r\n]+|(?<![\x80-\xff])\|+")
"""What is between cells. None of the marks is part of a longer character in any encoding here; a bar behind a byte
beyond ASCII may be."""


@dataclass(frozen=True, slots=True)
class CodePage:
    """How the bytes of a text become characters."""

    encoding: str
    errors: str
    """The codec's error handler: a UTF-8 file with stray bytes of a code page is read as both."""
    doubt: str | None = None
    """Another encoding that is as likely."""


def _handler(code_page: str) -> str:
    """Name the error handler that reads stray bytes by a code page."""
    return f"mate.{code_page}"


def _register(code_page: str) -> None:
    def read_stray(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        return error.object[error.start : error.end].decode(code_page, "replace"), error.end

    codecs.register_error(_handler(code_page), read_stray)


for _code_page in WESTERN:
    _register(_code_page)


def find_code_page(stream: BinaryIO, utf_8: str) -> CodePage:
    """Return the code page of a text that is not valid UTF-8; one that mostly is is read as such (`utf_8` names it)."""
    evidence = _Evidence(stream)
    if evidence.sound > evidence.stray:
        return CodePage(utf_8, _handler(_western(bytes(evidence.stray_contexts))))
    return _weighed(evidence)


def _weighed(evidence: _Evidence) -> CodePage:
    """Choose between a Western code page and the others."""
    cells = bytes(evidence.cells[:EVIDENCE_BYTES])
    found = _likelihoods(cells[:SCORED_BYTES])
    score = max((found.get(name, 0.0) for name in WESTERN), default=0.0)
    best = max((name for name in OTHERS if name in found), key=lambda name: found[name], default=None)
    if best is None or found[best] < CLEARLY * score or evidence.few:
        best, share = _western(bytes(evidence.contexts)), NEARLY
    else:
        score, share = found[best], TWIN
    return CodePage(best, "replace", _rival(evidence, best, found, share * score, score))


def _rival(evidence: _Evidence, best: str, found: dict[str, float], enough: float, score: float) -> str | None:
    """Return the likeliest other encoding, if it is as good as the answer and cells would read differently by it."""
    characters = evidence.characters(best)
    little = None if best in WESTERN else next((share for few, share in LITTLE_TEXT if characters < few), None)
    enough = enough if little is None else min(enough, little * score)
    # Our own scores choose among the Western ones: they are doubted where the detector finds next to nothing for it.
    doubted = best not in WESTERN or found.get(best, 0.0) < LITTLE_TEXT[0][1] * score
    others = (*WESTERN, *OTHERS) if characters < SMALL and doubted else OTHERS
    rivals = [name for name in others if name != best and found.get(name, 0.0) > enough]
    if little is not None and best in EAST_ASIAN:
        rivals += [name for name in EAST_ASIAN if name != best and found.get(name, 0.0) > EAST_ASIAN_SHARE * score]
    cells = bytes(evidence.cells[:EVIDENCE_BYTES])
    text = cells.decode(best, "replace")
    differing = (name for name in rivals if cells.decode(name, "replace") != text)
    return max(differing, key=lambda name: found[name], default=None)


def _likelihoods(cells: bytes) -> dict[str, float]:
    """Return how likely each encoding is that can hold these bytes, whether the text is in capitals or not."""
    found = _detected(cells)
    weighed: dict[str, float] = {}
    for name in (*WESTERN, *OTHERS):
        text = cells.decode(name, "ignore")
        held = text.encode(name, "ignore")
        likelihood = found.get(name, 0.0)
        if name not in found and len(held) < len(cells):
            if name not in WESTERN:
                continue
            likelihood = _detected(held).get(name, 0.0)  # a byte that it does not have may be a slip
        if _in_capitals(text):
            likelihood = max(likelihood, _detected(text.lower().encode(name, "ignore")).get(name, 0.0))
        weighed[name] = likelihood * _soundness(text, len(cells) - len(held))
    return {name: likelihood for name, likelihood in weighed.items() if likelihood}


def _in_capitals(text: str) -> bool:
    """Tell whether most letters beyond ASCII are capitals."""
    letters = _NOT_ASCII.findall(text)
    return 2 * sum(map(str.isupper, letters)) > sum(map(str.islower, letters)) + sum(map(str.isupper, letters))


def _soundness(text: str, lost: int) -> float:
    """Score from 0 to 1 how well the characters fit each other: words are in one script, and have no signs inside.

    Bytes that are not characters, which were `lost`, speak against them as well.
    """
    letters: int = sum(map(str.isalpha, _NOT_ASCII.findall(text)))
    mixed: int = sum(c.isalpha() and not unicodedata.name(c, "").startswith("LATIN") for c in _AT_ASCII.findall(text))
    strange: int = sum(map(_is_strange, _IN_WORD.findall(text))) + len(_SIGN_BEFORE_WORD.findall(text))
    unassigned: int = sum(unicodedata.category(c) in ("Cc", "Co", "Cn") for c in _NOT_ASCII.findall(text))
    return max(0.0, 1.0 - (MIXED * mixed + STRANGE * (strange + unassigned + lost)) / max(1, letters))


def _is_strange(character: str) -> bool:
    """Tell whether a character does not belong between two letters."""
    if character.isalpha() or character.isspace() or character in _WITHIN_WORDS:
        return False
    return not unicodedata.category(character).startswith("M")


def _detected(cells: bytes) -> dict[str, float]:
    """Return what the detector says, as far as it knows the encodings."""
    import chardet

    names = {codecs.lookup(name).name: name for name in (*WESTERN, *OTHERS)}
    # Where nothing fits, the answer is its usual guess, with next to no confidence.
    answers = chardet.detect_all(
        cells,
        ignore_threshold=True,
        max_bytes=EVIDENCE_BYTES,
        compat_names=False,
        include_encodings=[name.replace("mac_", "mac-") for name in names.values()],
    )
    found: dict[str, float] = {}
    for answer in answers:
        name = names.get(codecs.lookup(answer["encoding"] or "ascii").name)
        if name is not None:
            found[name] = max(found.get(name, 0.0), answer["confidence"])
    return found


class _Evidence:
    """Non-ASCII bytes with what surrounds them, and how many of them are sound UTF-8."""

    def __init__(self, stream: BinaryIO) -> None:
        self.contexts = bytearray()
        self.cells = bytearray()
        self.stray_contexts = bytearray()
        self.sound = 0
        self.stray = 0
        rest = b""
        while (len(self.contexts) < EVIDENCE_BYTES or not self.stray) and (block := stream.read(BLOCK)):
            lines, end, rest = (rest + block).rpartition(b"\n")
            self._collect(lines + end)
        self._collect(rest)

    @property
    def few(self) -> bool:
        """Whether there is too little to tell languages by."""
        return sum(byte > 127 for byte in self._distinct()) < LEAST_BYTES

    def characters(self, encoding: str) -> int:
        """Count the characters beyond ASCII in different cells."""
        return len(_NOT_ASCII.findall(self._distinct().decode(encoding, "replace")))

    def _distinct(self) -> bytes:
        return b"\n".join(set(bytes(self.cells).splitlines()))

    def _collect(self, block: bytes) -> None:
        for match in _HIGH_CONTEXT.finditer(block) if len(self.contexts) < EVIDENCE_BYTES else ():
            self.contexts += match.group() + b"\n"
        for cell in _MARKS.split(block) if len(self.cells) < EVIDENCE_BYTES else ():
            if not cell.isascii():
                self.cells += cell + b"\n"
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


def _western(evidence: bytes) -> str:
    return max(WESTERN, key=lambda name: _plausibility(evidence.decode(name, "replace")))


def _plausibility(text: str) -> float:
    """Score how well the non-ASCII characters fit: only letters inside words, signs as well elsewhere.

    A capital right after a small letter speaks against them, and so does an opening quote after any letter.
    """
    inside = sum(1.0 if c in _COMMON_LETTERS else -2.0 for c in _IN_WORD.findall(text) if not c.isspace())
    anywhere = sum(0.5 if c in _COMMON else -0.5 for c in _NOT_ASCII.findall(text))
    capitals: int = sum(a.islower() and b.isupper() for a, b in _PAIR_NOT_ASCII.findall(text))
    misplaced: int = capitals + len(_OPENED_LATE.findall(text))
    return inside + anywhere - 2.0 * misplaced - 5.0 * text.count("\ufffd")
