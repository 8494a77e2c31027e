"""The page on a real socket: `mate serve` as a program of its own, or a lake in a thread."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

import mate
from mate.web.app import application
from mate.work import current_work

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


@contextmanager
def listening(lake: mate.Lake) -> Iterator[str]:
    """Serve a lake in a thread while the block runs; return the address."""
    server = uvicorn.Server(uvicorn.Config(application(lake), log_level="warning", ws="none"))
    with socket.create_server(("127.0.0.1", 0)) as listens:
        thread = threading.Thread(target=server.run, args=[[listens]])
        thread.start()
        try:
            yield f"http://127.0.0.1:{listens.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()


class SlowSuggestions:
    """Suggestions of a lake that wait before each step until they may go on, or are cancelled."""

    def __init__(self, lake: mate.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps, self.begun, self.ended = threading.Semaphore(0), threading.Event(), threading.Event()
        self._suggest = lake.suggest_in_steps
        monkeypatch.setattr(lake, "suggest_in_steps", self._wait)

    def _wait(self, *given: Any, **how: Any) -> Iterator[mate.Suggestions]:
        self.begun.set()
        try:
            for step in self._suggest(*given, **how):
                while not self.steps.acquire(timeout=0.01):
                    current_work().check()
                yield step
        finally:
            self.ended.set()
