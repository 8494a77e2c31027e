"""The hash laboratory as one HTML page: metrics, what is best at any size, equal bytes, results by table width."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot as plt

from benchmarks.hash_contestants import EQUAL
from benchmarks.hash_records import (
    METRICS,
    Record,
    bits_per_row,
    ideal_precision,
    milliseconds,
    precision,
    seconds_ratio,
)
from experiments.reporting.page_style import CSS
from experiments.reporting.style import COLOURS, MARKERS, OTHER, SETTINGS

IDEAL = "ideal, equal bits per column"
"""A filter that no other passes which spends the same number of bits on every column."""
_NEW = {"wide": ("#000000", "P"), "fingerprint": ("#AA3377", "X")}


def write_page(shown: Sequence[Sequence[Record]], path: Path) -> Path:
    """Write the page of all places."""
    parts = ["<h1>Hash laboratory</h1>", "<p class=lead>Super keys by hash function, size and place.</p>"]
    for records in shown:
        if records:
            parts += [f"<h2>{escape(records[0]['place'])}</h2>", *_place(records)]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "\n".join(parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<title>Hash laboratory</title><style>{CSS}</style></head>\n'
        f"<body>\n{body}\n</body></html>\n",
        encoding="utf-8",
    )
    return path


def _place(records: Sequence[Record]) -> list[str]:
    if records[0].get("queries"):
        return [
            _figure("Precision by size of the super key", lambda axes: _pareto(axes, records, _on_lake)),
            "<h3>Equal bytes</h3>",
            _equal(records),
            "<h3>All</h3>",
            _table(records),
        ]
    return [
        _figure("Near misses by size of the super key", lambda axes: _pareto(axes, records, _on_sample)),
        _table(records),
        "<h3>Near misses by table width</h3>",
        _by_width(records),
    ]


def _table(records: Sequence[Record]) -> str:
    metrics = [metric for metric in METRICS if any(metric.of(record) is not None for record in records)]
    header = ["hash", "parameters", *(metric.name for metric in metrics)]
    rows = []
    for record in records:
        told = ", ".join(f"{k} = {v}" for k, v in record["parameters"].items() if k != "rare_first")
        found = [metric.of(record) for metric in metrics]
        rows.append(
            [_name(record), told, *("" if v is None else m.write(v) for m, v in zip(metrics, found, strict=True))]
        )
    return _html(header, rows)


def _by_width(records: Sequence[Record]) -> str:
    widths = list(dict.fromkeys(width for record in records for width in record["near_misses_by_width"]))
    header = ["hash", *(f"{width} columns" for width in widths)]
    return _html(header, [[_name(r), *(f"{r['near_misses_by_width'].get(w, 0):.3%}" for w in widths)] for r in records])


def equal_bytes(records: Sequence[Record]) -> list[tuple[int, Record]]:
    """Return for every size of a fixed key who has no more bits per row: of each family the one with the most."""
    found = []
    for target in EQUAL:
        best: dict[str, Record] = {}
        for record in records:
            size = bits_per_row(record) or 0
            if size <= target * 1.005 and size > target / 2:
                held = best.get(record["name"])
                if held is None or size > (bits_per_row(held) or 0):
                    best[record["name"]] = record
        found += [(target, record) for record in best.values()]
    return found


def _equal(records: Sequence[Record]) -> str:
    rows = []
    for target, record in equal_bytes(records):
        size = bits_per_row(record) or 0
        ideal = ideal_precision(record, size / record["columns_per_row"])
        numbers = [f"{target}", _name(record), f"{size:.0f}", _share(precision(record)), _share(ideal)]
        times = [f"{milliseconds(record) or 0:.1f}", f"{seconds_ratio(record) or 0:.2f}×"]
        rows.append([*numbers, *times, f"{record['key_bytes']:,}", f"{record['index_bytes']:,}"])
    header = ["bits per row, at most", "hash", "bits per row", "precision", "ideal", "ms per search", "seconds / SCR"]
    header += ["key bytes", "index bytes"]
    return _html(header, rows)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _html(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<{'th scope=row' if i == 0 else 'td'}>{escape(c)}</td>" for i, c in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _name(record: Record) -> str:
    return f"{record['name']} {record['bits']}"


Draw = Callable[[Any, Sequence[Record]], None]


def _figure(title: str, draw: Callable[[Any], None]) -> str:
    with plt.rc_context(SETTINGS):
        figure, axes = plt.subplots(1, 2, figsize=(11, 4.4))
        draw(axes)
        figure.tight_layout()
        data = io.BytesIO()
        figure.savefig(data, dpi=130)
        plt.close(figure)
    picture = base64.b64encode(data.getvalue()).decode("ascii")
    return f'<figure><img style="width:100%" src="data:image/png;base64,{picture}" alt="{escape(title)}"></figure>'


def _pareto(axes: Any, records: Sequence[Record], draw: Draw) -> None:
    draw(axes, records)
    for axis in axes:
        axis.grid(color="#dddddd", linewidth=0.6)
    handles, labels = axes[0].get_legend_handles_labels()
    axes[1].legend(handles, labels, frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _series(records: Sequence[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record["name"], []).append(record)
    return {name: sorted(own, key=lambda record: bits_per_row(record) or 0) for name, own in found.items()}


def _look(name: str) -> dict[str, Any]:
    family = name.partition("-")[0]
    colour, marker = _NEW.get(name, (COLOURS.get(family, OTHER), MARKERS.get(family, "o")))
    line = ":" if name.endswith("released") else "--" if "-" in name else "-"
    return {"color": colour, "marker": marker, "linestyle": line, "markersize": 5, "label": name}


def _on_lake(axes: Any, records: Sequence[Record]) -> None:
    """Draw precision against bits per row and against time."""
    for name, own in _series(records).items():
        share = [precision(record) for record in own]
        axes[0].plot([bits_per_row(record) for record in own], share, **_look(name))
        axes[1].plot([seconds_ratio(record) for record in own], share, **{**_look(name), "linestyle": ""})
    sizes = np.geomspace(32, 1024, 60)
    ideal = [ideal_precision(records[0], float(size) / records[0]["columns_per_row"]) for size in sizes]
    axes[0].plot(sizes, ideal, color="#888888", linewidth=1, label=IDEAL)
    axes[0].set_xscale("log", base=2)
    axes[0].set_xlabel("bits per row, mean")
    axes[1].set_xlabel("seconds relative to no filter")
    for axis in axes:
        axis.set_ylabel("precision, mean over queries")


def _on_sample(axes: Any, records: Sequence[Record]) -> None:
    """Draw near misses against bits per row and against time."""
    for name, own in _series(records).items():
        wrong = [max(record["near_misses"], 1e-6) for record in own]
        axes[0].plot([bits_per_row(record) for record in own], wrong, **_look(name))
        axes[1].plot([1e6 / record["values_per_second"] for record in own], wrong, **{**_look(name), "linestyle": ""})
    sizes = np.geomspace(32, 1024, 60)
    axes[0].plot(sizes, 2 ** -(sizes / records[0]["columns_per_row"]), color="#888888", linewidth=1, label=IDEAL)
    axes[0].set_xscale("log", base=2)
    axes[1].set_xscale("log")
    axes[0].set_xlabel("bits per row, mean")
    axes[1].set_xlabel("µs per value")
    for axis in axes:
        axis.set_yscale("log")
        axis.set_ylim(1e-6, 1)
        axis.set_ylabel("rows that cover a near miss")
