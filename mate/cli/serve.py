"""`mate serve`: a page in the browser to search a lake with."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands

PORT = 8765
TOKEN = "MATE_TOKEN"

EPILOG = f"""\
examples:
  mate serve --store lake.mate                      this machine alone
  mate serve --store lake.mate --host 0.0.0.0       other machines too, with a token
  mate serve --store lake.mate --name lake.example  behind a proxy with TLS of that name, with a token

Drop a table on the page, or choose one of the lake; pick its key columns, or let them be suggested; look at what joins
with it, and download the join. The lake is only read. With --host or --name a token is asked for: the one in the
environment variable {TOKEN}, or one that is made up; it is part of the address that is printed. The connection is not
encrypted: on a network that you do not trust put a proxy with TLS before it, and give its name with --name.
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
    parser.add_argument(
        "--name", action="append", default=[], metavar="HOST", help="name of a proxy before it; may be repeated"
    )
    parser.add_argument("--no-open", action="store_true", help="do not open the page in the browser")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    import webbrowser

    import mate
    from mate.cli.terminal import say
    from mate.extras import require

    for module in ("starlette", "uvicorn"):
        require(module, "web", "mate serve")
    from mate.web.server import ListenAddress, listen_address, serve

    address = listen_address(options.host, options.port, os.environ.get(TOKEN) or None, options.name)
    with mate.open(options.store) as lake:

        def ready(address: ListenAddress) -> None:
            say(f"{lake.address} is at {address.url()} (Ctrl-C ends it)")
            for url in address.urls_for_others():
                say(f"for others: {url}")
            if not options.no_open and sys.stdout.isatty() and _has_desktop():
                webbrowser.open(address.url())

        serve(lake, address, ready)
    return 0


def _has_desktop() -> bool:
    """Tell whether a browser would open in a window, not in this terminal."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
