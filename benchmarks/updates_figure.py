"""The figure of the benchmark of changes: seconds over the size of the lake, and over the changes before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from experiments.reporting.style import SETTINGS

LOOKS = {
    "build again": ("#000000", "s", "-"),
    "compact after that": ("#666666", "D", "--"),
    "add a table": ("#0072B2", "o", "-"),
    "append 10 rows": ("#56B4E9", "^", "--"),
    "update a cell": ("#D55E00", "v", "-."),
    "remove a row": ("#E69F00", "P", ":"),
    "add a column": ("#009E73", "X", "--"),
    "remove a column": ("#CC79A7", "*", "-."),
    "add a large table": ("#AA3377", "p", "-"),
    "update a cell of it": ("#8C564B", "d", "--"),
    "remove a table": ("#999999", "h", ":"),
}
"""Colour, marker and line of each operation."""


def draw_updates(record: dict[str, Any], path: Path) -> None:
    """Draw what each operation costs as the lake grows, and one of them as changes pile up."""
    with plt.rc_context(SETTINGS):
        figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), width_ratios=(1.5, 1))
        for operation, (colour, marker, line) in LOOKS.items():
            mine = [cost for cost in record["costs"] if cost["operation"] == operation]
            if mine:
                left.plot([cost["cells"] / 1e6 for cost in mine], [cost["best"] for cost in mine], color=colour,
                          marker=marker, linestyle=line, label=operation)  # fmt: skip
        left.set_xscale("log")
        left.set_yscale("log")
        left.set_xlabel("million cells in the lake")
        left.set_ylabel("seconds")
        left.set_title("a change, and building again", fontsize=10)
        left.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
        right.plot([pile["changes_before"] for pile in record["piles"]], [pile["best"] for pile in record["piles"]],
                   color="#D55E00", marker="v", linestyle="-.")  # fmt: skip
        right.set_ylim(bottom=0)
        right.set_xlabel("changes before, of one row each")
        right.set_ylabel("seconds")
        right.set_title("updating a cell as changes pile up", fontsize=10)
        for axis in (left, right):
            axis.grid(alpha=0.3)
        load = f"load average {record['load'][0]:.1f}"
        figure.suptitle(f"Changing an index ({record['machine']['cores']} cores, {load})")
        figure.tight_layout()
        figure.savefig(path, dpi=150)
        plt.close(figure)
