"""Whether an index is sound: its parts are read and compared, hashes and tokens computed anew (`mate check`).

The cells as they were read are taken for the truth. From them follow the tokens of a row, its super keys and its
postings; from the postings follows the dictionary. What is found is told by table and row. The rows are gone through
some at a time; memory grows by 20 bytes a row, for what the postings say of it.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from mate.build.flat import write_flat
from mate.build.progress import Progress, Silent
from mate.build.sources import SYNTHETIC
from mate.build.workshop import quoted
from mate.errors import StoreError
from mate.integrity.layer import Layer, Problem
from mate.integrity.parts import check_layer
from mate.store.base import Manifest
from mate.store.blocks import damage
from mate.store.changes import changes_path
from mate.store.flat import flat_path
from mate.store.layered import LayeredStore, open_embedded

MOST_PROBLEMS = 1_000
"""Problems of a kind that are kept; further ones are counted."""


FLAT = "flat file"
_MEMORY = "2GB"
_PIECE = 1 << 22


@dataclass
class Findings:
    """What a check found."""

    problems: list[Problem] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Problems by kind, also of those that were not kept."""
    cells: int = 0
    damaged: bool = False
    """Whether a file cannot be trusted at all, so that nothing can be repaired."""

    def add(self, problem: Problem) -> None:
        """Take a problem in."""
        self.counts[problem.part] += 1
        if self.counts[problem.part] <= MOST_PROBLEMS:
            self.problems.append(problem)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.counts


def check(address: str, told: Progress | None = None) -> Findings:
    """Check the index at an address and return what is wrong with it."""
    findings = Findings()
    progress = told or Silent()
    files = [Path(address), *([changes_path(address)] if changes_path(address).is_file() else [])]
    if not files[0].is_file():
        raise StoreError(f"there is no index at {address}")
    for path in files:
        progress.start(f"blocks of {path.name}", 1)
        for text in damage(path):
            findings.add(Problem("file", f"{path}: {text}"))
    findings.damaged = not findings.sound
    if findings.damaged:
        return findings
    try:
        _check_content(address, findings, progress)
    except (StoreError, duckdb.Error) as error:
        findings.damaged = True
        findings.add(Problem("file", f"{address} cannot be read: {str(error).splitlines()[0]}"))
    return findings


def _check_content(address: str, findings: Findings, told: Progress) -> None:
    with open_embedded(address, flat=False) as store:
        layered = store if isinstance(store, LayeredStore) else None
        base = layered.base if layered else store
        with _attached({"base": address, **({"changes": layered.added.address} if layered else {})}) as database:
            for problem in check_layer(Layer(database, "base", base.manifest), told):
                findings.add(problem)
            findings.cells = base.manifest.cells
            _check_counts(database, "base", base.manifest, findings)
            if layered:
                for problem in check_layer(Layer(database, "changes", layered.manifest), told):
                    findings.add(problem)
                _check_dead(database, layered.manifest, layered.added.next_row, findings)
                findings.cells += layered.manifest.cells
            _read_all(database)
            if findings.sound:
                told.start("flat file", 1)
                _check_flat(database, address, base.manifest, findings)


def _check_flat(database: duckdb.DuckDBPyConnection, address: str, manifest: Manifest, findings: Findings) -> None:
    """Compare the flat file with one that is written anew from the index."""
    path = flat_path(address)
    if not path.is_file():
        return
    with tempfile.TemporaryDirectory() as folder:
        database.execute("USE base")
        again = Path(folder, "flat")
        if not write_flat(database, manifest, again) or not _equal(path, again):
            findings.add(Problem(FLAT, f"{path} is damaged or of another build"))


def _equal(one: Path, other: Path) -> bool:
    with one.open("rb") as first, other.open("rb") as second:
        while piece := first.read(_PIECE):
            if piece != second.read(_PIECE):
                return False
        return not second.read(1)


