"""`mate compact`: merge the segments of an index."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands

EPILOG = """\
examples:
  mate compact --store lake.mate

Every change adds a segment. Small segments and those that hold superseded tables are merged into new ones; large ones
that are in use as a whole stay as they are. mate stats says when it pays. Searches that are under way go on
undisturbed; killed at any moment, the index is as it was or done. Tables keep their numbers.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.changes import add_options, add_spark

    parser = commands.add_parser(
        "compact",
        help="merge the segments that changes left behind",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser)
    add_spark(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compact and say what that did."""
    import mate
    from mate.cli.bar import Bar
    from mate.cli.changes import change_options
    from mate.cli.terminal import print_json, say
    from mate.display import size_text

    how = change_options(options)
    with mate.open(options.store) as lake, Bar("compact") as bar:
        how["progress"] = bar
        report = lake.compact(**how)
    assert report.before
    assert report.after
    before, after = (
        {"segments": len(manifest.segments), "bytes": sum(segment.bytes for segment in manifest.segments)}
        for manifest in (report.before, report.after)
    )
    if options.json:
        print_json({"before": before, "after": after, "seconds": report.seconds})
        return 0
    sizes = [f"{state['segments']:,} segments, {size_text(state['bytes'])}" for state in (before, after)]
    done = f"{sizes[0]} before; {sizes[1]} now ({report.seconds:.1f} s)"
    if report.before == report.after:
        done = "there is nothing to merge"
    say(f"{options.store}: {done}")
    return 0
