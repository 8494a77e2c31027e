"""Tables of section 7.5: top-k, components, key size, initial column."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from experiments.reporting import paper
from experiments.reporting.numbers import NOTHING, number, share, times
from experiments.reporting.results import BY, Results
from experiments.reporting.style import look_of_hash
from experiments.reporting.tables.statistics import precision_summary, runtime_summary, unit_of
from experiments.reporting.tables.table import Table

COMPONENTS = {
    "SCI": "scr",
    "Length": "length",
    "Rare characters": "rare characters",
    "Char. + loc.": "char. + loc.",
    "Char. + len. + loc.": "char. + len. + loc.",
    "XASH": "paper's alpha",
    "XASH, alpha of the lake": "",
    "XASH, released code": "released",
    "XASH, corpus-rare characters": "corpus-rare characters",
}
"""The bars of figure 5, and the variant of XASH that each is; SCI is SCR."""


def named(row: pd.Series) -> str:
    """Return a hash function for people."""
    return look_of_hash(str(row["hash"] or ""), str(row["variant"] or "")).label


def top_k(results: Results) -> list[Table]:
    """Return precision by k."""
    summary = precision_summary(results.queries("top-k"))
    ks = sorted(set(summary["k"]))
    rows = []
    for (lake, name, _), group in summary.groupby(["lake", "query_set", "method"], sort=False):
        cells = group.set_index("k")["mean"]
        change = cells.get(ks[-1], float("nan")) - cells.get(ks[0], float("nan"))
        first = group.iloc[0]
        told = f"{change:+.3f}" if change == change else NOTHING
        facts = results.title(lake), name, named(first), str(first["queries"])
        rows.append((*facts, *(share(cells.get(k)) for k in ks), told))
    header = [("", "lake"), ("", "query set"), ("", "hash function"), ("", "queries"), *(("k =", str(k)) for k in ks)]
    header.append(("", "change"))
    note = "Mean precision at 128 bits. Paper: XASH +0.04 from k = 2 to 20, BF level, the others slightly down."
    title = "Top-k (section 7.5.1): precision by k"
    return [Table("top-k", title, tuple(header), tuple(rows), summary, (note,), left=3)]


def components(results: Results) -> pd.DataFrame:
    """Return precision and false positives of figure 5: one row per lake, query set, bar and size."""
    summary = precision_summary(results.queries("figure5"))
    rows = []
    for (lake, name), group in summary.groupby(["lake", "query_set"], sort=False):
        for bar, variant in COMPONENTS.items():
            own = group[group["system"] == "scr"] if variant == "scr" else group[group["variant"].fillna("") == variant]
            own = own if variant == "scr" else own[own["system"] != "scr"]
            for _, row in own.iterrows():
                bits = None if pd.isna(row["bits"]) else int(row["bits"])
                facts = {"lake": lake, "query_set": name, "bar": bar, "bits": bits, "queries": row["queries"]}
                rows.append({**facts, "precision": row["mean"], "false_positives": row["false_positives"]})
    return pd.DataFrame(rows)


def published_component(bar: str, bits: int | None) -> float | None:
    """Return the paper's precision of a bar of figure 5."""
    found = paper.components()
    if bar == "XASH":
        return float(found[f"XASH ({bits} bit)"])
    return float(found[bar]) if bar in found and bits in (None, 128) else None


def figure5(results: Results) -> list[Table]:
    """Return figure 5 as a table."""
    found = components(results)
    places = list(found[["lake", "query_set", "queries"]].drop_duplicates().itertuples(index=False, name=None))
    rows = []
    for bar in COMPONENTS:
        cells: list[str] = []
        for lake, name, _ in places:
            own = found[(found["lake"] == lake) & (found["query_set"] == name) & (found["bar"] == bar)]
            by_bits = {None if pd.isna(b) else int(b): p for b, p in zip(own["bits"], own["precision"], strict=True)}
            cells += [share(by_bits.get(128, by_bits.get(None))), share(by_bits.get(512, by_bits.get(None)))]
        printed = [share(published_component(bar, bits)) for bits in (128, 512)]
        rows.append((bar, *cells, *(printed if bar != "SCI" else [share(paper.components()["SCI"])] * 2)))
    header = [("", "part of XASH")]
    for lake, name, queries in places:
        header += [(f"{results.title(lake)}, {name}, {queries} queries", f"{bits} bits") for bits in (128, 512)]
    header += [("paper, WT (100)", f"{bits} bits") for bits in (128, 512)]
    note = "Mean precision. The parts and XASH have the paper's alpha (6 at 128 bits, 4 at 512). SCI has no row filter."
    title = "Figure 5 as a table: precision by component of XASH"
    return [Table("figure5", title, tuple(header), tuple(rows), found, (note,), left=1)]


