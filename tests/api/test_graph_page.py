"""The page of a graph in a real browser: search, choose, filter, follow, go back; on a phone and in the dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mate.api.graph import page as page_of
from tests.api.conftest import SHOWN_EVIL

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture
def graph(graphed: Path) -> Path:
    return graphed / "graph/graph.html"


@pytest.fixture
def page(browser: Browser, graph: Path) -> Iterator[Page]:
    """The page; an error of its script or a request to anywhere fails the test."""
    complaints: list[str] = []
    opened = browser.new_page(viewport={"width": 1200, "height": 800})
    opened.set_default_timeout(15_000)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: None if request.url.startswith("file:") else complaints.append(request.url))
    opened.goto(graph.as_uri())
    yield opened
    opened.close()
    assert complaints == []


def chosen(page: Page) -> str:
    """Return the name of the table that is shown, once it is that of the address."""
    number = page.evaluate("location.hash").removeprefix("#")
    page.locator("#table .soft", has_text=f"table {number},").wait_for()
    return page.inner_text("#table h2")


def ends(page: Page) -> list[str]:
    """Return the tables at the other end of the edges that are shown."""
    return [link.inner_text() for link in page.query_selector_all("#edges tbody a")]


def move(page: Page, slider: str, value: int) -> None:
    page.eval_on_selector(slider, f"it => {{ it.value = {value}; it.dispatchEvent(new Event('input')); }}")


def test_search_and_choose_a_table(page: Page) -> None:
    page.fill("#search", "READ")
    assert [button.inner_text().split()[0] for button in page.query_selector_all("#found a")] == ["readings"]
    page.click("#found a")
    assert chosen(page) == "readings"
    assert set(ends(page)) == {"stations", "copy"}
    assert SHOWN_EVIL in page.inner_text("#table")
    assert page.locator("img").count() == 0
    page.fill("#search", "pm")  # a column
    assert page.locator("#found a").count() == 1
    page.fill("#search", "level")  # first the table of that name, then those with such a column, which have more edges
    assert page.inner_text("#found a").startswith("levels")
    assert page.locator("#found a").count() == 3
    page.fill("#search", "nowhere")
    assert page.inner_text("#found") == "no table"


def test_filters(page: Page) -> None:
    page.goto(page.url.partition("#")[0] + "#3")
    assert chosen(page) == "stations"
    assert set(ends(page)) == {"copy", "readings"}
    page.uncheck("#copy")
    assert set(ends(page)) == {"readings"}
    page.check("#copy")
    page.uncheck("#join")
    assert ends(page) == ["copy"]
    page.check("#join")
    move(page, "#containment", 90)
    assert "90%" in page.inner_text(".filters")
    assert ends(page).count("readings") < 2  # half of the keys is not enough
    move(page, "#containment", 0)
    move(page, "#width", 4)
    page.uncheck("#copy")
    assert page.inner_text("#edges") == "no edge passes the filters"


def test_follow_a_neighbour_and_go_back(page: Page) -> None:
    page.fill("#search", "readings")
    page.click("#found a")
    page.click("#picture .end >> nth=0")
    followed = chosen(page)
    assert followed in ("stations", "copy")
    page.click("#edges a:text-is('readings')")
    assert chosen(page) == "readings"
    for name in (followed, "readings"):
        page.go_back()
        assert chosen(page) == name


def test_same_columns_are_told(page: Page) -> None:
    page.fill("#search", "stations")
    page.click("#found a:has-text('stations')")
    assert chosen(page) == "stations"
    assert page.inner_text("#table").endswith("Same columns (could be united): copy")


def test_a_phone_and_the_dark(browser: Browser, graph: Path, page: Page) -> None:
    light = page.eval_on_selector("body", "it => getComputedStyle(it).backgroundColor")
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    small = context.new_page()
    small.goto(graph.as_uri())
    assert small.evaluate("document.documentElement.scrollWidth") <= 390
    assert small.is_visible("#search")
    assert small.eval_on_selector("body", "it => getComputedStyle(it).backgroundColor") != light
    context.close()


def test_the_address_may_look_like_a_place_to_fill_in(page: Page) -> None:
    assert page.inner_text("h1").endswith("{{data}}.mate")


def test_rows_that_are_left_out_are_told(browser: Browser, graph: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    nodes, edges = (pq.read_table(graph.parent / f"{name}.parquet") for name in ("nodes", "edges"))
    [join, *_] = [edge for edge in edges.to_pylist() if edge["kind"] == "join"]
    many = pa.Table.from_pylist([join] * 310, edges.schema)
    (tmp_path / "graph.html").write_text(page_of("many", nodes, many), encoding="utf-8")
    opened = browser.new_page()
    opened.goto((tmp_path / "graph.html").as_uri())
    assert opened.locator("#edges tbody tr").count() == 300
    assert "and 10 more edges" in opened.inner_text("#edges")
    opened.close()
