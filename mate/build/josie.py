"""The pipeline's part of the JOSIE index: which token occurs in which column, one task a unit.

Everything after that (the global order, the positions) needs the whole corpus and is a matter of grouping and sorting,
which is left to the store: see `Target.load_josie`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mate.build.keys import Offsets
from mate.build.stage import Staged
from mate.values.token_ids import NO_TOKEN

MEMBERS = "josie_members"
SCHEMAS = {MEMBERS: pa.schema([(name, pa.int64()) for name in ("token_id", "table_id", "column_id")])}


def member_unit(staged: Staged, offsets: Offsets) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the tokens of the unit's columns, distinct within a batch of rows."""
    rows = pq.ParquetFile(staged.path("rows"))
    for group in range(rows.num_row_groups):
        table = rows.read_row_group(group, columns=["table_no", "tokens"])
        for batch in _distinct(table, offsets.table).to_batches():
            yield MEMBERS, batch


def _distinct(rows: pa.Table, first_table: int) -> pa.Table:
    lists = rows.column("tokens").combine_chunks()
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    starts = lists.offsets.to_numpy().astype(np.int64)
    widths = np.diff(starts)
    tokens = lists.values.to_numpy()[starts[0] : starts[-1]]
    columns = np.arange(len(tokens)) - np.repeat(starts[:-1] - starts[0], widths)
    tables = np.repeat(rows.column("table_no").to_numpy().astype(np.int64) + first_table, widths)
    valid = tokens != NO_TOKEN
    names = SCHEMAS[MEMBERS].names
    cells = pa.table([tokens[valid], tables[valid], columns[valid]], names=names)
    return cells.group_by(names, use_threads=False).aggregate([]).cast(SCHEMAS[MEMBERS])
