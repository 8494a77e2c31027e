"""Queries and expressions, by recursive descent."""

from __future__ import annotations

import re

from tests.vertica.standin.statements import Ordered, Ref, Statement, Type
from tests.vertica.standin.tokens import Reader
from tests.vertica.standin.wire import ServerError
from tests.vertica.standin.words import FUNCTIONS, OTHERS_CALL, TYPES

_BINARY = ("+", "-", "*", "/", "%", "<", ">", "=", "<>", "!=", "<=", ">=", "||", "<<", ">>", "&", "|", "#")


class Queries(Reader):
    """Reads queries, and notes the tables, functions and types that they name."""

    def __init__(self, sql: str) -> None:
        super().__init__(sql)
        self._found = Statement("", sql)

    def _hint(self) -> None:
        if self._peek().kind == "hint":
            self._next()

    # Queries

    def _query(self) -> None:
        self._select()
        while self._word("UNION"):
            self._word("ALL")
            self._select()
        if self._words("ORDER", "BY"):
            self._list(self._ordered)
        if self._word("LIMIT"):
            self._number()

    def _select(self) -> None:
        self._need("SELECT")
        self._hint()
        self._word("DISTINCT")
        self._list(self._item)
        if self._word("FROM"):
            self._list(self._joined)
        self._where()
        if self._words("GROUP", "BY"):
            self._list(self._expression)
        if self._word("HAVING"):
            self._expression()

    def _where(self) -> tuple[int, int] | None:
        return self._span(self._expression) if self._word("WHERE") else None

    def _ordered(self) -> None:
        first = self._at
        self._expression()
        last = self._tokens[self._at - 1]
        plain = all(token.kind in ("name", "quoted") or token.text == "." for token in self._tokens[first : self._at])
        descends = self._word("ASC", "DESC") == "DESC"
        if plain:
            name = last.text.strip('"').lower()
            self._found.ordered.append(Ordered(name, self._tokens[self._at - 1].end, descends))

    def _item(self) -> None:
        if self._symbol("*"):
            return
        self._expression()
        self._alias()

    def _alias(self) -> str:
        """Read an alias, which needs no AS before a name that is not reserved; DuckDB gets it in quotes."""
        if not self._word("AS") and (not self._is_name() or self._is_word("SET")):
            return ""
        token, name = self._peek(), self._name()
        self._found.replaced.append((token.start, token.end, '"' + name.replace('"', '""') + '"'))
        return name

    def _joined(self) -> None:
        self._source()
        while True:
            outer = self._word("LEFT", "RIGHT", "FULL")
            if outer:
                self._word("OUTER")
            crossed = "" if outer else self._word("INNER", "CROSS")
            if not self._word("JOIN"):
                if outer or crossed:
                    raise self._fail()
                return
            self._source()
            if crossed != "CROSS":
                self._need("ON")
                self._expression()

    def _source(self) -> None:
        if self._symbol("("):
            self._query()
            self._need_symbol(")")
            if not self._alias():
                raise ServerError("Subquery in FROM must have an alias", "42601", 4837)
            return
        place = len(self._found.refs)
        names: list[str] = []
        start, end = self._span(lambda: names.append(self._table_name()))
        self._found.refs.insert(place, Ref(names[0], start, end, bool(self._alias())))

    # Expressions

    def _expression(self) -> None:
        while self._word("NOT"):
            pass
        self._operand()
        while True:
            if self._symbol(*_BINARY) or self._word("AND", "OR"):
                self._expression()
                return
            if not self._condition():
                return

    def _condition(self) -> bool:
        """Read what may stand behind an operand."""
        if self._word("IS"):
            self._word("NOT")
            if not self._word("NULL", "TRUE", "FALSE"):
                raise self._fail()
            return True
        if self._is_word("NOT") and self._is_word("IN", "LIKE", ahead=1):
            self._next()
        if self._word("IN"):
            self._need_symbol("(")
            self._listed_or_query()
            self._need_symbol(")")
        elif self._word("LIKE"):
            self._operand()
        else:
            return False
        return True

    def _listed_or_query(self) -> None:
        if self._is_word("SELECT"):
            self._query()
        else:
            self._list(self._expression)

    def _operand(self) -> None:
        while self._symbol("-", "+", "~"):
            pass
        self._primary()
        while self._symbol("::"):
            self._cast()

    def _cast(self) -> None:
        start = self._peek().start
        kind = self._type()
        self._found.replaced.append((start, self._tokens[self._at - 1].end, kind.duckdb))

    def _primary(self) -> None:
        token = self._peek()
        if token.kind in ("string", "number") or self._is_word("NULL", "TRUE", "FALSE"):
            self._next()
        elif self._symbol("("):
            self._listed_or_query()
            self._need_symbol(")")
        elif self._is_word("EXISTS") and self._peek(1).text == "(":
            self._next()
            self._need_symbol("(")
            self._query()
            self._need_symbol(")")
        elif self._word("CASE"):
            self._case()
        else:
            self._named()

    def _case(self) -> None:
        while self._word("WHEN"):
            self._expression()
            self._need("THEN")
            self._expression()
        if self._word("ELSE"):
            self._expression()
        self._need("END")

    def _named(self) -> None:
        """Read a column or a call."""
        start = self._peek().start
        name = self._name()
        if self._is_symbol("("):
            self._call(name.upper(), start)
            return
        for _ in range(2):
            if not self._symbol("."):
                return
            if self._symbol("*"):
                return
            self._name()

    def _call(self, name: str, start: int) -> None:
        if name not in FUNCTIONS and name not in OTHERS_CALL:
            raise ServerError(f"Function {name}() does not exist, or permission is denied for {name}()", "42883", 3457)
        self._found.functions.append(name)
        self._need_symbol("(")
        if not self._is_symbol(")") and not self._symbol("*"):
            self._word("DISTINCT")
            first = self._peek()
            self._list(self._expression)
            if name == "HEX_TO_BINARY":
                digits = re.fullmatch(r"'0x([0-9a-fA-F]*)'", first.text)
                if not digits:
                    raise ServerError(f"Invalid hexadecimal text {first.text}", "22P02", 3681)
                self._found.replaced.append((start, self._peek().end, f"(from_hex('{digits[1]}')::BIT)"))
        self._need_symbol(")")

    # Types

    def _type(self) -> Type:
        token = self._next()
        name = token.text.upper()
        second = {"LONG": ("VARCHAR", "VARBINARY"), "DOUBLE": ("PRECISION",)}.get(name, ())
        if second:
            name = f"{name} {self._word(*second)}"
        if token.kind != "name" or name not in TYPES:
            raise ServerError(f'Type "{token.text}" does not exist', "42704", 5108)
        title, duckdb, default, most = TYPES[name]
        sizes = self._in_parentheses(self._number) if self._is_symbol("(") else []
        if len(sizes) > (2 if duckdb == "NUMERIC" else 1 if most or duckdb.startswith("TIME") else 0):
            raise self._fail()
        if most and sizes and not 0 < sizes[0] <= most:
            raise ServerError(f"Length for type {title} cannot exceed {most}", "22023", 3852)
        if duckdb == "NUMERIC" and sizes:
            duckdb = f"NUMERIC({', '.join(map(str, sizes))})"
        return Type(title, duckdb, (sizes[0] if sizes else default) if most else 0)
