"""`python -m benchmarks`: choose a benchmark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks import (
    batches,
    composite_keys,
    discovery,
    hashes,
    indexing,
    load,
    phases,
    scale,
    serve,
    single_column,
    suggest_time,
    updates,
)
from mate.errors import MateError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one benchmark; bad input becomes one line on standard error."""
    root = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = root.add_subparsers(title="benchmarks", metavar="NAME", required=True)
    for benchmark in (
        hashes,
        discovery,
        phases,
        single_column,
        composite_keys,
        suggest_time,
        indexing,
        updates,
        batches,
        scale,
        load,
        serve,
    ):
        benchmark.add(commands)
    try:
        options = root.parse_args(arguments)
        return options.run(options) or 0
    except (MateError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("benchmarks: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
