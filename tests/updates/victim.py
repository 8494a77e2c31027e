"""A process that forks off others that change an index, for tests that kill them: ``python -m tests.updates.victim``.

It reads one order per line, forks, and answers with the child's number; when the child has ended it says so. Everything
that takes long to import is imported before, and nothing that starts a thread is done.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from pathlib import Path

import mate.build.changes.change
import mate.build.lake_target  # noqa: F401
from mate.build.changes.updates import Updates
from tests.updates.model import Model, ModelTable, operate

STEPS = ("add", "append", "update", "compact", "remove rows", "add column", "remove column", "remove", "compact")


def step_name(number: int) -> str:
    """The operation that stands at a place of the sequence."""
    return STEPS[number % len(STEPS)]


def step(model: Model, updates: Updates, number: int) -> None:
    """Do the operation at a place of the sequence; the same place always does the same to the same lake."""
    operate(model, updates, step_name(number), number)


def load(path: Path) -> Model:
    """Return the model after the steps that were done."""
    state = json.loads(path.read_text())
    tables = {int(number): ModelTable(**table) for number, table in state["tables"].items()}
    return Model(tables, state["made"])


def save(model: Model, path: Path) -> None:
    """Write a model down."""
    tables = {number: vars(table) for number, table in model.tables.items()}
    path.write_text(json.dumps({"tables": tables, "made": model.made}))


ENDINGS = {"manifest": "manifest.json", "arrays": "arrays"}


def hold_at(moment: str, held: Path) -> None:
    """Stop for good before or after the n-th rename or removal of a manifest, a segment, or a file of one."""
    when, name, what, count = moment.split()
    left = [int(count)]
    module = shutil if name == "rmtree" else os
    real = getattr(module, name)

    def stand_in(*arguments: object, **more: object) -> object:
        paths = [str(argument) for argument in arguments]
        mine = any("/segments/" in path if what == "segment" else path.endswith(ENDINGS[what]) for path in paths)
        left[0] -= mine
        for now in ("before", "after"):
            if now == "after":
                result = real(*arguments, **more)
            if mine and not left[0] and when == now:
                held.touch()
                time.sleep(600)
        return result

    setattr(module, name, stand_in)


def work(order: dict[str, str | int]) -> None:
    """Do steps from a place on, noting each before and after."""
    folder = Path(str(order["folder"]))
    model = load(folder / "model.json")
    updates = Updates(str(folder / "store" / "lake.mate"), wait=30)
    for number in range(int(order["first"]), int(order["stop"])):
        if order.get("moment") and number == order["hold"]:
            hold_at(str(order["moment"]), folder / "held")
        (folder / f"started-{number}").touch()
        step(model, updates, number)
        (folder / f"done-{number}").touch()


def tell(number: int) -> None:
    """Answer."""
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main() -> None:
    """Fork for every order."""
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            code = 1
            try:
                random.seed(0)
                work(order)
                code = 0
            finally:
                os._exit(code)
        tell(child)
        _, status = os.waitpid(child, 0)
        tell(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
