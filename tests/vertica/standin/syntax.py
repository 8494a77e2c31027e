"""The statements that the stand-in knows, by recursive descent: everything else is a syntax error.

A statement is taken apart into what the session needs: the tables that it names and where, the functions that it calls,
the types that it casts to. Nothing is passed on to DuckDB that was not read here first.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.vertica.standin.queries import Queries
from tests.vertica.standin.statements import Change, Copy, CopyColumn, Definition, Field, Grant, Names, Statement
from tests.vertica.standin.wire import ServerError
from tests.vertica.standin.words import ENCODINGS

_PLAIN = ("COMMIT", "ROLLBACK", "END", "BEGIN")


def parse(sql: str) -> Statement:
    """Take a statement apart, or fail as a server does."""
    return Parser(sql).statement()


class Parser(Queries):
    """Reads one statement."""

    def statement(self) -> Statement:
        """Read a whole statement."""
        word = self._peek().text.upper()
        readers: dict[str, Callable[[], None]] = {
            **dict.fromkeys(_PLAIN, self._plain),
            **dict.fromkeys(("SELECT", "EXPLAIN"), self._reading),
            **{"INSERT": self._insert, "UPDATE": self._update, "DELETE": self._delete, "COPY": self._copy},
            **{"CREATE": self._create, "DROP": self._drop, "ALTER": self._alter},
            **{"GRANT": self._grant, "LOCK": self._lock, "SET": self._set},
        }
        if self._peek().kind != "name" or word not in readers:
            raise self._fail()
        self._found.kind = word
        readers[word]()
        if self._peek().kind != "end":
            raise self._fail()
        return self._found

    def _plain(self) -> None:
        self._next()

    def _reading(self) -> None:
        if not self._is_word("SELECT"):
            self._next()
        self._query()

    def _insert(self) -> None:
        self._need("INSERT")
        self._hint()
        self._need("INTO")
        table = self._table_name()
        columns = tuple(self._in_parentheses(self._name)) if self._is_symbol("(") else ()

        def rows() -> None:
            if self._word("VALUES"):
                self._list(lambda: self._in_parentheses(self._expression))
            else:
                self._query()

        self._found.detail = Change(table, "", columns, source=self._span(rows))

    def _update(self) -> None:
        self._need("UPDATE")
        self._hint()
        table, alias = self._table_name(), self._alias()
        self._need("SET")
        columns, values = [], []

        def assignment() -> None:
            columns.append(self._name())
            self._need_symbol("=")
            values.append(self._span(self._expression))

        self._list(assignment)
        self._found.detail = Change(table, alias, tuple(columns), values=tuple(values), where=self._where())

    def _delete(self) -> None:
        self._need("DELETE")
        self._hint()
        self._need("FROM")
        table, alias = self._table_name(), self._alias()
        self._found.detail = Change(table, alias, (), where=self._where())

    def _create(self) -> None:
        self._need("CREATE")
        if self._word("SCHEMA"):
            unless = self._words("IF", "NOT", "EXISTS")
            name = self._name().lower()
            self._found.detail = Names((name,), unless, self._default_privileges())
            self._found.kind = "CREATE SCHEMA"
        elif self._word("USER"):
            name = self._name().lower()
            self._need("IDENTIFIED", "BY")
            self._found.detail = Names((name,), word=self._string())
            self._found.kind = "CREATE USER"
        else:
            self._found.detail = self._definition()
            self._found.kind = "CREATE TABLE"

    def _default_privileges(self) -> str:
        if not self._word("DEFAULT"):
            return ""
        word = self._word("INCLUDE", "EXCLUDE")
        self._word("SCHEMA")
        if not word or not self._word("PRIVILEGES"):
            raise self._fail()
        return word

    def _drop(self) -> None:
        self._need("DROP")
        kind = self._word("TABLE", "SCHEMA")
        if not kind:
            raise self._fail()
        unless = self._words("IF", "EXISTS")
        names = self._list(self._table_name if kind == "TABLE" else lambda: self._name().lower())
        self._found.detail = Names(tuple(names), unless, self._word("CASCADE"))
        self._found.kind = f"DROP {kind}"

    def _alter(self) -> None:
        self._need("ALTER", "SCHEMA")
        name = self._name().lower()
        word = self._default_privileges()
        if not word:
            raise self._fail()
        self._found.detail = Names((name,), word=word)

    def _lock(self) -> None:
        self._need("LOCK", "TABLE")
        table = self._table_name()
        self._need("IN", "EXCLUSIVE", "MODE")
        self._found.detail = Names((table,), word=self._word("NOWAIT"))

    def _set(self) -> None:
        self._need("SET", "SESSION", "AUTOCOMMIT", "TO")
        value = self._word("ON", "OFF")
        if not value:
            raise self._fail()
        self._found.detail = Names((), word=value)

    def _grant(self) -> None:
        self._need("GRANT")
        privileges = self._list(lambda: self._next().text.upper())
        self._need("ON")
        kind = self._word("SCHEMA", "DATABASE")
        if not kind:
            raise self._fail()
        names = self._list(lambda: self._name().lower())
        self._need("TO")
        users = self._list(lambda: self._name().lower())
        self._found.detail = Grant(tuple(privileges), kind, tuple(names), tuple(users))

    # Tables

    def _definition(self) -> Definition:
        temporary = bool(self._word("LOCAL"))
        if (temporary and not self._word("TEMP", "TEMPORARY")) or not self._word("TABLE"):
            raise self._fail()
        unless = self._words("IF", "NOT", "EXISTS")
        name = self._table_name()
        fields: list[Field] = []
        keys: list[tuple[str, ...]] = []

        def element() -> None:
            if self._is_word("CONSTRAINT", "PRIMARY"):
                self._constraint(keys)
            else:
                fields.append(self._field())

        self._in_parentheses(element)
        if temporary:  # otherwise they would be gone after a commit
            self._need("ON", "COMMIT", "PRESERVE", "ROWS")
        order = self._list(self._name) if self._words("ORDER", "BY") else []
        segmented = self._segmentation()
        made = Definition(name, temporary, unless, tuple(fields), tuple(keys), tuple(order), tuple(segmented))
        _check_columns(made)
        return made

    def _segmentation(self) -> list[str]:
        columns: list[str] = []
        if self._words("SEGMENTED", "BY"):
            self._need("HASH")
            columns = self._in_parentheses(self._name)
            self._need("ALL", "NODES")
        elif self._word("UNSEGMENTED"):
            self._need("ALL", "NODES")
        return columns

    def _constraint(self, keys: list[tuple[str, ...]]) -> None:
        if self._word("CONSTRAINT"):
            self._name()
        self._need("PRIMARY", "KEY")
        columns = tuple(name.lower() for name in self._in_parentheses(self._name))
        if self._word("ENABLED", "DISABLED") == "ENABLED":
            keys.append(columns)

    def _field(self) -> Field:
        name, kind = self._name(), self._type()
        required, encoding = False, "AUTO"
        while not self._is_symbol(",", ")"):
            if self._words("NOT", "NULL"):
                required = True
            elif self._word("ENCODING"):
                encoding = self._next().text.upper()
                if encoding not in ENCODINGS:
                    raise ServerError(f'Encoding type "{encoding}" does not exist', "42704", 3264)
            else:
                raise self._fail()
        return Field(name, kind, required, encoding)

    # COPY

    def _copy(self) -> None:
        self._need("COPY")
        table = self._table_name()
        columns = self._in_parentheses(self._copy_column) if self._is_symbol("(") else []
        self._need("FROM", "STDIN")
        options: dict[str, str | bool] = {}
        while self._peek().kind != "end":
            options.update(self._copy_option())
        self._found.detail = Copy(table, tuple(columns), **options)  # type: ignore[arg-type]

    def _copy_column(self) -> CopyColumn:
        name = self._name()
        if self._word("FORMAT"):
            written = self._string()
            if written.lower() != "hex":
                raise ServerError(f'Format "{written}" is not known here', "42601", 4856)
            return CopyColumn(name, True)
        return CopyColumn(name, False)

    def _copy_option(self) -> dict[str, str | bool]:
        if self._word("DELIMITER"):
            self._word("AS")
            return {"delimiter": self._string()}
        if self._words("ENCLOSED", "BY"):
            return {"enclosed": self._string()}
        if self._word("ENFORCELENGTH") or self._words("ABORT", "ON", "ERROR"):
            return {}  # a record that does not fit is always an error here
        if self._words("NO", "COMMIT"):
            return {"commit": False}
        raise self._fail()


def _check_columns(made: Definition) -> None:
    """Refuse columns that are declared twice, or named and not declared."""
    declared = [each.name.lower() for each in made.fields]
    if len(set(declared)) < len(declared):
        raise ServerError("Column is specified more than once", "42701", 2625)
    used = [*made.order, *made.segmented, *(name for key in made.keys for name in key)]
    for name in used:
        if name.lower() not in declared:
            raise ServerError(f'Column "{name}" does not exist', "42703", 2624)
