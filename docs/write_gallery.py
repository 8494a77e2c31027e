"""Takes the pictures of the page that README.md and docs/serve.md show: python docs/write_gallery.py [FOLDER]

It makes the lake of README's tour, serves it, and looks at it with Chromium; FOLDER is docs/gallery unless given.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

import mate

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUERY, KEY = "synthetic-000047", ("country", "reporting year")
PROGRAM = "import sys; from mate.cli.program import command; sys.exit(command())"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def served() -> Iterator[str]:
    """Serve README's lake, in the folder that we are in; return the address."""
    mate.write_synthetic("lake", tables=60, seed=7)
    mate.index("lake", "lake.mate").close()
    command = [sys.executable, "-c", PROGRAM, "serve", "--store", "lake.mate", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        found = re.search(r"http://\S+", server.stdout.readline() if server.stdout else "")
        if found is None:
            raise SystemExit("mate serve did not start")
        try:
            yield found[0]
        finally:
            server.send_signal(signal.SIGINT)


def searched(page: Page, address: str) -> None:
    """Search with README's query and key, as its users would."""
    page.goto(f"{address}#tables")
    page.fill("#words", QUERY)
    page.click(f"#table-list tbody tr:only-child a >> text={QUERY}")
    page.click("#take")
    for name in KEY:
        page.check(f'#query input[value="{name}"]')
    page.click("#search")
    page.wait_for_selector("ol.answers .preview")


def picture(page: Page, address: str, path: Path, first: str, *, rows: bool) -> None:
    """Take a picture of a search from some element on, with the matched rows of the first answer or without."""
    searched(page, address)
    if rows:
        page.click("ol.answers > li:first-child .preview")
        page.wait_for_selector(".pairs")
    page.evaluate("document.activeElement.blur()")
    page.evaluate("(id) => scrollTo(0, document.getElementById(id).offsetTop - 12)", first)
    page.wait_for_selector("#status", state="hidden")
    page.screenshot(path=path)


def main(target: Path) -> None:
    """Take all pictures."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as folder, chdir(folder), served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        wide = browser.new_page(viewport={"width": 1100, "height": 1115})
        picture(wide, address, target / "page.png", "query", rows=False)
        dark = browser.new_page(viewport={"width": 1100, "height": 1280}, color_scheme="dark")
        picture(dark, address, target / "page-dark.png", "query", rows=True)
        phone = browser.new_page(viewport={"width": 390, "height": 900}, device_scale_factor=2)
        picture(phone, address, target / "page-phone.png", "results", rows=True)
        browser.close()


if __name__ == "__main__":
    main((Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "gallery").resolve())
