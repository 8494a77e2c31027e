"""Figures of the benchmarks: readable in grey and for colour-blind eyes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

# Okabe and Ito's palette; every series has a marker and a hatch of its own as well.
COLOURS = {
    "xash": "#0072B2",
    "bf": "#D55E00",
    "bf fair": "#E69F00",
    "lhbf": "#009E73",
    "ht": "#CC79A7",
    "simhash": "#56B4E9",
    "md5": "#666666",
    "murmur": "#999999",
    "city": "#BBBBBB",
}
MARKERS = dict(zip(COLOURS, "osD^vPX*h", strict=True))
HATCHES = dict(zip(COLOURS, ("", "//", "..", "\\\\", "xx", "--", "++", "oo", "**"), strict=True))


def draw_hashes(record: dict[str, Any], path: Path) -> None:
    """Draw speed, fill and false positives of the hash comparison."""
    results = record["results"]
    _name_fair(results)
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(1, 3, figsize=(14, 5.6), width_ratios=(1, 1, 1))
        _bars(axes[0], results, "times_mmh3", "values/s, relative to a plain mmh3 loop", log=True)
        axes[0].axvline(1, color="black", linewidth=0.8)
        _fill_lines(axes[1], results)
        _bars(axes[2], results, "near_misses", "rows that cover a near miss (less is better)", log=False)
        figure.suptitle(f"Hash functions for super keys on {record['sample']}")
        figure.tight_layout()
        figure.savefig(path, dpi=150)
        plt.close(figure)


def _name_fair(results: list[dict[str, Any]]) -> None:
    """Tell the Bloom filter with XASH's number of bits from the paper's one."""
    alphas = {r["bits"]: r["parameters"]["alpha"] for r in results if r["hash"] == "xash"}
    for r in results:
        r["series"] = r["hash"]
        if r["hash"] == "bf" and r["parameters"]["hashes"] == alphas.get(r["bits"]):
            r["series"] = "bf fair"


def _bars(axis: Any, results: list[dict[str, Any]], field: str, title: str, *, log: bool) -> None:
    labels = [f"{r['series']} {r['bits']}" for r in results]
    bars = axis.barh(labels, [r[field] for r in results], color=[COLOURS.get(r["series"], "#333333") for r in results])
    for bar, r in zip(bars, results, strict=True):
        bar.set_hatch(HATCHES.get(r["series"], ""))
        bar.set_edgecolor("white")
        text = f"{r[field]:.2f}" if log else f"{r[field]:.1%}"
        axis.annotate(text, (bar.get_width(), bar.get_y() + bar.get_height() / 2), (3, 0),
                      textcoords="offset points", va="center", fontsize=7)  # fmt: skip
    axis.invert_yaxis()
    if log:
        axis.set_xscale("log")
    axis.set_title(title, fontsize=10)


def _fill_lines(axis: Any, results: list[dict[str, Any]]) -> None:
    for r in (r for r in results if r["bits"] == 128):
        series = r["series"]
        axis.plot(list(r["fill"]), [100 * share for share in r["fill"].values()], label=series,
                  color=COLOURS.get(series, "#333333"), marker=MARKERS.get(series, "."))  # fmt: skip
    axis.set_ylim(0, 102)
    axis.set_xlabel("columns of the row")
    axis.set_title("1-bits in 128-bit super keys of rows (%)", fontsize=10)
    axis.legend(frameon=False, ncols=2, fontsize=8)
