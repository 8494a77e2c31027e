"""Limits of one server."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

MB = 1_000_000


@dataclass(frozen=True)
class ServerLimits:
    """How much requests, uploads and searches may take."""

    upload_bytes: int = 64 * MB
    """Size of an uploaded table."""
    request_bytes: int = 1 * MB
    """Size of any other request."""
    kept_queries: int = 50
    """Uploaded tables in memory; the least recently used is dropped first."""
    kept_bytes: int = 512 * MB
    """Memory of all uploaded tables."""
    seconds: float = 120.0
    """A request that takes longer, or waits longer for others, is answered with an error."""
    threads: int = field(default_factory=lambda: max(2, os.cpu_count() or 2))
    """Searches at a time; half as many suggestions, uploads and joins run beside them."""
    joined_rows: int = 5_000_000
    """Rows of a join."""
