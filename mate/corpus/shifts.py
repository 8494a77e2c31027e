"""Encodings whose bytes are all ASCII: marks shift to other characters and back.

Such a text is valid UTF-8 and would be read as it stands, letters as `+AOk-` and words as `~{VPND~}`. ISO 2022 has
escapes that nothing else has. HZ, and UTF-7 even more, shift by marks that other texts have as well: there, what stands
between the marks must make sense. Of HZ and ISO 2022 the whole text must as well, to be read so. UTF-7 is only a
doubt: its shifts are too short to tell it from some `+ABC` for sure.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from mate.corpus.code_pages import BLOCK

ISO_2022 = ("iso2022_kr", "iso2022_jp_2", "iso2022_jp_2004")
"""Encodings of mails in Korea and Japan, and of tables from old systems there; the Japanese take Korean as well."""
MOST_SHIFTS = 10_000
"""Shifts that are looked at: enough to tell."""
CLEAR = 2
"""What different shifts must weigh together; a letter inside a word that is no word itself is enough."""

_ESCAPE, _HZ_OPEN = b"\x1b$", b"~{"
_LONG_ENOUGH = re.compile(rb"\+[A-Za-z0-9+/]{3}")
_HZ_SHIFT = re.compile(rb"~\{((?:[\x21-\x77][\x21-\x7e])+)~\}")
_UTF7_SHIFT = re.compile(rb"\+([A-Za-z0-9+/]*)(-?)")
_LETTERS_AT_END = re.compile(rb"[A-Za-z]{0,2}\Z")
_LETTERS_AT_START = re.compile(rb"\A[A-Za-z]{0,2}")
_WORD = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|[0-9a-f]+|[0-9A-F]+")
"""What people write behind a plus sign: words and numbers, in which capitals, small letters and digits do not mix."""
_COMMON_HANZI = range(0x30, 0x58)
"""First bytes of the characters that make up nearly all of a text; those of small ASCII letters are of rare ones."""
_OPTIONAL_SIGNS = frozenset('!"#$%&*;<=>@[]^_`{|}~\\')
"""Signs that need not be shifted to, which some programs do."""
_EAST_ASIAN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"})
_LATIN = re.compile("[\xc0-\xd6\xd8-\xf6\xf8-\u0131\u0134-\u017f\u01a0\u01a1\u01af\u01b0\u0218-\u021b\u1ea0-\u1ef9]")
"""Letters that languages of many tables have."""


@dataclass(frozen=True, slots=True)
class Shifted:
    """How a text that may have shifts is read."""

    encoding: str | None = None
    """The encoding, where it is clear."""
    doubt: str | None = None
    """An encoding that it may be in."""


def may_shift(block: bytes) -> bool:
    """Tell whether there is a mark that may be a shift."""
    return _ESCAPE in block or _HZ_OPEN in block or _LONG_ENOUGH.search(block) is not None


def find_shifted(reopen: Callable[[], BinaryIO]) -> Shifted:
    """Find the encoding of a text of ASCII bytes with marks that may be shifts."""
    for encoding in ISO_2022:
        if _holds(reopen(), _ESCAPE) and _decodes(reopen(), encoding):
            return Shifted(encoding)
    if _looks_like_hz(reopen()):
        return Shifted("hz") if _decodes(reopen(), "hz") else Shifted(doubt="hz")
    return Shifted(doubt="utf-7" if _looks_like_utf_7(reopen()) else None)


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: stream.read(BLOCK), b"")


def _holds(stream: BinaryIO, mark: bytes) -> bool:
    return any(mark in block for block in _blocks(stream))


def _decodes(stream: BinaryIO, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for block in _blocks(stream):
            decoder.decode(block)
        decoder.decode(b"", True)
    except UnicodeError:
        return False
    return True


def _looks_like_hz(stream: BinaryIO) -> bool:
    """Tell whether most characters that are shifted to are common Chinese ones."""
    common = rare = 0
    shifts = (shift for block in _blocks(stream) for shift in _HZ_SHIFT.findall(block))
    for shift in islice(shifts, MOST_SHIFTS):
        hanzi = [byte for byte in shift[::2] if byte >= _COMMON_HANZI.start]
        known = sum(byte in _COMMON_HANZI for byte in hanzi)
        common, rare = common + known, rare + len(hanzi) - known
    return common > rare


def _looks_like_utf_7(stream: BinaryIO) -> bool:
    """Tell whether most shifts make sense, and different ones weigh enough together."""
    sound: dict[str, int] = {}
    balance = 0
    for shift in islice(_utf_7_shifts(stream), MOST_SHIFTS):
        weight = shift.weight()
        balance += (weight > 0) - (weight < 0)
        if weight > 0:
            sound[shift.text] = max(weight, sound.get(shift.text, 0))
    return balance > 0 and sum(sound.values()) >= CLEAR


@dataclass(frozen=True, slots=True)
class _Shift:
    """What follows a plus sign, if a text is UTF-7."""

    digits: bytes
    """Digits to the base 64 of characters in UTF-16."""
    closed: bool
    """Whether a minus sign ends them."""
    before: str
    """The ASCII letters that touch it, two at most."""
    after: str

    @property
    def text(self) -> str:
        """The characters; none where it is only a plus sign, and a private one where they are invalid."""
        try:
            return (b"+" + self.digits + b"-").decode("utf-7") if self.digits else ""
        except UnicodeDecodeError:
            return "\ue000"

    def weight(self) -> int:
        """Weigh what it says of the text: 2 and 1 for UTF-7, 0 nothing, -1 against it."""
        text = self.text
        if not self.digits:
            return 0 if self.closed else -1
        scripts = {_script(character) for character in text if character.isalpha()}
        if "" in scripts or len(scripts) > 1 or any(unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn") for c in text):
            return -1
        if not scripts:
            return int(self.closed and _OPTIONAL_SIGNS.issuperset(text))
        return self._weight_of_latin(text) if scripts == {"LATIN"} else self._weight_of_others(text)

    def _weight_of_latin(self, text: str) -> int:
        """Weigh letters by their case and that of those beside them."""
        word = f"{self.before}{text}{self.after}"
        if not (word.isupper() or word.islower() or word[1:].islower()):
            return -1
        inside = self.closed and self.before != ""
        return 2 if inside or not _WORD.fullmatch(self.digits) else 1

    def _weight_of_others(self, text: str) -> int:
        """Weigh letters of another script: they stand beside others of it, and not beside ASCII ones."""
        if self.before or self.after or _WORD.fullmatch(self.digits):
            return 0
        return 2 if sum(map(str.isalpha, text)) > 1 else 1


def _utf_7_shifts(stream: BinaryIO) -> Iterator[_Shift]:
    for block in _blocks(stream):
        for match in _UTF7_SHIFT.finditer(block):
            start, end = match.span()
            before = _LETTERS_AT_END.findall(block[max(0, start - 2) : start])[0]
            after = _LETTERS_AT_START.findall(block[end : end + 2])[0]
            yield _Shift(match.group(1), match.group(2) != b"", before.decode(), after.decode())


def _script(letter: str) -> str:
    """Name the script of a letter that a table may have; nothing for others."""
    script = unicodedata.name(letter, "").partition(" ")[0]
    if letter.isascii() or script == "LATIN":
        return "LATIN" if letter.isascii() or _LATIN.match(letter) else ""
    if script == "CJK":
        return "CJK" if "\u4e00" <= letter <= "\u9fff" else ""
    return "CJK" if script in _EAST_ASIAN else script
