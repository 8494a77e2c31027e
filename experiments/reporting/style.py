"""How figures look: one palette, one set of markers, lines and hatches, readable in grey and for colour-blind eyes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

COLOURS = {
    "xash": "#0072B2",
    "bf": "#D55E00",
    "bf fair": "#E69F00",
    "lhbf": "#009E73",
    "ht": "#CC79A7",
    "simhash": "#56B4E9",
    "md5": "#666666",
    "murmur": "#999999",
    "city": "#B0B0B0",
}
"""Okabe and Ito's palette by hash function; every series has a marker and a hatch of its own as well."""
MARKERS = dict(zip(COLOURS, "osD^vPX*h", strict=True))
HATCHES = dict(zip(COLOURS, ("", "//", "..", "\\\\", "xx", "--", "++", "oo", "**"), strict=True))

SYSTEMS = {
    "column-first": ("#000000", "P", "-"),
    "mate": ("#0072B2", "o", "-"),
    "scr": ("#D55E00", "s", "--"),
    "mcr": ("#009E73", "^", "-."),
    "sql": ("#666666", "X", ":"),
    "scr-josie": ("#CC79A7", "v", "--"),
    "mcr-josie": ("#E69F00", "D", "-."),
}
"""Colour, marker and line of each system."""
SYSTEM_HATCHES = dict(zip(SYSTEMS, ("", "", "//", "\\\\", "++", "xx", ".."), strict=True))

SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.6,
    "pdf.fonttype": 42,
}
"""What all figures share, as `matplotlib.rc_context` takes it."""


@dataclass(frozen=True, slots=True)
class Look:
    """How one series looks, as a bar or as a line."""

    label: str
    colour: str
    hatch: str = ""
    marker: str = "o"
    line: str = "-"


OTHER = "#333333"
"""The colour of what has none of its own, such as a system that somebody added."""

_NAMES = {"simhash": "SimHash", "murmur": "Murmur", "city": "City"}


def name_of(method: str) -> str:
    """Return a method as the paper writes it: ``XASH 128``, ``BF 128 (fair)``, ``SCR JOSIE``."""
    head, space, rest = method.partition(" ")
    if not space and ":" in method:
        return method
    if head == "column-first":
        return method
    if head == "mate":
        return f"MATE {rest}".strip()
    return f"{_NAMES.get(head, head.upper().replace('-', ' '))}{space}{rest}"


def look_of_system(system: str, hash_name: str, variant: str) -> Look:
    """Return how a contestant of figure 4 looks; MATE's variants share a colour and differ in the hatch."""
    if system == "mate" and hash_name:
        shades = {"": "#0072B2", "paper's alpha": "#56B4E9", "released": "#3D8FBF", "tight bounds": "#00466E"}
        shade = shades.get(variant, "#0072B2")
        hatch = {"": "", "paper's alpha": "--", "released": "++", "tight bounds": "||"}.get(variant, "oo")
        return Look("MATE" + (f" ({variant})" if variant else ""), shade, hatch)
    colour, marker, line = SYSTEMS.get(system, (OTHER, "P", ":"))
    return Look(name_of(system), colour, SYSTEM_HATCHES.get(system, "**"), marker, line)


def look_of_hash(hash_name: str, variant: str) -> Look:
    """Return how a hash function looks; SCR, which has none, is black."""
    if not hash_name:
        return Look("SCR", "#000000", "", "s", ":")
    key = "bf fair" if variant.startswith("fair") else hash_name
    line = "--" if variant.endswith("paper's alpha") else ":" if variant.endswith("released") else "-"
    label = name_of(hash_name) + (f" ({variant})" if variant else "")
    return Look(label, COLOURS.get(key, OTHER), HATCHES.get(key, ""), MARKERS.get(key, "o"), line)


_SYSTEM_ORDER = ("mate", "column-first", "mcr", "scr", "mcr-josie", "scr-josie")


def system_order(system: str) -> int:
    """Return the place of a system in the paper's figure 4; others come last."""
    return _SYSTEM_ORDER.index(system) if system in _SYSTEM_ORDER else len(_SYSTEM_ORDER)


_PHASES = {
    "prepare": ("#666666", ""),
    "hash query": ("#E69F00", ".."),
    "calibrate": ("#AA3377", ".."),
    "josie": ("#56B4E9", "//"),
    "fetch postings": ("#009E73", "\\\\"),
    "mark rows": ("#117733", "||"),
    "filter tables": ("#CC79A7", "xx"),
    "filter rows and score": ("#0072B2", ""),
    "cover": ("#F0E442", "--"),
    "bound and check": ("#D55E00", ""),
    "describe tables": ("#BBBBBB", "oo"),
}


def phase_look(name: str) -> Look:
    """Return how a phase of a search looks."""
    colour, hatch = _PHASES.get(name, ("#DDDDDD", ""))
    return Look(name, colour, hatch)