def key_sizes(results: Results) -> pd.DataFrame:
    """Return runtimes and precisions of figure 6: one row per lake, method and number of key columns."""
    queries = results.queries("figure6")
    by = [*BY, "key_columns"]
    shown = ["mean", "false_positives", "true_positives"]
    precision = precision_summary(queries, by)[[*by, *shown]].rename(columns={"mean": "precision"})
    return runtime_summary(queries, by).merge(precision, on=by, how="left")


def figure6(results: Results) -> list[Table]:
    """Return figure 6 as two tables, the paper's numbers below."""
    found = key_sizes(results)
    unit, scale = unit_of(found["median"])
    note = "Tables with ten columns that vary; their key is extended column by column."
    runtime = _by_size(results, found.assign(shown=found["median"] * scale), paper.key_size("runtime_seconds"), number)
    precise = _by_size(results, found.assign(shown=found["precision"]), paper.key_size("precision"), share)
    runtime_title = f"Figure 6 (a) as a table: runtime by key size ({unit}; paper: s)"
    precise_title = "Figure 6 (b) as a table: precision by key size"
    return [
        Table("figure6-runtime", runtime_title, *runtime, found, (f"{note} Median {unit} a query.",)),
        Table("figure6-precision", precise_title, *precise, found, (f"{note} Mean over tables.",)),
    ]


def _by_size(
    results: Results, found: pd.DataFrame, printed: pd.DataFrame, text: Callable[[float | None], str]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, ...], ...]]:
    """Return header and rows: methods by key sizes."""
    sizes = sorted(set(found["key_columns"]))
    rows = []
    for (lake, _, _), group in found.groupby(["lake", "query_set", "method"], sort=False):
        cells = group.set_index("key_columns")["shown"]
        facts = results.title(lake), named(group.iloc[0]), str(group["queries"].max())
        rows.append((*facts, *(text(cells.get(size)) for size in sizes)))
    for method in printed.columns:
        label = look_of_hash("" if method == "scr" else method.split()[0], "").label
        rows.append(("paper", label, "1", *(text(printed[method].get(size)) for size in sizes)))
    header = (("", "lake"), ("", "method"), ("", "tables"), *(("|Q| =", str(size)) for size in sizes))
    return header, tuple(rows)


def initial_columns(results: Results) -> pd.DataFrame:
    """Return mean postings and pairs by lake and strategy."""
    queries = results.queries("initial-column")
    groups = queries.groupby(["lake", "query_set", "variant"], sort=False)
    means = groups[["postings", "pairs"]].mean().astype(float)
    return means.join(groups.size().rename("queries")).reset_index()


MATE = "minimum cardinality (MATE)"


def initial_column(results: Results) -> list[Table]:
    """Return the posting list items that every strategy fetches, relative to MATE's as in the paper."""
    found, printed = initial_columns(results), paper.initial_columns()
    others = [name for name in dict.fromkeys(found["variant"]) if name != MATE]
    rows = []
    for (lake, name), own in found.groupby(["lake", "query_set"], sort=False):
        items, pairs = (own.set_index("variant")[column] for column in ("postings", "pairs"))
        base = items.get(MATE)
        relative = [times(items.get(o, float("nan")) / base) if base else NOTHING for o in others]
        facts = results.title(lake), name, str(own["queries"].max()), number(base)
        rows.append((*facts, *relative, *(number(pairs.get(o)) for o in (MATE, *others))))
    published = [times(printed[o] / printed[MATE]) if o in printed else NOTHING for o in others]
    rows.append(("paper", "OD (10000)", "150", number(printed[MATE]), *published, *([NOTHING] * (len(others) + 1))))
    header = [("", "lake"), ("", "query set"), ("", "queries"), ("items", "MATE")]
    header += [("items, relative to MATE's choice", name) for name in others]
    header += [("pairs", "MATE"), *(("pairs", name) for name in others)]
    note = "Posting list items fetched, mean over queries; pairs: items times key tuples with the same value, which is "
    note += "what the row filter looks at and what the library's default keeps small."
    title = "Initial column (section 7.5.4): posting list items by strategy"
    return [Table("initial-column", title, tuple(header), tuple(rows), found, (note,))]
