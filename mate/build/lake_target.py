"""Builds and changes of a lake: the lock, a private folder for segments that are being written, and publication.

A change publishes new segments, and a manifest that says which tables of others they supersede.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np

from mate.build.build import BuildSettings
from mate.build.changes.change import Change
from mate.build.segments import NewSegment
from mate.build.stored_tables import StoredTable
from mate.errors import StoreError
from mate.files import locked, require_own
from mate.lake.arrays import Array
from mate.lake.columns import column_codes
from mate.lake.folder import LOCK, MANIFEST, SEGMENTS, LakeFolder, read_manifest, sync_folder
from mate.lake.folder import publish as publish_manifest
from mate.lake.manifest import Counts, Manifest, SegmentRecord
from mate.lake.records import TableInfo
from mate.lake.remote import RemoteLake, open_lake, published_manifest
from mate.lake.segment import Segment
from mate.storage import is_remote
from mate.termination import terminated_like_interrupted

BUILD = ".build"
_LAKE_ENTRIES = {MANIFEST, f".{MANIFEST}.new", SEGMENTS, BUILD, LOCK}
_POLL = 0.02
"""Seconds between two attempts to take a lock that somebody else holds."""


class LakeTarget:
    """The right to build or change a lake: its lock, and a folder for the files of the build or change.

    A lake in an object store is changed in its copy on this machine, and published there before it is published here.
    The lock ends with the process. The next process removes what a killed one left behind: its folder, and segments
    that no manifest names.
    """

    def __init__(self, address: str | Path, wait: float = 0.0) -> None:
        self.address = str(address)
        self._remote = RemoteLake(self.address) if is_remote(self.address) else None
        self.path = self._remote.path if self._remote else Path(address).absolute()
        self._wait = wait
        self._home = self.path / BUILD
        self.directory = self._home / uuid.uuid4().hex[:12]

    def __enter__(self) -> Self:
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(f"{self.path} is a file; --store takes the path of a folder, such as {self.path}.mate")
        try:
            with ExitStack() as stack:
                self._begin(stack)
                self._stack = stack.pop_all()
        except BlockingIOError:
            waited = f"; waited {self._wait:g} s for it (--wait)" if self._wait else ""
            raise StoreError(f"another build or change of {self.path} is under way{waited}") from None
        except OSError as error:
            raise StoreError(f"cannot write to {self.path}: {error.strerror}") from error
        return self

    def _begin(self, stack: ExitStack) -> None:
        """Take the lock and make the folder for files, having removed what others left behind; the stack undoes it."""
        if self._remote:
            self._remote.prepare()
        self._existed = self.path.exists()
        _make_folder(self.path)
        self._refuse_other_folders()
        stack.enter_context(terminated_like_interrupted())
        self._wait_for_lock(stack)
        stack.callback(self._remove_unused_folder)
        if self._remote:
            self._remote.start_change()
        _remove(self._home)
        stack.callback(_remove, self._home)
        for folder in (self._home, self.directory):
            folder.mkdir(mode=0o700)  # fails where somebody was quicker, also with a link
            require_own(folder)
        self.remove_unpublished()

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _remove_unused_folder(self) -> None:
        if not self._existed and not (self.path / MANIFEST).exists():
            _remove(self.path)

    def _refuse_other_folders(self) -> None:
        """Refuse a folder that holds something else: a build would mix with it, and clean up in it."""
        if self._remote:
            return
        with suppress(StoreError):
            read_manifest(self.path)
            return
        ours = _LAKE_ENTRIES if (self.path / LOCK).exists() else set()
        other = sorted(entry.name for entry in self.path.iterdir() if entry.name not in ours)
        if other:
            raise StoreError(f"{self.path} is a folder with other things in it ({other[0]}): name a new folder")

    def _wait_for_lock(self, stack: ExitStack) -> None:
        deadline = time.monotonic() + self._wait
        while True:
            try:
                with ExitStack() as attempt, suppress(FileNotFoundError):
                    lock = attempt.enter_context(locked(self.path / LOCK, os.O_CREAT | os.O_RDWR))
                    if os.path.samestat(os.fstat(lock), (self.path / LOCK).stat()):
                        stack.enter_context(attempt.pop_all())
                        return
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_POLL)
                continue
            # Its last holder has removed the folder with it, having published nothing.
            self._existed = False
            _make_folder(self.path)

    def check(self, settings: BuildSettings) -> None:
        """Accept all settings."""

    def loader(self, manifest: Manifest) -> None:
        """Return nothing: tasks leave segments where they have written them."""

    def publish(self, manifest: Manifest, new_segments: Iterable[NewSegment]) -> None:
        """Move finished segments to their place and make the manifest that names them the one in use."""
        home = self.path / SEGMENTS
        if not os.path.lexists(home):
            home.mkdir()
        require_own(home)
        for segment in new_segments:
            Path(segment.folder).replace(home / Path(segment.folder).name)
        sync_folder(home)
        if self._remote:
            self._remote.publish(manifest)
        publish_manifest(self.path, manifest)
        self.remove_unpublished(manifest)

    def remove_unpublished(self, manifest: Manifest | None = None) -> None:
        """Remove segments that the manifest in use does not name. Readers that have them open keep them."""
        try:
            known = {segment.name for segment in (manifest or read_manifest(self.path)).segments}
        except StoreError:
            if (self.path / MANIFEST).exists():
                return  # damaged or of another version: a repair may need the segments
            known = set()
        home = self.path / SEGMENTS
        for entry in home.iterdir() if home.is_dir() and not home.is_symlink() else ():
            if entry.name not in known:
                _remove(entry)


class LakeWriter(LakeTarget):
    """The right to change a lake, and the lake as it is before the change."""

    def __enter__(self) -> Self:
        published_manifest(self.address)  # raises StoreError if there is none
        return super().__enter__()

    def _begin(self, stack: ExitStack) -> None:
        super()._begin(stack)
        self.index: LakeFolder = open_lake(self.address)

    def stored(self, table: TableInfo) -> StoredTable:
        """Return a table of the lake as a source."""
        segment, place = self._place(table)
        return StoredTable(str(segment.folder.path), place, table)

    def counts_of(self, tables: list[TableInfo]) -> Counts:
        """Count what tables hold, by their codes."""
        return sum((table_counts(*self._place(table)) for table in tables), Counts())

    def _place(self, table: TableInfo) -> tuple[Segment, int]:
        place = self.index.place_of(table.table_id)
        assert place, "tables of a change are tables of the index"
        return place

    def apply(self, change: Change, after: Manifest) -> Manifest:
        """Publish the new segments, and what they supersede."""
        gone = np.array([table.table_id for table in change.gone_tables], np.int64)
        records = [
            _superseded(segment, record, gone, change.gone_sources)
            for segment, record in zip(self.index.segments, self.index.manifest.segments, strict=True)
        ]
        new = [segment.record for segment in change.new_segments]
        after = replace(after, segments=(*filter(None, records), *new))
        self.publish(after, change.new_segments)
        return after


def _superseded(segment: Segment, record: SegmentRecord, gone: Array, sources: list[str]) -> SegmentRecord | None:
    """Return the record of a segment with what goes of it; None if nothing is left."""
    arrays = segment.arrays
    tables = arrays.table_id[segment.live & np.isin(arrays.table_id, gone)].tolist()
    wanted = set(sources) - set(record.superseded_sources)
    names = segment.folder.source_names(list(wanted)) if wanted else set()
    new = replace(
        record,
        superseded_tables=(*record.superseded_tables, *tables),
        superseded_sources=(*record.superseded_sources, *sorted(names)),
    )
    if new != record and len(new.superseded_tables) == len(arrays.table_id):
        return None if segment.folder.source_names() <= set(new.superseded_sources) else new
    return new


def table_counts(segment: Segment, place: int) -> Counts:
    """Count what a table of a segment holds."""
    arrays = segment.arrays
    first, last = arrays.table_column_first[place : place + 2].tolist()
    rows = int(np.diff(arrays.table_row_first[place : place + 2])[0])
    cells = sum(int(np.count_nonzero(column_codes(arrays, column))) for column in range(first, last))
    return Counts(1, last - first, rows, cells)


def _make_folder(path: Path) -> None:
    """Make a folder and those above it, durably."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        with suppress(PermissionError):  # a folder may be written to that cannot be read
            sync_folder(folder.parent)


def _remove(path: Path) -> None:
    """Remove a folder of ours; a link is removed, never followed."""
    if path.is_symlink():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path, ignore_errors=True)
