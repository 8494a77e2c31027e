"""The paper's corpora (section 7.1): what they are, how large they are, how to get them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A corpus; the counts are the paper's."""

    name: str
    title: str
    what: str
    size: str
    licence: str
    tables: int
    columns: int | None
    rows: int | None
    fetch: str
    index: str
    note: str


CATALOGUE = (
    CatalogueEntry(
        name="dwtc",
        title="Dresden Web Table Corpus",
        what="web tables of the Common Crawl of July 2014, 501 shards dwtc-000.json.gz to dwtc-500.json.gz",
        size="about 30 GB packed (early release, according to the corpus's own tools); the paper's index took 250 GB",
        licence="none that we know of; the tables belong to the pages that they were found on",
        tables=145_000_000,
        columns=870_000_000,
        rows=1_450_000_000,
        fetch="python -m experiments fetch dwtc --shards 0-9 --to DIR",
        index="mate index DIR --store lake.mate",
        note="published at http://wwwdb.inf.tu-dresden.de/misc/dwtc/; its authors count about 125 M tables, the "
        "paper more than 145 M",
    ),
    CatalogueEntry(
        name="govdata",
        title="German Open Data",
        what="the CSV files that https://www.govdata.de/ lists, downloaded from the offices that publish them",
        size="not stated; the paper's index took 12 GB. The portal grows: --limit and --query choose from it",
        licence="differs per file: sources.csv names it (often dl-de/by-2-0, dl-de/zero-2-0 or CC BY)",
        tables=17_000,
        columns=440_000,
        rows=62_000_000,
        fetch="python -m experiments fetch govdata --to DIR --limit 500",
        index="mate index DIR --store lake.mate",
        note="the portal of today, not that of the paper: tables have been added and removed since",
    ),
    CatalogueEntry(
        name="school",
        title="School",
        what="large tables about schools, from the ARDA paper: over 27 columns and 30,000 rows on average",
        size="not stated",
        licence="not stated",
        tables=335,
        columns=None,
        rows=None,
        fetch="no public download address; python -m experiments fetch school --from DIR checks tables that you have",
        index="mate index DIR --store lake.mate",
        note="the paper extends the tables that have the columns Program Type and School Name; New York's open "
        "data on schools has such tables",
    ),
)
