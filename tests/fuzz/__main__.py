"""`python -m tests.fuzz --minutes 5 --keep DIR`: feed spoiled inputs to everything that reads, for some time.

Workers run the targets with a bound on memory and on time per input. An input that breaks a rule, or the worker, is
kept as DIR/TARGET-SEED with what happened beside it; `python -m tests.fuzz TARGET SEED` runs it again.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from types import FrameType

from tests.fuzz.targets import TARGETS

MEMORY = 6 << 30
SECONDS = 10
"""Of a processor, for one input; they are well below 1 MB."""
MOST_SECONDS = 300
"""By the clock: what waits for ever uses no processor. So long may it take to load and to compile before the first."""
BATCH = {
    "readers": 4_000, "builds": 40, "lakes": 100, "queries": 600, "pages": 600, "tools": 400, "options": 150,
    "programs": 4,
}  # fmt: skip


def fuzz(minutes: float, keep: Path) -> Counter[str]:
    """Run batches until the time is up; return how many inputs each target had, and what was found."""
    keep.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        for target, size in BATCH.items():
            if time.monotonic() < end:
                found = _run_batch(target, random.SystemRandom().randrange(2**40), size, keep)
                counts[target] += size
                counts["found"] += found
    return counts


def _run_batch(target: str, first: int, size: int, keep: Path) -> int:
    """Run a batch in a process of its own; one that dies goes on behind the input that it died of."""
    found, seed, stop = 0, first, first + size
    while seed < stop:
        with tempfile.NamedTemporaryFile("r") as place:
            command = [sys.executable, "-m", "tests.fuzz", "work", target, str(seed), str(stop), place.name, str(keep)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            found += done.stdout.count("FOUND")
            if done.returncode == 0:
                return found
            seed = int(place.read() or seed)
        (keep / f"{target}-{seed}.txt").write_text(f"died with {done.returncode}\n{done.stderr[-3000:]}")
        found, seed = found + 1, seed + 1
    return found


def work(target: str, first: int, stop: int, place: Path, keep: Path) -> None:
    """Run seeds one after the other, noting which one is under way."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _too_long)
    signal.signal(signal.SIGPROF, _too_long)
    for seed in range(first, stop):
        place.write_text(str(seed))
        signal.alarm(MOST_SECONDS)
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS if seed == first else SECONDS)
        try:
            TARGETS[target](seed)
        except BaseException:
            (keep / f"{target}-{seed}.txt").write_text(traceback.format_exc())
            print("FOUND", target, seed, flush=True)  # noqa: T201
        finally:
            signal.alarm(0)
            signal.setitimer(signal.ITIMER_PROF, 0)


def _too_long(signal_number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {SECONDS} s of a processor, or {MOST_SECONDS} s, for one input")


def main() -> int:
    """Fuzz, work as a worker, or run one input again."""
    if sys.argv[1:2] == ["work"]:
        target, first, stop, place, keep = sys.argv[2:]
        work(target, int(first), int(stop), Path(place), Path(keep))
        return 0
    if len(sys.argv) == 3 and sys.argv[1] in TARGETS:
        TARGETS[sys.argv[1]](int(sys.argv[2]))
        return 0
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-found"))
    given = parser.parse_args()
    counts = fuzz(given.minutes, given.keep)
    inputs = sum(counts[target] for target in TARGETS)
    print(f"{inputs:,} inputs, {counts['found']} found, kept in {given.keep}:", dict(counts))  # noqa: T201
    return 1 if counts["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
