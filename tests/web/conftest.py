"""A lake with hostile names and cells besides the usual ones, and a client for its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import mate
from mate.web.app import application
from mate.web.service import ServerLimits
from tests.api.conftest import write_files

SCRIPT = '<script>document.title="owned"</script><img src=x onerror=document.title="owned">'
TERMINAL = "\x1b[31mred\x1b[0m \u202eevil"
LONG = "x" * 10_000_000
_QUOTED = SCRIPT.replace('"', '""')
HOSTILE = f'''town,"{_QUOTED}",note
Bonn,"{_QUOTED}!",{TERMINAL}
Ulm,=1+1,{LONG}
'''


@pytest.fixture(scope="session")
def web_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `sensors.csv`, `hostile.csv` and `lake.mate`; one file of the lake was rejected."""
    folder = write_files(tmp_path_factory.mktemp("web"))
    (folder / "hostile.csv").write_text(HOSTILE, encoding="utf-8")
    (folder / "lake" / "<img src=x onerror=alert(1)>.csv").write_text(HOSTILE, encoding="utf-8")
    (folder / "lake" / "picture.parquet").write_bytes(b"\x00\x01not parquet")
    with chdir(folder):
        mate.index("lake", "lake.mate").close()
    return folder


@pytest.fixture(scope="session")
def web_lake(web_folder: Path) -> Iterator[mate.Lake]:
    with mate.open(web_folder / "lake.mate") as lake:
        yield lake


@pytest.fixture
def client(web_lake: mate.Lake) -> Iterator[TestClient]:
    with TestClient(application(web_lake), base_url="http://127.0.0.1:8765") as asking:
        yield asking


@pytest.fixture
def limited(web_lake: mate.Lake) -> Callable[..., TestClient]:
    """Return a function that returns a client of a server with other limits."""
    return lambda **limits: TestClient(application(web_lake, ServerLimits(**limits)), base_url="http://localhost")
