"""`mate mcp`: a lake for assistants."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands

EPILOG = """\
Speaks the Model Context Protocol on standard input and output; an assistant starts it itself. Where it is configured:
  {"mcpServers": {"lake": {"command": "mate", "args": ["mcp", "--store", "/data/lake.mate", "--folder", "/data/work"]}}}

Its tools are tables, suggest, search, preview and join. The lake is only read; files are read and written in the folder
alone, and none is overwritten.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.queries import add_store

    parser = commands.add_parser(
        "mcp",
        help="let an assistant search an index (Model Context Protocol)",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_store(parser)
    parser.add_argument("--folder", default=".", metavar="DIR", help="where files are read and written (default: here)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until the assistant ends."""
    from pathlib import Path

    import mate
    from mate.errors import MateError
    from mate.extras import require

    require("mcp", "mcp", "mate mcp")
    from mate.mcp.server import server

    folder = Path(options.folder)
    if not folder.is_dir():
        raise MateError(f"{folder}: no such folder")
    with mate.open(options.store) as lake:
        server(lake, folder).run("stdio")
    return 0
