"""`python -m benchmarks hashes`: every hash function at every size, on the same values and rows.

Speed is values per second through the batch interface, and relative to a plain loop over ``mmh3.hash128`` in the
same run. Quality is what decides a row filter: how full the super keys of rows get, and how often a row covers the key
of a value that it does not hold ("false positive"). A probe is either any value of the sample, or a *near miss*: a
value from elsewhere in the same table, which is what a join on a composite key meets.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rich.progress import track

from benchmarks import sample
from benchmarks.sample import Sample
from benchmarks.timing import best_of
from experiments import machine
from mate.cli.terminal import console, table
from mate.hashing import SuperKeyHash, bits_set, find, fit, get, or_aggregate

if TYPE_CHECKING:
    from mate.cli import Commands

ORDER = ("xash", "bf", "lhbf", "ht", "simhash", "md5", "murmur", "city")
WIDTHS = ((1, 3), (4, 6), (7, 10), (11, 20), (21, 10_000))

EPILOG = """\
examples:
  python -m benchmarks hashes                                 on a synthetic sample
  python -m benchmarks hashes --corpus DIR --json out.json    on the tables of a folder
  python -m benchmarks hashes --values words.txt --only xash --only bf
"""


@dataclass(frozen=True)
class Result:
    """One hash function at one size."""

    hash: str
    bits: int
    parameters: dict[str, Any]
    values_per_second: float
    times_mmh3: float
    bits_per_value: float
    distinct_hashes: float
    """Distinct hashes per distinct value: 1 means no two values collide."""
    fill: dict[str, float]
    """Share of 1-bits in the super keys of rows, by row width."""
    false_positives: float
    near_misses: float

    @property
    def label(self) -> str:
        """Name, size and what was set by hand."""
        return f"{self.hash} {self.bits}"


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser(
        "hashes",
        help="speed and filter quality of every hash function",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--values", type=Path, metavar="FILE", help="one value per line")
    source.add_argument("--corpus", type=Path, metavar="DIR", help="a folder of web tables, CSV, JSON or Parquet files")
    parser.add_argument("--cells", type=int, default=1_500_000, help="most cells of a corpus (default: 1,500,000)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this hash; may be repeated")
    parser.add_argument("--rounds", type=int, default=5, help="time the best of so many rounds (default: 5)")
    parser.add_argument("--seed", type=int, default=1, help="seed of what is drawn (default: 1)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the results as JSON")
    parser.add_argument("--figure", type=Path, metavar="OUT", help="draw them (PNG, PDF or SVG)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Compare, print, write."""
    data = _sample(options)
    screen = console()
    statistics = data.statistics
    screen.print(
        f"[bold]{data.label}[/bold]: {len(data.distinct):,} distinct values of {sample.lengths(data.distinct):.1f} "
        f"characters, {sum(map(len, data.tables)):,} rows of {statistics.mean_columns:.1f} columns on average"
    )
    functions = list(contestants(data, options.only))
    probes = draw_probes(data, options.seed)
    results = [
        measure(function, data, probes, options.rounds)
        for function in track(functions, "hashing", console=console(stderr=True), transient=True)
    ]
    print_results(results, screen)
    record = {
        "sample": data.label,
        "seed": options.seed,
        "machine": machine.describe(),
        "versions": machine.versions(),
        "results": [asdict(result) for result in results],
    }
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(record, indent=1) + "\n")
        screen.print(f"results: {options.json}")
    if options.figure:
        from benchmarks.figures import draw_hashes

        options.figure.parent.mkdir(parents=True, exist_ok=True)
        draw_hashes(record, options.figure)
        screen.print(f"figure:  {options.figure}")


def _sample(options: argparse.Namespace) -> Sample:
    if options.values:
        return sample.from_values(options.values, options.seed)
    if options.corpus:
        return sample.from_corpus(options.corpus, options.cells)
    return sample.synthetic(options.seed)


def contestants(data: Sample, only: list[str] | None) -> Iterator[SuperKeyHash]:
    """Yield each hash at each size with the parameters for this sample, and Bloom filters as sparse as XASH."""
    for name in only or ORDER:
        for bits in find(name).sizes:
            function = fit(name, bits, data.statistics)
            yield function
            if name == "bf":
                fair = fit("xash", bits, data.statistics).parameters["alpha"]
                if fair != function.parameters["hashes"]:
                    yield get("bf", bits, hashes=fair)


@dataclass(frozen=True)
class Probes:
    """Rows and values that they do not hold."""

    cells: pa.StringArray
    offsets: npt.NDArray[np.int64]
    widths: npt.NDArray[np.int64]
    anywhere: pa.StringArray
    near: pa.StringArray


