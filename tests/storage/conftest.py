"""A server that speaks S3, in this process, and what it was asked for."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

COLOURS = re.compile(r"\x1b\[\d*m")
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class Requests(logging.Handler):
    """What the server was asked for, as "GET /bucket/name"."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        parts = COLOURS.sub("", record.getMessage()).split('"')
        if len(parts) > 1:
            self.lines.append(" ".join(parts[1].split()[:2]))


@dataclass
class Bucket:
    """A bucket, seen from the other side."""

    name: str
    client: Any
    requests: Requests = field(repr=False)

    @property
    def address(self) -> str:
        return f"s3://{self.name}"

    def names(self) -> list[str]:
        """Return the objects that are not there to stand for a folder."""
        found = self.client.list_objects_v2(Bucket=self.name).get("Contents", [])
        return [entry["Key"] for entry in found if not entry["Key"].endswith("/")]

    def read(self, name: str) -> bytes:
        content: bytes = self.client.get_object(Bucket=self.name, Key=name)["Body"].read()
        return content

    def write(self, name: str, content: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=name, Body=content)


@pytest.fixture(scope="session")
def server() -> Iterator[tuple[Any, Requests]]:
    moto = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    log, requests = logging.getLogger("werkzeug"), Requests()
    level = log.level
    log.addHandler(requests)
    log.setLevel(logging.INFO)
    running = moto.ThreadedMotoServer(port=0, verbose=False)
    with pytest.MonkeyPatch.context() as environment:
        for name, value in CREDENTIALS.items():
            environment.setenv(name, value)
        running.start()
        _, port = running.get_host_and_port()
        environment.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        yield boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}"), requests
        running.stop()
    log.removeHandler(requests)
    log.setLevel(level)


@pytest.fixture
def bucket(server: tuple[Any, Requests], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket of its own, and a cache of its own."""
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "cache"))
    client, requests = server
    made = Bucket(f"b{uuid.uuid4().hex[:12]}", client, requests)
    client.create_bucket(Bucket=made.name)
    return made
