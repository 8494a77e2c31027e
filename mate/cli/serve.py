"""`mate serve`: a page in the browser to search a lake with."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands

PORT = 8765
TOKEN = "MATE_TOKEN"

EPILOG = f"""\
examples:
  mate serve --store lake.mate                      this machine alone
  mate serve --store lake.mate --host 0.0.0.0       other machines too, with a token

Drop a table on the page, or choose one of the lake; pick its key columns, or let them be suggested; look at what joins
with it, and download the join. The lake is only read. With --host a token is asked for: the one in the environment
variable {TOKEN}, or one that is made up; it is part of the address that is printed. The connection is not encrypted:
put a proxy with TLS before it on a network that you do not trust.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.options import whole
    from mate.cli.queries import add_store

    parser = commands.add_parser(
        "serve",
        help="open a page in the browser to search an index with",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_store(parser)
    parser.add_argument(
        "--port", type=whole("--port", 0, 65_535), default=PORT, metavar="N", help=f"(default: {PORT}; 0: a free one)"
    )
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    import mate
    from mate.cli.terminal import say
    from mate.extras import require

    for module in ("starlette", "uvicorn"):
        require(module, "web", "mate serve")
    from mate.web.server import place_of, serve

    place = place_of(options.host, options.port, os.environ.get(TOKEN) or None)
    with mate.open(options.store) as lake:
        serve(lake, place, lambda ready: say(f"{lake.address} is at {ready.address()} (Ctrl-C ends it)"))
    return 0
