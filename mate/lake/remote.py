"""A lake in an object store, and its copy on this machine.

The manifest in the store is the truth. Segments never change and have unique names, so that a complete copy stays
right: opening such a lake reads its manifest and fetches the segments that are missing here. Each file is checked
against its size and CRC-32 in the manifest. The copy is a folder like any lake. Changes are made there; their segments
go to the store first, then the manifest, which publishes them.

One writer at a time: to publish, a writer takes a lease (`publishing_lease`) and checks that the manifest in the store
is still the one that the change began with.
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
import shutil
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mate.errors import ChangedError, StoreError
from mate.files import cache_folder, file_crc32, locked, private_folder
from mate.lake.folder import MANIFEST, SEGMENTS, LakeFolder, open_folder, publish, read_manifest
from mate.lake.manifest import Manifest, SegmentRecord
from mate.storage import Place, is_remote, shown

CLAIMS = "claims"
LEASE = 120.0
"""Seconds after which a claim has expired."""
ATTEMPTS = 12
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 4.0
_CONCURRENT_FILES = 8

_log = logging.getLogger(__name__)


def open_lake(address: str | Path) -> LakeFolder:
    """Open a lake: in a folder, or in a store, fetching what is missing here."""
    lake = open_folder(local_folder(str(address)))
    lake.address = str(address)
    return lake


def local_folder(address: str) -> Path:
    """Return the folder of a lake on this machine; one in a store is fetched."""
    if not is_remote(address):
        return Path(address)
    remote = RemoteLake(address)
    remote.fetch()
    return remote.path


def published_manifest(address: str) -> Manifest:
    """Return the manifest that is published now, in a folder or in a store."""
    return RemoteLake(address).manifest() if is_remote(address) else read_manifest(Path(address))


class RemoteLake:
    """A lake in a store, and the folder with its copy."""

    def __init__(self, address: str) -> None:
        self.address = shown(address)
        self._place = Place.at(address.rstrip("/"))
        self._home = cache_folder() / hashlib.sha256(address.rstrip("/").encode()).hexdigest()[:32]
        self.path = self._home / "lake.mate"
        self._before: str | None = None
        """The manifest that a change begins with."""

    def manifest(self) -> Manifest:
        """Return the manifest that is published now."""
        return self._parsed(self._published())

    def _parsed(self, text: str) -> Manifest:
        return Manifest.from_json(text, self.address)

    def _published(self) -> str:
        text = self._read_manifest()
        if text is None:
            raise StoreError(
                f"there is no index at {self.address}; build one with: mate index PATH --store {self.address}"
            )
        return text

    def _read_manifest(self) -> str | None:
        content = (self._place / MANIFEST).read()
        try:
            return None if content is None else content.decode()
        except UnicodeDecodeError:
            raise StoreError(f"{self.address}/{MANIFEST} is damaged: it is not text") from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from fetching into the same copy; its folder is for this user alone."""
        with ExitStack() as stack:
            try:
                private_folder(self._home)
                stack.enter_context(locked(self._home / "lock", os.O_CREAT | os.O_RDWR, wait=True))
            except OSError as error:
                raise StoreError(f"cannot write to {self._home}: {error.strerror} (set MATE_CACHE)") from None
            yield

    def prepare(self) -> None:
        """Make the folder that the copy is in."""
        with self._locked():
            pass

    # Reading

    def fetch(self) -> None:
        """Fetch the state that is published now."""
        with self._locked():
            text = self._published()
            try:
                self._fetch_segments(self._parsed(text).segments)
            except StoreError:  # a new state may have replaced these segments meanwhile
                before, text = text, self._published()
                if text == before:
                    raise
                self._fetch_segments(self._parsed(text).segments)
            self._replace_manifest(text)

    def fetch_segments(self, manifest: Manifest, numbers: Sequence[int]) -> Path:
        """Fetch some segments of a state; return the folder of the lake."""
        with self._locked():
            self._fetch_segments([manifest.segments[number] for number in numbers])
        return self.path

    def _fetch_segments(self, records: Sequence[SegmentRecord]) -> None:
        """Fetch the segments that are missing; each gets its name when it is complete."""
        segments, incomplete = self.path / SEGMENTS, self._home / "coming"
        missing = [record for record in records if not (segments / record.name).is_dir()]
        if not missing:
            return
        segments.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(incomplete, ignore_errors=True)
        for record in missing:
            (incomplete / record.name).mkdir(parents=True)

        def fetch(record: SegmentRecord, name: str) -> None:
            place, target = self._place / SEGMENTS / record.name / name, incomplete / record.name / name
            place.fetch(target)
            if (target.stat().st_size, file_crc32(target)) != record.files[name]:
                raise StoreError(
                    f"{place.address} is damaged: it does not have its size and checksum; "
                    "build the index again, or put the file back"
                )

        _for_each_file(missing, fetch)
        for record in missing:
            (incomplete / record.name).replace(segments / record.name)

    def _replace_manifest(self, text: str | None) -> None:
        """Give the copy the manifest of the store."""
        file = self.path / MANIFEST
        if text is None:
            file.unlink(missing_ok=True)
        elif not file.is_file() or file.read_text(encoding="utf-8") != text:
            self.path.mkdir(exist_ok=True)
            publish(self.path, self._parsed(text))

    # Writing

    def start_change(self) -> None:
        """Remember the state that a change begins with, and give the copy its manifest."""
        self._place.require_bucket()
        with self._locked():
            self._before = self._read_manifest()
            self._replace_manifest(self._before)

    def publish(self, manifest: Manifest) -> None:
        """Send the segments that the store lacks, then the manifest, unless somebody else published in between."""
        before = self._parsed(self._before).segments if self._before else ()
        old, current = {record.name for record in before}, {record.name for record in manifest.segments}
        new = [record for record in manifest.segments if record.name not in old]
        manifest_sent = False
        try:
            self._send(new)
            with publishing_lease(self._place) as deadline:
                self._check_unchanged()
                check_lease(self._place, deadline)
                manifest_sent = True
                (self._place / MANIFEST).write(manifest.to_json().encode())
        except StoreError:
            # The manifest may have arrived despite the error: segments go only if it surely has not.
            if not manifest_sent or self._read_manifest() == self._before:
                self._remove(new)
            raise
        self._before = manifest.to_json()
        self._remove([record for record in before if record.name not in current])

    def _check_unchanged(self) -> None:
        if self._read_manifest() != self._before:
            raise ChangedError(f"{self.address} was changed by somebody else in the meantime; nothing was published")

    def _send(self, records: Sequence[SegmentRecord]) -> None:
        def send(record: SegmentRecord, name: str) -> None:
            place = self._place / SEGMENTS / record.name / name
            place.put(self.path / SEGMENTS / record.name / name)
            entry = place.info()
            if entry is None or entry.size != record.files[name][0]:
                raise StoreError(f"{place.address} is incomplete after it was sent; nothing was published, try again")

        _for_each_file(records, send)

    def _remove(self, records: Sequence[SegmentRecord]) -> None:
        """Remove unused segments from the store; one that stays there takes space and does no harm."""
        for record in records:
            try:
                (self._place / SEGMENTS / record.name).remove_folder()
            except StoreError as error:
                _log.warning("an unused segment stays in the store: %s", error)


