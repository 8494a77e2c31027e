"""A lake in an object store, and its copy on this machine.

The manifest in the store is the truth. Segments never change and have names of their own, so that a copy that is
complete stays right: opening such a lake reads its manifest and fetches the segments that are not here yet. Each file
is checked against the size and the CRC-32 that the manifest has of it. The copy is a folder as any lake is one, and
changes are made in it: their segments go to the store first, then the manifest, which publishes them.

One writer at a time. Who publishes looks at the manifest in the store again and refuses if it is not the one that the
change began with; between that look and the new manifest a claim keeps others out (`mate.lake.remote_claim`).
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from mate.errors import ChangedError, StoreError
from mate.lake.folder import MANIFEST, SEGMENTS, LakeFolder, open_folder, publish, read_manifest
from mate.lake.manifest import Manifest, SegmentRecord
from mate.lake.remote_claim import claimed
from mate.storage import Place, is_remote, shown

CACHE = "MATE_CACHE"
"""The environment variable that names the folder for copies; ~/.cache/mate unless it is set."""
_AT_A_TIME = 8
"""Files that are copied at a time."""
_ATTEMPTS = 2

_log = logging.getLogger(__name__)


def open_lake(address: str | Path) -> LakeFolder:
    """Open a lake: in a folder, or in a store, fetching what is not here yet."""
    if not is_remote(str(address)):
        return open_folder(address)
    return RemoteLake(str(address)).open()


def local_folder(address: str) -> Path:
    """Return the folder of a lake on this machine, having fetched it if it is in a store."""
    if not is_remote(address):
        return Path(address)
    remote = RemoteLake(address)
    remote.fetch()
    return remote.path


class RemoteLake:
    """A lake in a store, and the folder with its copy."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._place = Place.at(address.rstrip("/"))
        name = hashlib.sha256(address.rstrip("/").encode()).hexdigest()[:32]
        self._home = Path(os.environ.get(CACHE) or Path.home() / ".cache/mate") / name
        self.path = self._home / "lake.mate"
        self._before: str | None = None

    # Reading

    def open(self) -> LakeFolder:
        """Fetch the lake and open it."""
        with self._locked():
            self._fetch(self._manifest())
            found = open_folder(self.path)
        found.address = self.address
        return found

    def fetch(self) -> None:
        """Fetch the state that is published now."""
        with self._locked():
            self._fetch(self._manifest())

    def fetch_segments(self, manifest: Manifest, numbers: Sequence[int]) -> Path:
        """Fetch some segments of a state; return the folder of the lake."""
        with self._locked():
            self._fetch_files([manifest.segments[number] for number in numbers])
        return self.path

    def manifest(self) -> Manifest:
        """Return the manifest that is published now."""
        return Manifest.from_json(self._manifest(), shown(self.address))

    def _manifest(self) -> str:
        text = self._read_manifest()
        if text is None:
            where = shown(self.address)
            raise StoreError(f"there is no index at {where}; build one with: mate index PATH --store {where}")
        return text

    def _read_manifest(self) -> str | None:
        content = (self._place / MANIFEST).read()
        try:
            return None if content is None else content.decode()
        except UnicodeDecodeError:
            raise StoreError(f"{shown(self.address)}/{MANIFEST} is damaged: it is not text") from None

    def _fetch(self, text: str) -> None:
        """Make the copy one of this state; a change that removes segments meanwhile has published another one."""
        for attempt in range(_ATTEMPTS):
            manifest = Manifest.from_json(text, shown(self.address))
            try:
                self._fetch_files(manifest.segments)
                break
            except StoreError:
                now = self._manifest()
                if attempt or now == text:
                    raise
                text = now
        self._replace_manifest(text)

    def _replace_manifest(self, text: str | None) -> None:
        """Let the copy have the manifest of the store."""
        file = self.path / MANIFEST
        if text is None:
            file.unlink(missing_ok=True)
        elif not file.is_file() or file.read_text(encoding="utf-8") != text:
            self.path.mkdir(exist_ok=True)
            publish(self.path, Manifest.from_json(text, shown(self.address)))

    def _fetch_files(self, records: Sequence[SegmentRecord]) -> None:
        """Fetch the segments that are not here."""
        segments = self.path / SEGMENTS
        missing = [record for record in records if not (segments / record.name).is_dir()]
        if not missing:
            return
        segments.mkdir(parents=True, exist_ok=True)
        coming = self._home / "coming"
        shutil.rmtree(coming, ignore_errors=True)
        files = [(record, name) for record in missing for name in record.files]
        for record in missing:
            (coming / record.name).mkdir(parents=True)
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            list(pool.map(lambda file: self._fetch_file(coming, *file), files))
        for record in missing:
            (coming / record.name).replace(segments / record.name)

    def _fetch_file(self, coming: Path, record: SegmentRecord, name: str) -> None:
        """Fetch a file and compare it with what the manifest has of it; try once more if it is another."""
        place, noted = self._place / SEGMENTS / record.name / name, tuple(record.files[name])
        for attempt in range(_ATTEMPTS):
            try:
                found = place.fetch(coming / record.name / name)
            except StoreError:
                if attempt:
                    raise
                continue
            if (found.size, found.crc32) == noted:
                return
        what = f"has {found.size:,} bytes, it was written with {noted[0]:,}"
        what = "does not have its checksum" if found.size == noted[0] else what
        raise StoreError(f"{place.address} is damaged: it {what}; build the index again, or put the file back")

    def prepare(self) -> None:
        """Make the folder that the copy is in: for this user alone."""
        try:
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._home.is_symlink() or self._home.stat().st_uid != os.geteuid():
                raise StoreError(f"{self._home} is a link or somebody else's: set {CACHE} to a folder of your own")
        except OSError as error:
            raise StoreError(f"cannot write to {self._home}: {error.strerror} (set {CACHE})") from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from fetching into the same copy."""
        self.prepare()
        try:
            lock = os.open(self._home / "lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"cannot write to {self._home}: {error.strerror} (set {CACHE})") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    # Writing

    def begin(self) -> None:
        """Note the state that a change begins with; the copy has its manifest then."""
        self._place.require_bucket()
        with self._locked():
            self._before = self._read_manifest()
            self._replace_manifest(self._before)

    def publish(self, manifest: Manifest) -> None:
        """Send the segments that the store does not have, then the manifest, unless somebody else was quicker."""
        before = Manifest.from_json(self._before, shown(self.address)).segments if self._before else ()
        known = {record.name for record in before}
        new = [record for record in manifest.segments if record.name not in known]
        began = False
        try:
            self._send(new)
            with claimed(self._place) as claim:
                self._check_unchanged()
                claim.check()
                began = True
                (self._place / MANIFEST).write(manifest.to_json().encode())
        except StoreError:
            # A manifest that was being written may have arrived all the same: segments go if it surely has not.
            if not began or self._read_manifest() == self._before:
                self._remove(new)
            raise
        self._before = manifest.to_json()
        kept = {record.name for record in manifest.segments}
        self._remove([record for record in before if record.name not in kept])

    def _check_unchanged(self) -> None:
        if self._read_manifest() != self._before:
            where = shown(self.address)
            raise ChangedError(f"{where} was changed by somebody else in the meantime; nothing was published")

    def _send(self, records: Sequence[SegmentRecord]) -> None:
        files = [(record, name) for record in records for name in record.files]
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            list(pool.map(lambda file: self._send_file(*file), files))

    def _send_file(self, record: SegmentRecord, name: str) -> None:
        place = self._place / SEGMENTS / record.name / name
        place.put(self.path / SEGMENTS / record.name / name)
        found = place.info()
        if found is None or found.size != record.files[name][0]:
            raise StoreError(f"{place.address} did not arrive as it was sent; nothing was published, please try again")

    def _remove(self, records: Sequence[SegmentRecord]) -> None:
        """Remove segments from the store that no manifest names; what stays there takes room and does no harm."""
        for record in records:
            try:
                (self._place / SEGMENTS / record.name).remove_folder()
            except StoreError as error:
                _log.warning("a segment that is not in use stays in the store: %s", error)


def published_manifest(address: str) -> Manifest:
    """Return the manifest that is published now: of a folder, or in a store."""
    if not is_remote(address):
        return read_manifest(Path(address))
    return RemoteLake(address).manifest()
