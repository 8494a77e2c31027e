"""What a report is about: lakes, machine, versions, and how many claims hold."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from experiments.definitions import ARRAYS
from experiments.reporting.claims import Claim, Judgement
from experiments.reporting.claims.claim import NO_LAKE, TOGETHER
from experiments.reporting.numbers import NOTHING, whole
from experiments.reporting.results import Results
from experiments.reporting.tables.table import Table
from experiments.reporting.verdicts import SIGNS, Verdict, overall

COUNTS = {"tables": "tables", "columns": "columns", "rows": "rows", "cells": "cells"}


def lakes(results: Results) -> Table:
    """Return what was searched: sizes of the lakes, alphas of XASH, query sets."""
    rows = []
    for lake in results.lakes:
        sizes = _sizes(results, lake)
        cells = [whole(sizes.get(name)) for name in (*COUNTS, "distinct_tokens")]
        rows.append((results.title(lake), *cells, _alphas(results, lake), _sets(results, lake)))
    header = ("lake", *COUNTS.values(), "distinct values", "alpha of XASH", "query sets and their queries")
    numbers = pd.DataFrame([dict(zip(header, row, strict=True)) for row in rows])
    notes = [f"{results.title(lake)}: made-up tables, not real data." for lake, label in results.lakes.items() if label]
    if not results.has("index-generation"):
        notes.append("Sizes of lakes come from the experiment index-generation, which is missing.")
    title = "What was searched"
    columns = tuple(("", name) for name in header)
    return Table("lakes", title, columns, tuple(rows), numbers, tuple(notes), left=1, texts=(6, 7))


def _sizes(results: Results, lake: str) -> dict[str, float]:
    if not results.has("index-generation"):
        return {}
    frame = results.frames["index-generation"]
    own = frame[frame["lake"] == lake]
    return {} if own.empty else own.iloc[0].to_dict()


def _alphas(results: Results, lake: str) -> str:
    """Return the bits that XASH sets for a value, as equation 5 has it for the lake: 3 at 128, 3 at 256, 2 at 512."""
    for name in ("table2", "table3", "figure4", "table1"):
        if results.has(name):
            frame = results.frames[name]
            own = frame[(frame["lake"] == lake) & (frame["hash"] == "xash") & (frame["variant"] == "")]
            own = own[own["hash_parameters"].notna() & (own["hash_parameters"] != "")]
            found = dict(zip(own["bits"], own["hash_parameters"].str.extract(r"alpha=(\d+)")[0], strict=True))
            if found:
                return ", ".join(f"{alpha} at {bits}" for bits, alpha in sorted(found.items()) if alpha == alpha)
    return NOTHING


def _sets(results: Results, lake: str) -> str:
    """Return how many queries of each set were searched with: experiments may differ, OD (100): 16 to 50."""
    found: dict[str, list[int]] = {}
    for frame in results.frames.values():
        if "query_set" in frame:
            own = frame[frame["lake"] == lake]
            for name, queries in own.groupby("query_set", sort=False)["query"].nunique().items():
                found.setdefault(str(name), []).append(int(queries))
    told = [(name, f"{min(n)} to {max(n)}" if min(n) < max(n) else f"{n[0]}") for name, n in found.items()]
    return ", ".join(f"{name}: {queries}" for name, queries in told) or NOTHING


def counts(judgements: Iterable[Judgement]) -> Table:
    """Return how many claims got which verdict, lake by lake."""
    by_lake: dict[str, Counter[Verdict]] = {}
    for judgement in judgements:
        by_lake.setdefault(judgement.title or "not measured", Counter())[judgement.verdict] += 1
    rows = tuple((lake, *(str(found[verdict]) for verdict in Verdict)) for lake, found in by_lake.items())
    header = ("", *(str(verdict) for verdict in Verdict))
    numbers = pd.DataFrame(rows, columns=["lake", *(str(verdict) for verdict in Verdict)])
    return Table("verdict-counts", "Claims by verdict", tuple(("", name) for name in header), rows, numbers, left=1)


@dataclass(frozen=True)
class ClaimVerdicts:
    """A claim, what each lake says of it, and one verdict per engine that searched."""

    claim: Claim
    judgements: tuple[Judgement, ...]
    engines: Mapping[str, Verdict]
    """By engine and measure, arrays and the paper's measure first. Of all lakes together if they were taken together,
    else what real lakes agree on."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on arrays in the paper's measure, or on the first engine that there is."""
        return next(iter(self.engines.values()))

    @property
    def depends(self) -> bool:
        """Whether engines come to different verdicts, those that are open left aside."""
        return len(set(self.engines.values()) - {Verdict.UNDECIDED, Verdict.UNTESTED}) > 1

    @property
    def told(self) -> str:
        """The verdict for people: one where engines agree, else that of each."""
        if len(set(self.engines.values())) == 1:
            return f"{SIGNS[self.verdict]} {self.verdict}"
        each = ", ".join(f"{engine} {SIGNS[verdict]} {verdict}" for engine, verdict in self.engines.items())
        return f"{DEPENDS}: {each}" if self.depends else each


