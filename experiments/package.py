"""`python -m experiments pack` and `unpack`: raw results as one compressed file with a version, and back.

A package has everything that a report or a notebook reads: the records, what they belong to, and the records of the
hash laboratory if they are in the same folder (``hashes``). It has no cell of a table, neither lakes nor query sets:
what it says can be looked at and judged again anywhere, and measured again where the corpora are.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import lzma
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import records
from experiments.definitions import CODE
from experiments.errors import ExperimentError
from experiments.run import add_results
from mate.cli.terminal import console

if TYPE_CHECKING:
    from mate.cli import Commands

VERSION = 3
"""Raised when what is in a package changes."""
CONTENTS = "package.json"
LABORATORY = Path("hashes", "records")
"""Where `python -m benchmarks hashes` keeps records unless told otherwise."""
FOLDERS = ("experiments", "records", "hashes")


def add(commands: Commands) -> None:
    """Declare both commands."""
    pack = commands.add_parser("pack", help="put raw results into one compressed file", description=__doc__)
    pack.add_argument("file", type=Path, metavar="FILE", help="the package, such as results.tar.xz")
    add_results(pack)
    pack.set_defaults(run=run_pack)
    unpack = commands.add_parser("unpack", help="take raw results out of a package", description=__doc__)
    unpack.add_argument("file", type=Path, metavar="FILE", help="the package")
    add_results(unpack)
    unpack.set_defaults(run=run_unpack)


def run_pack(options: argparse.Namespace) -> int:
    """Write a package and say what is in it."""
    contents = pack(options.results, options.file)
    size = options.file.stat().st_size
    console().print(f"{options.file}: {len(contents['files']):,} files, {size / 1e6:.1f} MB", soft_wrap=True)
    return 0


def run_unpack(options: argparse.Namespace) -> int:
    """Write what a package has into the folder of results."""
    contents = unpack(options.file, options.results)
    told = f"{options.results}: {len(contents['files']):,} files, packed {contents['packed']}"
    console().print(f"{told}; now: python -m experiments report --results {options.results}", soft_wrap=True)
    return 0


def pack(results: Path, target: Path) -> dict[str, Any]:
    """Put the finished results of a folder into a package; return its table of contents."""
    files = _files(results)
    if not files:
        raise ExperimentError(f"there are no results in {results}: python -m experiments run --all --results {results}")
    listed = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    facts = {"version": VERSION, "format": records.FORMAT, "code": CODE}
    contents = {**facts, "packed": datetime.now(UTC).date().isoformat(), "files": listed}
    text = (json.dumps(contents, indent=1, sort_keys=True) + "\n").encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(target, "wb", preset=6) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in {CONTENTS: text, **files}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return contents


def _files(results: Path) -> dict[str, bytes]:
    """Return what belongs to finished experiments, by name: every file of records is read, so that none is damaged."""
    found: dict[str, bytes] = {}
    plans = sorted((results / "experiments").glob("*.json"))
    for plan in plans:
        found[f"experiments/{plan.name}"] = plan.read_bytes()
        for recorded in records.recorded(results, plan.stem):
            found[recorded.path.relative_to(results).as_posix()] = recorded.path.read_bytes()
    if found:
        more = sorted((results / LABORATORY).rglob("*.json"))
        found |= {path.relative_to(results).as_posix(): path.read_bytes() for path in more}
    return found


def unpack(source: Path, results: Path) -> dict[str, Any]:
    """Write the files of a package below a folder of results, having checked each; nothing there is overwritten."""
    contents, files = read(source)
    for name, data in files.items():
        path = results / name
        if path.exists() and path.read_bytes() != data:
            raise ExperimentError(f"{path} is there already and differs: unpack into another folder (--results)")
    for name, data in files.items():
        path = results / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return contents


def read(source: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the table of contents and the files of a package; refuse one that is damaged or of another version."""
    try:
        with lzma.open(source) as stream, tarfile.open(fileobj=stream) as archive:
            members = [(entry.name, archive.extractfile(entry)) for entry in archive if entry.isfile()]
            data = {name: body.read() for name, body in members if body is not None}
        contents: dict[str, Any] = json.loads(data.pop(CONTENTS))
        listed = contents["files"]
        if contents["version"] != VERSION or contents["format"] != records.FORMAT:
            raise ExperimentError(f"{source} is of another version: measure again, or use the version that packed it")
    except (OSError, lzma.LZMAError, tarfile.TarError, KeyError, TypeError, ValueError) as error:
        raise ExperimentError(f"{source} is no package of results, or is damaged: {error}") from None
    for name, digest in listed.items():
        if name not in data or hashlib.sha256(data[name]).hexdigest() != digest:
            raise ExperimentError(f"{source} is damaged: {name} is not what was packed")
        if name.split("/")[0] not in FOLDERS or ".." in Path(name).parts:
            raise ExperimentError(f"{source} names a file outside the results: {name}")
    return contents, {name: data[name] for name in listed}
