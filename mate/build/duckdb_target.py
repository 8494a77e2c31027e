"""Building into the embedded store: tasks write Parquet, DuckDB sorts it into a new file, a rename publishes it."""

from __future__ import annotations

from glob import escape
from pathlib import Path

import duckdb

from mate.errors import StoreError
from mate.build import duckdb_josie, josie
from mate.build.flat import write_flat
from mate.build.stage import Staged
from mate.build.workshop import Workshop, parquet, quoted, replace_file, selected
from mate.store.base import Manifest
from mate.store.changes import changes_path
from mate.store.flat import flat_path


class DuckDBTarget(Workshop):
    """A build of one DuckDB file."""

    def load(self, stored: list[dict[str, str]], dictionary: str, staged: list[Staged], manifest: Manifest) -> None:
        """Sort everything into a new DuckDB file and check that nothing was lost."""
        self._new = self.directory / "index.duckdb"
        with self.building(self._new) as database:
            self._create(database, stored, dictionary, staged, manifest)
            verify(database, manifest)
            write_flat(database, manifest, flat_path(self._new))

    def load_josie(self, stored: list[dict[str, str]]) -> None:
        """Sort the JOSIE index into the same file."""
        with self.building(self._new) as database:
            duckdb_josie.create(database, parquet(part[josie.MEMBERS] for part in stored))
        for part in stored:
            Path(part[josie.MEMBERS]).unlink()

    def _create(
        self,
        database: duckdb.DuckDBPyConnection,
        stored: list[dict[str, str]],
        dictionary: str,
        staged: list[Staged],
        manifest: Manifest,
    ) -> None:
        database.execute(
            "CREATE TABLE tokens AS SELECT token_id, token, postings"
            f" FROM read_parquet('{quoted(escape(dictionary))}/*.parquet') ORDER BY token_id"
        )
        # Units follow each other and so do their files: all but the postings come sorted.
        for name in stored[0]:
            order = " ORDER BY token_id, row_id, column_id" if name == "postings" else ""
            database.execute(
                f"CREATE TABLE {name} AS SELECT {selected(name)} FROM {parquet(part[name] for part in stored)}{order}"
            )
            for part in stored:
                Path(part[name]).unlink()
        for name in ("rejects", "sources"):
            database.execute(f"CREATE TABLE {name} AS SELECT * FROM {parquet(s.path(name) for s in staged)}")
        database.execute("CREATE TABLE manifest (name VARCHAR, value VARCHAR)")
        database.execute("INSERT INTO manifest VALUES ('manifest', $1)", [manifest.to_json()])

    def publish(self) -> None:
        """Replace the old index by the new one."""
        publish_index(self._new, self.path)


def verify(database: duckdb.DuckDBPyConnection, manifest: Manifest) -> None:
    """Raise StoreError if a table of a finished index has other than the expected number of records."""
    expected = {
        "tokens": manifest.distinct_tokens,
        "postings": manifest.cells,
        "rows": manifest.rows,
        "cells": manifest.rows,
        "tables": manifest.tables,
    }
    for name, count in expected.items():
        found = database.execute(f"SELECT count(*) FROM {name}").fetchone()
        if found is None or found[0] != count:
            raise StoreError(f"the table {name} has {found and found[0]:,} records where {count:,} were staged")


def publish_index(new: Path, path: Path) -> None:
    """Put a finished index into its place, in one step; changes to the one that was there are void from then on.

    The flat file comes first: until the index that it belongs to is there too, it is not used.
    """
    if flat_path(new).exists():
        replace_file(flat_path(new), flat_path(path))
    else:
        flat_path(path).unlink(missing_ok=True)
    replace_file(new, path)
    changes_path(path).unlink(missing_ok=True)
