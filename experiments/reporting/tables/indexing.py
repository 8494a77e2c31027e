"""Tables of index generation (section 7.1) and of collisions (section 6.4)."""

from __future__ import annotations

import pandas as pd

from experiments.metrics import index_bytes
from experiments.regenerate.index_generation import KEYED, PLAIN
from experiments.reporting import paper
from experiments.reporting.numbers import NOTHING, count, gigabytes, number, percent, seconds, whole
from experiments.reporting.results import Results
from experiments.reporting.style import look_of_hash
from experiments.reporting.tables.table import Table

_GB = 1e9


def sizes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return, by lake, the bytes that the inverted index needs and those that super keys and JOSIE add.

    Super keys per cell are computed from the number of cells.
    """
    rows = []
    for lake, group in frame.groupby("lake", sort=False):
        builds = group.set_index("build")
        if not {PLAIN, KEYED} <= set(builds.index):
            continue
        used = index_bytes(builds)
        found = {
            "inverted index": used[PLAIN],
            "super keys per cell": builds.loc[KEYED, "per_cell_bytes_computed"],
            "super keys per row": used[KEYED] - used[PLAIN],
            "JOSIE": builds.loc[KEYED, "josie_bytes"],
        }
        rows += [{"lake": lake, "part": part, "bytes": float(size)} for part, size in found.items()]
    return pd.DataFrame(rows, columns=["lake", "part", "bytes"])


def published_sizes() -> pd.DataFrame:
    """Return the paper's sizes in the same form, in bytes."""
    table = paper.index_generation()
    names = {
        "inverted index": "inverted_index_gb",
        "super keys per cell": "super_keys_per_cell_gb",
        "super keys per row": "super_keys_per_row_gb",
        "JOSIE": "josie_extra_gb",
    }
    return pd.DataFrame(
        [
            {"lake": corpus, "part": part, "bytes": float(table.loc[row, corpus]) * _GB}
            for corpus in table.columns
            for part, row in names.items()
        ]
    )


def index_generation(results: Results) -> list[Table]:
    """Return the table of index generation: lakes as columns, quantities as rows."""
    frame = results.frames["index-generation"]
    lakes = results.lakes_of("index-generation")
    rows = [(name, *cells, *printed) for name, cells, printed in _quantities(frame, lakes)]
    header = [("", "quantity"), *(("here", results.title(lake)) for lake in lakes)]
    header += [("paper", corpus) for corpus in paper.index_generation().columns]
    engines = ", ".join(dict.fromkeys("no Spark" if e == "none" else f"Spark {e}" for e in frame["engine"]))
    note = f"Built with {engines}. What super keys per row add is the difference between two builds; per cell: their "
    note += "number times 16 bytes, computed. In brackets relative to the inverted index. JOSIE reads the directory of "
    note += "the index here and adds the order of tokens; its time is that of making it, in the paper that of an index "
    note += "of its own, on 128 cores."
    title = "Index generation (section 7.1)"
    return [Table("index-generation", title, tuple(header), tuple(rows), frame, (note,), left=1)]


def _quantities(frame: pd.DataFrame, lakes: list[str]) -> list[tuple[str, list[str], list[str]]]:
    builds = {lake: frame[frame["lake"] == lake].set_index("build") for lake in lakes}
    table = paper.index_generation()
    corpora = list(table.columns)
    found = []
    for title, column, printed in (
        ("tables", "tables", "tables"),
        ("columns", "columns", "columns"),
        ("rows", "rows", "rows"),
        ("cells", "cells", "cells"),
        ("distinct values", "distinct_tokens", "unique_values"),
    ):
        own = [f"{int(builds[lake][column].iloc[0]):,}" for lake in lakes]
        found.append((title, own, [whole(table.loc[printed, c]) for c in corpora]))
    ours, theirs = (
        long.pivot(index="part", columns="lake", values="bytes") for long in (sizes(frame), published_sizes())
    )
    for part, title in _TITLES.items():
        own = [_with_share(ours[lake], part) if lake in ours else NOTHING for lake in lakes]
        found.append((title, own, [_with_share(theirs[c], part) for c in corpora]))
    computed = [gigabytes(_get(builds[lake], KEYED, "per_row_bytes_computed")) for lake in lakes]
    found.append(("super keys per row, computed", computed, [NOTHING] * len(corpora)))
    times_here = [seconds(_get(builds[lake], KEYED, "seconds")) for lake in lakes]
    hours = [f"{table.loc['mate_index_hours', c]:.0f} h" for c in corpora]
    found.append(("time to build MATE's index", times_here, hours))
    without = [seconds(_get(builds[lake], PLAIN, "seconds")) for lake in lakes]
    found.append(("time without super keys", without, [NOTHING] * len(corpora)))
    josie = [seconds(_get(builds[lake], KEYED, "josie_seconds")) for lake in lakes]
    hours = [f"{table.loc['josie_index_hours', c]:.0f} h" for c in corpora]
    found.append(("time to make what JOSIE adds", josie, hours))
    size = [gigabytes(_get(builds[lake], KEYED, "josie_index_bytes")) for lake in lakes]
    found.append(("JOSIE's own index, on disk", size, [NOTHING] * len(corpora)))
    took = [seconds(_get(builds[lake], KEYED, "josie_index_seconds")) for lake in lakes]
    found.append(("time to build JOSIE's own index", took, [NOTHING] * len(corpora)))
    return found


