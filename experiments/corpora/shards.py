"""The Dresden Web Table Corpus (section 7.1): 501 shards at one address."""

from __future__ import annotations

import re
from collections.abc import Iterable

from experiments.corpora.client import checked_url
from experiments.corpora.download import RemoteFile
from mate.errors import CorpusError

DWTC_URL = "https://wwwdb.inf.tu-dresden.de/misc/dwtc/data_feb15"
DWTC_SHARDS = 501


def parse_shards(text: str) -> list[int]:
    """Read ``0-9,17`` (or ``all``) as distinct shard numbers in ascending order."""
    if text.strip() == "all":
        return list(range(DWTC_SHARDS))
    numbers: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,3})(?:\s*-\s*(\d{1,3}))?\s*", part, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise CorpusError(f'shards are given as numbers and ranges such as 0-9,17, or as "all", not {text!r}')
        if last >= DWTC_SHARDS:
            raise CorpusError(f"there is no shard {last}: they are numbered 0 to {DWTC_SHARDS - 1}")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def shard_files(
    shards: Iterable[int], base_url: str = DWTC_URL, expected: dict[str, str] | None = None
) -> list[RemoteFile]:
    """Return the shards as files to download, with their expected checksums."""
    base = checked_url(base_url).rstrip("/")
    names = [f"dwtc-{number:03}.json.gz" for number in shards]
    return [RemoteFile(f"{base}/{name}", name, (expected or {}).get(name)) for name in names]