@contextmanager
def _attached(files: dict[str, str]) -> Iterator[duckdb.DuckDBPyConnection]:
    database = duckdb.connect(config={"memory_limit": _MEMORY})
    try:
        for name, path in files.items():
            database.execute(f"ATTACH '{quoted(path)}' AS {name} (TYPE duckdb, READ_ONLY)")
        yield database
    finally:
        database.close()


_COUNTS = {
    "tables": "SELECT count(*) FROM {0}.tables",
    "columns": "SELECT coalesce(sum(len(columns)), 0) FROM {0}.tables",
    "rows": "SELECT count(*) FROM {0}.rows",
    "cells": "SELECT count(*) FROM {0}.postings",
    "distinct_tokens": "SELECT count(*) FROM {0}.tokens",
    "rejects": "SELECT coalesce(sum(count), 0) FROM {0}.rejects",
}


def _check_counts(database: duckdb.DuckDBPyConnection, layer: str, manifest: Manifest, findings: Findings) -> None:
    for name, sql in _COUNTS.items():
        _compare_count(name, _one(database, sql.format(layer)), getattr(manifest, name), findings)
    _check_sources(database, f"{layer}.tables", f"{layer}.sources", findings)


def _compare_count(name: str, found: int, noted: int, findings: Findings) -> None:
    if found != noted:
        what = name.replace("_", " ")
        findings.add(Problem("manifest", f"the manifest has {noted:,} {what}, the index {found:,}"))


def _one(database: duckdb.DuckDBPyConnection, sql: str) -> int:
    [(value,)] = database.execute(sql).fetchall()
    return int(value)


def _check_sources(database: duckdb.DuckDBPyConnection, tables: str, sources: str, findings: Findings) -> None:
    """Compare how many tables each source has; tables of a synthetic lake name no single source."""
    wrong = database.execute(
        f"SELECT s.source, s.tables, count(t.table_id) AS found FROM {sources} AS s LEFT JOIN {tables} AS t"
        " ON t.source = s.source WHERE s.format <> 'synthetic' GROUP BY ALL HAVING found <> s.tables ORDER BY 1"
    ).fetchall()
    for source, noted, found in wrong:
        findings.add(Problem("sources", f"{source} is noted with {noted:,} tables, the index has {found:,} of it"))
    unknown = database.execute(
        f"SELECT t.source, min(t.table_id) FROM {tables} AS t ANTI JOIN {sources} AS s ON s.source = t.source"
        f" WHERE NOT starts_with(t.source, '{SYNTHETIC}') GROUP BY ALL ORDER BY 1"
    ).fetchall()
    for source, table in unknown:
        findings.add(Problem("sources", f"{source} is missing", table))


_PRESENT = {
    "tables": "(FROM base.tables ANTI JOIN changes.dead_tables USING (table_id) UNION ALL FROM changes.tables)",
    "sources": "(FROM base.sources ANTI JOIN changes.dead_sources USING (source) UNION ALL FROM changes.sources)",
    "rejects": "(FROM base.rejects ANTI JOIN changes.dead_sources USING (source) UNION ALL FROM changes.rejects)",
}
_DEAD = (
    "CREATE TEMP TABLE dead AS SELECT unnest(range(first, stop)) AS row_id FROM changes.dead_rows",
    "CREATE TEMP TABLE present AS SELECT row_id, table_id FROM base.rows ANTI JOIN dead USING (row_id)"
    " UNION ALL SELECT row_id, table_id FROM changes.rows",
)