_TITLES = {
    "inverted index": "inverted index",
    "super keys per cell": "super keys per cell add, computed",
    "super keys per row": "super keys per row add",
    "JOSIE": "JOSIE adds",
}


def _with_share(series: pd.Series, part: str) -> str:
    if part not in series or series[part] != series[part]:
        return NOTHING
    text = gigabytes(series[part])
    return text if part == "inverted index" else f"{text} ({percent(series[part] / series['inverted index'])})"


def _get(builds: pd.DataFrame, build: str, column: str) -> float | None:
    return builds.loc[build, column] if build in builds.index and column in builds else None


def collisions(results: Results) -> list[Table]:
    """Return the chances of a collision by the paper's formulas, and those that were counted."""
    frame = results.frames["collisions"]
    formulas, measured = frame[frame["kind"] == "formula"], frame[frame["kind"] == "measured"]
    return [
        *([_formulas(formulas)] if len(formulas) else []),
        *([_counted(results, measured)] if len(measured) else []),
    ]


def _formulas(frame: pd.DataFrame) -> Table:
    readings = {"printed": "as printed", "product": "as the text says", "set": "unordered characters"}
    lhbf = frame[frame["hash"] == "lhbf"].set_index("bits")["probability"]
    own = frame[frame["hash"] == "xash"]
    rows = []
    for (bits, reading, length), group in own.groupby(["bits", "reading", "length"], sort=False):
        cells = group.set_index("characters")
        texts = [
            number(cells.loc[k, "probability"], 2) + (" <" if cells.loc[k, "below_lhbf"] else "") for k in cells.index
        ]
        kind = readings[reading] + (", with length" if length else "")
        rows.append((str(bits), kind, number(lhbf[bits], 2), *texts))
    header = [("", "bits"), ("", "XASH's formula"), ("", "LHBF")]
    header += [("XASH with K characters, K =", str(k)) for k in sorted(set(own["characters"]))]
    note = "Chance that two values collide; <: below LHBF's (section 6.4 says so for 128 bits from K = 4, with length "
    note += "from K = 3)."
    title = "Collisions by formula (section 6.4)"
    return Table("collisions-formula", title, tuple(header), tuple(rows), frame, (note,), left=2)


def _counted(results: Results, frame: pd.DataFrame) -> Table:
    lakes = results.lakes_of("collisions")
    rows = []
    for (name, variant, bits), group in frame.groupby(["hash", "variant", "bits"], sort=False):
        cells: list[str] = []
        for lake in lakes:
            own = group[group["lake"] == lake]
            row = own.iloc[0] if len(own) else None
            cells += (
                [number(row["probability"], 2), f"{row['colliding_pairs']:,}", f"{row['mean_ones']:.1f}"]
                if row is not None
                else [NOTHING] * 3
            )
        rows.append((look_of_hash(name, variant).label, str(bits), *cells))
    header = [("", "hash function"), ("", "bits")]
    for lake in lakes:
        tokens = int(frame[frame["lake"] == lake]["tokens"].max())
        group_name = f"{results.title(lake)}, {count(tokens, 'value')}"
        header += [(group_name, "share of pairs"), (group_name, "pairs"), (group_name, "1-bits per value")]
    note = "Pairs of distinct values of the lake that have the same hash."
    title = "Collisions counted"
    return Table("collisions", title, tuple(header), tuple(rows), frame, (note,))
