"""`mate mcp` asked by a real client, over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client

import mate
from mate.cli.program import main
from mate.mcp.server import Tools
from mate.web.operations import OPERATIONS
from mate.web.service import ServerLimits

COMMAND = "import sys; from mate.cli.program import command; sys.exit(command())"
KEY = ["city", "day"]
Ask = Callable[..., Awaitable[tuple[bool, Any]]]


@pytest.fixture
def tools(lake: mate.Lake, folder: Path) -> Tools:
    return Tools(lake, folder)


def asked(folder: Path, talk: Callable[[Ask, ClientSession], Awaitable[None]]) -> None:
    """Start the server and let a client talk with it."""

    async def run() -> None:
        arguments = ["-c", COMMAND, "mcp", "--store", "lake.mate"]
        environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
        parameters = StdioServerParameters(command=sys.executable, args=arguments, cwd=str(folder), env=environment)
        async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
            await session.initialize()

            async def ask(tool: str, **given: Any) -> tuple[bool, Any]:
                answer = await session.call_tool(tool, given)
                text = "".join(part.text for part in answer.content)  # type: ignore[union-attr]
                return answer.is_error or False, text if answer.is_error else json.loads(text)

            await talk(ask, session)

    asyncio.run(run())


def test_an_assistant_finds_and_joins(folder: Path, lake: mate.Lake) -> None:
    async def talk(ask: Ask, session: ClientSession) -> None:
        listed = await session.list_tools()
        assert {tool.name for tool in listed.tools} == {"tables", "suggest", "search", "preview", "join"}
        assert all(tool.description for tool in listed.tools)

        _, found = await ask("search", query="sensors.csv", key=KEY)
        expected = lake.search("sensors.csv", KEY)
        assert [(a["table_id"], a["joinability"]) for a in found["answers"]] == [
            (a.table_id, a.joinability) for a in expected
        ]
        assert found["answers"][0]["added"] == ["temperature", "wind"]
        _, keys = await ask("suggest", query="sensors.csv", k=3)
        assert [s["key"] for s in keys["suggestions"]] == [list(s.key) for s in lake.suggest("sensors.csv", 3)]
        best = expected[0].table_id
        _, shown = await ask("preview", query="sensors.csv", key=KEY, table=best)
        assert shown["matched_rows"] == 5
        assert dict(zip(shown["table_columns"], shown["table_rows"][0], strict=True))["wind"] == "3"
        _, joined = await ask("join", query="sensors.csv", key=KEY, table=best, output="enriched.csv")
        assert joined == {"file": "enriched.csv", "rows": 6, "matched_rows": 5, "added": ["temperature", "wind"]}
        assert mate.read(folder / "enriched.csv").columns.num_rows == 6

        failed, text = await ask("join", query="sensors.csv", key=KEY, table=best, output="enriched.csv")
        assert failed
        assert "enriched.csv already exists" in text
        failed, text = await ask("search", query="sensors.csv", key=["town"])
        assert failed
        assert 'sensors has no column "town"' in text

    asked(folder, talk)


def test_answers_have_the_fields_of_the_pages_api(tools: Tools, lake: mate.Lake) -> None:
    fields = {operation.run.__name__: set(operation.returns) - {"explanation", "python"} for operation in OPERATIONS}
    assert set(tools.tables("traffic")) == fields["tables"]
    assert set(tools.suggest("sensors.csv")) == fields["suggest"]
    assert set(tools.search("sensors.csv", KEY)) == fields["search"]
    assert set(tools.preview("sensors.csv", KEY, lake.find("traffic").table_id)) == fields["preview"]


def test_a_file_that_changed_is_read_again(tools: Tools, folder: Path) -> None:
    assert tools.suggest("sensors.csv")["suggestions"]
    (folder / "sensors.csv").write_text("city,day\nnowhere,never\n", encoding="utf-8")
    assert tools.suggest("sensors.csv")["suggestions"] == []


@pytest.mark.parametrize("query", ["weather", "lake/weather.csv"])
def test_a_table_of_the_lake_is_no_answer_to_itself(tools: Tools, lake: mate.Lake, query: str) -> None:
    found = tools.search(query if "/" in query else str(lake.find(query).table_id), ["place", "date"])
    assert [answer["table"] for answer in found["answers"]] == ["traffic"]


def test_nothing_found_says_what_was_tried(tools: Tools, folder: Path) -> None:
    found = tools.search("sensors.csv", ["PM10"])
    assert (found["answers"], found["key"], "no table of the lake" in found["message"]) == ([], ["PM10"], True)
    found = tools.suggest("sensors.csv", columns=["PM10"])
    assert (found["suggestions"], found["tried"]["columns"]) == ([], ["PM10"])
    assert found["message"].startswith("nothing found; tried this column: PM10; 4 tables")
    assert "the lake has 4" in tools.tables("zebra" * 10_000)["message"]
    names = [f"column {n} {'x' * 300}" for n in range(500)]
    (folder / "wide.csv").write_text(",".join(names) + "\n" + ",".join("q" * 500) + "\n", encoding="utf-8")
    for answer in (tools.suggest("wide.csv"), tools.search("wide.csv", names[:100]), tools.tables("x" * 100_000)):
        assert "message" in answer
        assert len(json.dumps(answer)) < 5_000
    assert tools.suggest("wide.csv")["tried"]["columns"][-1] == "… and 480 more"


@pytest.mark.parametrize("path", ["../secret.csv", "/etc/passwd", "lake/../../secret.csv", "link.csv"])
def test_files_outside_the_folder_are_refused(tools: Tools, folder: Path, path: str) -> None:
    (folder.parent / "secret.csv").write_text("city,day\nBonn,2019-01-01\n", encoding="utf-8")
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    with pytest.raises(mate.MateError, match="is outside"):
        tools.search(path, KEY)
    with pytest.raises(mate.MateError, match="is outside"):
        tools.join("sensors.csv", KEY, 0, path)


def test_answers_stay_small(folder: Path, tmp_path: Path) -> None:
    wide = ",".join(["city", *(f"column {n} {'x' * 200}" for n in range(300))])
    (folder / "lake" / "wide.csv").write_text(f"{wide}\n" + "Bonn" + ",y" * 299 + f",{'z' * 100_000}\n")
    with mate.index(folder / "lake", tmp_path / "wide.mate") as lake:
        tools = Tools(lake, folder)
        answers = [tools.tables("wide"), tools.search("sensors.csv", ["city"], k=1_000)]
        answers.append(tools.preview("sensors.csv", ["city"], lake.find("wide").table_id))
        assert all(len(json.dumps(answer)) < 20_000 for answer in answers)


def test_long_names_are_cut(folder: Path, tmp_path: Path) -> None:
    mine, theirs = "m" * 1_000, "t" * 1_000
    (folder / "mine.csv").write_text(f"{mine},b\nBonn,x\nUlm,y\n", encoding="utf-8")
    (folder / "lake" / f"{'n' * 200}.csv").write_text(f"{theirs},c\nBonn,1\nUlm,2\n", encoding="utf-8")
    with mate.index(folder / "lake", tmp_path / "long.mate") as lake:
        [answer] = [a for a in Tools(lake, folder).search("mine.csv", [mine])["answers"] if a["table"][0] == "n"]
    assert answer["table"] == "n" * 80 + "…"
    assert answer["mapping"] == {"m" * 200 + "…": "t" * 80 + "…"}


def test_suggestions_say_which_part_is_enough(tools: Tools, lake: mate.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    suggestions = lake.suggest("sensors.csv", 2)
    suggestions._answers[1] = replace(suggestions[1], unique_part=("city",))
    monkeypatch.setattr(lake, "suggest_in_steps", lambda *_, **__: iter([suggestions]))
    found = tools.suggest("sensors.csv", 2)["suggestions"]
    assert [one["unique_part"] for one in found] == [None, ["city"]]


@pytest.mark.parametrize("query", ["9" * 5_000, "a\0b", "x" * 5_000, "\ud800.csv"])
def test_what_is_no_query_is_refused(tools: Tools, query: str) -> None:
    with pytest.raises(mate.MateError) as caught:
        tools.search(query, KEY)
    assert len(str(caught.value)) < 500


def test_all_matches_have_a_limit(lake: mate.Lake, folder: Path) -> None:
    number = lake.find("traffic").table_id
    with pytest.raises(mate.MateError, match="all matches are 7 rows, more than 6"):
        Tools(lake, folder, ServerLimits(joined_rows=6)).join("sensors.csv", KEY, number, "all.csv", "all")
    assert not (folder / "all.csv").exists()
    tools = Tools(lake, folder, ServerLimits(joined_rows=7))
    assert tools.join("sensors.csv", KEY, number, "all.csv", "all")["rows"] == 7


def test_errors_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--store", "lake.mate", "--folder", "nowhere"]) == 2
    assert capsys.readouterr().err == "mate: nowhere: no such folder\n"
