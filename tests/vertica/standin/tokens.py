"""The words, literals and symbols of a statement, and a reader that takes them one by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from tests.vertica.standin.wire import ServerError
from tests.vertica.standin.words import RESERVED

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<hint>/\*\+.*?\*/)"
    r"|(?P<string>[Ee]'(?:[^'\\]|\\.|'')*'|'[^']*(?:''[^']*)*')"
    r'|(?P<quoted>"(?:[^"]|"")+")'
    r"|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>(?:[^\W\d]|[^\x00-\x7f])(?:[\w$]|[^\x00-\x7f])*)"
    r"|(?P<symbol>::|<>|!=|<=|>=|\|\||<<|>>|[-+*/%<>=(),.&|#~])",
    re.S,
)
_Item = TypeVar("_Item")


class Token(NamedTuple):
    """A word, literal or symbol, and where it stands."""

    kind: str
    text: str
    start: int
    end: int


def split(text: str) -> list[str]:
    """Split at semicolons outside quotes, leaving comments out, but not hints."""
    parts: list[str] = []
    current: list[str] = []
    for piece in re.findall(r"'[^']*(?:''[^']*)*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|;|[^'\";/-]+|.", text, re.S):
        if piece == ";":
            parts.append("".join(current).strip())
            current = []
        elif not piece.startswith("--") and (not piece.startswith("/*") or piece.startswith("/*+")):
            current.append(piece)
    return [part for part in [*parts, "".join(current).strip()] if part]


def tokens_of(sql: str) -> list[Token]:
    found, at = [], 0
    while at < len(sql):
        match = _TOKEN.match(sql, at)
        if match is None:
            raise ServerError(f'Syntax error at or near "{sql[at]}"', "42601", 4856)
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match[0], match.start(), match.end()))
        at = match.end()
    return found


class Reader:
    """Takes the tokens of a text, or fails as a server does."""

    def __init__(self, sql: str) -> None:
        self.text = sql
        self._tokens = tokens_of(sql)
        self._at = 0

    def _peek(self, ahead: int = 0) -> Token:
        place = self._at + ahead
        end = len(self.text)
        return self._tokens[place] if place < len(self._tokens) else Token("end", "", end, end)

    def _next(self) -> Token:
        token = self._peek()
        self._at += 1
        return token

    def _fail(self) -> ServerError:
        token = self._peek()
        near = f'at or near "{token.text}"' if token.text else "at end of input"
        return ServerError(f"Syntax error {near}", "42601", 4856)

    def _is_word(self, *words: str, ahead: int = 0) -> bool:
        token = self._peek(ahead)
        return token.kind == "name" and token.text.upper() in words

    def _word(self, *words: str) -> str:
        """Take one of some words, if it comes next."""
        return self._next().text.upper() if self._is_word(*words) else ""

    def _need(self, *sequence: str) -> None:
        for word in sequence:
            if not self._word(word):
                raise self._fail()

    def _words(self, *sequence: str) -> bool:
        """Take some words, if all of them come next."""
        there = all(self._is_word(word, ahead=n) for n, word in enumerate(sequence))
        self._at += len(sequence) if there else 0
        return there

    def _is_symbol(self, *symbols: str) -> bool:
        token = self._peek()
        return token.kind == "symbol" and token.text in symbols

    def _symbol(self, *symbols: str) -> str:
        return self._next().text if self._is_symbol(*symbols) else ""

    def _need_symbol(self, symbol: str) -> None:
        if not self._symbol(symbol):
            raise self._fail()

    def _string(self) -> str:
        token = self._peek()
        if token.kind != "string":
            raise self._fail()
        self._at += 1
        text = token.text
        if text[0] in "Ee":
            return text[2:-1].replace(r"\t", "\t").replace(r"\n", "\n").replace("''", "'").replace("\\\\", "\\")
        return text[1:-1].replace("''", "'")

    def _number(self) -> int:
        token = self._peek()
        if token.kind != "number" or not token.text.isdigit():
            raise self._fail()
        self._at += 1
        return int(token.text)

    def _name(self) -> str:
        token = self._peek()
        if token.kind == "quoted":
            self._at += 1
            return token.text[1:-1].replace('""', '"')
        if token.kind != "name" or token.text.upper() in RESERVED:
            raise self._fail()
        self._at += 1
        return token.text

    def _is_name(self) -> bool:
        token = self._peek()
        return token.kind == "quoted" or (token.kind == "name" and token.text.upper() not in RESERVED)

    def _table_name(self) -> str:
        """Read a name with or without a schema, behind which a reserved word may stand."""
        name = self._name()
        if self._symbol("."):
            name = f"{name}.{self._next().text if self._is_word(*RESERVED) else self._name()}"
        return name.lower()

    def _list(self, item: Callable[[], _Item]) -> list[_Item]:
        found = [item()]
        while self._symbol(","):
            found.append(item())
        return found

    def _in_parentheses(self, item: Callable[[], _Item]) -> list[_Item]:
        self._need_symbol("(")
        found = self._list(item)
        self._need_symbol(")")
        return found

    def _span(self, read: Callable[[], object]) -> tuple[int, int]:
        start = self._peek().start
        read()
        return start, self._tokens[self._at - 1].end
