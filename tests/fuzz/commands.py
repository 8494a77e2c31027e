"""Any command line, in this process and as a program of its own."""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import lru_cache
from pathlib import Path

from mate.build.changes.check import check
from mate.cli.program import main, parser
from tests.fuzz.lakes import sound_lake
from tests.fuzz.mutations import SEEDS, packed, spoiled
from tests.fuzz.readers import SUFFIXES, folder

COMMAND = "import sys; from mate.cli.program import command; sys.exit(command())"
WAITING = ("serve", "mcp", "vertica-check")
"""Commands that wait for somebody else."""
ELSEWHERE = ("--master", "--spark", "--help", "--store")
"""Options that would start Spark, or are given anyway."""
VALUES = (
    "x", "x,y", "y,x,z", "x,,y", "0", "1", "2", "-1", "²", "9" * 30, "1e9", "1.5", "10", "xash:64", "xash", "bf:128",
    "csv", "dwtc", "parquet", "cp1251", "nope", "1-3", "1-999999999999", "3-1", "1GB", "0GB", "", " ", "\x1b[31m", "\0",
    "1,1=x", "1,x=y", "?", "joinability", "mate", "scr", "all", "first", "aggregate", "t1", "\udcff", "self", "x" * 999,
)  # fmt: skip
PATHS = (
    "w/files/t1.csv",
    "w/files/t2.csv",
    "w/files",
    "w",
    "nothing.csv",
    "spoiled.csv",
    "w/lake.mate",
    "out.csv",
    "out.parquet",
    "out.xlsx",
    "-",
)
STORES = (
    *["w/lake.mate"] * 8,
    "new.mate",
    "w/files",
    "duckdb:w/d.duckdb",
    "Vertica://u:secret@h/d",
    "ftp://u:secret@h/d",
    "s3:",
    "",
)


@lru_cache(maxsize=1)
def _known() -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the commands that end by themselves."""
    [commands] = [action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: found for name, found in commands.choices.items() if name not in WAITING}


def _command_line(dice: random.Random) -> list[str]:
    """Return a command with some of its arguments and options, and values that fit or do not."""
    command = dice.choice(list(_known()))
    actions = _known()[command]._actions
    options = [action for action in actions if action.option_strings and not set(ELSEWHERE) & {*action.option_strings}]
    line = [command]
    line += [_value(action, dice) for action in actions if not action.option_strings and dice.random() < 0.9]
    for action in dice.sample(options, min(len(options), dice.choice([0, 1, 2, 3]))):
        line.append(dice.choice(list(action.option_strings)))
        if action.nargs != 0:
            line.append(_value(action, dice))
    if any("--key" in action.option_strings for action in options) and "--key" not in line:
        line += ["--key", dice.choice(["x", "x,y", "z,y"])]
    if any("--store" in action.option_strings for action in actions):
        line += ["--store", dice.choice(STORES)]
    if any("--master" in action.option_strings for action in actions):
        line += ["--master", "none"]
    return line


def _value(action: argparse.Action, dice: random.Random) -> str:
    if action.choices and dice.random() < 0.7:
        return str(dice.choice(list(action.choices)))
    return dice.choice(PATHS if dice.random() < (0.3 if action.option_strings else 0.9) else VALUES)


def options(seed: int) -> bytes:
    """Any command line ends with a known code, says in one line what is wrong, and leaves files and lake sound."""
    dice = random.Random(seed)
    with folder() as home, chdir(home):
        shutil.copytree(sound_lake(), "w")
        Path("spoiled.csv").write_bytes(packed(spoiled(SEEDS["delimited"](dice), dice), dice))
        line = _command_line(dice)
        said = io.StringIO()
        with redirect_stdout(io.StringIO()), redirect_stderr(said):
            try:
                code = main(line)
            except SystemExit as ended:
                code = ended.code  # type: ignore[assignment]
        _assert_clear(line, code, said.getvalue())
        for path in (sound_lake() / "files").iterdir():
            assert Path("w/files", path.name).read_bytes() == path.read_bytes(), f"{line} wrote into {path.name}"
        if dice.random() < 0.2:
            assert check("w/lake.mate").sound, line
    return repr(line).encode()


def _assert_clear(line: list[str], code: object, said: str) -> None:
    assert code in (0, 1, 2), (line, code, said)
    for wrong in ("should not have happened", "Traceback", "secret", "enough memory", "\x1b"):
        assert wrong not in said, (line, said)
    if "usage:" not in said:
        assert sum(text.startswith("mate: ") for text in said.splitlines()) <= 20, (line, said)


def programs(seed: int) -> bytes:
    """The same of a program: a folder of spoiled files is indexed, searched, joined and shown."""
    dice = random.Random(seed)
    with folder() as home:
        shutil.copytree(sound_lake(), home / "w")
        for number in range(4):
            kind = dice.choice(list(SEEDS))
            data = packed(spoiled(SEEDS[kind](dice), dice), dice)
            (home / "w" / "files" / f"s{number}{SUFFIXES[kind]}").write_bytes(data)
        usual = (
            ["index", "w/files", "--store", "new.mate", "--master", "none"],
            ["sync", "w/files", "--store", "w/lake.mate"],
            ["search", "w/files/s1.csv", "--key", "x", "--store", "w/lake.mate"],
            ["suggest", "w/files/t1.csv", "--store", "w/lake.mate"],
            ["stats", "--rejects", "--tables", "--store", "w/lake.mate"],
            ["join", "w/files/t1.csv", "--key", "x,y", "--table", "2", "--store", "w/lake.mate", "-o", "out.csv"],
        )
        line = dice.choice(usual) if dice.random() < 0.6 else _command_line(dice)
        line = [text.replace("\0", "0") for text in line]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, *line],
            cwd=home, capture_output=True, text=True, errors="replace", check=False, env=environment,
        )  # fmt: skip
        _assert_clear(line, done.returncode, done.stderr)
        assert "\x1b" not in done.stdout
    return repr(line).encode()


COMMANDS = (options, programs)
