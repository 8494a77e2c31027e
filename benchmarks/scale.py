"""`python -m benchmarks scale`: what larger lakes would take, by a model that is fitted to measurements.

It reads what `python -m benchmarks indexing`, `discovery` and `batches` wrote with --json, several sizes in all. The
largest size is left out first and predicted from the others: the error says how far to trust the rest. Then all sizes
are fitted, sizes that were not measured are predicted, builds on a cluster are simulated, and what would break is
listed, what breaks first on top. Figures of a cluster rest on what is assumed of it, which is printed and can be set.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.scale_cluster import Assumed, limits, phases, plan
from benchmarks.scale_model import (
    BatchModel,
    BuildModel,
    LeftOut,
    Record,
    SearchModel,
    fit_batch,
    fit_build,
    fit_search,
    leave_out_largest,
    segments_of,
)
from mate.cli.terminal import console, table
from mate.errors import MateError

if TYPE_CHECKING:
    from mate.cli import Commands

PREDICT = "500,8300,830000"
CORES = "128,1280"

EPILOG = """\
examples:
  python -m benchmarks indexing --sizes 1,10,40,162 --keep lakes --json indexing.json
  python -m benchmarks discovery --store lakes/... --systems column-first --json search.json
  python -m benchmarks scale --indexing indexing.json --search search.json --predict 500,8300
  python -m benchmarks scale --indexing small.json --indexing 500.json --search search.json --search search500.json
  python -m benchmarks scale --indexing indexing.json --search search.json --cores 512 --assume bandwidth=2e10
"""


@dataclass(frozen=True)
class Model:
    """All that was fitted."""

    build: BuildModel
    search: SearchModel
    batch: BatchModel


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser(
        "scale",
        help="what larger lakes would take: a model of the other benchmarks' results",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, benchmark in (("--indexing", "indexing"), ("--search", "discovery"), ("--batches", "batches")):
        parser.add_argument(
            name,
            action="append",
            default=[],
            required=name != "--batches",
            type=Path,
            metavar="FILE",
            help=f"JSON of the benchmark {benchmark}; may be repeated",
        )
    parser.add_argument("--predict", default=PREDICT, metavar="SIZES", help=f"million cells (default: {PREDICT})")
    parser.add_argument("--cores", default=CORES, help=f"of the clusters that builds are simulated on ({CORES})")
    parser.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"of the cluster: {', '.join(field.name for field in fields(Assumed))}",
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the results as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Fit, predict, simulate, print, write."""
    sizes = [1e6 * size for size in numbers("--predict", options.predict)]
    cores = [int(count) for count in numbers("--cores", options.cores)]
    assumed = _assumed(options.assume)
    builds = series([build for path in options.indexing for build in _read(path)["builds"]], "builds", "--indexing")
    lakes = series([lake for path in options.search for lake in _read(path)], "lakes", "--search")
    search = fit_search(lakes)
    model = Model(fit_build(builds), search, fit_batch([_read(path) for path in options.batches], search))
    left_out = leave_out_largest(builds, lakes)
    record = {
        "model": asdict(model),
        "left_out": [{**one._asdict(), "error": one.error} for one in left_out],
        "assumed": asdict(assumed),
        "predicted": [_predicted(model, size, int(builds[-1]["cores"])) for size in sizes],
        "clusters": [_cluster(model, size, count, assumed) for size in sizes for count in cores],
        "limits": sorted(_limits(model, sizes, max(cores), assumed), key=lambda one: one["breaks_at_cells"]),
    }
    _print(record, left_out)
    if options.json:
        options.json.write_text(json.dumps(_finite(record), indent=1) + "\n", encoding="utf-8")
        console().print(f"results: {options.json}")


