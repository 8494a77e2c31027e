"""The JSON API gives what `import mate` gives, and one clear error for everything else."""

from __future__ import annotations

import http.client
import io
import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

import mate
from mate.web.operations import OPERATIONS
from mate.web.service import LruCache, ServerLimits, Service
from mate.web.uploads import ENDINGS
from mate.work import current_work
from tests.web.conftest import LONG, SCRIPT, TERMINAL
from tests.web.serving import SlowSuggestions, listening

KEY = ["city", "day"]
Limited = Callable[..., TestClient]


def upload(client: TestClient, path: Path, name: str = "") -> dict[str, Any]:
    reply = send(client, path.read_bytes(), name or path.name)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


def send(client: TestClient, content: bytes, name: str) -> Any:
    headers = {"Content-Type": "application/octet-stream"}
    return client.post("/api/queries", params={"name": name}, content=content, headers=headers)


def suggested(client: TestClient, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps of a suggestion."""
    reply = client.post("/api/suggest", json=body)
    assert reply.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in reply.text.splitlines()]


@pytest.fixture
def query(client: TestClient, web_folder: Path) -> str:
    return str(upload(client, web_folder / "sensors.csv")["query"])


def test_lake_and_tables(client: TestClient, web_lake: mate.Lake) -> None:
    about = client.get("/api/lake").json()
    assert (about["tables"], about["rows"]) == (5, 19)
    listed = client.get("/api/tables", params={"search": "STADT tag"}).json()
    assert [table["name"] for table in listed["tables"]] == ["traffic"]
    seen = [client.get("/api/tables", params={"offset": n, "limit": 2}).json() for n in (0, 2, 4)]
    assert [t["table_id"] for page in seen for t in page["tables"]] == [t.table_id for t in web_lake.tables()]
    assert all(page["total"] == 5 for page in seen)
    rejects = client.get("/api/rejects").json()["rejects"]
    assert rejects == web_lake.rejects()
    assert client.get("/api/rejects", params={"limit": 1}).json()["total"] == len(rejects)
    listed = client.get("/api/sources", params={"limit": 2, "offset": 1}).json()
    expected = web_lake.sources()
    assert listed["total"] == len(expected)
    assert listed["sources"] == [
        {name: one[name] for name in ("source", "format", "bytes", "tables")} for one in expected[1:3]
    ]
    assert "lake/picture.parquet" in [reject["source"] for reject in rejects]


def test_columns_are_described(client: TestClient, web_lake: mate.Lake) -> None:
    table = client.get(f"/api/tables/{web_lake.find('weather').table_id}").json()
    assert table["preview"][0] == ["2019-01-01", "Bonn", "4", "3"]
    sent = send(client, b"a;b;c\n1,5;ja;\n-2;nein;n/a\n3;ja;x\n;ja; \n", "../../etc/my table.csv").json()
    assert sent["name"] == "my table"
    described = [tuple(column.values()) for found in (table, sent) for column in found["columns"]]
    assert described == [
        ("date", "date", 4, 0), ("place", "text", 3, 0), ("temperature", "whole number", 5, 0),
        ("wind", "whole number", 6, 0), ("a", "number", 3, 0.25), ("b", "yes or no", 2, 0), ("c", "text", 1, 0.75),
    ]  # fmt: skip


def test_search_is_that_of_the_library(client: TestClient, query: str, web_lake: mate.Lake, web_folder: Path) -> None:
    found = client.post("/api/search", json={"query": query, "key": KEY}).json()
    expected = web_lake.search(web_folder / "sensors.csv", KEY)
    fields = ("table_id", "joinability", "mapping", "evidence")
    assert [{f: answer[f] for f in fields} for answer in found["answers"]] == [
        {f: answer[f] for f in fields} for answer in expected.to_dicts()
    ]
    assert found["key_tuples"] == 6
    assert found["explanation"]["steps"][0]["text"] == "6"
    assert found["answers"][0]["added"] == ["temperature", "wind"]


def test_suggest_is_that_of_the_library(client: TestClient, query: str, web_lake: mate.Lake, web_folder: Path) -> None:
    found = suggested(client, {"query": query, "k": 5})
    expected = web_lake.suggest_in_steps(web_folder / "sensors.csv", 5)
    assert [[(one["key"], one["table_id"]) for one in step["suggestions"]] for step in found] == [
        [(list(one.key), one.table_id) for one in step] for step in expected
    ]
    assert [step["complete"] for step in found] == [False, True]
    *_, none = suggested(client, {"query": query, "columns": ["PM10"]})
    assert (none["suggestions"], none["tried"]["columns"]) == ([], ["PM10"])
    assert none["message"].startswith("nothing found; tried this column: PM10; 5 tables")


def test_a_table_of_the_lake_is_searched_with(client: TestClient, web_lake: mate.Lake) -> None:
    own = web_lake.find("weather").table_id
    found = client.post("/api/search", json={"table": own, "key": ["place", "date"]}).json()
    assert [answer["table"] for answer in found["answers"]] == ["traffic"]


def test_preview_shows_rows_that_match(client: TestClient, query: str, web_lake: mate.Lake) -> None:
    number = web_lake.find("weather").table_id
    shown = client.post("/api/preview", json={"query": query, "key": KEY, "with": number}).json()
    assert (shown["rows"], shown["matched_rows"]) == (6, 5)
    assert len(shown["query_rows"]) == 5
    for mine, theirs in zip(shown["query_rows"], shown["table_rows"], strict=True):
        assert mine[:2] == [theirs[1], theirs[0]]


def test_the_same_suggestion_is_worked_out_once_for_each_state_of_the_lake(
    client: TestClient, query: str, web_lake: mate.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    suggest = web_lake.suggest_in_steps
    monkeypatch.setattr(web_lake, "suggest_in_steps", lambda *given, **how: asked.append(how) or suggest(*given, **how))
    first, second = (suggested(client, {"query": query, "k": 5}) for _ in range(2))
    assert (first[-1:], len(asked)) == (second, 1)
    suggested(client, {"query": query, "k": 4})
    assert len(asked) == 2
    client.post("/api/refresh", json={})
    assert suggested(client, {"query": query, "k": 5}) == first
    assert len(asked) == 3


@pytest.mark.parametrize("operation", ["search", "suggest", "preview"])
def test_the_python_lines_run(
    client: TestClient, web_folder: Path, web_lake: mate.Lake, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    own, other = web_lake.find("weather").table_id, web_lake.find("traffic").table_id
    key = {"key": ["place", "date"]}
    given = {"search": key, "suggest": {}, "preview": {**key, "with": other}}
    monkeypatch.chdir(web_folder)
    reply = client.post(f"/api/{operation}", json={"table": own, **given[operation]}).text
    names = run_lines(json.loads(reply.splitlines()[-1])["python"])
    found = [names["found"]] if operation == "preview" else names["found"]
    assert other in [answer.table_id for answer in found]


def run_lines(lines: str) -> dict[str, Any]:
    """Run lines of Python, and return the names that they define."""
    names: dict[str, Any] = {}
    exec(compile(lines, "lines", "exec"), names)
    return names


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_lines_of_a_preview_join_what_is_downloaded(
    client: TestClient, web_folder: Path, web_lake: mate.Lake, tmp_path: Path, ending: str
) -> None:
    table = mate.read(web_folder / "sensors.csv").columns
    file = tmp_path / f"my sensors{ending}"
    if ending in (".parquet", ".pq"):
        pq.write_table(table, file)
    else:
        text = json.dumps(table.to_pylist()) if ending == ".json" else (web_folder / "sensors.csv").read_text()
        file.write_text(text, encoding="utf-8")
    asked = {"query": upload(client, file)["query"], "key": KEY, "with": web_lake.find("traffic").table_id}
    lines = client.post("/api/preview", json=asked).json()["python"]
    with chdir(tmp_path):
        found = run_lines(lines.replace(repr(web_lake.address), repr(str(web_folder / "lake.mate"))))["found"]
    for matches in ("first", "all", "aggregate"):
        for format in ("csv", "parquet"):
            reply = client.post("/api/join", json={**asked, "matches": matches, "format": format, "safe": True})
            assert reply.headers["content-disposition"] == f'attachment; filename="enriched.{format}"'
            found.enrich(matches).write(tmp_path / f"enriched.{format}", safe=True)
            assert (tmp_path / f"enriched.{format}").read_bytes() == reply.content


def test_what_the_reader_says_about_an_upload_is_told(client: TestClient) -> None:
    told = send(client, b'a,b\n1,"2\n3,4\n', "a.csv").json()["warnings"]
    assert told == ["line 2: stray quote, the line was read as it stands (1 in all)"]
    assert send(client, b"a,b\n1,2\n", "a.csv").json()["warnings"] == []


def test_all_matches_are_refused_by_their_number(web_lake: mate.Lake, web_folder: Path, limited: Limited) -> None:
    rows = web_lake.match(web_folder / "sensors.csv", ["city"], "weather").enrich("all").rows
    for most, status in ((rows, 200), (rows - 1, 413)):
        with limited(joined_rows=most) as client:
            query = upload(client, web_folder / "sensors.csv")["query"]
            asked = {"query": query, "key": ["city"], "with": web_lake.find("weather").table_id, "matches": "all"}
            reply = client.post("/api/join", json=asked)
            assert reply.status_code == status, reply.text
    assert f"all matches are {rows} rows" in reply.json()["error"]


def test_a_request_from_before_a_refresh_does_not_bring_the_old_tables_back(
    web_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = mate.open(web_folder / "lake.mate")
    service, listing, refreshed = Service(lake, ServerLimits()), threading.Event(), threading.Event()
    current = lake.tables

    def slow() -> list[mate.TableInfo]:
        found = current()
        listing.set()
        assert refreshed.wait(30)
        return found[:1]

    monkeypatch.setattr(lake, "tables", slow)
    with lake, ThreadPoolExecutor(1) as pool:
        old = pool.submit(service.tables)
        assert listing.wait(30)
        monkeypatch.setattr(lake, "tables", current)
        service.refresh()
        refreshed.set()
        assert old.result()["total"] == 1
        assert service.tables()["total"] == 5


def test_the_least_recently_used_values_are_dropped_but_the_newest_stays() -> None:
    cache: LruCache[int] = LruCache(5, lambda value: value)
    for value in (2, 3):
        cache.add(str(value), value)
    assert cache.get("2") == 2
    cache.add("1", 1)
    assert [cache.get(key) for key in "321"] == [None, 2, 1]
    cache.add("9", 9)
    assert [cache.get(key) for key in "219"] == [None, None, 9]


# What others may send


def test_hostile_contents_stay_data(client: TestClient, web_folder: Path) -> None:
    found = upload(client, web_folder / "hostile.csv")
    assert found["columns"][1]["name"] == SCRIPT
    assert found["preview"][0][2] == TERMINAL
    assert found["preview"][1][2] == LONG[:200] + "…"
    reply = client.post("/api/search", json={"query": found["query"], "key": ["town", SCRIPT]})
    assert reply.headers["content-type"] == "application/json"
    assert reply.content.isascii()
    assert b"\x1b" not in reply.content
    [answer] = [a for a in reply.json()["answers"] if a["table"] == "<img src=x onerror=alert(1)>"]
    asked = {"query": found["query"], "key": ["town", SCRIPT], "with": answer["table_id"]}
    plain, safe = (client.post("/api/join", json={**asked, "safe": on}).text for on in (False, True))
    assert "\nUlm,=1+1," in plain
    assert "\nUlm,'=1+1," in safe


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"a,b\n1,2\n", "table.exe", "table.exe cannot be read: upload .csv"),
        (b"\x1f\x8b\x08\x00", "table.csv", "table.csv is compressed; unpack it first"),
        (b"", "table.csv", "table.csv cannot be used as a query table"),
        (b"PAR1 no", "table.parquet", "table.parquet cannot be used as a query table"),
        (b"{", "table.json", "table.json cannot be used as a query table"),
    ],
)
def test_bad_uploads(client: TestClient, content: bytes, name: str, message: str) -> None:
    reply = send(client, content, name)
    assert reply.status_code == 400
    assert message in reply.json()["error"]


def _files() -> dict[str, bytes]:
    table, parquet = pa.table({"a": ["x", "y", "z"] * 20, "b": [1, 2, 3] * 20}), io.BytesIO()
    pq.write_table(table, parquet)
    return {
        "t.csv": b"a,b\n" + b'1,"x"\n' * 20,
        "t.json": json.dumps(table.to_pylist()).encode(),
        "t.parquet": parquet.getvalue(),
    }


@pytest.mark.parametrize("name", _files())
def test_damaged_uploads_are_no_errors_of_the_server(client: TestClient, name: str) -> None:
    content, chosen = _files()[name], random.Random(7)
    met = set()
    for _ in range(60):
        damaged = bytearray(content[: chosen.choice((len(content), chosen.randrange(1, len(content))))])
        for _ in range(chosen.randint(1, 4)):
            damaged[chosen.randrange(len(damaged))] = chosen.randrange(256)
        met.add(send(client, bytes(damaged), name).status_code)
    assert met <= {200, 400, 413}
    assert 400 in met or name == "t.csv"


MUCH_TEXT = pa.DictionaryArray.from_arrays(pa.array([0] * 3_000), pa.array(["z" * 100_000]))


@pytest.mark.parametrize(
    ("column", "status", "message"),
    [
        (pa.nulls(30_000_000, pa.int8()), 413, "the table has 30,000,000 cells; "),
        (MUCH_TEXT, 400, "q.parquet has more than 10,000,000 bytes of text, too many for a query table"),
    ],
)
def test_a_small_file_that_stands_for_a_large_table(
    limited: Limited, column: pa.Array, status: int, message: str
) -> None:
    stream = io.BytesIO()
    pq.write_table(pa.table({"a": column}), stream)
    assert len(stream.getvalue()) < 100_000
    with limited(cached_bytes=10_000_000) as client:
        reply = send(client, stream.getvalue(), "q.parquet")
    assert (reply.status_code, reply.json()["error"][: len(message)]) == (status, message)


def test_sizes_are_limited_before_all_was_read(limited: Limited) -> None:
    with limited(upload_bytes=1_000, request_bytes=500) as client:
        sent = 0

        def endless() -> Any:
            nonlocal sent
            while sent < 100_000:
                sent += 100
                yield b"a,b\n" * 25

        headers = {"Content-Type": "application/octet-stream"}
        reply = client.post("/api/queries?name=a.csv", content=endless(), headers=headers)
        assert (reply.status_code, reply.json()) == (413, {"error": "at most 1,000 bytes can be sent"})
        assert client.post("/api/search", json={"key": ["x" * 600]}).status_code == 413


def test_uploads_are_forgotten_when_there_are_too_many(web_folder: Path, limited: Limited) -> None:
    with limited(cached_bytes=2_500_000) as client:
        first, second, third = (upload(client, web_folder / "sensors.csv")["query"] for _ in range(3))
        assert len({first, second, third}) == 3
        reply = client.post("/api/suggest", json={"query": first})
        assert (reply.status_code, reply.json()["error"][:45]) == (404, "the uploaded table is no longer in memory; up")
        assert client.post("/api/suggest", json={"query": second}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"key": ["city"]}, 400, "give one of these fields: query (an uploaded table) or table"),
        ({"query": "Q", "table": 1, "key": ["city"]}, 400, "give one of these fields: query (an uploaded table)"),
        ({"query": "Q"}, 400, "the field key is missing"),
        ({"query": "Q", "key": []}, 400, "key takes a list of 1 to 100 texts"),
        ({"query": "Q", "key": [7]}, 400, "key takes a list of 1 to 100 texts"),
        ({"query": "Q", "key": ["town"]}, 400, 'sensors has no column "town"'),
        ({"query": "Q", "key": ["city"], "k": True}, 400, "k takes a whole number from 1 to 1,000"),
        ({"query": "Q", "key": ["city"], "rank": "best"}, 400, "rank takes one of these texts: usefulness, joinab"),
        ({"query": "Q", "key": ["city"], "names": 1}, 400, "names takes true or false"),
        ({"query": "Q", "key": ["city"], "limit": 1}, 400, "unknown field 'limit'"),
        ({"query": "other", "key": ["city"]}, 404, "the uploaded table is no longer in memory"),
        ({"table": 99, "key": ["city"]}, 404, "lake.mate has no table 99"),
        ([], 400, "the request must be a JSON object"),
    ],
)
def test_bad_requests(client: TestClient, query: str, body: Any, status: int, message: str) -> None:
    if isinstance(body, dict) and body.get("query") == "Q":
        body["query"] = query
    reply = client.post("/api/search", json=body)
    assert reply.status_code == status, reply.text
    assert message in reply.json()["error"]


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\ud800".encode("utf-8", "surrogatepass"), "NaN"])
def test_no_json(client: TestClient, text: str | bytes) -> None:
    reply = client.post("/api/search", content=text, headers={"Content-Type": "application/json"})
    assert reply.status_code == 400


def test_bad_addresses(client: TestClient) -> None:
    for address in ("/api/tables/x", "/api/tables/-1", "/api/tables/9007199254740993", "/api/tables?limit=0"):
        assert client.get(address).status_code == 400
    assert client.get("/api/tables/77").status_code == 404
    assert client.get("/../setup.cfg").status_code == 404
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/nothing").json() == {"error": "Not Found"}
    assert client.put("/api/lake").status_code == 405


# The document


def test_the_document_names_every_operation(client: TestClient) -> None:
    document = client.get("/api/openapi.json").json()
    named = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert named == {(operation.method, operation.path) for operation in OPERATIONS}
    page = Path(mate.__file__).parent / "web" / "static" / "mate.js"
    used = set(re.findall(r"[\"`](/api/[a-z]+)", page.read_text(encoding="utf-8")))
    assert used <= {path.partition("/{")[0] for path in document["paths"]}
    for operation in OPERATIONS:
        assert len(set(operation.returns)) == len(operation.returns)


def test_nothing_of_the_page_comes_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/mate.css", "/mate.js"):
        text = client.get(path).text
        assert not re.search(r"(https?:)?//[a-z]+\.[a-z]", text.replace("http://www.w3.org", "")), path
        assert "innerHTML" not in text


# Long work


def test_a_search_is_watched_and_cancelled(
    web_lake: mate.Lake, limited: Limited, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client asks how far its search is; when it has gone, the search ends and frees the only thread."""
    steps, ended = threading.Event(), threading.Event()

    def endless(*_: Any, **__: Any) -> None:
        work = current_work()
        work.expect(1_000_000_000)
        try:
            while True:
                work.advance()
                steps.set()
        finally:
            ended.set()

    monkeypatch.setattr(web_lake, "search", endless)
    with limited(threads=1, seconds=0.5) as client:
        assert client.get("/api/work/mine").status_code == 404
        body = {"table": web_lake.find("weather").table_id, "key": ["place"]}
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.post, "/api/search", json=body, headers={"Mate-Work": "mine"})
            assert steps.wait(30)
            found = client.get("/api/work/mine").json()
            assert 0 < found["done"] < found["total"]
            assert waiting.result().status_code == 503
            assert int(waiting.result().headers["Retry-After"]) > 0
        assert ended.wait(30)
        assert client.get("/api/work/mine").status_code == 404
        assert client.post("/api/suggest", json={"table": body["table"]}).status_code == 200


