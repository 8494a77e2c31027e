"""Raw records: one per search, in one Parquet file per definition, and how they are written and read.

A file appears under its name only when it is complete. Its metadata says what was measured, with which versions, on
which machine. What an experiment consists of stands in ``experiments/NAME.json`` below the folder of results, by lake
and engine; `load` reads the records that are named there, so that those of other settings never mix in.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.errors import RecordError

FORMAT = 3
METADATA = b"mate.experiments"

PHASES = pa.map_(pa.string(), pa.float64())
SEARCHES = pa.schema(
    [
        ("lake", pa.string()),
        ("label", pa.string()),
        ("query_set", pa.string()),
        ("query", pa.string()),
        ("origin", pa.int64()),
        ("key_columns", pa.int64()),
        ("cardinality", pa.int64()),
        ("engine", pa.string()),
        ("system", pa.string()),
        ("hash", pa.string()),
        ("bits", pa.int64()),
        ("variant", pa.string()),
        ("method", pa.string()),
        ("hash_parameters", pa.string()),
        ("initial_column", pa.string()),
        ("k", pa.int64()),
        ("own_table", pa.bool_()),
        ("repetition", pa.int64()),
        ("counted", pa.bool_()),
        ("seconds", pa.float64()),
        ("phases", PHASES),
        ("known_tuples", pa.int64()),
        ("postings", pa.int64()),
        ("pairs", pa.int64()),
        ("rows_compared", pa.int64()),
        ("rows_cut_by_first_bits", pa.int64()),
        ("pairs_compared", pa.int64()),
        ("pairs_cut_by_first_bits", pa.int64()),
        ("candidates", pa.int64()),
        ("tables", pa.int64()),
        ("tables_cut_rule_1", pa.int64()),
        ("tables_cut_rule_2", pa.int64()),
        ("tables_checked", pa.int64()),
        ("mappings_bounded", pa.int64()),
        ("mappings_checked", pa.int64()),
        ("tables_by_row", pa.int64()),
        ("rows_read", pa.int64()),
        ("true_positives", pa.int64()),
        ("false_positives", pa.int64()),
        ("false_positives_held", pa.int64()),
        ("precision", pa.float64()),
        ("filter_precision", pa.float64()),
        ("answers", pa.int64()),
        ("answer_tables", pa.list_(pa.int64())),
        ("answer_scores", pa.list_(pa.int64())),
        ("checksum", pa.string()),
        ("best", pa.int64()),
        ("best_other", pa.int64()),
        ("exact", pa.bool_()),
        ("finished", pa.bool_()),
        ("error", pa.string()),
    ]
)
"""One record per search; see docs/experiments.md for the meaning of each column."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A file of records as it was read."""

    path: Path
    table: pa.Table
    metadata: dict[str, Any]


def write(path: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema, metadata: Mapping[str, Any]) -> None:
    """Write records under their final name in one step; whoever looks sees all of them or none."""
    told = json.dumps({"format": FORMAT, "records": len(rows), **metadata}, ensure_ascii=False)
    columns = [pa.array([_stored(row.get(name)) for row in rows], schema.field(name).type) for name in schema.names]
    table = pa.Table.from_arrays(columns, schema=schema.with_metadata({METADATA: told.encode()}))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        pq.write_table(table, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _stored(value: Any) -> Any:
    """Return a value as Arrow takes it: a map as its items."""
    return list(value.items()) if isinstance(value, dict) else value


def read(path: Path) -> Recorded:
    """Read a file of records, and refuse one that is damaged or not ours."""
    try:
        with pq.ParquetFile(path) as file:
            table = file.read(use_threads=False)
        metadata = json.loads((table.schema.metadata or {})[METADATA])
        if metadata["format"] != FORMAT:
            raise RecordError(f"{path} has format {metadata['format']}, this version reads {FORMAT}; use --redo")
        if metadata["records"] != table.num_rows:
            raise RecordError(f"{path} holds {table.num_rows} of {metadata['records']} records; use --redo")
    except FileNotFoundError:
        raise RecordError(f"there are no records at {path}") from None
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RecordError(
            f"the records in {path} cannot be read ({reason}): delete the file, or measure it again with --redo"
        ) from error
    return Recorded(path, table, metadata)


def note_plan(results: Path, experiment: str, lake: str, engine: str, entry: Mapping[str, Any]) -> None:
    """Note which files make up an experiment on a lake in an engine; what is noted of others stays."""
    path = results / "experiments" / f"{experiment}.json"
    known: dict[str, Any] = _plan(path) if path.exists() else {"experiment": experiment, "lakes": {}}
    known["lakes"].setdefault(lake, {})[engine] = dict(entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)


def _plan(path: Path) -> dict[str, Any]:
    try:
        known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for entry in _entries(known):
            list(entry["files"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"{path} cannot be read ({error}): delete it and run the experiment again") from error
    return known


def _entries(known: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [entry for engines in known["lakes"].values() for entry in engines.values()]


def plan(results: Path | str, experiment: str) -> dict[str, Any]:
    """Return what an experiment consists of: by lake and engine its scale, seed and files, as last asked for."""
    path = Path(results) / "experiments" / f"{experiment}.json"
    if not path.exists():
        raise RecordError(
            f"there are no results of {experiment} in {results}; make them with: "
            f"python -m experiments run {experiment} --results {results}"
        )
    return _plan(path)


def recorded(results: Path | str, experiment: str) -> list[Recorded]:
    """Return the files of an experiment that are there, lake by lake; raise RecordError if there is none."""
    present = [Path(results) / name for name in _names(results, experiment) if (Path(results) / name).exists()]
    if not present:
        raise RecordError(
            f"{experiment} was begun but nothing of it is finished in {results}; go on with: "
            f"python -m experiments run {experiment} --results {results}"
        )
    return [read(path) for path in present]


def missing(results: Path | str, experiment: str) -> list[str]:
    """Return the files of an experiment that are not there yet."""
    return [name for name in _names(results, experiment) if not (Path(results) / name).exists()]


def _names(results: Path | str, experiment: str) -> list[str]:
    """Return the files of an experiment, those that several lakes share once."""
    entries = _entries(plan(results, experiment))
    return list(dict.fromkeys(name for entry in entries for name in entry["files"]))


def load(results: Path | str, experiment: str) -> pd.DataFrame:
    """Return all records of an experiment, phases as columns ``phase_...``; `attrs["files"]` has the metadata."""
    files = recorded(results, experiment)
    frame = pd.concat([_frame(table) for table in _joined(file.table for file in files)], ignore_index=True)
    frame.insert(0, "experiment", experiment)
    frame.attrs["files"] = [{"path": str(file.path), **file.metadata} for file in files]
    return frame


def _joined(tables: Iterable[pa.Table]) -> list[pa.Table]:
    """Return tables with neighbours of the same columns as one: a few large tables are read faster than many small."""
    return [pa.concat_tables(group) for _, group in groupby(tables, key=lambda table: table.schema)]


def _frame(table: pa.Table) -> pd.DataFrame:
    """Return a table as a frame whose whole numbers stay whole, and whose maps become columns."""
    frame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    for name, prefix in (("phases", "phase_"), ("parts", "bytes_")):
        if name in frame:
            wide = pd.DataFrame([dict(entry) for entry in frame.pop(name)], index=frame.index)
            frame = frame.join(wide.rename(columns=lambda part, prefix=prefix: prefix + part.replace(" ", "_")))
    return frame