def _check_dead(database: duckdb.DuckDBPyConnection, manifest: Manifest, next_row: int, findings: Findings) -> None:
    """Check that base and changes fit each other."""
    for statement in _DEAD:
        database.execute(statement)
    checks: dict[str, str] = {
        "a dead row is not in the base: row {0}": "SELECT row_id FROM dead ANTI JOIN base.rows USING (row_id)",
        "a row is dead twice: row {0}": "SELECT row_id FROM dead GROUP BY row_id HAVING count(*) > 1",
        "a row is in the base and in the changes: row {0}": "SELECT row_id FROM present GROUP BY row_id"
        " HAVING count(*) > 1",
        "a row has a number that was not given yet: row {0}": f"SELECT row_id FROM present WHERE row_id >= {next_row}",
        "a dead table is not in the base: table {0}": "FROM changes.dead_tables ANTI JOIN base.tables USING (table_id)",
        "a row is dead, but its table is not changed: row {0}, table {1}": "SELECT row_id, table_id FROM base.rows"
        " SEMI JOIN dead USING (row_id) ANTI JOIN changes.dead_tables USING (table_id)",
        "a table is in the base and in the changes: table {0}": "SELECT table_id FROM base.tables"
        " ANTI JOIN changes.dead_tables USING (table_id) SEMI JOIN changes.tables USING (table_id)",
        "the dead postings of token {0} in table {1} are noted as {2}, they are {3}": "SELECT token_id, table_id,"
        " coalesce(d.postings, 0) AS noted, coalesce(p.postings, 0) AS found FROM"
        " (SELECT token_id, table_id, sum(postings) AS postings FROM changes.dead_postings GROUP BY ALL) AS d"
        " FULL JOIN (SELECT token_id, table_id, count(*) AS postings FROM base.postings SEMI JOIN dead USING (row_id)"
        " GROUP BY ALL) AS p USING (token_id, table_id) WHERE noted <> found",
    }
    for text, sql in checks.items():
        for record in database.execute(f"FROM ({sql}) LIMIT {MOST_PROBLEMS}").fetchall():
            findings.add(Problem("changes", text.format(*record)))
    for table, noted, found in database.execute(
        f"SELECT t.table_id, t.rows, count(p.row_id) AS found FROM {_PRESENT['tables']} AS t LEFT JOIN present AS p"
        " ON p.table_id = t.table_id GROUP BY ALL HAVING found <> t.rows ORDER BY 1"
    ).fetchall():
        findings.add(Problem("tables", f"noted with {noted:,} rows, it has {found:,}", table))
    _check_sources(database, _PRESENT["tables"], _PRESENT["sources"], findings)
    _check_present(database, manifest, findings)


def _check_present(database: duckdb.DuckDBPyConnection, manifest: Manifest, findings: Findings) -> None:
    dead = "(SELECT coalesce(sum(postings), 0) FROM changes.dead_postings)"
    totals = {
        "tables": f"SELECT count(*) FROM {_PRESENT['tables']}",
        "columns": f"SELECT coalesce(sum(len(columns)), 0) FROM {_PRESENT['tables']}",
        "rows": "SELECT count(*) FROM present",
        "cells": f"SELECT (SELECT count(*) FROM base.postings) - {dead} + (SELECT count(*) FROM changes.postings)",
        "distinct_tokens": "SELECT count(*) FROM (SELECT token_id FROM (FROM base.tokens UNION ALL FROM changes.tokens"
        " UNION ALL SELECT token_id, NULL, -postings FROM changes.dead_postings) GROUP BY token_id"
        " HAVING sum(postings) > 0)",
        "rejects": f"SELECT coalesce(sum(count), 0) FROM {_PRESENT['rejects']}",
    }
    for name, sql in totals.items():
        _compare_count(name, _one(database, sql), getattr(manifest, name), findings)


def _read_all(database: duckdb.DuckDBPyConnection) -> None:
    """Read whatever the checks did not, so that no block goes unread."""
    for layer, table in database.execute(
        "SELECT database_name, table_name FROM duckdb_tables() WHERE database_name IN ('base', 'changes')"
    ).fetchall():
        database.execute(f'SELECT bit_xor(hash(t)) FROM {layer}."{table}" AS t').fetchall()


def as_json(findings: Findings) -> dict[str, Any]:
    """Return findings as plain data."""
    return {
        "sound": findings.sound,
        "damaged": findings.damaged,
        "counts": dict(findings.counts),
        "problems": [
            {"part": p.part, "table_id": p.table_id, "row": p.row, "problem": p.text} for p in findings.problems
        ],
    }
