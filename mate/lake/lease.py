"""A lease for publishing to a store that has no locks: one writer at a time.

A writer puts a claim beside the manifest, an object with a name of its own, and then lists all claims. If there is
another one, it removes its own and tries again after a random time. Stores list what was put before (S3, Google Cloud
Storage and Azure do), so that of two simultaneous claims at least the later one sees the other: both writers may
retreat, but never do both proceed. No conditional write is needed, which neither pyarrow nor fsspec offers for all
stores.

A claim is held while the manifest is compared and replaced. One that is older than `LEASE`, by the clock of the store,
belongs to a writer that died, and is removed. A writer gives up after half of that time.
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

from mate.errors import ChangedError, StoreError
from mate.storage import Place

CLAIMS = "claims"
LEASE = 120.0
"""Seconds after which a claim has expired."""
ATTEMPTS = 12
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 4.0

_log = logging.getLogger(__name__)


@contextmanager
def publishing_lease(lake: Place) -> Iterator[float]:
    """Wait for other writers and keep them from publishing; yield the time (`time.monotonic`) to give up at."""
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
