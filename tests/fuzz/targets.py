"""What is fed with spoiled inputs: each target is a function of a seed that says what must hold whatever they are."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.asking import ASKING
from tests.fuzz.commands import COMMANDS
from tests.fuzz.lakes import lakes
from tests.fuzz.readers import READING

TARGETS: dict[str, Callable[[int], bytes]] = {
    target.__name__: target for target in (*READING, lakes, *ASKING, *COMMANDS)
}
