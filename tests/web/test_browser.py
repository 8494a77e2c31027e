"""The page in a real browser: drop a file, suggest, search, preview, download."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import mate
from tests.web.conftest import SCRIPT
from tests.web.serving import SlowSuggestions, listening, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, { type: "text/csv" }));
  document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
}"""
LIGHTNESS = """([selector, property]) => getComputedStyle(document.querySelector(selector))[property]
  .match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3"""


@pytest.fixture(scope="module")
def address(web_folder: Path) -> Iterator[str]:
    with served(web_folder) as where:
        yield where


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page; an error of its script, a blocked resource or a request to elsewhere fails the test."""
    complaints: list[str] = []
    context = browser.new_context(accept_downloads=True, viewport={"width": 390, "height": 844})
    opened = context.new_page()
    opened.set_default_timeout(15_000)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda said: complaints.append(said.text) if "Content Security" in said.text else None)
    opened.on("request", lambda r: None if r.url.startswith((address, "blob:")) else complaints.append(r.url))
    opened.goto(address)
    yield opened
    context.close()
    assert complaints == []


def drop(page: Page, path: Path) -> None:
    page.evaluate(DROP, [path.name, path.read_text(encoding="utf-8")])
    page.wait_for_selector("#query input[type=checkbox]")


def search(page: Page, path: Path, *places: int) -> None:
    """Drop a file and search with the columns at some places, the first two if there are none."""
    drop(page, path)
    for place in places or (0, 1):
        page.locator("#query input[type=checkbox]").nth(place).check()
    page.click("#search")
    page.wait_for_selector("ol.answers .preview")


def test_from_a_dropped_file_to_the_download(page: Page, web_folder: Path, tmp_path: Path) -> None:
    query = web_folder / "sensors.csv"
    with mate.open(web_folder / "lake.mate") as lake:
        expected = lake.search(query, ["city", "day"])
        suggested = lake.suggest(query)
        chance = [answer.table_id for answer in expected if answer.evidence.is_chance]
        pairs = len(expected[0].pairs())
        expected[0].enrich().write(tmp_path / "expected.csv")
    drop(page, query)
    assert page.is_disabled("#search")
    page.click("#suggest")
    page.wait_for_selector("#results .python")  # the search is over
    assert _tables(page) == [one.table_id for one in suggested]

    page.check('#query input[value="city"]')
    page.check('#query input[value="day"]')
    page.click("#search")
    page.wait_for_selector("text=tables found")
    assert _tables(page) == [answer.table_id for answer in expected]
    assert chance
    marked = page.locator("li:has(.badge:text('no better than chance'))")
    assert [int(marked.nth(n).get_attribute("data-table") or -1) for n in range(marked.count())] == chance
    assert "temperature" in page.inner_text("ol.answers > li:first-child .adds")

    page.click("ol.answers > li:first-child .preview")
    page.wait_for_selector(".pairs")
    assert page.locator(".pairs tbody tr").count() == pairs
    assert page.inner_text(".pairs thead tr:last-child").split("\t") == [
        "city", "day", "place", "date", "temperature", "wind", "PM10",
    ]  # fmt: skip
    assert page.inner_text(".pairs tbody tr:first-child").split() == [
        "Bonn", "2019-01-01", "Bonn", "2019-01-01", "4", "3", "30",
    ]  # fmt: skip
    with page.expect_download() as download:
        page.click(".csv")
    assert download.value.suggested_filename == "sensors-enriched.csv"
    assert download.value.path().read_bytes() == (tmp_path / "expected.csv").read_bytes()
    page.click("#why summary")
    assert "distinct key tuples of the query" in page.inner_text("#why")
    assert _too_wide(page) == 0


def _tables(page: Page) -> list[int]:
    items = page.locator("ol.answers > li")
    return [int(items.nth(n).get_attribute("data-table") or -1) for n in range(items.count())]


def _too_wide(page: Page) -> int:
    """Return by how many pixels the page is wider than a phone."""
    width: int = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return width


def test_hostile_contents_are_shown_as_text(page: Page, web_folder: Path) -> None:
    search(page, web_folder / "hostile.csv")
    page.click("ol.answers > li:first-child .preview")
    page.wait_for_selector(".pairs")
    text = page.inner_text("main")
    assert SCRIPT[:40] in text
    assert "␛[31mred␛[0m \\u202eevil" in page.inner_text(".pairs")
    assert "<img src=x onerror=alert(1)>" in text
    page.goto(page.url.partition("#")[0] + "#tables")
    page.wait_for_selector("#table-list tbody tr")
    page.click("#table-list a >> text=<img src=x")
    page.wait_for_selector("#view-table .cell")
    assert page.title() == "MATE"
    assert page.locator("main img, main script").count() == 0
    assert _too_wide(page) == 0


def press_until(page: Page, reached: str) -> None:
    """Press Tab until an element has the focus, as somebody without a mouse does."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", reached):
            return
    raise AssertionError(f"{reached} is not reached with the keyboard")


