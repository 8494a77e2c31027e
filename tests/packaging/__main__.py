"""`python -m tests.packaging`: build the package, install it into empty environments, and use it there.

The source package is built from this folder, and the wheel from the source package. Each is installed by every Python
that is named with as few packages as it asks for, once in their oldest versions; and with each extra. There, tables are
indexed, searched and joined by the program and by the library.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]
NEEDED = {"numpy", "pyarrow", "rich", "markdown-it-py", "mdurl", "pygments", "chardet"}
"""All that a plain installation brings, with what these packages need themselves."""
QUERY = ["lake/synthetic-000047.csv", "--key", "country,reporting year", "--store", "lake.mate"]
LIBRARY = """
import json, mate
found = mate.open("lake.mate").search("lake/synthetic-000047.csv", ["country", "reporting year"], k=4)
print(json.dumps([[answer.table_id, answer.joinability] for answer in found]))
"""
ONLY_THE_LIBRARY = "import importlib.util as u; assert not u.find_spec('experiments') and not u.find_spec('benchmarks')"
EXTRAS = {
    "pandas": "import mate; assert len(mate.open('lake.mate').table(3, 'pandas'))",
    "polars": "import mate; assert len(mate.open('lake.mate').table(3, 'polars'))",
    "web": "import mate; from mate.web.app import application; application(mate.open('lake.mate'))",
    "mcp": "import mate, pathlib, mate.mcp.server as m; m.server(mate.open('lake.mate'), pathlib.Path())",
    "duckdb": "import mate; mate.index('lake', 'duckdb:lake.duckdb', master='none').search",
    "postgresql": "import psycopg, mate.sql.target",
    "vertica": "import vertica_python, mate.sql.target",
    "spark": "import mate; assert mate.index('lake', 'spark.mate', master='local[1]').stats().tables == 60",
    "baselines": "import mate; mate.index('lake', 'bf.mate', hashes=['bf', 'city', 'simhash'], master='none')",
}
"""What each extra is for, in a line."""


class Environment:
    """A virtual environment that has nothing but what is installed here."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        run([python, "-m", "venv", folder / "venv"])
        self.work = folder / "work"
        self.work.mkdir()

    def install(self, *what: str) -> None:
        """Install packages."""
        run([self.folder / "venv/bin/python", "-m", "pip", "install", "-q", *what], cwd=self.folder)

    def packages(self) -> set[str]:
        """Return the names of what is installed, without pip's own."""
        listed = self.python("-m", "pip", "list", "--format", "json")
        return {entry["name"].lower().replace("_", "-") for entry in json.loads(listed)} - {"pip", "setuptools"}

    def python(self, *arguments: str) -> str:
        """Run Python in a folder without the project, and return what it prints."""
        return run([self.folder / "venv/bin/python", *arguments], cwd=self.work)

    def mate(self, *arguments: str) -> str:
        """Run the program."""
        return run([self.folder / "venv/bin/mate", *arguments], cwd=self.work)


def run(command: Sequence[str | Path], cwd: Path | None = None) -> str:
    """Run a command and return its output; what it complains of is shown if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(output: Path, python: str) -> tuple[Path, Path]:
    """Build the source package from the files of the project, and the wheel from nothing but that."""
    with tempfile.TemporaryDirectory() as folder:
        tools = Environment(Path(folder), python)
        tools.install("build")
        run([tools.folder / "venv/bin/python", "-m", "build", "-o", output, ROOT])
    [source], [wheel] = output.glob("*.tar.gz"), output.glob("*.whl")
    return source, wheel


def metadata(wheel: Path) -> Message:
    """Return what a wheel says of itself."""
    with ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def oldest(wheel: Path) -> list[str]:
    """Return the oldest versions of the packages that a plain installation asks for."""
    found = []
    for required in metadata(wheel).get_all("Requires-Dist", []):
        name, mark, bounds = required.partition("<")
        if "extra ==" not in required:
            found.append(f"{name.strip()}=={(mark + bounds).partition('>=')[2].partition(',')[0]}.*")
    return found


def try_out(environment: Environment) -> list[list[int]]:
    """Index, search, join and look at a lake, by the program and by the library; return the answers."""
    environment.mate("synthetic", "lake", "--tables", "60", "--seed", "7")
    environment.mate("index", "lake", "--store", "lake.mate")
    answers = json.loads(environment.mate("search", *QUERY, "-k", "4", "--json"))["results"]
    found = [[answer["table_id"], answer["joinability"]] for answer in answers]
    assert found, "nothing was found"
    assert json.loads(environment.python("-c", LIBRARY)) == found
    environment.mate("join", *QUERY, "--table", str(found[1][0]), "-o", "joined.csv")
    environment.mate("check", "--store", "lake.mate")
    assert (environment.work / "joined.csv").stat().st_size > 1_000
    return found


def plain(package: Path, python: str, constraints: Sequence[str] = ()) -> list[list[int]]:
    """Install a package with what it needs and nothing else, and use it."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder), python)
        environment.install(str(package), *constraints)
        assert environment.packages() == {*NEEDED, "mate-discovery"}, environment.packages()
        environment.python("-c", ONLY_THE_LIBRARY)
        environment.python("-m", "pip", "check")
        return try_out(environment)


def try_plain(source: Path, wheel: Path, pythons: Sequence[str]) -> None:
    """Install both packages by each Python, once with the oldest of what they need, and compare the answers."""
    answers = []
    for python in pythons:
        for package in (wheel, source):
            answers.append(plain(package, python))
            _say(f"{package.name} on {_version(python)}: indexes, searches and joins")
    answers.append(plain(wheel, pythons[0], oldest(wheel)))
    _say(f"{wheel.name} with {' '.join(oldest(wheel))}: the same")
    assert all(found == answers[0] for found in answers), answers


def try_extra(wheel: Path, name: str, python: str) -> None:
    """Install a package with an extra, and use what the extra is for."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder), python)
        environment.install(f"{wheel}[{name}]")
        environment.mate("synthetic", "lake", "--tables", "60", "--seed", "7")
        environment.mate("index", "lake", "--store", "lake.mate")
        environment.python("-c", EXTRAS[name])


def main() -> None:
    """Build, install and try."""
    parser = argparse.ArgumentParser(prog="python -m tests.packaging", description=__doc__)
    parser.add_argument("--python", action="append", help="interpreter to install with; this one unless given")
    parser.add_argument("--extra", action="append", choices=EXTRAS, help="try only this extra, or these")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="where the packages are left")
    given = parser.parse_args()
    pythons = given.python or [sys.executable]
    for old in given.output.glob("mate_discovery-*"):
        old.unlink()
    source, wheel = build(given.output, pythons[0])
    if not given.extra:
        try_plain(source, wheel, pythons)
    for name in given.extra or EXTRAS:
        try_extra(wheel, name, pythons[0])
        _say(f"{wheel.name}[{name}]: works")


def _version(python: str) -> str:
    return run([python, "--version"]).strip()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
