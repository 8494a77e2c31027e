"""Encodings whose bytes are all ASCII: marks shift to other characters and back.

Such a text is valid UTF-8 and would be read as it stands, letters as `+AOk-` and words as `~{VPND~}`. ISO 2022 has
escapes that nothing else has. HZ, and UTF-7 even more, shift by marks that other texts have as well: what stands
between the marks must make sense. A text is read as HZ or ISO 2022 only if all of it is valid. UTF-7 is only a doubt:
its shifts are too short to tell it from some `+ABC` for sure.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import islice
from typing import BinaryIO

from mate.corpus.encoding.code_pages import BLOCK

ISO_2022 = ("iso2022_kr", "iso2022_jp_2", "iso2022_jp_2004")
"""Encodings of old systems in Korea and Japan; the Japanese ones take Korean as well."""
MOST_SHIFTS = 10_000
"""Shifts that are looked at: enough to tell."""
CLEAR = 2
"""What different shifts must weigh together; a letter inside a word that is no word itself is enough."""

_ESCAPE = b"\x1b$"
_MARK = re.compile(rb"\x1b\$|~\{|\+[A-Za-z0-9+/]{3}")
_HZ_SHIFT = re.compile(rb"~\{((?:[\x21-\x77][\x21-\x7e])+)~\}")
_UTF_7_SHIFT = re.compile(rb"\+([A-Za-z0-9+/]*)(-?)(?=([A-Za-z]{0,2}))")
_LETTERS_AT_END = re.compile(rb"[A-Za-z]{0,2}\Z")
_WORD = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|[0-9a-f]+|[0-9A-F]+")
"""What people write behind a plus sign: words and numbers, in which capitals, small letters and digits do not mix."""
_COMMON_HANZI = range(0x30, 0x58)
"""First bytes of the characters that make up nearly all of a text; those of small ASCII letters are of rare ones."""
_OPTIONAL_SIGNS = frozenset('!"#$%&*;<=>@[]^_`{|}~\\')
"""Signs that need not be shifted to, which some programs do."""
_EAST_ASIAN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"})
_LATIN = re.compile("[\xc0-\xd6\xd8-\xf6\xf8-\u0131\u0134-\u017f\u01a0\u01a1\u01af\u01b0\u0218-\u021b\u1ea0-\u1ef9]")
"""Letters that languages of many tables have."""


def may_shift(block: bytes) -> bool:
    """Tell whether there is a mark that may be a shift."""
    return _MARK.search(block) is not None


def find_shifts(reopen: Callable[[], BinaryIO]) -> tuple[str, str | None]:
    """Return the encoding of a text in ASCII bytes with marks that may be shifts, and another that it may be in."""
    if any(_ESCAPE in block for block in _blocks(reopen())):
        for encoding in ISO_2022:
            if _is_valid(reopen(), encoding):
                return encoding, None
    if _looks_like_hz(reopen()):
        return ("hz", None) if _is_valid(reopen(), "hz") else ("utf-8", "hz")
    return "utf-8", "utf-7" if _looks_like_utf_7(reopen()) else None


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: stream.read(BLOCK), b"")


def _is_valid(stream: BinaryIO, encoding: str) -> bool:
    try:
        for _ in codecs.iterdecode(_blocks(stream), encoding):
            pass
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
    weights: dict[bytes, int] = {}
    balance = 0
    shifts = (match for block in _blocks(stream) for match in _UTF_7_SHIFT.finditer(block))
    for shift in islice(shifts, MOST_SHIFTS):
        digits, end, after = shift.groups()
        before = _LETTERS_AT_END.findall(shift.string[max(0, shift.start() - 2) : shift.start()])[0]
        weight = _weight(before.decode(), digits, end != b"", after.decode())
        balance += (weight > 0) - (weight < 0)
        weights[digits] = max(weight, weights.get(digits, 0))
    return balance > 0 and sum(weights.values()) >= CLEAR


def _weight(before: str, digits: bytes, closed: bool, after: str) -> int:
    """Weigh what a plus sign says for UTF-7: 2 and 1 for it, 0 nothing, -1 against it.

    Letters and digits follow the sign, which are characters in UTF-16 to the base 64; a minus sign may close them.
    ASCII letters, two at most, touch the shift before and after.
    """
    if not digits:
        return 0 if closed else -1
    try:
        text = (b"+" + digits + b"-").decode("utf-7")
    except UnicodeDecodeError:
        return -1
    scripts = {_script(character) for character in text if character.isalpha()}
    if "" in scripts or len(scripts) > 1 or any(unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn") for c in text):
        return -1
    if not scripts:
        return int(closed and _OPTIONAL_SIGNS.issuperset(text))
    is_word = _WORD.fullmatch(digits) is not None
    if scripts != {"LATIN"}:  # such letters stand beside others of their script, and not beside ASCII ones
        return 0 if before or after or is_word else min(2, sum(map(str.isalpha, text)))
    word = f"{before}{text}{after}"
    if not (word.isupper() or word.islower() or word[1:].islower()):
        return -1
    return 2 if (closed and before) or not is_word else 1


def _script(letter: str) -> str:
    """Name the script of a letter that a table may have; nothing for others."""
    script = unicodedata.name(letter, "").partition(" ")[0]
    if script == "LATIN":
        return "LATIN" if letter.isascii() or _LATIN.match(letter) else ""
    if script == "CJK":
        return "CJK" if "\u4e00" <= letter <= "\u9fff" else ""
    return "CJK" if script in _EAST_ASIAN else script