def numbers(option: str, text: str) -> list[float]:
    """Return numbers above 0 that are separated by commas."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 < number < float("inf") for number in found):
        raise MateError(f"{option} takes numbers such as {PREDICT}, not {text!r}")
    return found


def _assumed(given: Sequence[str]) -> Assumed:
    known = {field.name for field in fields(Assumed)}
    values: dict[str, float] = {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in known:
            raise MateError(f"--assume takes {', '.join(sorted(known))}, not {name!r}")
        [values[name]] = numbers(f"--assume {name}", value)
    return Assumed(**values)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise MateError(f"{path} is no JSON ({error}): give the file that the benchmark wrote with --json") from None


def series(records: Sequence[Record], what: str, option: str) -> list[Record]:
    """Return the records of one kind of lake, by size: the kind that there are most sizes of."""
    sizes: dict[str, set[int]] = {}
    for record in records:
        sizes.setdefault(record["label"], set()).add(record["cells"])
    label = max(sizes, key=lambda name: len(sizes[name]), default="")
    if len(sizes.get(label, ())) < 2:
        raise MateError(f"{option} has {what} of one size only: how cost grows is told by two and more")
    return sorted((record for record in records if record["label"] == label), key=lambda record: record["cells"])


def _predicted(model: Model, cells: float, cores: int) -> dict[str, Any]:
    """Return what a size would take on the machine that was measured."""
    segments = segments_of(cells, cores)
    size = model.build.index_bytes(cells, segments)
    return {
        "cells": cells,
        "cores": cores,
        "segments": segments,
        "distinct_tokens": model.build.tokens(cells),
        "build_seconds": model.build.seconds(cells, cores),
        "bytes_per_cell": size / cells,
        "index_bytes": size,
        "search_seconds": model.search.seconds(cells),
        "batch_queries_per_second": model.batch.per_second(cells, cores),
    }


def _cluster(model: Model, cells: float, cores: int, assumed: Assumed) -> dict[str, Any]:
    planned = plan(model.build, cells, cores, assumed)
    seconds = phases(model.build, planned, cores, assumed)
    return {
        "cells": cells,
        "cores": cores,
        "units": planned.units,
        "segments": planned.segments,
        "count_tasks": planned.count_tasks,
        "build_seconds": seconds,
        "slowest": max(seconds, key=lambda phase: seconds[phase]),
        "batch_queries_per_second": model.batch.per_second(cells, cores),
    }


def _limits(model: Model, sizes: Sequence[float], cores: int, assumed: Assumed) -> Iterator[dict[str, Any]]:
    for limit in limits(model.build, model.search, model.batch, cores, assumed):
        yield {
            "what": limit.what,
            "where": limit.where,
            "unit": limit.unit,
            "most": limit.most,
            "cores": cores,
            "breaks_at_cells": limit.breaks_at(),
            "at": {f"{size / 1e6:g} M": limit.at(size) for size in sizes},
        }


def _finite(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record as JSON can have it: what never breaks has no number of cells."""
    found = [
        {**one, "breaks_at_cells": None if isinf(one["breaks_at_cells"]) else one["breaks_at_cells"]}
        for one in record["limits"]
    ]
    return {**record, "limits": found}


def _print(record: dict[str, Any], left_out: Sequence[LeftOut]) -> None:
    screen = console()
    header = ("largest size left out", "cells", "fitted to sizes", "predicted", "measured", "error")
    rows: list[Sequence[object]] = [
        (one.figure, one.cells, one.sizes, _short(one.predicted), _short(one.measured), f"{one.error:+.1%}")
        for one in left_out
    ]
    if rows:
        screen.print(table(header, rows))
    else:
        screen.print("Three sizes and more are needed to leave one out.")
    screen.print(table(*_predictions(record["predicted"]), title="predicted, on the machine that was measured"))
    screen.print(table(*_clusters(record["clusters"]), title="simulated, on clusters"))
    screen.print(table(*_breaking(record["limits"]), title=f"what breaks, on {record['limits'][0]['cores']:,} cores"))
    screen.print("assumed: " + ", ".join(f"{name} {value:g}" for name, value in record["assumed"].items()))


def _predictions(predicted: Sequence[dict[str, Any]]) -> tuple[Sequence[str], list[list[str]]]:
    names = list(predicted[0]["search_seconds"])
    header = (
        *("cells", "cores", "segments", "distinct tokens", "build h", "bytes/cell", "index GB"),
        *(f"search ms, {name}" for name in names),
        "batch queries/s",
    )
    rows = [
        [
            *(f"{one[name]:,.0f}" for name in ("cells", "cores", "segments", "distinct_tokens")),
            _short(one["build_seconds"] / 3600),
            f"{one['bytes_per_cell']:.2f}",
            f"{one['index_bytes'] / 1e9:,.1f}",
            *(_short(1e3 * one["search_seconds"][name]) for name in names),
            _short(one["batch_queries_per_second"]),
        ]
        for one in predicted
    ]
    return header, rows


def _clusters(clusters: Sequence[dict[str, Any]]) -> tuple[Sequence[str], list[list[str]]]:
    names = list(clusters[0]["build_seconds"])
    header = ("cells", "cores", "units", "segments", *(f"{name}, h" for name in names), "build h", "batch queries/s")
    rows = [
        [
            *(f"{one[name]:,.0f}" for name in ("cells", "cores", "units", "segments")),
            *(_short(one["build_seconds"][name] / 3600) for name in names),
            _short(sum(one["build_seconds"].values()) / 3600),
            _short(one["batch_queries_per_second"]),
        ]
        for one in clusters
    ]
    return header, rows


def _breaking(found: Sequence[dict[str, Any]]) -> tuple[Sequence[str], list[list[str]]]:
    header = ("breaks at cells", "what", "where", "may be", *(f"at {size}" for size in found[0]["at"]), "unit")
    rows = [
        [
            "never" if isinf(one["breaks_at_cells"]) else f"{one['breaks_at_cells']:.2g}",
            one["what"],
            one["where"],
            _short(one["most"]),
            *(_short(value) for value in one["at"].values()),
            one["unit"],
        ]
        for one in found
    ]
    return header, rows


def _short(value: float) -> str:
    """Return a number of about three digits."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:.2e}"
