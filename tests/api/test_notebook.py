"""Answers in a notebook."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa

import mate
from tests.lakes import write_csv


class Tags(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_evidence_is_shown_as_bars_and_chance_is_marked(lake: mate.Lake) -> None:
    found = lake.search("sensors.csv", ["city", "day"])
    html = found._repr_html_()
    assert re.findall(r'<i style="width:(\d+%)"></i></span>(\d+%)', html)[:2] == [("83%", "83%"), ("100%", "100%")]
    assert html.count('<span class="mate-mark">chance</span>') == sum(one.evidence.is_chance for one in found)
    page = Tags(html)
    assert page.tags.count("tr") == 3
    assert "sensors on city, day" in page.text
    assert "city = place, day = date" in page.text


def test_nothing_found(lake: mate.Lake) -> None:
    html = lake.search(pa.table({"<b>": ["nowhere"]}), ["<b>"])._repr_html_()
    assert html == "<p>no table of the lake joins with query on &lt;b&gt;</p>"


def test_what_comes_from_data_is_text(folder: Path) -> None:
    """Names of files, headers and key columns are never tags, and control no terminal."""
    (folder / "evil").mkdir()
    evil = '<script>alert("1")<\\script>&\x1b[2J'
    write_csv(folder / f"evil/{evil}.csv", [evil, "n"], [["Ulm", "1"], ["Bonn", "2"]])
    with mate.index("evil", "evil.mate") as lake:
        query = pa.table({evil: ["Ulm", "Bonn"], "n": ["1", "2"]})
        for shown in (lake.search(query, [evil, "n"]), lake.suggest(query)):
            html = shown._repr_html_()
            assert "\x1b" not in html
            assert "script" not in Tags(html).tags
            assert not shown or 'alert("1")' in Tags(html).text


def test_suggestions_name_a_unique_part(lake: mate.Lake) -> None:
    found = lake.suggest("sensors.csv")
    assert "keys of sensors" in found._repr_html_()
    assert "unique part" not in found._repr_html_()
    found._answers[1] = replace(found[1], unique_part=("city", "<day>"))
    page = Tags(found._repr_html_())
    assert "unique part" in page.text
    assert page.text.count("city, <day>") == 1
