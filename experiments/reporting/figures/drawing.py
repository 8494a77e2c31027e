"""What all figures are drawn with: panels, one per lake, axes, legends, files."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from experiments.reporting.results import Results
from experiments.reporting.style import SETTINGS, Look

DPI = 150
PAPER: dict[str, Any] = {"color": "black", "marker": "D", "markersize": 4.5, "linestyle": "none", "markeredgewidth": 1}
"""How the paper's numbers are marked in a figure of ours."""
SIZED_PAPER: dict[str, Any] = {
    "color": "black",
    "marker": "_",
    "markersize": 8,
    "linestyle": "none",
    "markeredgewidth": 1.6,
}
"""And where there are many of them."""


@dataclass(frozen=True)
class Drawn:
    """A figure, and what is said of it."""

    name: str
    """Its file, without the ending."""
    title: str
    caption: str
    figure: Figure

    @cached_property
    def png(self) -> bytes:
        """It as a PNG image."""
        buffer = io.BytesIO()
        with matplotlib.rc_context(SETTINGS):
            self.figure.savefig(buffer, format="png", dpi=DPI)
        return buffer.getvalue()

    def write(self, folder: Path) -> list[Path]:
        """Write NAME.png and NAME.pdf; return the files."""
        folder.mkdir(parents=True, exist_ok=True)
        image, printable = folder / f"{self.name}.png", folder / f"{self.name}.pdf"
        image.write_bytes(self.png)
        with matplotlib.rc_context(SETTINGS):
            self.figure.savefig(printable, metadata={"CreationDate": None})
        return [image, printable]


Draw = Callable[[Results], list[Drawn]]


def styled(draw: Draw) -> Draw:
    """Give a drawing function the common settings."""

    @wraps(draw)
    def drawn(results: Results) -> list[Drawn]:
        with matplotlib.rc_context(SETTINGS):
            return draw(results)

    return drawn


def panels(count: int, width: float, height: float, columns: int = 1, title: str = "") -> tuple[Figure, list[Any]]:
    """Return a figure with so many panels of a size in inches, in one or more columns; spare ones are not drawn."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * rows + 0.5), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for spare in axes[count:]:
        spare.set_axis_off()
    if title:
        figure.suptitle(title, fontsize=10, fontweight="bold")
    return figure, axes[:count]


def grid(axis: Any, which: str = "y") -> None:
    """Draw thin lines to read values by."""
    axis.grid(axis=which, color="#DDDDDD", linewidth=0.6)


def log_axis(axis: Any, which: str = "y") -> None:
    """Make an axis logarithmic once everything is drawn, with plain numbers on it; more of them where it is short."""
    (axis.set_yscale if which == "y" else axis.set_xscale)("log")
    ticks = axis.yaxis if which == "y" else axis.xaxis
    low, high = axis.get_ylim() if which == "y" else axis.get_xlim()
    decades = math.log10(high / low)
    steps = (
        (1.0,)
        if decades > 2.2
        else (1.0, 2.0, 5.0)
        if decades > 0.6
        else (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
    )
    ticks.set_major_locator(LogLocator(subs=steps))
    ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 10 else f"{value:g}"))
    ticks.set_minor_formatter(NullFormatter())


def legend(figure: Figure, looks: Sequence[Look], *, bars: bool, paper: bool = False) -> None:
    """Put one legend below all panels, in as many columns as fit."""
    handles: list[Any] = []
    for look in looks:
        line: dict[str, Any] = {"color": look.colour, "marker": look.marker, "linestyle": look.line, "markersize": 5}
        bar: dict[str, Any] = {"facecolor": look.colour, "hatch": look.hatch, "edgecolor": "white"}
        handles.append(Patch(label=look.label, **bar) if bars else Line2D([], [], label=look.label, **line))
    if paper:
        handles.append(Line2D([], [], markerfacecolor="white", label="paper", **PAPER))
    longest = max((len(look.label) for look in looks), default=5)
    columns = max(1, int(figure.get_figwidth() / (0.6 + 0.055 * longest)))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


Sized = dict[int, float]
"""A number for each size of a hash function."""
SHADES = {128: (0.35, "o"), 256: (0.65, "s"), 512: (1.0, "D")}
"""How strong the colour of a size is, and its marker."""


def sized_dots(
    axis: Any,
    methods: Sequence[tuple[Look, Sized]],
    printed: Mapping[str, Sized] | None = None,
    floor: float | None = None,
) -> None:
    """Draw one place a method, and in it one dot a size, small to large from light to dark.

    ``printed`` has the paper's numbers by label; a value of 0 is drawn empty at ``floor``.
    """
    for place, (look, values) in enumerate(methods):
        spread = 0.22 if len(values) > 1 else 0.0
        xs = [place + (i - (len(values) - 1) / 2) * spread for i in range(len(values))]
        ys = [floor if floor is not None and not value else value for value in values.values()]
        axis.plot(xs, ys, color=look.colour, linewidth=1, zorder=2)
        for x, y, (bits, value) in zip(xs, ys, values.items(), strict=True):
            strength, marker = SHADES.get(bits, (1.0, "o"))
            face = "white" if floor is not None and not value else mixed(look.colour, strength)
            axis.plot(x, y, marker=marker, color=look.colour, markerfacecolor=face, markersize=5.5, zorder=3)
            there = (printed or {}).get(look.label, {}).get(bits)
            if there is not None and there == there:
                axis.plot(x + 0.09, there, zorder=4, **SIZED_PAPER)
    names = [look.label.replace(" (", "\n(").replace(", ", ",\n").replace("'s ", "'s\n") for look, _ in methods]
    axis.set_xticks(range(len(methods)), names, fontsize=8)
    axis.set_xlim(-0.6, len(methods) - 0.4)


def mixed(colour: str, strength: float) -> str:
    """Return a colour mixed with white."""
    parts: Any = [1 - strength * (1 - part) for part in to_rgb(colour)]
    return to_hex(parts)


def share_axis(axis: Any) -> None:
    """Let an axis of shares begin at 0 and end at 1, or sooner if all of them are small."""
    top = axis.get_ylim()[1]
    axis.set_ylim(0, 1.06 if top > 0.4 else 1.2 * top)


def size_legend(figure: Figure, floor: str = "", *, paper: bool = False) -> None:
    """Explain the dots of `sized_dots`."""
    handles = [
        Line2D([], [], color="black", marker=m, markerfacecolor=mixed("black", a), linestyle="none", label=f"{b} bits")
        for b, (a, m) in SHADES.items()
    ]
    if floor:
        empty = Line2D([], [], color="black", marker="o", markerfacecolor="white", linestyle="none", label=floor)
        handles.append(empty)
    if paper:
        handles.append(Line2D([], [], label="paper", **SIZED_PAPER))
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
