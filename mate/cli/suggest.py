"""`mate suggest`: keys for your table, and the tables that they join with."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mate.cli.queries import EVIDENCE_HELP

if TYPE_CHECKING:
    from mate.cli import Commands

EPILOG = f"""\
examples:
  mate suggest sensors.csv --store lake.mate
  mate suggest orders.parquet --store lake.mate -k 3 --most-columns 2
  mate suggest orders.csv --columns customer,region,year --store lake.mate --json

No key is given: columns of your table, alone and together, are tried as keys, and the ones that join with a table of
the index are proposed, best first. Take one to mate search or mate join. Where a part of the proposed key is unique in
the table already, the line says so: that part would do alone.

{EVIDENCE_HELP}"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.options import whole
    from mate.cli.queries import add_encoding, add_store

    parser = commands.add_parser(
        "suggest",
        help="find the key columns of a table of yours, and the tables that they join with",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("query", metavar="TABLE", help="your table: CSV of any dialect, Parquet or JSON")
    add_encoding(parser, "TABLE")
    add_store(parser)
    parser.add_argument("-k", type=whole("-k"), default=10, metavar="N", help="how many suggestions (default: 10)")
    parser.add_argument(
        "--most-columns",
        type=whole("--most-columns", 1, 4),
        default=4,
        metavar="N",
        help="most columns of a key, 1 to 4 (default: 4)",
    )
    parser.add_argument(
        "--columns",
        action="append",
        metavar="A,B",
        help="columns that may be part of a key (default: all); may be repeated",
    )
    parser.add_argument("--no-names", action="store_true", help="leave the names of columns and tables aside")
    parser.add_argument("--exclude-self", action="store_true", help="leave out the table's own file")
    parser.add_argument("--explain", action="store_true", help="show how the suggestions came about, step by step")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Suggest and print."""
    import mate
    from mate.cli.queries import show_answers, show_explanation, split_key
    from mate.cli.terminal import print_json, say

    with mate.open(options.store) as lake:
        query = mate.read(options.query, encoding=options.encoding)
        found = lake.suggest(
            query,
            options.k,
            columns=split_key(options.columns, query.header) if options.columns else None,
            most_columns=options.most_columns,
            names=not options.no_names,
            exclude="self" if options.exclude_self else (),
        )
        if options.json:
            print_json(found.to_dicts())
        elif not found:
            say(f"no columns of {query.name} form a key that joins with a table of the index")
        else:
            show_answers(found)
            for one in found:
                if one.unique_part:
                    part, key = ", ".join(one.unique_part), ", ".join(one.key)
                    say(f"{one.table.name}: {part} is unique there without the rest of {key}")
        if options.explain and not options.json:
            show_explanation(found.explain())
    return 0