def draw_probes(data: Sample, seed: int, rows: int = 20_000) -> Probes:
    """Draw rows evenly over tables, and two values for each row that it does not hold."""
    random = np.random.default_rng(seed)
    cells: list[list[str | None]] = []
    near: list[str | None] = []
    for chosen in random.permutation(len(data.tables)):
        taken = data.tables[chosen]
        for row in random.choice(len(taken), min(len(taken), max(2, rows // len(data.tables))), replace=False):
            cells.append(taken.cells[row * taken.width : (row + 1) * taken.width].to_pylist())
            other = int(random.integers(len(taken))) * taken.width + int(random.integers(taken.width))
            near.append(taken.cells[other].as_py())
    anywhere = data.distinct.take(pa.array(random.integers(0, len(data.distinct), len(cells)))).to_pylist()
    return Probes(
        pa.array([cell for row in cells for cell in row], pa.string()),
        np.cumsum([0, *map(len, cells)]),
        np.array(list(map(len, cells))),
        _absent(anywhere, cells),
        _absent(near, cells),
    )


def _absent(probes: list[str | None], rows: list[list[str | None]]) -> pa.StringArray:
    """Return the probes, null where the row does hold the value."""
    return pa.array([None if v in row else v for v, row in zip(probes, rows, strict=True)], pa.string())


def measure(function: SuperKeyHash, data: Sample, probes: Probes, rounds: int) -> Result:
    """Return speed and quality of one hash function."""
    import mmh3

    texts = data.distinct.to_pylist()
    seconds = best_of(
        {
            "batch": lambda: function.hash(data.distinct),
            "mmh3": lambda: [mmh3.hash128(text) for text in texts],
        },
        rounds,
    )
    hashes = function.hash(data.distinct)
    keys = or_aggregate(function.hash(probes.cells), probes.offsets)
    filled = bits_set(keys) / function.bits
    return Result(
        hash=function.name,
        bits=function.bits,
        parameters=function.parameters,
        values_per_second=len(texts) / seconds["batch"],
        times_mmh3=seconds["mmh3"] / seconds["batch"],
        bits_per_value=float(bits_set(hashes).mean()),
        distinct_hashes=len(np.unique(hashes, axis=0)) / len(texts),
        fill={_range(w): float(filled[inside].mean()) for w in WIDTHS if (inside := _within(probes.widths, w)).any()},
        false_positives=_covered(function, probes.anywhere, keys),
        near_misses=_covered(function, probes.near, keys),
    )


def _within(widths: npt.NDArray[np.int64], bounds: tuple[int, int]) -> npt.NDArray[np.bool_]:
    return (widths >= bounds[0]) & (widths <= bounds[1])


def _range(bounds: tuple[int, int]) -> str:
    return f"{bounds[0]}+" if bounds[1] == WIDTHS[-1][1] else f"{bounds[0]}-{bounds[1]}"


def _covered(function: SuperKeyHash, values: pa.StringArray, keys: npt.NDArray[np.uint64]) -> float:
    """Return the share of rows whose key has every bit of a value's: what a row filter lets through."""
    asked = values.is_valid().to_numpy(zero_copy_only=False)
    lacking = np.any(function.hash(values.filter(pa.array(asked))) & ~keys[asked], axis=1)
    return float((~lacking).mean()) if asked.any() else 0.0


def print_results(results: list[Result], screen: Any) -> None:
    """Print the table of results."""
    widths = [name for name in map(_range, WIDTHS) if any(name in result.fill for result in results)]
    header: tuple[str, ...] = ("hash", "bits", "parameters", "M values/s", "x mmh3 loop", "bits/value", "distinct")
    header += (*(f"fill {name}" for name in widths), "false pos.", "near misses")
    rows = [
        (
            r.hash,
            str(r.bits),
            " ".join(f"{key}={value}" for key, value in r.parameters.items()),
            f"{r.values_per_second / 1e6:.2f}",
            f"{r.times_mmh3:.2f}",
            f"{r.bits_per_value:.1f}",
            f"{r.distinct_hashes:.4f}",
            *(f"{r.fill[name]:.0%}" if name in r.fill else "" for name in widths),
            f"{r.false_positives:.2%}",
            f"{r.near_misses:.2%}",
        )
        for r in results
    ]
    screen.print(table(header, rows))
    screen.print(
        "fill: share of 1-bits in the super keys of rows, by number of columns; "
        "false pos.: rows that cover a value they do not hold; near misses: the same, value from the same table."
    )