def test_everything_with_the_keyboard(page: Page, web_folder: Path) -> None:
    with mate.open(web_folder / "lake.mate") as lake:
        expected = lake.search(web_folder / "sensors.csv", ["city", "day"])[0].enrich().to_arrow()
    page.on("filechooser", lambda _: None)  # choosers are caught from here on, not just when the key is on its way
    press_until(page, "#file")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Space")
    chooser.value.set_files(web_folder / "sensors.csv")
    page.wait_for_selector("#query input[type=checkbox]")
    for name in ("city", "day"):
        press_until(page, f'#query input[value="{name}"]')
        page.keyboard.press("Space")
    press_until(page, "#search")
    page.keyboard.press("Enter")
    page.wait_for_selector("ol.answers > li")
    press_until(page, ".preview")
    page.keyboard.press("Enter")
    page.wait_for_selector(".pairs")
    press_until(page, ".parquet")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert pq.read_table(download.value.path()).equals(expected)


def test_with_the_keyboard_from_a_table_of_the_lake(page: Page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.click("nav >> text=Tables")
    page.wait_for_selector("#words").focus()  # once it can be seen
    page.keyboard.type("wind")
    page.wait_for_selector("#table-list tbody tr:only-child")
    for _ in range(3):  # a button, the list, which can be scrolled, and its first link
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#neighbours ol.answers > li")
    assert "weather" not in page.inner_text("#neighbours ol.answers")
    press_until(page, "#neighbours .preview")
    page.keyboard.press("Enter")
    page.wait_for_selector("#neighbours .pairs")
    press_until(page, "#neighbours .row > .preview + button")
    page.keyboard.press("Enter")
    page.wait_for_selector("#results ol.answers > li")
    page.click("nav >> text=Rejects")
    page.wait_for_selector("#reject-list >> text=picture.parquet")


def test_sources_and_sizes_of_the_lake(page: Page) -> None:
    page.click("nav >> text=Tables")
    page.click("#source-list summary >> text=Sources: ")
    page.wait_for_selector("#source-list >> text=lake/weather.csv")
    page.click("#source-list summary >> text=Size of the index")
    assert page.locator("#source-list details:last-child tbody tr").count() > 2
    assert _too_wide(page) == 0


def test_more_answers_and_names_on_demand(page: Page, web_folder: Path) -> None:
    asked: list[Any] = []
    page.on("request", lambda r: asked.append(r.post_data_json) if r.url.endswith("/api/search") else None)
    page.evaluate("few = 1")
    drop(page, web_folder / "sensors.csv")
    page.check('#query input[value="city"]')
    page.uncheck("#names")
    page.click("#search")
    page.wait_for_selector("text=1 table found")
    page.click("text=Show more")
    page.wait_for_selector("text=3 tables found")
    assert [(one["k"], one["names"]) for one in asked] == [(1, False), (3, False)]


def test_a_long_name_does_not_make_a_phone_scroll(page: Page) -> None:
    page.evaluate(DROP, ["long.csv", f"{'x' * 3000},place\nBonn,1\nUlm,2\n"])
    page.wait_for_selector("#query input[type=checkbox]")
    page.locator("#query input").nth(0).check()
    page.click("#search")
    page.wait_for_selector("#results-title")
    assert "…" in page.inner_text("#results .quiet")
    assert _too_wide(page) == 0


def test_the_lines_of_a_join_do_what_was_chosen(page: Page, web_folder: Path, tmp_path: Path) -> None:
    search(page, web_folder / "sensors.csv")
    page.click("ol.answers > li:first-child .preview")
    page.click(".more .python summary")
    page.select_option("select.matches", "all")
    page.check("text=keep spreadsheets from running")
    with page.expect_download() as download:
        page.click(".parquet")
    lines = page.inner_text(".more pre")
    assert lines.endswith('joined.write("enriched.parquet", safe=True)\n')
    lake, written = web_folder / "lake.mate", tmp_path / "enriched.parquet"
    lines = lines.replace("'lake.mate'", repr(str(lake))).replace("enriched.parquet", str(written))
    with chdir(web_folder):
        exec(compile(lines, "copied", "exec"), {})
    assert download.value.path().read_bytes() == written.read_bytes()


def test_long_work_is_cancelled(page: Page, web_folder: Path) -> None:
    page.route("**/api/search", lambda _: None)  # never answers
    page.route("**/api/work/*", lambda route: route.fulfill(json={"before": 12, "done": 3, "total": 7}))
    drop(page, web_folder / "sensors.csv")
    page.check('#query input[value="city"]')
    page.click("#search")
    page.wait_for_selector("#status progress[value='3'][max='7']")
    page.wait_for_selector("#status >> text=12 others first")
    page.click("#status >> text=Cancel")
    page.wait_for_selector("#results >> text=Cancelled.")
    assert page.is_hidden("#status")
    page.unroute("**/api/search")
    page.click("#search")
    page.wait_for_selector("ol.answers > li")


def test_the_python_lines_are_copied(page: Page, web_folder: Path) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    search(page, web_folder / "sensors.csv")
    page.click("#results > .python summary")
    page.click("#results > .python button")
    page.wait_for_selector("#results > .python >> text=Copied")
    copied: str = page.evaluate("navigator.clipboard.readText()")
    names: dict[str, Any] = {}
    with chdir(web_folder):
        exec(compile(copied, "copied", "exec"), names)
    assert _tables(page) == [answer.table_id for answer in names["found"]]


def test_keys_of_one_column_are_shown_while_longer_ones_are_looked_for(
    browser: Browser, web_lake: mate.Lake, web_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = web_folder / "sensors.csv"
    steps = [[one.table_id for one in step] for step in web_lake.suggest_in_steps(query)]
    slow = SlowSuggestions(web_lake, monkeypatch)
    with listening(web_lake) as address:
        page = browser.new_page()
        page.goto(address)
        drop(page, query)
        page.click("#suggest")
        for place, tables in enumerate(steps):
            slow.steps.release()
            page.wait_for_selector("text=Still looking for keys" if place < len(steps) - 1 else "#results .python")
            assert _tables(page) == tables
        assert page.locator("#results .message").count() == 0

        slow.ended.clear()
        page.check('#query input[value="city"]')
        page.check('#query input[value="day"]')
        page.click("#suggest")
        slow.steps.release()
        page.wait_for_selector("text=Still looking for keys")
        found = _tables(page)
        page.click("#status >> text=Cancel")
        page.wait_for_selector("text=Cancelled: these are the keys found so far.")
        assert _tables(page) == found
        assert slow.ended.wait(30)
        page.close()


@pytest.mark.parametrize("view", ["search", "tables", "rejects", "table/1"])
def test_dark_mode_can_be_read(browser: Browser, address: str, view: str) -> None:
    found = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto(f"{address}#{view}")
        page.wait_for_selector("h1:visible")
        found[scheme] = page.evaluate(LIGHTNESS, ["body", "backgroundColor"]), page.evaluate(LIGHTNESS, ["h1", "color"])
        context.close()
    (paper, ink), (night, chalk) = found["light"], found["dark"]
    assert paper > 200 > 80 > ink
    assert night < 60 < 180 < chalk


def test_the_token_of_the_address_is_used_and_hidden(browser: Browser, web_folder: Path) -> None:
    with served(web_folder, "--host", "0.0.0.0") as printed:
        context = browser.new_context()
        page = context.new_page()
        page.goto(printed.partition("#")[0])
        page.wait_for_selector("#lake >> text=the token is missing or wrong")
        page = context.new_page()
        page.goto(printed)
        page.wait_for_selector("#lake >> text=5 tables")
        assert "token" not in page.url
        search(page, web_folder / "sensors.csv")
        page.reload()
        page.wait_for_selector("#lake >> text=5 tables")
        context.close()


def test_warnings_errors_and_empty_answers_are_shown(page: Page) -> None:
    page.evaluate(DROP, ["quotes.csv", 'nn,day\nqq,"ww\nrr,tt\n'])
    page.wait_for_selector("#query .warning >> text=stray quote")
    page.click("#suggest")
    page.wait_for_selector("#results >> text=nothing found; tried these columns: nn, day; 5 tables")
    assert page.inner_text("#results-title") == "3. Nothing found"
    page.evaluate(DROP, ["table.exe", "a,b\n1,2\n"])
    page.wait_for_selector("#query .error")
    assert page.inner_text("#query .error").startswith("table.exe cannot be read: upload .csv")
    page.goto(page.url.partition("#")[0] + "#table/99")
    page.wait_for_selector("#view-table .error")
    assert "has no table 99" in page.inner_text("#view-table")
