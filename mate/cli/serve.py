"""`mate serve`, a page in the browser, and `mate mcp`, tools for assistants."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import mate
from mate.cli import Commands
from mate.cli.options import add_shared, whole
from mate.cli.terminal import say
from mate.errors import MateError
from mate.extras import require

if TYPE_CHECKING:
    from mate.web.guard import Access

PORT = 8765
TOKEN = "MATE_TOKEN"

SERVE = f"""\
examples:
  mate serve --store lake.mate                      this machine alone
  mate serve --store lake.mate --host 0.0.0.0       other machines too, with a token
  mate serve --store lake.mate --name lake.example  behind a TLS proxy of that name, with a token

Drop a table on the page, or choose one of the lake. Pick its key columns, or get suggestions. See which tables join
with it, and download the join. The lake is only read. With --host or --name, requests need a token: the one in the
environment variable {TOKEN}, or a random one. It is part of the address that is printed. The connection is not
encrypted: on a network that you do not trust, put a TLS proxy in front, and give its name with --name.
"""

MCP = """\
The command speaks the Model Context Protocol on standard input and output. An assistant starts it; it is configured as
  {"mcpServers": {"lake": {"command": "mate", "args": ["mcp", "--store", "/data/lake.mate", "--folder", "/data/work"]}}}

Its tools are tables, suggest, search, preview and join. Their answers are JSON, in the form of the page's API. The lake
is only read. Files are read and written in the folder alone, and none is overwritten.
"""


def add(commands: Commands) -> None:
    """Declare the commands."""
    parser = commands.add_parser("serve", help="open a page in the browser to search an index with", epilog=SERVE)
    add_shared(parser, "--store")
    port = whole("--port", 0, 65_535)
    parser.add_argument("--port", type=port, default=PORT, metavar="N", help=f"(default: {PORT}; 0: a free one)")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    text = "host name of a proxy in front of the server; may be repeated"
    parser.add_argument("--name", action="append", default=[], metavar="HOST", help=text)
    parser.add_argument("--no-open", action="store_true", help="do not open the page in the browser")
    parser.set_defaults(run=_run_serve)

    parser = commands.add_parser("mcp", help="let an assistant search an index (Model Context Protocol)", epilog=MCP)
    add_shared(parser, "--store")
    parser.add_argument("--folder", default=".", metavar="DIR", help="where files are read and written (default: here)")
    parser.set_defaults(run=_run_mcp)


def _run_serve(options: argparse.Namespace) -> int:
    for module in ("starlette", "uvicorn"):
        require(module, "web", "mate serve")
    from mate.web.app import serve
    from mate.web.guard import access_to

    access = access_to(options.host, options.port, os.environ.get(TOKEN), options.name)
    with mate.open(options.store) as lake:

        def ready(access: Access) -> None:
            say(f"{lake.address} is at {access.url()} (Ctrl-C stops the server)")
            for url in access.urls_for_others():
                say(f"for others: {url}")
            displays = map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY"))
            has_desktop = sys.platform in ("darwin", "win32") or any(displays)
            if not options.no_open and sys.stdout.isatty() and has_desktop:  # else it opens in this terminal
                webbrowser.open(access.url())

        serve(lake, access, ready)
    return 0


def _run_mcp(options: argparse.Namespace) -> int:
    require("mcp", "mcp", "mate mcp")
    from mate.mcp.server import server

    folder = Path(options.folder)
    if not folder.is_dir():
        raise MateError(f"{folder}: no such folder")
    with mate.open(options.store) as lake:
        server(lake, folder).run("stdio")
    return 0