def _for_each_file(records: Sequence[SegmentRecord], task: Callable[[SegmentRecord, str], None]) -> None:
    """Run a task for each file of segments, several at a time."""
    with ThreadPoolExecutor(_CONCURRENT_FILES) as pool:
        list(pool.map(lambda file: task(*file), [(record, name) for record in records for name in record.files]))


@contextmanager
def publishing_lease(lake: Place) -> Iterator[float]:
    """Wait for other writers and keep them from publishing; yield the time (`time.monotonic`) to give up at.

    A writer puts a claim beside the manifest, an object with a name of its own, and then lists all claims. If there is
    another one, it removes its own and tries again after a random time. Stores list what was put before (S3, Google
    Cloud Storage and Azure do), so that of two simultaneous claims at least the later one sees the other: both writers
    may retreat, but never do both proceed. No conditional write is needed, which neither pyarrow nor fsspec offers for
    all stores.

    A claim is held while the manifest is compared and replaced. One that is older than `LEASE`, by the clock of the
    store, belongs to a writer that died, and is removed. A writer gives up after half of that time.
    """
    claim = lake / CLAIMS / uuid.uuid4().hex
    pause = FIRST_PAUSE
    for _ in range(ATTEMPTS):
        deadline = time.monotonic() + LEASE / 2
        try:
            claim.write(f"{socket.gethostname()}, process {os.getpid()}\n".encode())
            if _is_only_claim(claim, lake):
                yield deadline
                return
        finally:
            _remove(claim)
        time.sleep(random.uniform(0, pause))
        pause = min(2 * pause, LONGEST_PAUSE)
    raise ChangedError(f"others publish to {lake.address} all the time; nothing was published, please try again")


def check_lease(lake: Place, deadline: float) -> None:
    """Raise an error if the lease was held for so long that other writers may take it for abandoned."""
    if time.monotonic() > deadline:
        raise StoreError(f"{lake.address} took too long to answer; nothing was published, please try again")


def _is_only_claim(claim: Place, lake: Place) -> bool:
    """Tell whether there is no other valid claim, and remove expired ones."""
    claims = {entry.name: entry for entry in (lake / CLAIMS).walk()}
    own = claims.pop(claim.address.rpartition("/")[2], None)
    if own is None:
        return False
    # By the clock of the store; without times in it, a claim never expires.
    expired = [name for name, other in claims.items() if other.changed and own.changed - other.changed > LEASE * 1e9]
    for name in expired:
        _log.warning("a writer of %s did not end properly: its claim is removed", lake.address)
        _remove(lake / CLAIMS / name)
    return len(expired) == len(claims)


def _remove(claim: Place) -> None:
    try:
        claim.remove()
    except StoreError as error:
        _log.warning("a claim stays in the store for %.0f s: %s", LEASE, error)