def test_a_search_does_not_wait_for_suggestions(
    web_lake: mate.Lake, limited: Limited, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All threads of long work are taken: searches go on, the next suggestion is told that it waits."""
    slow, table = SlowSuggestions(web_lake, monkeypatch), {"table": web_lake.find("weather").table_id}
    with limited(threads=2) as client, ThreadPoolExecutor(3) as pool:
        running = pool.submit(client.post, "/api/suggest", json=table)
        assert slow.begun.wait(30)
        waiting = [pool.submit(client.post, "/api/suggest", json=table, headers={"Mate-Work": n}) for n in "ab"]
        while {client.get(f"/api/work/{n}").json().get("before") for n in "ab"} != {0, 1}:
            pass
        reply = client.post("/api/search", json={**table, "key": ["place"]})
        assert reply.status_code == 200
        assert re.fullmatch(r"wait;dur=[\d.]+, work;dur=[\d.]+", reply.headers["Server-Timing"])
        slow.steps.release(20)
        assert {one.result().status_code for one in (running, *waiting)} == {200}


@pytest.mark.parametrize("steps", [0, 1])
def test_suggestions_come_in_steps_until_the_client_leaves(
    web_lake: mate.Lake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, steps: int
) -> None:
    slow = SlowSuggestions(web_lake, monkeypatch)
    body = json.dumps({"table": web_lake.find("weather").table_id, "k": 3})
    with listening(web_lake) as address:
        client = http.client.HTTPConnection(address[7:-1])
        client.request("POST", "/api/suggest", body, {"Content-Type": "application/json"})
        assert slow.begun.wait(30)
        if steps:  # the first comes while the server looks for the next
            slow.steps.release()
            reply = client.getresponse()
            assert json.loads(reply.readline())["complete"] is False
            reply.close()
        assert not slow.ended.is_set()
        client.close()
        assert slow.ended.wait(30)
    assert caplog.records == []


def test_an_error_between_steps_is_a_line(
    web_lake: mate.Lake, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*given: Any, **how: Any) -> Iterator[mate.Suggestions]:
        yield next(suggest(*given, **how))
        raise mate.MateError("the disk is full")

    suggest = web_lake.suggest_in_steps
    monkeypatch.setattr(web_lake, "suggest_in_steps", failing)
    first, error = suggested(client, {"table": web_lake.find("weather").table_id})
    assert (first["complete"], error) == (False, {"error": "the disk is full"})
