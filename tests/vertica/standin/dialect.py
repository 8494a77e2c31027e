"""Vertica's SQL to DuckDB's, for the statements that the store and vertica-python's own tests use."""

from __future__ import annotations

import re
from dataclasses import dataclass

import duckdb

from tests.vertica.standin.copying import Field
from tests.vertica.standin.wire import ServerError

_TYPES = [
    (r"(LONG\s+)?VARBINARY|BINARY|BYTEA|RAW", "BIT"),
    (r"LONG\s+VARCHAR", "VARCHAR"),
    (r"INTEGER|INT8|INT|BIGINT|SMALLINT|TINYINT", "BIGINT"),
    (r"FLOAT8|FLOAT|REAL|DOUBLE\s+PRECISION", "DOUBLE"),
    (r"TIMETZ", "TIMETZ"),
]
_TABLE = re.compile(
    r"CREATE\s+(?P<temporary>(?:LOCAL\s+|GLOBAL\s+)?TEMP(?:ORARY)?\s+)?TABLE\s+(?P<unless>IF\s+NOT\s+EXISTS\s+)?"
    r"(?P<name>[\w.\"]+)\s*\(",
    re.I,
)
_PROJECTION = re.compile(
    r"CREATE\s+PROJECTION\s+(?:IF\s+NOT\s+EXISTS\s+)?(?P<name>[\w.]+)\s*\((?P<columns>[^)]*)\)\s*AS\s+"
    r"(?P<query>SELECT\s.*?)\s+ORDER\s+BY\s+(?P<order>.*?)\s+(?:UN)?SEGMENTED\b.*",
    re.I | re.S,
)
_SCHEMA = re.compile(r"\b(?:FROM|JOIN|INTO|TABLE|UPDATE|COPY)\s+\"?([A-Za-z_]\w*)\"?\.", re.I)
_SCHEMAS = {"information_schema"}


@dataclass(frozen=True)
class TableDefinition:
    """A table to create."""

    name: str
    temporary: bool
    keep_rows: bool
    sql: str
    fields: tuple[Field, ...]
    enforced_key: bool


def statements(text: str) -> list[str]:
    """Split at semicolons outside quotes, leaving comments out."""
    parts, current = [], []
    for piece in re.findall(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|;|[^'\";/-]+|.", text, re.S):
        if piece == ";":
            parts.append("".join(current).strip())
            current = []
        elif not piece.startswith(("--", "/*")):
            current.append(piece)
    return [part for part in [*parts, "".join(current).strip()] if part]


def parse_table(sql: str) -> TableDefinition:
    """Translate CREATE TABLE, and remember what DuckDB does not: lengths, and which keys are enforced."""
    found = _TABLE.match(sql)
    if not found:
        raise ServerError('Syntax error at or near "TABLE"', "42601", 4856)
    body, tail = _in_parentheses(sql, found.end() - 1)
    columns, fields, enforced = [], [], False
    for part in _split(body):
        if re.match(r"(CONSTRAINT|PRIMARY|UNIQUE)\b", part, re.I):
            if re.search(r"\bENABLED\s*$", part, re.I):
                enforced = True
                columns.append(re.sub(r"\s+ENABLED\s*$", "", part, flags=re.I))
            continue
        field, column = _column(part)
        fields.append(field)
        columns.append(column)
    name = found["name"].replace('"', "")
    create = f"CREATE {'TEMP ' if found['temporary'] else ''}TABLE {'IF NOT EXISTS ' if found['unless'] else ''}{name}"
    keep = re.search(r"ON\s+COMMIT\s+PRESERVE", tail, re.I) is not None
    return TableDefinition(
        name, bool(found["temporary"]), keep, f"{create} ({', '.join(columns)})", tuple(fields), enforced
    )


def _column(text: str) -> tuple[Field, str]:
    name, _, rest = text.strip().partition(" ")
    rest = re.sub(r"\bENCODING\s+\w+", "", rest, flags=re.I).strip()
    for pattern, type_ in _TYPES:
        found = re.match(rf"({pattern})\b\s*(\(\s*(\d+)\s*\))?", rest, re.I)
        if found:
            length = re.search(r"\((\d+)\)", found[0].replace(" ", ""))
            rest = type_ + " " + rest[found.end() :]
            break
    else:
        length = re.match(r"\w+\s*\((\d+)\)", rest)
        type_ = rest.split("(")[0].split()[0].upper() if rest else ""
    required = re.search(r"\bNOT\s+NULL\b", rest, re.I) is not None
    octets = int(length[1]) if length and type_ in ("BIT", "VARCHAR") else None
    return Field(name.strip('"'), type_, octets, required), f"{name} {rest}"


def _in_parentheses(text: str, start: int) -> tuple[str, str]:
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if not depth:
            return text[start + 1 : at], text[at + 1 :]
    raise ServerError('Syntax error at or near "("', "42601", 4856)


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for c in text:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and not depth:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    parts.append(current.strip())
    if not all(parts):
        raise ServerError('Syntax error at or near ","', "42601", 4856)
    return parts


def parse_projection(sql: str) -> tuple[str, str]:
    """Return the name of a projection, and a query that fails if it names what is not there."""
    found = _PROJECTION.fullmatch(sql)
    if not found:
        raise ServerError('Syntax error at or near "PROJECTION"', "42601", 4856)
    columns = [c.split()[0] for c in found["columns"].split(",")]
    return found["name"], f"SELECT {', '.join(columns)} FROM ({found['query']}) ORDER BY {found['order']} LIMIT 0"


def translated(sql: str) -> str:
    """Translate the few expressions that differ."""
    sql = re.sub(r"\bHEX_TO_BINARY\s*\(\s*'0x([0-9a-fA-F]*)'\s*\)", r"from_hex('\1')::BIT", sql, flags=re.I)
    sql = re.sub(r"::\s*INT(EGER)?\b", "::BIGINT", sql, flags=re.I)
    return re.sub(r"::\s*BOOL\b", "::BOOLEAN", sql, flags=re.I)


def schemas_of(sql: str) -> set[str]:
    """Return the schemas that a statement names."""
    return {name.lower() for name in _SCHEMA.findall(re.sub(r"'(?:[^']|'')*'", "''", sql))} - _SCHEMAS


def explained(error: duckdb.Error) -> ServerError:
    """Return an error of DuckDB's as the one that a server would send."""
    text = str(error).splitlines()[0]
    quoted = re.search(r"(?:name |column |Column )\"?([\w.]+)\"?", text)
    name = quoted[1] if quoted else "?"
    if isinstance(error, duckdb.ConstraintException) and "NOT NULL" in text:
        return ServerError(f"Cannot set a NOT NULL column ({name}) to a NULL value in INSERT/UPDATE", "22004", 2501)
    if isinstance(error, duckdb.ConstraintException) or "conflict" in text.lower():
        return ServerError(f"Duplicate key values: -- violates constraint ({text[:120]})", "23505", 6745)
    if isinstance(error, duckdb.CatalogException):
        if "already exists" in text:
            return ServerError(f'Object "{name}" already exists', "42710", 4213, "ROLLBACK")
        if "Function" in text:
            return ServerError(f"Function {name} does not exist", "42883", 3457)
        return ServerError(f'Relation "{name}" does not exist', "42V01", 4566)
    if isinstance(error, duckdb.BinderException):
        return ServerError(f'Column "{name}" does not exist', "42703", 2624)
    if isinstance(error, duckdb.ParserException):
        return ServerError(f"Syntax error: {text}", "42601", 4856)
    return ServerError(text, "XX000", 2000)
