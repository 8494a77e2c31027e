"""Other hosts, other sites and those without the token are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

import mate
from mate.web.app import application
from mate.web.guard import access_to, is_loopback

OWN = [
    *({"Host": host} for host in ("127.0.0.1", "localhost:8765", "LOCALHOST", "[::1]:8765")),
    {"Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "same-origin"},
]
HOSTS = ["evil.example", "localhost.evil.example:8765", "127.0.0.1.evil.example", "", "10.0.0.1"]
SITES = [
    *({"Sec-Fetch-Site": site} for site in ("cross-site", "same-site")),
    *({"Origin": origin} for origin in ("http://evil.example", "null", "http://127.0.0.1:9999")),
    {"Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.parametrize("headers", OWN)
def test_this_machine_and_the_page_itself_are_let_through(client: TestClient, headers: dict[str, str]) -> None:
    assert client.get("/api/lake", headers=headers).status_code == 200
    assert client.post("/api/refresh", json={}, headers=headers).status_code == 200


@pytest.mark.parametrize("headers", [*({"Host": host} for host in HOSTS), *SITES])
def test_other_hosts_and_sites_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    for path in ("/api/lake", "/api/openapi.json", *(["/"] if "Host" in headers else [])):
        reply = client.get(path, headers=headers)
        assert (reply.status_code, list(reply.json())) == (403, ["error"])
    assert client.post("/api/refresh", json={}, headers=headers).status_code == 403


def test_what_a_form_can_send_is_refused(client: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert client.post("/api/refresh", content="{}", headers={"Content-Type": kind}).status_code == 415
        assert client.post("/api/queries?name=a.csv", content="a", headers={"Content-Type": kind}).status_code == 415


@pytest.mark.parametrize("path", ["/", "/mate.js", "/api/lake", "/nothing", "/api/tables/x"])
def test_every_answer_has_the_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


@pytest.fixture
def locked(web_lake: mate.Lake) -> Iterator[TestClient]:
    place = access_to("0.0.0.0", 8765, "secret")
    with TestClient(application(web_lake, access=place), base_url="http://192.168.1.7:8765") as asking:
        yield asking


def test_a_server_for_others_wants_its_token(locked: TestClient) -> None:
    assert locked.get("/").status_code == 200  # the page brings nothing of the lake along
    for authorization in ("", "Bearer wrong", "Basic secret", "secret"):
        headers = {"Authorization": authorization}
        assert locked.get("/api/lake", headers=headers).status_code == 403
        assert locked.post("/api/refresh", json={}, headers=headers).status_code == 403
    assert locked.get("/api/lake?token=secret").status_code == 403
    assert locked.get("/api/openapi.json").status_code == 200
    assert locked.get("/api/lake", headers={"Authorization": "Bearer secret"}).status_code == 200
    headers = {"Authorization": "Bearer secret", "Host": "evil.example"}
    assert locked.get("/api/lake", headers=headers).status_code == 403


@pytest.mark.parametrize("host", ["lake.example", "127.0.0.1:8765"], ids=["keeps Host", "rewrites it"])
def test_a_proxy_with_a_name(web_lake: mate.Lake, host: str) -> None:
    access = access_to("127.0.0.1", 8765, "secret", ["Lake.Example"])
    headers = {"Host": host, "Authorization": "Bearer secret"}
    with TestClient(application(web_lake, access=access), base_url="http://127.0.0.1:8765") as asking:
        for origin, status in {"https://lake.example": 200, "https://evil.example": 403, "null": 403}.items():
            given = {**headers, "Origin": origin, "Sec-Fetch-Site": "same-origin"}
            assert asking.post("/api/refresh", json={}, headers=given).status_code == status
        assert asking.get("/api/lake", headers={**headers, "Host": "evil.example"}).status_code == 403
        assert asking.get("/api/lake", headers={"Host": host}).status_code == 403  # a proxy is for others: a token


def test_addresses_and_tokens_for_others() -> None:
    assert access_to("127.0.0.1", 80, None).urls_for_others() == []
    place = access_to("0.0.0.0", 80, "t", ["lake.example"])
    named, own = place.urls_for_others()
    assert named == "https://lake.example/#token=t"
    assert re.fullmatch(r"http://(?!0\.0\.0\.0|127\.)[\w.-]+:80/#token=t", own)
    assert access_to("::1", 80, "given").url() == "http://[::1]:80/#token=given"
    first, second = access_to("0.0.0.0", 80, None), access_to("127.0.0.1", 80, None, ["lake.example"])
    assert first.token
    assert second.token
    assert first.token != second.token
    assert first.token not in repr(first)
    assert first.url() == f"http://127.0.0.1:80/#token={first.token}"
    assert access_to("127.0.0.1", 80, None).token is None
    for wrong in ("https://lake.example", "lake.example:80", "", "a b"):
        with pytest.raises(mate.MateError, match="--name takes the name of a host"):
            access_to("127.0.0.1", 80, None, [wrong])


LOCAL = {"localhost": True, "127.0.0.9": True, "::1": True, "0.0.0.0": False, "lake.example": False, "::": False}


@pytest.mark.parametrize(("host", "is_local"), LOCAL.items())
def test_loopback(host: str, is_local: bool) -> None:
    assert is_loopback(host) == is_local
