"""The published numbers, from ``experiments/paper/*.csv``, under the names that methods and query sets have here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).parent.parent / "paper"

CORPORA: Mapping[str, tuple[str, ...]] = {
    "webtables": ("WT (10)", "WT (100)", "WT (1000)", "Kaggle"),
    "opendata": ("OD (100)", "OD (1000)", "OD (10000)"),
    "school": ("School",),
}
"""The paper's query sets by the lake that stands for their corpus."""

_SYSTEMS = {
    "MATE (XASH 128)": "xash 128",
    "SCR": "scr",
    "MCR": "mcr",
    "SCR Josie": "scr-josie",
    "MCR Josie": "mcr-josie",
}


RELEASED = "released "
"""Begins the names of query sets that the authors released."""


def corresponding(lake: str, query_set: str) -> str | None:
    """Return the paper's query set that one of ours corresponds to: sampled again or released, on the same corpus."""
    plain = query_set.removeprefix(RELEASED)
    return plain if plain in CORPORA.get(lake, ()) else None


def at_home(lake: str, query_set: str) -> bool:
    """Tell whether a set of the authors' was put to the corpus that it was sampled from."""
    return corresponding(lake, query_set) is not None or (lake, query_set) == ("opendata", f"{RELEASED}key size")


def sets_of(lake: str) -> tuple[str, ...]:
    """Return the paper's query sets of the corpus that a lake stands for; none for any other lake."""
    return CORPORA.get(lake, ())


@cache
def query_sets() -> pd.DataFrame:
    """Table 1, by query set."""
    return pd.read_csv(FOLDER / "table1_query_sets.csv").set_index("query_set")


@cache
def system_seconds() -> pd.DataFrame:
    """Figure 4: seconds, query sets by methods; nothing where a system did not terminate."""
    frame = pd.read_csv(FOLDER / "figure4_systems_runtime_seconds.csv")
    frame["method"] = frame["system"].map(_SYSTEMS)
    frame.loc[frame["note"].notna(), "seconds"] = float("nan")
    return _wide(frame, "seconds")


@cache
def hash_seconds() -> pd.DataFrame:
    """Table 2: seconds, query sets by methods."""
    return _wide(_hashed(pd.read_csv(FOLDER / "table2_runtime_seconds.csv")), "seconds")


@cache
def precision() -> pd.DataFrame:
    """Table 3: mean precision, query sets by methods, with the row ``Average``."""
    return _wide(_hashed(pd.read_csv(FOLDER / "table3_precision.csv")), "precision")


@cache
def deviation() -> pd.DataFrame:
    """Table 3: standard deviation of the precision."""
    return _wide(_hashed(pd.read_csv(FOLDER / "table3_precision.csv")), "stddev")


@cache
def components() -> pd.Series:
    """Figure 5: precision by variant, under the paper's names."""
    return pd.read_csv(FOLDER / "figure5_xash_components_precision.csv").set_index("variant")["precision"]


@cache
def key_size(metric: str) -> pd.DataFrame:
    """Figure 6: ``runtime_seconds`` or ``precision``, key sizes by methods."""
    frame = pd.read_csv(FOLDER / "figure6_key_size.csv")
    frame = frame[frame["metric"] == metric]
    names = {"XASH": "xash 128", "BF": "bf 128", "HT": "ht 128", "SCR": "scr"}
    wide = frame.assign(method=frame["method"].map(names)).pivot(index="key_size", columns="method", values="value")
    return wide[["scr", "xash 128", "bf 128", "ht 128"]]


@cache
def index_generation() -> pd.DataFrame:
    """Index generation, quantities by corpus: ``webtables`` and ``opendata``."""
    frame = pd.read_csv(FOLDER / "index_generation.csv").set_index("quantity")
    return frame.rename(columns={"DWTC": "webtables", "German Open Data": "opendata"})


@cache
def initial_columns() -> pd.Series:
    """Initial column selection: mean posting list items by strategy."""
    frame = pd.read_csv(FOLDER / "initial_column_selection.csv")
    return frame.set_index("strategy")["mean_posting_list_items"]


def _hashed(frame: pd.DataFrame) -> pd.DataFrame:
    """Name query sets and methods as we do: ``WT (1000)``, ``bf 128``."""
    sets = frame["query_set"].str.replace("k)", "000)", regex=False)
    bits = frame["bits"].map(lambda bits: "" if pd.isna(bits) else f" {bits:.0f}")
    return frame.assign(query_set=sets, method=frame["method"].str.lower() + bits)


def _wide(frame: pd.DataFrame, values: str) -> pd.DataFrame:
    """Return query sets by methods, both in the order of the paper."""
    wide = frame.pivot(index="query_set", columns="method", values=values)
    return wide.loc[list(dict.fromkeys(frame["query_set"])), list(dict.fromkeys(frame["method"]))]


def ratios(wide: pd.DataFrame, method: str, base: str) -> pd.Series:
    """Return how many times as large as `base` a method is, by query set, where both are known."""
    return (wide[method] / wide[base]).dropna()
