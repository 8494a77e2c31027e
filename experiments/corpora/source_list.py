"""``sources.csv``: the files that a portal lists, and the result of each download."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from experiments.corpora.client import DownloadSettings
from experiments.corpora.download import DownloadProgress, DownloadResult, RemoteFile, downloading
from experiments.corpora.download_log import local_errors, write_whole
from mate.corpus.formats import SOURCES, SOURCES_COLUMNS
from mate.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Resource:
    """A row of ``sources.csv``: a file that a portal lists, and the result of its download."""

    file: str
    url: str
    title: str
    licence: str
    dataset: str
    checksum: str = ""
    size: str = ""
    status: str = "pending"
    """``pending``, ``fetched``, ``kept`` or ``failed``."""
    reason: str = ""

    def with_earlier(self, earlier: Resource | None) -> Resource:
        """Return the row with the result of an earlier run, if that was about the same address."""
        if earlier is None or earlier.url != self.url:
            return self
        kept = {name: getattr(earlier, name) for name in ("checksum", "size", "status", "reason")}
        return replace(self, **kept)

    def with_result(self, result: DownloadResult) -> Resource:
        """Return the row with the result of its download."""
        size = str(result.size) if result.sha256 else ""
        return replace(self, checksum=result.sha256, size=size, status=result.status, reason=result.reason)


@contextlib.contextmanager
def downloading_listed(
    resources: Sequence[Resource],
    folder: Path,
    settings: DownloadSettings | None = None,
    progress: DownloadProgress | None = None,
    expected: dict[str, str] | None = None,
) -> Iterator[Iterator[DownloadResult]]:
    """Download the files of a portal as `downloading` does, and record the results in ``sources.csv``.

    The list is written even if the run is interrupted, and keeps the rows of earlier runs. A file that cannot be
    downloaded is a result with its reason, not an error.
    """
    files = [RemoteFile(row.url, row.file, (expected or {}).get(row.file)) for row in resources]
    with downloading(files, folder, settings, progress) as results:
        sources = _SourceList(folder / SOURCES, resources)
        try:
            yield map(sources.record, results)
        finally:
            sources.write()


class _SourceList:
    """The rows of ``sources.csv``, by file."""

    def __init__(self, path: Path, resources: Iterable[Resource]) -> None:
        self._path = path
        self._rows = _read(path)
        for row in resources:
            self._rows[row.file] = row.with_earlier(self._rows.get(row.file))
        self.write()

    def record(self, result: DownloadResult) -> DownloadResult:
        name = result.file.name
        self._rows[name] = self._rows[name].with_result(result)
        return result

    def write(self) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(SOURCES_COLUMNS)
        writer.writerows(astuple(self._rows[file]) for file in sorted(self._rows))
        with local_errors(self._path):
            write_whole(self._path, text.getvalue())


def _read(path: Path) -> dict[str, Resource]:
    if not path.exists():
        return {}
    with local_errors(path), path.open(encoding="utf-8", errors="replace", newline="") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    if tuple(header) != SOURCES_COLUMNS or any(len(row) != len(SOURCES_COLUMNS) for row in rows):
        raise CorpusError(f"{path}: not written by an earlier fetch; move it away or fetch into another folder")
    return {row[0]: Resource(*row) for row in rows}
