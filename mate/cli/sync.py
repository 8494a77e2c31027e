"""`mate sync`: let an index follow its files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mate.display import counted

if TYPE_CHECKING:
    from mate import Difference
    from mate.cli import Commands

EPILOG = """\
examples:
  mate sync lake/ --store lake.mate
  mate sync lake/ --store lake.mate --dry-run

Files are told apart by checksum. New ones are added, those that differ are read again (their tables keep their
numbers), those that are gone are removed; files of the index outside the given paths are left alone. A table that was
changed in the index by hand becomes what its file holds. All of it is one change.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.changes import add_options, add_reading

    parser = commands.add_parser(
        "sync",
        help="make an index follow the files that it was built from",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")
    add_options(parser)
    add_reading(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, apply, and say what was done."""
    import mate
    from mate.cli.bar import Bar
    from mate.cli.changes import change_options, print_report
    from mate.cli.terminal import say

    how = change_options(options)
    with mate.open(options.store) as lake:
        difference = lake.compare(options.paths, options.format)
        if options.dry_run:
            _show(difference, as_json=options.json)
            return 0
        with Bar("read") as bar:
            how["progress"] = bar
            report = lake.apply(difference, **how)
    if not options.json:
        say(_counted(difference))
    print_report(report, options)
    return 0


def _show(difference: Difference, *, as_json: bool) -> None:
    from mate.cli.terminal import print_json, say

    new, changed = ([source.name for source in part] for part in (difference.new, difference.changed))
    if as_json:
        print_json({"new": new, "changed": changed, "gone": difference.gone, "same": difference.same})
        return
    for sign, names in (("+", new), ("~", changed), ("-", difference.gone)):
        for name in sorted(names):
            say(f"{sign} {name}")
    say(_counted(difference))


def _counted(difference: Difference) -> str:
    parts = (
        f"{counted(len(difference.new), 'file')} new",
        f"{len(difference.changed):,} changed",
        f"{len(difference.gone):,} gone",
        f"{difference.same:,} as before",
    )
    return ", ".join(parts)