DEPENDS = "depends on the engine or the measure"


def by_claim(judgements: Sequence[Judgement]) -> list[ClaimVerdicts]:
    """Return claims with what each lake says, and one verdict per engine."""
    groups: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        groups.setdefault(judgement.claim.name, []).append(judgement)
    found = []
    for group in groups.values():
        engines = {}
        for engine in dict.fromkeys(j.place for j in group):
            own = [j for j in group if j.place == engine]
            real = [j for j in own if not j.synthetic] or own
            decides = [j for j in own if j.lake == TOGETHER] or real
            engines[engine] = overall(j.verdict for j in decides)
        found.append(ClaimVerdicts(group[0].claim, tuple(group), engines))
    return found


def overview(judgements: Sequence[Judgement]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return header and rows of the shortest table of all verdicts: a line per claim, a column per lake."""
    named = [j for j in judgements if j.lake not in (TOGETHER, NO_LAKE)]
    titles = list(dict.fromkeys(j.title for j in named if j.engine == ARRAYS) or dict.fromkeys(j.title for j in named))
    rows = []
    for found in by_claim(judgements):
        signs = {j.title: SIGNS[j.verdict] for j in found.judgements}
        lakes = (signs.get(title, SIGNS[Verdict.UNTESTED]) for title in titles)
        rows.append((found.claim.name, found.claim.section, found.told, *lakes))
    return ["claim", "section", "in all", *titles], rows


def commands(facts: Iterable[Mapping[str, Any]]) -> list[tuple[str, int, str]]:
    """Return the commands that made records, from their metadata: each with its files and what they are of.

    Folders of results and addresses of servers, which are those of a machine, are left out.
    """
    made: dict[str, list[tuple[str, str]]] = {}
    for fact in {str(fact["path"]): fact for fact in facts}.values():
        words = shlex.split(str(fact["command"]))
        for option, shown in (("--results", []), ("--database", ["--database", "ADDRESS"])):
            if option in words:
                place = words.index(option)
                words[place : place + 2] = shown
        of = fact["definition"]
        made.setdefault(shlex.join(words), []).append((of["group"], of.get("query_set") or of["part"]))
    return [(command, len(found), _grouped(found)) for command, found in made.items()]


def _grouped(found: Iterable[tuple[str, str]]) -> str:
    """Return what records are of, each group once: ``hashes: WT (10), WT (100); own-table: WT (10)``."""
    groups: dict[str, dict[str, None]] = {}
    for group, name in found:
        groups.setdefault(group, {})[name] = None
    return "; ".join(f"{group}: {', '.join(names)}" for group, names in groups.items())


def machine(results: Results) -> list[tuple[str, str]]:
    """Return machine, versions, scale and dates, as pairs of a name and what there is to say."""
    facts = results.facts
    machines = dict.fromkeys(
        f"{m.get('processor')}, {m.get('cores')} cores, {m.get('memory_gb')} GB, {m.get('system')}"
        for m in (fact.get("machine", {}) for fact in facts)
    )
    versions: dict[str, dict[str, None]] = {}
    for fact in facts:
        for name, version in fact.get("versions", {}).items():
            versions.setdefault(name, {})[str(version)] = None
    days = sorted({datetime.fromtimestamp(f["ended"], UTC).date().isoformat() for f in facts if "ended" in f})
    scales = dict.fromkeys(f"{fact.get('scale')} (seed {fact.get('seed')})" for fact in facts)
    told = [
        ("machine", "; ".join(machines)),
        ("versions", ", ".join(f"{name} {' and '.join(found)}" for name, found in versions.items())),
        ("scale", ", ".join(scales)),
        ("measured", days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}" if days else NOTHING),
    ]
    servers = dict.fromkeys(str(fact["server"]) for fact in facts if "server" in fact)
    if servers:
        told.insert(2, ("databases", "; ".join(servers)))
    if any(fact.get("jobs", 1) > 1 for fact in facts):
        told.append(("caution", "some timings were taken with several searches at a time (--jobs)"))
    return told
