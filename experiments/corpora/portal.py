"""German Open Data (section 7.1): the CSV files that govdata.de, or another CKAN portal, lists.

The portal only lists them. The files themselves are at hundreds of other hosts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlencode, urlsplit

from experiments.corpora.client import Client, DownloadSettings, checked_url
from experiments.corpora.source_list import Resource
from mate.errors import CorpusError

GOVDATA_URL = "https://www.govdata.de/ckan/api/3/action/package_search"


@dataclass(frozen=True, slots=True)
class PortalQuery:
    """A search of a CKAN portal."""

    url: str = GOVDATA_URL
    """Address of the portal, or of its ``package_search``."""
    text: str = ""
    """The search, in Solr's syntax; empty for everything."""
    limit: int | None = None
    """Files (not datasets) at most; None for all."""
    page: int = 100
    """Datasets per request."""
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


def search_portal(query: PortalQuery, settings: DownloadSettings | None = None) -> list[Resource]:
    """List the CSV files of the datasets that match, in the portal's order of names."""
    found: dict[str, Resource] = {}
    for dataset in _datasets(query, Client(settings or DownloadSettings())):
        for resource in _csv_files(dataset):
            found.setdefault(resource.file.casefold(), resource)  # a dataset may move to a later page
            if query.limit is not None and len(found) == query.limit:
                return list(found.values())
    if not found:
        raise CorpusError(f"{query.address}: no CSV file" + (f" matches {query.text!r}" if query.text else ""))
    return list(found.values())


def _datasets(query: PortalQuery, client: Client) -> Iterator[dict[str, Any]]:
    spellings = " OR ".join(f'"{spelling}"' for spelling in CSV_FORMATS)
    asked = {"q": query.text or "*:*", "fq": f"res_format:({spellings})", "sort": "name asc", "rows": query.page}
    start, count = 0, 1
    while start < count:
        if start:
            client.stop.wait(query.delay)
        url = f"{query.address}?{urlencode({**asked, 'start': start})}"
        result = _result(query.address, *client.read(url))
        count, datasets = result["count"], result["results"]
        if not datasets:
            return
        yield from (dataset for dataset in datasets if isinstance(dataset, dict))
        start += len(datasets)  # a server may give fewer than asked for


def _result(address: str, status: int, body: bytes) -> dict[str, Any]:
    """Return the ``result`` of a CKAN answer."""
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
    """Decide by the last part of the format: ``CSV``, ``text/csv``, ``…/file-type/CSV``."""
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
    """Return text for use in a file name: unchanged if it is harmless, else its harmless characters and a hash."""
    kept = re.sub(r"[^A-Za-z0-9-]+", "-", text).strip("-")[:60]
    if kept == text and kept:
        return kept
    return f"{kept}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:10]}".lstrip("-")
