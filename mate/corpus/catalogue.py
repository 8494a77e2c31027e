"""The corpora of the paper (section 7.1): what they are, where they come from, how to get them here.

DWTC is a list of shards at one address. German Open Data is what govdata.de lists as CSV, asked for through
its CKAN interface and kept by hundreds of other hosts. The School corpus has no address: a folder that
somebody has is looked at instead.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import re
import unicodedata
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlencode, urlsplit

from mate.corpus.books import SOURCES as SOURCES
from mate.corpus.books import SOURCES_COLUMNS, local_errors, write_whole
from mate.corpus.client import Client, Settings, checked_url
from mate.corpus.fetch import Fetched, Source, Watcher, fetching
from mate.corpus.formats import File, discover, read
from mate.corpus.table import Chunk
from mate.errors import CorpusError

DWTC_URL = "https://wwwdb.inf.tu-dresden.de/misc/dwtc/data_feb15"
DWTC_SHARDS = 501
GOVDATA_URL = "https://www.govdata.de/ckan/api/3/action/package_search"
SCHOOL_COLUMNS = ("Program Type", "School Name")


@dataclass(frozen=True, slots=True)
class Corpus:
    """An entry of the catalogue; the counts are the paper's."""

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
    Corpus(
        name="dwtc",
        title="Dresden Web Table Corpus",
        what="web tables of the Common Crawl of July 2014, 501 shards dwtc-000.json.gz to dwtc-500.json.gz",
        size="about 30 GB packed, as the corpus's own tools say of an early release; the paper's index took 250 GB",
        licence="none that we know of; the tables belong to the pages that they were found on",
        tables=145_000_000,
        columns=870_000_000,
        rows=1_450_000_000,
        fetch="mate fetch dwtc --shards 0-9 --to DIR",
        index="mate index DIR --store lake.duckdb",
        note="published at http://wwwdb.inf.tu-dresden.de/misc/dwtc/; its authors count about 125 M tables, the "
        "paper more than 145 M",
    ),
    Corpus(
        name="govdata",
        title="German Open Data",
        what="the CSV files that https://www.govdata.de/ lists, fetched from the offices that publish them",
        size="not stated; the paper's index took 12 GB. The portal grows: --limit and --query choose from it",
        licence="differs from file to file: sources.csv says which (often dl-de/by-2-0, dl-de/zero-2-0 or CC BY)",
        tables=17_000,
        columns=440_000,
        rows=62_000_000,
        fetch="mate fetch govdata --to DIR --limit 500",
        index="mate index DIR --store lake.duckdb",
        note="the portal of today, not that of the paper: tables have come and gone since",
    ),
    Corpus(
        name="school",
        title="School",
        what="large tables about schools, from the ARDA paper: over 27 columns and 30,000 rows on average",
        size="not stated",
        licence="not stated",
        tables=335,
        columns=None,
        rows=None,
        fetch="no public download address; mate fetch school --from DIR looks at tables that you have",
        index="mate index DIR --store lake.duckdb",
        note="the paper extends the tables that have the columns Program Type and School Name; New York's open "
        "data on schools has such tables",
    ),
)


def parse_shards(text: str) -> list[int]:
    """Read ``0-9,17`` (or ``all``) as shard numbers in ascending order, each once."""
    if text.strip() == "all":
        return list(range(DWTC_SHARDS))
    numbers: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,3})(?:\s*-\s*(\d{1,3}))?\s*", part, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise CorpusError(f'shards are given as numbers and ranges such as 0-9,17, or as "all", not {text!r}')
        if last >= DWTC_SHARDS:
            raise CorpusError(f"there is no shard {last}: they are numbered 0 to {DWTC_SHARDS - 1}")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def dwtc_sources(
    shards: Iterable[int], base_url: str = DWTC_URL, expected: dict[str, str] | None = None
) -> list[Source]:
    """Return the shards as sources, with the checksums that are expected of them."""
    base = checked_url(base_url).rstrip("/")
    names = [f"dwtc-{number:03}.json.gz" for number in shards]
    return [Source(f"{base}/{name}", name, (expected or {}).get(name)) for name in names]


@dataclass(frozen=True, slots=True)
class Search:
    """What to ask a CKAN portal for."""

    url: str = GOVDATA_URL
    """The portal, or the full address of its ``package_search``."""
    query: str = ""
    limit: int | None = None
    """Files, not datasets; None for all."""
    page: int = 100
    """Datasets a request."""
    delay: float = 0.5
    """Seconds between two requests."""

    def __post_init__(self) -> None:
        if self.page < 1 or self.delay < 0 or (self.limit is not None and self.limit < 1):
            raise CorpusError("limit and page must be at least 1 and delay at least 0")

    @property
    def address(self) -> str:
        """The address of ``package_search``."""
        base = checked_url(self.url).rstrip("/")
        if base.endswith("/package_search"):
            return base
        return f"{base}/package_search" if base.endswith("/action") else f"{base}/api/3/action/package_search"


