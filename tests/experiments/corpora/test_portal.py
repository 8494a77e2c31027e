"""Searches of a CKAN portal."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.corpora import download
from experiments.corpora.client import AGENT
from experiments.corpora.portal import GOVDATA_URL, PortalQuery, safe_name, search_portal
from experiments.corpora.source_list import Resource, downloading_listed
from mate.errors import CorpusError
from tests.experiments.corpora.site import ONCE, QUICK, Fault, Handler, Published, Site, cut, names, recording, status


def dataset(name: str, *resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": f"id-{name}", "name": name, "title": f"Title of {name}", "resources": list(resources), **more}


def resource(id: str, format: Any = "CSV", **more: Any) -> dict[str, Any]:
    return {"id": id, "format": format, "url": f"http://127.0.0.1/{id}.csv", **more}


def portal(site: Site, *datasets: Any, most: int = 1_000) -> PortalQuery:
    """Make the site a CKAN portal that gives at most so many datasets per page."""

    def answer(handler: Handler, _: Published) -> None:
        asked = parse_qs(urlsplit(handler.path).query)
        start, rows = int(asked["start"][0]), min(most, int(asked["rows"][0]))
        page = {"count": len(datasets), "results": datasets[start : start + rows]}
        status(200, json.dumps({"success": True, "result": page}).encode())(handler, _)

    site.publish("api/3/action/package_search", b"", *[answer] * 50)
    return PortalQuery(site.url, delay=0.0)


def test_a_portal_is_read_page_by_page(site: Site) -> None:
    what = portal(site, *[dataset(f"d{n}", resource(f"r{n}"), resource(f"s{n}")) for n in range(5)])
    found = search_portal(PortalQuery(what.url, page=2, delay=0.0), QUICK)
    assert [row.file for row in found] == [f"id-d{n}_{x}{n}.csv" for n in range(5) for x in "rs"]
    asked = [parse_qs(urlsplit(path).query) for path, _ in site.requests]
    assert [page["start"] for page in asked] == [["0"], ["2"], ["4"]]
    assert {page["rows"][0] for page in asked} == {"2"}
    assert {page["sort"][0] for page in asked} == {"name asc"}
    assert {page["q"][0] for page in asked} == {"*:*"}
    assert all('"http://publications.europa.eu/resource/authority/file-type/CSV"' in page["fq"][0] for page in asked)
    assert set(site.sent("User-Agent")) == {AGENT}


def test_a_portal_may_give_fewer_than_it_was_asked_for(site: Site) -> None:
    what = portal(site, *[dataset(f"d{n}", resource(f"r{n}")) for n in range(7)], most=3)
    assert len(search_portal(what, QUICK)) == 7
    assert len(site.requests) == 3


def test_the_limit_counts_files_and_spares_the_portal(site: Site) -> None:
    what = portal(site, *[dataset(f"d{n}", resource(f"r{n}"), resource(f"s{n}")) for n in range(50)])
    found = search_portal(PortalQuery(what.url, text="title:bäder", limit=3, page=2, delay=0.0), QUICK)
    assert [row.file for row in found] == ["id-d0_r0.csv", "id-d0_s0.csv", "id-d1_r1.csv"]
    (path,) = (path for path, _ in site.requests)
    assert parse_qs(urlsplit(path).query)["q"] == ["title:bäder"]


def test_pages_are_asked_for_without_haste(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    what = portal(site, *[dataset(f"d{n}", resource(f"r{n}")) for n in range(3)])
    waits: list[float] = []
    monkeypatch.setattr(threading.Event, "wait", recording(threading.Event.wait, waits))
    search_portal(PortalQuery(what.url, page=1, delay=0.25), QUICK)
    assert waits == [0.25, 0.25]


def test_only_csv_files_are_listed_however_it_is_spelled(site: Site) -> None:
    spelled = ["CSV", "csv", "text/csv", ".csv", "http://publications.europa.eu/resource/authority/file-type/CSV"]
    others = ["PDF", "", None, 3, "CSVW", "application/json"]
    resources = [resource(f"r{n}", format) for n, format in enumerate(spelled + others)]
    found = search_portal(
        portal(site, dataset("d", *resources), "rubbish", {"resources": None}, {"resources": [1]}), QUICK
    )
    assert [row.file for row in found] == [f"id-d_r{n}.csv" for n in range(len(spelled))]


def test_title_licence_and_ending_come_from_the_portal(site: Site) -> None:
    free = "http://dcat-ap.de/def/licenses/dl-zero-de/2.0"
    found = search_portal(
        portal(
            site,
            dataset("d", resource("r", license=free, name=" Bäder\n2020 "), license_id="cc-by"),
            dataset("e", resource("r"), license_id=None, license_title="CC BY"),
            dataset("f", resource("r", url="http://127.0.0.1/A.CSV.GZ?x=1.pdf"), resource("s", url="http://[")),
        ),
        QUICK,
    )
    assert found[0] == Resource("id-d_r.csv", "http://127.0.0.1/r.csv", "Title of d – Bäder 2020", free, "d")
    assert found[1].licence == "CC BY"
    assert [row.file for row in found[2:]] == ["id-f_r.csv.gz", "id-f_s.csv"]


def test_names_from_a_portal_stay_in_the_folder_and_apart(site: Site, tmp_path: Path) -> None:
    evil = {"id": "../../etc", "title": "x", "resources": [resource("/passwd"), resource("..passwd"), resource(None)]}  # type: ignore[arg-type]
    twice = dataset("d", resource("r"), resource("r"))
    found = search_portal(portal(site, evil, twice, twice), QUICK)
    assert len({row.file for row in found}) == len(found) == 4
    assert all(download._NAME.fullmatch(row.file) for row in found)
    with downloading_listed(found, tmp_path / "to", ONCE) as results:
        list(results)
    assert names(tmp_path) == ["to"]


@pytest.mark.parametrize(
    ("url", "address"),
    [
        (GOVDATA_URL, GOVDATA_URL),
        ("https://www.govdata.de/ckan/", GOVDATA_URL),
        ("https://www.govdata.de/ckan/api/3/action", GOVDATA_URL),
        ("http://ckan.example", "http://ckan.example/api/3/action/package_search"),
    ],
)
def test_a_portal_may_be_named_in_full_or_in_short(url: str, address: str) -> None:
    assert PortalQuery(url).address == address


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (status(200, b"<html>"), "the answer is not JSON; is this the address of a CKAN portal?"),
        (status(200, b"\xff\xfe{"), "the answer is not JSON; is this the address of a CKAN portal?"),
        (status(404, b"nothing"), "HTTP 404; is this the address of a CKAN portal?"),
        (
            status(409, b'{"success": false, "error": {"message": "bad\\nquery", "__type": "Search Error"}}'),
            "CKAN refused the search: bad query",
        ),
        (status(200, b'{"success": false, "error": "closed"}'), "CKAN refused the search: closed"),
        (status(200, b'{"success": false}'), "CKAN refused the search: no reason given"),
        (status(200, b"[]"), "JSON, but not the answer of a CKAN package_search"),
        (status(200, b'{"success": true}'), "JSON, but not the answer of a CKAN package_search"),
        (
            status(200, b'{"result": {"count": "1", "results": []}}'),
            "JSON, but not the answer of a CKAN package_search",
        ),
        (status(200, b'{"result": {"count": 0, "results": []}}'), "no CSV file matches 'x'"),
        (status(200, b'{"result": {"count": 9, "results": []}}'), "no CSV file matches 'x'"),
    ],
)
def test_a_portal_in_trouble_is_one_clear_error(site: Site, answer: Fault, message: str) -> None:
    site.publish("api/3/action/package_search", b"", answer)
    what = PortalQuery(site.url, text="x", delay=0)
    with pytest.raises(CorpusError) as error:
        search_portal(what, QUICK)
    assert str(error.value) == f"{what.address}: {message}"


def test_a_portal_that_is_down_for_a_moment(site: Site) -> None:
    what = portal(site, dataset("d", resource("r")))
    faults = site.faults["/api/3/action/package_search"]
    faults[:0] = [status(502), cut(0), status(200, b"{", Content_Length="99")]
    site.files["/api/3/action/package_search"].body = b"x"
    assert len(search_portal(what, QUICK)) == 1
    faults[:0] = [status(502)] * 5
    with pytest.raises(CorpusError, match="HTTP 502 Bad Gateway; gave up after 5 tries"):
        search_portal(what, QUICK)


@pytest.mark.parametrize("bad", [{"limit": 0}, {"page": 0}, {"delay": -1.0}])
def test_searches_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(CorpusError, match="must be at least"):
        PortalQuery(**bad)


@given(st.text())
def test_safe_names_are_safe(text: str) -> None:
    assert download._NAME.fullmatch(f"{safe_name(text)}_{safe_name(text)}.csv.gz")


@given(st.text(), st.text())
def test_safe_names_keep_different_ids_apart(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)
