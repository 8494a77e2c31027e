"""`mate serve` as a program of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COMMAND = "import sys; from mate.cli.program import command; sys.exit(command())"


@contextmanager
def served(folder: Path, *options: str) -> Iterator[str]:
    """Serve the lake of a folder while the block runs; return the address, and end it as Ctrl-C does."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", COMMAND, "serve", "--store", "lake.mate", "--port", "0", *options]
    with subprocess.Popen(
        arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            address = re.search(r"http://\S+", line)
            assert address, line + server.communicate()[1]
            yield address[0]
        finally:
            server.send_signal(signal.SIGINT)
            _, errors = server.communicate(timeout=30)
        assert server.returncode == 0
        assert "Traceback" not in errors, errors
