"""Writes a report: the page, tables, figures and verdicts, each as files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.errors import ExperimentError
from experiments.reporting import page, rules
from experiments.reporting.claims import Judgement
from experiments.reporting.figures import FIGURES, figures
from experiments.reporting.results import Results
from experiments.reporting.tables import TABLES, Table, tables
from experiments.reporting.tables.released import released
from experiments.reporting.verdicts import MOST

_WRITTEN = ".report-files"
"""Lists what a report wrote, so that the next one removes what it does not write again."""


def write(results: Results, judgements: Sequence[Judgement], out: Path) -> Path:
    """Write everything into a folder and return the page."""
    made_tables = {name: tables(results, name) for name in TABLES}
    made_figures = {name: figures(results, name) for name in FIGURES}
    try:
        out.mkdir(parents=True, exist_ok=True)
        written = [path for group in made_tables.values() for table in group for path in table.write(out / "tables")]
        written += [path for group in made_figures.values() for d in group for path in d.write(out / "figures")]
        apart = released(results)
        written += [path for table in apart for path in table.write(out / "tables")]
        written += _write_verdicts(judgements, out)
        index = out / "index.html"
        index.write_text(
            page.render(results, judgements, {**made_tables, "released": apart}, made_figures), encoding="utf-8"
        )
        _forget(out, [*written, index])
    except OSError as error:
        raise ExperimentError(f"the report cannot be written to {out}: {error}") from error
    return index


def _forget(out: Path, written: Sequence[Path]) -> None:
    """Remove what an earlier report wrote and this one did not: a figure must not outlive its results."""
    listing, names = out / _WRITTEN, {path.relative_to(out).as_posix() for path in written}
    earlier = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    for name in earlier:
        if name not in names and not Path(name).is_absolute() and ".." not in Path(name).parts:
            (out / name).unlink(missing_ok=True)
    listing.write_text("\n".join(sorted(names)) + "\n", encoding="utf-8")


def verdict_table(judgements: Sequence[Judgement]) -> Table:
    """Return the verdicts as a table: one row per claim and lake."""
    header = ("claim", "section", "lake", "paper", "measured here", "verdict")
    rows = tuple(
        (
            j.claim.name,
            j.claim.section,
            j.title,
            j.claim.published(),
            j.finding.measured,
            j.verdict_text,
        )
        for j in judgements
    )
    numbers = pd.DataFrame(
        [
            {
                "claim": j.claim.name,
                "section": j.claim.section,
                "said": j.claim.said,
                "paper": j.claim.published(),
                "lake": j.title,
                "engine": j.engine,
                "measure": j.measure or "whole search",
                "synthetic": j.synthetic,
                "measured": j.finding.measured,
                "verdict": str(j.verdict),
                "fewest_queries_of_a_set": j.finding.queries or None,
                "queries_that_would_decide": j.finding.times * j.finding.queries * (j.finding.times <= MOST) or None,
                "rule": j.claim.rule,
                "rules_changed": rules.changed(),
                "related_claims": "; ".join(j.claim.related),
                "command": j.command,
            }
            for j in judgements
        ]
    )
    title = "The paper's claims, measured again"
    return Table("verdicts", title, tuple(("", name) for name in header), rows, numbers, left=6)


def _write_verdicts(judgements: Sequence[Judgement], out: Path) -> list[Path]:
    """Write verdicts.md and verdicts.csv, and the cases that they rest on."""
    table = verdict_table(judgements)
    text, listing, cases = out / "verdicts.md", out / "verdicts.csv", out / "verdict-cases.csv"
    text.write_text(table.markdown(), encoding="utf-8")
    table.numbers.to_csv(listing, index=False)
    columns = ["claim", "lake", "engine", "measure", "case", "value", "low", "high", "text", "lean", "weight"]
    rows = [
        (*place, c.name, c.value, *(c.interval or (None, None)), c.text, c.lean, c.weight)
        for place, c in ((_place(j), c) for j in judgements for c in j.finding.cases)
    ]
    pd.DataFrame(rows, columns=columns).to_csv(cases, index=False)
    return [text, listing, cases]


def _place(judgement: Judgement) -> tuple[str, ...]:
    return judgement.claim.name, judgement.title, judgement.engine, judgement.measure
