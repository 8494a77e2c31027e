"""Figures of the benchmarks: readable in grey and for colour-blind eyes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from experiments.reporting.style import SETTINGS, SYSTEMS

# Phases of a build in the order in which they run, and whose memory it is: colour and hatch.
PHASES = {
    "start Spark": ("#999999", "//"),
    "look at large files": ("#56B4E9", "\\\\"),
    "read and tokenise": ("#0072B2", ""),
    "count distinct tokens": ("#E69F00", ".."),
    "write segments": ("#D55E00", ""),
    "other": ("#DDDDDD", ""),
}
MEMORY = {
    "driver": ("driver Python", "#009E73", ""),
    "jvm": ("JVM", "#CC79A7", "//"),
    "executors": ("executor JVMs", "#56B4E9", "\\\\"),
    "workers": ("Python workers", "#F0E442", ".."),
    "largest": ("largest Python process", "#D55E00", ""),
    "together": ("all at one time", "#444444", ""),
}


def draw_indexing(record: dict[str, Any], path: Path) -> None:
    """Draw seconds by phase and peak memory of index builds, from the fewest cells to the most."""
    builds = sorted(record["builds"], key=lambda build: (build["cells"], build["segments"]))
    labels = [f"{b['cells'] / 1e6:.3g} M cells\n{b['label'] or b['corpus']}\n{b['segments']} segments" for b in builds]
    with plt.rc_context(SETTINGS):
        figure, axes = plt.subplots(1, 2, figsize=(max(11, 2.6 * len(builds)), 5.4), width_ratios=(1, 1.25))
        _phase_bars(axes[0], builds, record["paper"]["cells_per_second_per_core"])
        _memory_bars(axes[1], builds)
        for axis in axes:
            axis.set_xticks(range(len(builds)), labels)
            axis.margins(y=0.16)
        figure.suptitle(_indexing_title(record))
        figure.tight_layout()
        figure.savefig(path, dpi=150)
        plt.close(figure)


def _indexing_title(record: dict[str, Any]) -> str:
    kinds = sorted({build["label"] or "given corpora" for build in record["builds"]})
    where = f"{record['builds'][0]['cores']} cores, master {record['master']}, {record['bits']}-bit super keys"
    loads = [load for build in record["builds"] for load in build["load"]]
    return f"Building an index ({' and '.join(kinds)}; {where}; load average {min(loads):.1f} to {max(loads):.1f})"


def _phase_bars(axis: Any, builds: list[dict[str, Any]], paper: float) -> None:
    """Stack the phases; those too short to be seen count as "other"."""
    bottoms = [0.0] * len(builds)
    for phase, (colour, hatch) in PHASES.items():
        heights = [build["seconds"].get(phase, 0.0) for build in builds]
        if phase == "other":
            heights = [b["total_seconds"] - bottom for b, bottom in zip(builds, bottoms, strict=True)]
        axis.bar(range(len(builds)), heights, 0.62, bottoms, label=phase, color=colour, hatch=hatch, edgecolor="white")
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    for place, build in enumerate(builds):
        rate = build["cells_per_second"] / build["cores"]
        text = f"{build['total_seconds']:.0f} s\n{rate / 1e3:,.1f} k cells/s/core\n{rate / paper:.0f} x paper"
        _above(axis, place, build["total_seconds"], text)
    axis.set_title("seconds by phase, end to end", fontsize=10)
    axis.set_ylabel("s")
    _legend_below(axis, columns=3)


def _memory_bars(axis: Any, builds: list[dict[str, Any]]) -> None:
    shown = {role: look for role, look in MEMORY.items() if any(role in build["peak_bytes"] for build in builds)}
    width = 0.8 / max(1, len(shown))
    for number, (role, (name, colour, hatch)) in enumerate(shown.items()):
        places = [place + (number - (len(shown) - 1) / 2) * width for place in range(len(builds))]
        sizes = [build["peak_bytes"].get(role, 0) / 1e9 for build in builds]
        axis.bar(places, sizes, width, label=name, color=colour, hatch=hatch, edgecolor="white")
        for place, size in zip(places, sizes, strict=True):
            if size:
                _above(axis, place, size, f"{size:.1f}")
    axis.set_title("peak resident memory, sampled every 0.2 s", fontsize=10)
    axis.set_ylabel("GB")
    _legend_below(axis, columns=4)


def _legend_below(axis: Any, columns: int) -> None:
    axis.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns)


def _above(axis: Any, x: float, y: float, text: str) -> None:
    axis.annotate(text, (x, y), (0, 3), textcoords="offset points", ha="center", va="bottom", fontsize=7)


def draw_discovery(records: list[dict[str, Any]], path: Path) -> None:
    """Draw times by size of the query, and, for several lakes, by size of the lake."""
    columns = 2 if len(records) > 1 else 1
    with plt.rc_context(SETTINGS):
        figure, axes = plt.subplots(1, columns, figsize=(6.5 * columns, 4.6), squeeze=False)
        largest = records[-1]
        _scatter_times(axes[0][0], largest["measurements"])
        axes[0][0].set_title(f"{largest['cells'] / 1e6:.1f} M cells {largest['label']}".strip(), fontsize=10)
        if columns == 2:
            _growth_lines(axes[0][1], records)
        figure.tight_layout()
        figure.savefig(path, dpi=150)
        plt.close(figure)


def _systems(found: list[dict[str, Any]]) -> list[str]:
    """Return the systems that were measured, those of the paper in their order, then others."""
    present = {m["system"] for m in found}
    return [*(name for name in SYSTEMS if name in present), *sorted(present - SYSTEMS.keys())]


def _scatter_times(axis: Any, found: list[dict[str, Any]]) -> None:
    for system in _systems(found):
        colour, marker, _ = SYSTEMS.get(system, ("#333333", ".", "-"))
        done = [m for m in found if m["system"] == system and m["seconds"]]
        axis.scatter([m["cardinality"] for m in done], [m["seconds"] * 1e3 for m in done],
                     s=22, color=colour, marker=marker, alpha=0.7, linewidths=0, label=system)  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("distinct key tuples of the query")
    axis.set_ylabel("milliseconds per query")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)


def _growth_lines(axis: Any, records: list[dict[str, Any]]) -> None:
    cells = [record["cells"] / 1e6 for record in records]
    for system in _systems(records[0]["measurements"]):
        colour, marker, line = SYSTEMS.get(system, ("#333333", ".", "-"))
        times = [
            [m["seconds"] * 1e3 for m in r["measurements"] if m["system"] == system and m["seconds"]] for r in records
        ]
        middle = [float(np.median(values)) for values in times]
        high = [float(np.percentile(values, 95)) for values in times]
        axis.plot(cells, middle, color=colour, marker=marker, linestyle=line, label=f"{system}, median")
        axis.plot(cells, high, color=colour, marker=marker, linestyle=line, alpha=0.35, label=f"{system}, 95 %")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("million cells in the lake")
    axis.set_ylabel("milliseconds per query")
    axis.set_title("the same queries as the lake grows", fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
