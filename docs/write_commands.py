"""`python docs/write_commands.py`: write the commands that made the packaged records into experiments.md."""

from __future__ import annotations

import tempfile
from pathlib import Path
from textwrap import wrap

from experiments.package import unpack
from experiments.reporting.results import read_results
from experiments.reporting.summary import commands

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "experiments.md"
BEGIN, END = "<!-- commands: python docs/write_commands.py -->", "<!-- end of the commands -->"


def listing() -> str:
    """Return the commands that the metadata of the records name, each with what is left of its records."""
    package = max((ROOT / "notebooks").glob("results-*.tar.xz"))
    with tempfile.TemporaryDirectory() as folder:
        unpack(package, Path(folder))
        found = commands(read_results(folder).facts)
    lines = []
    for command, files, of in sorted(found, key=lambda entry: -entry[1]):
        told = f"{files} file{'s' * (files > 1)} of {of}"
        lines += [*wrap(told, 128, initial_indent="# ", subsequent_indent="#   "), command]
    return "\n".join(["```", *lines, "```"])


def page() -> str:
    """Return the page with the list written again."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{listing()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
