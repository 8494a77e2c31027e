"""One build of the indexing benchmark, in a process of its own, with its memory watched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import memory
from mate.errors import MateError

INTERVAL = 0.2
"""Seconds between two samples of memory."""
SAY_AFTER = 5.0
"""Seconds between two progress lines of a phase."""
STOP_AFTER = 10.0
"""Seconds that an interrupted build has for cleaning up."""
SYNTHETIC = "synthetic"


@dataclass(frozen=True)
class Corpus:
    """What is indexed."""

    name: str
    path: str

    @property
    def label(self) -> str:
        """ "synthetic" or nothing."""
        return SYNTHETIC if self.path.startswith(f"{SYNTHETIC}:") else ""


@dataclass(frozen=True)
class Build:
    """One build and what it took."""

    corpus: str
    path: str
    label: str
    segments: int
    hashes: list[str]
    tables: int
    rows: int
    cells: int
    distinct_tokens: int
    seconds: dict[str, float]
    """By phase; "other" is what the phases leave: imports, stopping Spark, removing files."""
    cores: int
    processor_seconds: dict[str, float]
    """By role; empty where it cannot be seen."""
    load: tuple[float, float]
    """Processes that wanted to run in the minute before the build, and in its last minute."""
    peak_bytes: dict[str, int]
    index_bytes: dict[str, int]
    """By part."""

    @property
    def total(self) -> float:
        """Seconds from the start of the process to its end."""
        return sum(self.seconds.values())

    @property
    def without_start(self) -> float:
        """The same but for starting Spark, which does not depend on the lake."""
        return self.total - self.seconds.get("start Spark", 0)

    @property
    def rate(self) -> float:
        """Cells per second, end to end."""
        return self.cells / self.total

    @property
    def processor_total(self) -> float | None:
        """Seconds that all processors together spent on it, if they were seen."""
        return sum(self.processor_seconds.values()) or None


class Order(NamedTuple):
    """How an index is to be built, and where."""

    store: str
    bits: int
    master: str
    segments: int | None = None
    memory: int | None = None
    """Bytes that a task may use; the library's own choice unless given."""


def measure(corpus: Corpus, order: Order) -> Build:
    """Build one index in a process of its own, watching its memory."""
    from mate.lake.folder import open_folder

    before = os.getloadavg()[0]
    spent, peaks, elapsed = _spent(corpus, order)
    after = os.getloadavg()[0]
    with open_folder(order.store) as index:
        manifest, sizes = index.manifest, index.sizes()
    build = Build(
        corpus=corpus.name,
        path=corpus.path,
        label=manifest.label,
        segments=len(manifest.segments),
        hashes=[str(spec) for spec in manifest.hashes],
        tables=manifest.counts.tables,
        rows=manifest.counts.rows,
        cells=manifest.counts.cells,
        distinct_tokens=manifest.distinct_tokens,
        seconds={**spent, "other": elapsed - sum(spent.values())},
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        processor_seconds=peaks.processor_seconds if peaks else {},
        load=(before, after),
        peak_bytes=peaks.bytes if peaks else {},
        index_bytes=sizes,
    )
    _say(corpus.name, f"done: {build.cells:,} cells in {build.total:.1f} s")
    return build


def _spent(corpus: Corpus, order: Order) -> tuple[dict[str, float], memory.Peaks | None, float]:
    """Return the seconds of a build by phase, its memory, and its seconds from start to end."""
    with tempfile.TemporaryDirectory(prefix="mate-indexing-") as folder:
        result = Path(folder, "result.json")
        home = spark_home(Path(folder)) if order.master.startswith("local-cluster") else {}
        told = {**order._asdict(), "path": corpus.path, "title": corpus.name, "result": str(result)}
        peaks, elapsed = _watched([sys.executable, "-m", "benchmarks.indexing_build", json.dumps(told)], home)
        answer: dict[str, Any] = {"error": "the process ended before its time"}
        if result.exists():
            answer = json.loads(result.read_text())
    if "error" in answer:
        raise MateError(f"{corpus.name}: {answer['error']}")
    return dict(answer["seconds"]), peaks, elapsed


def spark_home(folder: Path) -> dict[str, str]:
    """Return the environment in which a local cluster, which keeps its logs beside its programs, keeps them here."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return {}
    home = folder / "spark"
    home.mkdir()
    for path in Path(found.origin).parent.iterdir():
        if path.name != "work":
            (home / path.name).symlink_to(path)
    return {"SPARK_HOME": str(home)}


def _watched(command: list[str], environment: dict[str, str]) -> tuple[memory.Peaks | None, float]:
    """Run a command to its end; return its memory, where that can be seen, and its seconds."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    peaks = memory.Peaks(process.pid) if memory.available() else None
    try:
        while process.poll() is None:
            if peaks:
                peaks.sample()
            try:
                process.wait(INTERVAL)
            except subprocess.TimeoutExpired:
                continue
    except BaseException:
        _stopped(process)
        raise
    return peaks, time.perf_counter() - start


def _stopped(process: subprocess.Popen[bytes]) -> None:
    """Let a build that was interrupted remove its files, but not for long."""
    try:
        process.wait(STOP_AFTER)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main(arguments: Sequence[str]) -> int:
    """Build one index, in this process: the part of `mate index` that is measured."""
    order = json.loads(arguments[0])
    result = Path(order["result"])
    try:
        result.write_text(json.dumps({"seconds": _build(order)}))
    except MateError as error:
        result.write_text(json.dumps({"error": str(error)}))
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _build(order: dict[str, Any]) -> dict[str, float]:
    from mate.build.build import MEMORY, BuildSettings, HashRequest, build
    from mate.build.lake_target import LakeTarget

    hashes = (HashRequest(bits=order["bits"]),)
    settings = BuildSettings(
        hashes=hashes, master=order["master"], segments=order["segments"], memory=order["memory"] or MEMORY
    )
    with LakeTarget(order["store"]) as target:
        return build([order["path"]], target, settings, Lines(order["title"])).seconds


class Lines:
    """Progress as lines on standard error: one at the start of a phase, then every few seconds."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._begin = time.perf_counter()
        self._say("start")

    def _say(self, text: str) -> None:
        self._said = time.perf_counter()
        _say(self._title, f"{self._said - self._begin:.0f} s: {text}")

    def start(self, phase: str, total: int) -> None:
        """Begin a phase."""
        self._phase, self._total = phase, total
        self._say(phase)

    def update(self, done: int, **counts: int) -> None:
        """Say how far it is, unless that was said just now."""
        if time.perf_counter() - self._said >= SAY_AFTER:
            cells = f", {counts['cells']:,} cells" if counts.get("cells") else ""
            self._say(f"{self._phase} {done} of {self._total}{cells}")


def _say(title: str, text: str) -> None:
    print(f"{title}: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
