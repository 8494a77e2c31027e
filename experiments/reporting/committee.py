"""One printable page for a reproducibility committee: set-up, corpora, deviations, findings, tables and figures."""

from __future__ import annotations

from html import escape
from pathlib import Path

from experiments.reporting import page, summary
from experiments.reporting.claims import verdicts
from experiments.reporting.figures import figures
from experiments.reporting.results import Results
from experiments.reporting.tables import tables
from experiments.reporting.tables.indexing import corpora
from experiments.reporting.tables.released import released

DEVIATIONS = (
    "Corpora are others: Wikipedia tables in DWTC's format instead of DWTC's 145 million tables, open data of many "
    "publishers instead of GovData, and files of New York's schools instead of the School corpus, which nobody has "
    "published. Sets are sampled again from them, as the paper sampled its own.",
    "The query files that the authors released were sampled from their corpora and hardly join with others. They are "
    "put to their own corpus only, and count in no verdict. Of the 11 Kaggle tables four have both key columns.",
    "Joinability is equation 2, the number of distinct key tuples; the paper's table 1 counts pairs of rows.",
    "XASH is read in three ways: alpha by equation 5 for the corpus at hand, the paper's alpha, and the released code. "
    "Bloom filters come as in the paper, H = |a| / V ln 2, and with as many bits per value as XASH.",
    "Runtimes are without fetching, as in section 7.2, and of the whole search. A database fetches and filters in one "
    "statement, so that only its whole search is judged.",
    "JOSIE reads the directory that a lake has anyway; what it adds is the order of tokens. An index of its own is "
    "built from the directory, to be measured. Databases have no JOSIE.",
    "Systems are written again in Python with native loops, on two cores instead of 128: ratios count, not seconds.",
)

TABLES, FIGURES = ("table1", "table2", "table3"), ("figure4", "figure5", "figure6")


def write(results: Results, folder: Path) -> Path:
    """Write the page and return it."""
    judgements, commands = verdicts(results), sorted(summary.commands(results.facts), key=lambda entry: -entry[1])
    parts = [
        "<h1>MATE: Multi-Attribute Table Extraction (VLDB 2022), measured again</h1>",
        f"<p class=lead>{page.lead(results, judgements)}</p>",
        "<h2>1 Set-up</h2>",
        page.facts(results),
        "<h2>2 Corpora</h2>",
        *(table.html() for table in (*corpora(results), summary.lakes(results))),
        f"<h2>3 Deviations</h2><ul>{''.join(f'<li>{escape(text)}</li>' for text in DEVIATIONS)}</ul>",
        "<h2>4 Findings</h2>",
        page.findings(judgements),
        "<h2>5 Tables and figures</h2>",
        *(table.html() for name in TABLES for table in tables(results, name) if table.in_paper),
        *(page.figure(drawn) for name in FIGURES for drawn in figures(results, name) if drawn.name == name),
        "<h2>6 Not counted, and missing</h2>",
        *(table.html() for table in released(results)),
        page.missing(results),
        "<h2>7 The commands that made the records</h2>",
        *(f"<p class=note>{files} files of {escape(of)}</p><pre>{escape(made)}</pre>" for made, files, of in commands),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "committee.html"
    path.write_text(page.whole("MATE, measured again", "\n".join(parts)), encoding="utf-8")
    return path
