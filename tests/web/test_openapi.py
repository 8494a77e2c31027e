"""Requests made up from the OpenAPI document: what it allows is answered as it says, and nothing breaks the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode, checks
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

import mate
from mate.web.app import application
from mate.web.guard import Access
from mate.web.operations import OPERATIONS, UPLOAD, Operation, Queue

ALWAYS: list[Any] = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
FEW = settings(
    max_examples=15,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
HOST = "testserver"
ADDRESS = f"http://{HOST}"


@pytest.fixture(scope="module")
def schema(web_lake: mate.Lake) -> Iterator[Any]:
    served = application(web_lake, access=Access(proxies=(HOST,)))

    async def already_started(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] != "lifespan"
        await served(scope, receive, send)

    with TestClient(served):
        yield schemathesis.openapi.from_asgi("/api/openapi.json", already_started)


def try_requests(schema: Any, operation: Operation, mode: GenerationMode, ask: Callable[[Case], None]) -> None:
    """Ask with requests that the document allows, or does not."""
    made_up = schema[operation.path][operation.method].as_strategy(generation_mode=mode)
    FEW(given(made_up)(ask))()


each = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.run.__name__)


@each
def test_requests_that_the_document_allows(schema: Any, web_lake: mate.Lake, operation: Operation) -> None:
    mine, other = (web_lake.find(name).table_id for name in ("weather", "traffic"))
    real = {"table": mine, "key": ["place", "date"], "with": other, "columns": ["date", "place"]}

    def ask(case: Case) -> None:
        case.call_and_validate(base_url=ADDRESS, checks=ALWAYS)
        if operation.queue is not Queue.QUICK and operation.media != UPLOAD:
            body = {name: real.get(name, value) for name, value in case.body.items() if name != "query"}
            case.body = {**body, "table": mine}
            reply = case.call_and_validate(base_url=ADDRESS, checks=ALWAYS)
            assert reply.status_code == 200, reply.text

    try_requests(schema, operation, GenerationMode.POSITIVE, ask)


@each
def test_requests_that_it_does_not_allow(schema: Any, operation: Operation) -> None:
    if operation.media is None and operation.run.__name__ in ("about", "progress"):
        return  # nothing can be wrong with it

    def ask(case: Case) -> None:
        reply = case.call_and_validate(base_url=ADDRESS, checks=ALWAYS)
        if reply.status_code != 413:  # too long to be looked at
            case.validate_response(reply, checks=[checks.negative_data_rejection])

    try_requests(schema, operation, GenerationMode.NEGATIVE, ask)
