"""Spoiled queries, in Python, through the page, and by an assistant."""

from __future__ import annotations

import json
import random
from functools import lru_cache
from typing import Any

from starlette.testclient import TestClient

import mate
from mate.errors import MateError
from mate.lake.folder import LakeFolder, open_folder
from mate.mcp.server import Tools
from mate.search.query import read_query
from mate.search.systems import find_system
from mate.web.app import application
from mate.web.operations import OPERATIONS, UPLOAD
from tests.fuzz.lakes import one_line, sound_lake
from tests.fuzz.mutations import SEEDS, delimited, packed, spoiled
from tests.fuzz.readers import SUFFIXES, folder

VALUES = (
    None, True, 0, 1, 3, -1, 10**6, 2**63, 2**70, 1.5, float("nan"), "", "x", "y", "a1", "\0", "\x1b[31m", "\ud800",
    "²", "9" * 30, "../../etc/passwd", "/etc/passwd", "t1.csv", "1", "joinability", "first", "all", "csv", "parquet",
    [], ["x"], ["x", "y"], ["y", "x", "z"], ["x", "x"], ["nope"], [None], [["x"]], {}, {"x": 1}, "x" * 9_000,
)  # fmt: skip
"""What a field of a request may be told."""


def queries(seed: int) -> bytes:
    """A spoiled query is refused with one line, or searched for, suggested for and joined."""
    dice = random.Random(seed)
    kind = dice.choice(["delimited", *SEEDS])
    data = packed(spoiled(SEEDS[kind](dice) if kind != "delimited" else delimited(dice), dice), dice)
    with folder() as home:
        path = home / f"q{SUFFIXES[kind]}"
        path.write_bytes(data)
        try:
            query = read_query(path, dice.choice([None, None, "cp1252"]))
            key = dice.sample(query.header, min(len(query.header), dice.randrange(1, 4)))
            lake = _lake()
            if dice.random() < 0.2:
                lake.suggest(query, dice.choice([1, 5]))
            else:
                find_system(dice.choice(["column-first", "mate"]))(_folder(), query, key, dice.choice([1, 5, 1000]))
            if dice.random() < 0.3:
                joined = lake.match(query, key, dice.randrange(6)).enrich(dice.choice(["first", "all", "aggregate"]))
                joined.write(home / dice.choice(["out.csv", "out.parquet"]))
                assert joined.rows >= query.columns.num_rows
        except MateError as error:
            one_line(error)
    return data


@lru_cache(maxsize=1)
def _lake() -> mate.Lake:
    return mate.open(sound_lake() / "lake.mate")


@lru_cache(maxsize=1)
def _folder() -> LakeFolder:
    return open_folder(sound_lake() / "lake.mate")


@lru_cache(maxsize=1)
def _client() -> TestClient:
    client = TestClient(application(_lake()), base_url="http://127.0.0.1:8765", raise_server_exceptions=True)
    client.__enter__()
    return client


def pages(seed: int) -> bytes:
    """The page answers every request, and says what is wrong with it; nothing is a failure of the server."""
    dice = random.Random(seed)
    operation = dice.choice(OPERATIONS)
    path = operation.path
    for name in ("query", "table_id", "table", "work"):
        path = path.replace(f"{{{name}}}", str(dice.choice(["0", "1", "x", "²", "-1", "9" * 30, "%2500"])))
    fields = list(operation.schema["properties"])
    names = [*fields, "search", "limit", "offset", "name", "nope"]
    parameters = {name: str(_value(dice)).encode("utf-8", "replace") for name in dice.sample(names, dice.randrange(3))}
    if operation.media == UPLOAD:
        content, media = packed(spoiled(SEEDS[dice.choice(list(SEEDS))](dice), dice), dice), UPLOAD
    else:
        content, media = spoiled(json.dumps(_body(fields, dice)).encode(), dice), "application/json"
    sent = {} if operation.method == "GET" else {"content": content, "headers": {"Content-Type": media}}
    reply = _client().request(operation.method, path, params=parameters, **sent)  # type: ignore[arg-type]
    assert reply.status_code < 500, reply.text
    assert reply.status_code == 200 or set(reply.json()) == {"error"}, reply.text
    return content


def _body(names: list[str], dice: random.Random) -> dict[str, Any]:
    """Return values for some of the fields of an operation, most of which make sense."""
    sensible = {"table": 1, "with": 2, "key": ["x", "y"], "k": 3}
    body = {name: sensible[name] for name in names if name in sensible}
    return {
        **body,
        **{name: _value(dice) for name in dice.sample([*names, "nope"], dice.randrange(3) % (len(names) + 1))},
    }


def _value(dice: random.Random) -> Any:
    return dice.choice(VALUES)


def tools(seed: int) -> bytes:
    """What an assistant asks for is answered in small, or refused with one line; only new files are written."""
    dice = random.Random(seed)
    with folder() as home:
        (home / "t1.csv").write_bytes(spoiled((sound_lake() / "files" / "t1.csv").read_bytes(), dice))
        before = (home / "t1.csv").read_bytes()
        asked = Tools(_lake(), home)
        words = [value for value in VALUES if isinstance(value, str)]
        query, key = (
            dice.choice([*words, "t1.csv", "t1.csv", "2"]),
            dice.choice([["x"], ["x", "y"], ["nope"], [], ["z"]]),
        )
        table, few = dice.choice([0, 1, 5, 6, -1, 2**70]), dice.choice([1, 5, -1, 2**70])
        calls = (
            lambda: asked.tables(dice.choice(words), few),
            lambda: asked.suggest(query, few, dice.choice([None, ["x"], ["nope"], []])),
            lambda: asked.search(query, key, few),
            lambda: asked.preview(query, key, table),
            lambda: asked.join(
                query, key, table, dice.choice([*words, "o.csv", "o.parquet"]), dice.choice(["first", "x"])
            ),
        )
        try:
            assert len(json.dumps(dice.choice(calls)())) < 100_000
        except MateError as error:
            one_line(error)
        assert (home / "t1.csv").read_bytes() == before
    return before


ASKING = (queries, pages, tools)
