"""One writer at a time in a store that has no locks.

Who wants to publish first puts a claim beside the manifest, an object with a name of its own, and then lists all
claims. If there is another one, it takes its own away and tries again after a random time. Of two that claim at the
same moment at least the later one sees the other, since stores list what was put before (S3, Google Cloud Storage and
Azure do so): both may step back, but never do both go on. This needs no conditional write, which neither pyarrow nor
fsspec offer for all stores.

A claim is held for the moment in which the manifest is compared and replaced. One that is older than `LEASE`, by the
clock of the store, was left by a writer that died, and is taken away. A writer that was held up for so long itself
does not go on.
"""

from __future__ import annotations

import logging
import os
import random
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from mate.errors import ChangedError, StoreError
from mate.storage import Entry, Place

CLAIMS = "claims"
LEASE = 120.0
"""Seconds after which a claim counts no more; its owner gives up after half of them."""
ATTEMPTS = 12
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 4.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Claim:
    """The right to publish, for a while."""

    address: str
    began: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Raise an error if it was held for so long that others may take it for left behind."""
        if time.monotonic() - self.began > LEASE / 2:
            raise StoreError(f"{self.address} took too long to answer; nothing was published, please try again")


@contextmanager
def claimed(lake: Place) -> Iterator[Claim]:
    """Keep other writers from publishing while the block runs; wait for them before."""
    own = lake / CLAIMS / uuid.uuid4().hex
    longest = FIRST_PAUSE
    for _ in range(ATTEMPTS):
        claim = Claim(lake.address)
        try:
            own.write(f"{socket.gethostname()}, process {os.getpid()}\n".encode())
            if _is_alone(own, lake):
                yield claim
                return
        finally:
            _remove(own)
        time.sleep(random.uniform(0, longest))
        longest = min(2 * longest, LONGEST_PAUSE)
    raise ChangedError(f"others publish to {lake.address} all the time; nothing was published, please try again")


def _is_alone(own: Place, lake: Place) -> bool:
    """Tell whether no other claim counts, having taken away those that were left behind."""
    found = {entry.name: entry for entry in (lake / CLAIMS).walk()}
    mine = found.pop(own.address.rpartition("/")[2], None)
    alone = mine is not None
    for name, other in found.items():
        if mine is not None and _is_left(other, mine):
            _log.warning("a writer of %s did not end as it should: its claim is taken away", lake.address)
            _remove(lake / CLAIMS / name)
        else:
            alone = False
    return alone


def _is_left(other: Entry, mine: Entry) -> bool:
    """Tell whether a claim was left behind, by the clock of the store, which both have their time from."""
    return bool(other.changed and mine.changed) and mine.changed - other.changed > LEASE * 1e9


def _remove(claim: Place) -> None:
    try:
        claim.remove()
    except StoreError as error:
        _log.warning("a claim stays in the store for %.0f s: %s", LEASE, error)
