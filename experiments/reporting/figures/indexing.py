"""Figure of index generation: what super keys and JOSIE add to the inverted index."""

from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.reporting.figures.drawing import Drawn, grid, legend, log_axis, panels, styled
from experiments.reporting.numbers import percent
from experiments.reporting.results import Results
from experiments.reporting.style import Look
from experiments.reporting.tables.indexing import published_sizes, sizes

PARTS = {
    "super keys per cell": Look("super keys per cell", "#0072B2"),
    "super keys per row": Look("super keys per row", "#56B4E9", "//"),
    "JOSIE": Look("JOSIE", "#E69F00", ".."),
}


@styled
def index_generation(results: Results) -> list[Drawn]:
    """Draw bytes relative to the inverted index, our lakes beside the paper's corpora."""
    ours = sizes(results.frames["index-generation"])
    columns = [(results.title(lake), ours[ours["lake"] == lake]) for lake in results.lakes_of("index-generation")]
    theirs = published_sizes()
    columns += [(f"paper:\n{corpus}", theirs[theirs["lake"] == corpus]) for corpus in dict.fromkeys(theirs["lake"])]
    title = "Index generation: space beside the inverted index"
    figure, (axis,) = panels(1, max(6.0, 1.7 * len(columns)), 3.4, title=title)
    grid(axis)
    for place, (_, rows) in enumerate(columns):
        _bars(axis, place, rows.set_index("part")["bytes"])
    axis.margins(y=0.12)
    log_axis(axis)
    axis.set_xticks(range(len(columns)), [name for name, _ in columns])
    axis.set_ylabel("% of the inverted index")
    legend(figure, list(PARTS.values()), bars=True)
    caption = "Bytes that 128-bit super keys per row and JOSIE add, and that super keys per cell would add (computed), "
    caption += "relative to the inverted index without them."
    return [Drawn("index-generation", title, caption, figure)]


def _bars(axis: Any, place: int, parts: pd.Series) -> None:
    width = 0.8 / len(PARTS)
    for number, (part, look) in enumerate(PARTS.items()):
        if part not in parts or parts[part] <= 0:
            continue
        value, x = 100 * float(parts[part] / parts["inverted index"]), place + (number - 1) * width
        axis.bar(x, value, width * 0.94, color=look.colour, hatch=look.hatch, edgecolor="white")
        axis.annotate(percent(value / 100), (x, value), (0, 2), textcoords="offset points", ha="center", fontsize=7)