CSV_FORMATS = ("CSV", "csv", "text/csv", "http://publications.europa.eu/resource/authority/file-type/CSV")
"""The spellings of one format on govdata.de; the last, from the EU's vocabulary, is by far the most frequent."""

_ENDINGS = (".csv", ".tsv", ".txt", ".zip", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip")


@dataclass(frozen=True, slots=True)
class Resource:
    """A row of ``sources.csv``: a file that a portal lists, and what became of it."""

    file: str
    url: str
    title: str
    licence: str
    dataset: str
    checksum: str = ""
    size: str = ""
    status: str = "pending"
    """``pending``, ``fetched``, ``kept`` or ``failed``."""
    reason: str = ""

    def recalling(self, earlier: Resource | None) -> Resource:
        """Return the row with the outcome of an earlier run, where that was about the same address."""
        if earlier is None or earlier.url != self.url:
            return self
        kept = {name: getattr(earlier, name) for name in ("checksum", "size", "status", "reason")}
        return replace(self, **kept)

    def after(self, outcome: Fetched) -> Resource:
        """Return the row with the outcome of its download."""
        size = str(outcome.size) if outcome.sha256 else ""
        return replace(self, checksum=outcome.sha256, size=size, status=outcome.status, reason=outcome.reason)


COLUMNS = SOURCES_COLUMNS


def search(what: Search, settings: Settings | None = None) -> list[Resource]:
    """List the CSV files of the datasets that match, in the portal's order of names."""
    found: dict[str, Resource] = {}
    for dataset in _datasets(what, Client(settings or Settings())):
        for resource in _csv_files(dataset):
            found.setdefault(resource.file.casefold(), resource)  # a dataset may move to a later page meanwhile
            if what.limit is not None and len(found) == what.limit:
                return list(found.values())
    if not found:
        raise CorpusError(f"{what.address}: no CSV file" + (f" matches {what.query!r}" if what.query else ""))
    return list(found.values())


def _datasets(what: Search, client: Client) -> Iterator[dict[str, Any]]:
    spellings = " OR ".join(f'"{spelling}"' for spelling in CSV_FORMATS)
    asked = {"q": what.query or "*:*", "fq": f"res_format:({spellings})", "sort": "name asc", "rows": what.page}
    start, count = 0, 1
    while start < count:
        if start:
            client.stop.wait(what.delay)
        url = f"{what.address}?{urlencode({**asked, 'start': start})}"
        result = _result(what.address, *client.read(url))
        count, datasets = result["count"], result["results"]
        if not datasets:
            return
        yield from (dataset for dataset in datasets if isinstance(dataset, dict))
        start += len(datasets)  # a server may give fewer than it was asked for


def _result(address: str, status: int, body: bytes) -> dict[str, Any]:
    """Return the ``result`` of an answer in CKAN's envelope."""
    try:
        answer = json.loads(body)
    except ValueError as error:
        if status != 200:
            raise CorpusError(f"{address}: HTTP {status}; is this the address of a CKAN portal?") from error
        raise CorpusError(f"{address}: the answer is not JSON; is this the address of a CKAN portal?") from error
    if isinstance(answer, dict) and answer.get("success") is False:
        raise CorpusError(f"{address}: CKAN refused the search: {_complaint(answer.get('error'))}")
    match answer:
        case {"result": {"count": int(), "results": list()} as result}:
            return dict(result)
    raise CorpusError(f"{address}: JSON, but not the answer of a CKAN package_search")


def _complaint(error: object) -> str:
    message = error.get("message") or error if isinstance(error, dict) else error
    return " ".join(str(message or "no reason given").split())[:300]


def _csv_files(dataset: dict[str, Any]) -> Iterator[Resource]:
    resources = dataset.get("resources")
    for resource in resources if isinstance(resources, list) else ():
        if isinstance(resource, dict) and _is_csv(resource):
            yield _resource(dataset, resource)


def _is_csv(resource: dict[str, Any]) -> bool:
    """Tell by the last part of the format: ``CSV``, ``text/csv``, ``…/file-type/CSV``."""
    return re.split(r"[/.]", _text(resource, "format").casefold())[-1] == "csv"


def _resource(dataset: dict[str, Any], resource: dict[str, Any]) -> Resource:
    url = _text(resource, "url")
    owner = _text(dataset, "id", "name")
    own = _text(resource, "id") or hashlib.sha256(url.encode()).hexdigest()[:16]
    path = PurePosixPath(_path(url).casefold())
    ending = next((end for count in (2, 1) if (end := "".join(path.suffixes[-count:])) in _ENDINGS), ".csv")
    return Resource(
        file=f"{safe_name(owner)}_{safe_name(own)}{ending}",
        url=url,
        title=" – ".join(filter(None, (_text(dataset, "title", "name"), _text(resource, "name")))),
        licence=_text(resource, "license") or _text(dataset, "license_id", "license_title", "license_url"),
        dataset=_text(dataset, "name", "id"),
    )


def _path(url: str) -> str:
    with contextlib.suppress(ValueError):
        return urlsplit(url).path
    return ""


def _text(record: dict[str, Any], *keys: str) -> str:
    """Return the first of these fields that holds text, on one line."""
    values = (record.get(key) for key in keys)
    return next((line for value in values if isinstance(value, str) and (line := " ".join(value.split()))), "")


def safe_name(text: str) -> str:
    """Return text as part of a file name: itself where it is harmless, else what is harmless of it and a hash."""
    kept = re.sub(r"[^A-Za-z0-9-]+", "-", text).strip("-")[:60]
    if kept == text and kept:
        return kept
    return f"{kept}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:10]}".lstrip("-")


@contextlib.contextmanager
def fetching_listed(
    resources: Sequence[Resource],
    folder: Path,
    settings: Settings | None = None,
    watcher: Watcher | None = None,
    expected: dict[str, str] | None = None,
) -> Iterator[Iterator[Fetched]]:
    """Fetch the files of a portal as `fetching` does, and keep the books in ``sources.csv``, interrupted or not.

    A file that cannot be had is an outcome with its reason, no error. Rows of earlier runs stay.
    """
    sources = [Source(row.url, row.file, (expected or {}).get(row.file)) for row in resources]
    with fetching(sources, folder, settings, watcher) as outcomes:
        books = _Books(folder / SOURCES, resources)
        try:
            yield map(books.noted, outcomes)
        finally:
            books.write()


class _Books:
    """The rows of ``sources.csv``."""

    def __init__(self, path: Path, resources: Iterable[Resource]) -> None:
        self._path = path
        self._rows = _read_sources(path)
        for row in resources:
            self._rows[row.file] = row.recalling(self._rows.get(row.file))
        self.write()

    def noted(self, outcome: Fetched) -> Fetched:
        name = outcome.source.name
        self._rows[name] = self._rows[name].after(outcome)
        return outcome

    def write(self) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(astuple(self._rows[file]) for file in sorted(self._rows))
        with local_errors(self._path):
            write_whole(self._path, text.getvalue())


def _read_sources(path: Path) -> dict[str, Resource]:
    if not path.exists():
        return {}
    with local_errors(path), path.open(encoding="utf-8", errors="replace", newline="") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    if tuple(header) != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise CorpusError(f"{path}: not written by mate fetch; move it away or fetch into another folder")
    return {row[0]: Resource(*row) for row in rows}


@dataclass(frozen=True, slots=True)
class SchoolTable:
    """A table of a folder, and which of the two key columns it has."""

    path: Path
    columns: int
    keys: tuple[str, ...]
    """Those of `SCHOOL_COLUMNS` that it has."""

    @property
    def complete(self) -> bool:
        """It can be a query table of the paper's School experiment."""
        return len(self.keys) == len(SCHOOL_COLUMNS)


def school_tables(folder: Path) -> list[SchoolTable]:
    """Look at the first table of every file under a folder; files without one are left out."""
    if not folder.is_dir():
        raise CorpusError(f"{folder}: no such folder")
    looked_at = [_school_table(file) for file in discover([folder])]
    tables = [table for table in looked_at if table is not None]
    if not tables:
        raise CorpusError(f"{folder}: no file here holds a table")
    return tables


def _school_table(file: File) -> SchoolTable | None:
    with contextlib.closing(_chunks(file)) as chunks:
        header = next((chunk.table.header for chunk in chunks), None)
    if header is None:
        return None
    names = {_plain(name) for name in header}
    return SchoolTable(Path(file.path), len(header), tuple(key for key in SCHOOL_COLUMNS if _plain(key) in names))


def _chunks(file: File) -> Generator[Chunk, None, None]:
    yield from (item for item in read(file) if isinstance(item, Chunk))


def _plain(name: str) -> str:
    """``PROGRAM TYPE`` and ``program_type`` are one name."""
    return " ".join(unicodedata.normalize("NFKC", name).replace("_", " ").casefold().split())
