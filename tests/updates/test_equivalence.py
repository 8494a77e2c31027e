"""After any sequence of changes an index answers as one that is built from the changed tables.

`MATE_EXAMPLES=500 pytest tests/updates/test_equivalence.py` tries more sequences.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mate.build.changes.check import check
from mate.build.changes.updates import Updates
from mate.lake.folder import open_folder
from tests.updates.model import OPERATIONS, build, compare, first_lake, operate

EXAMPLES = int(os.environ.get("MATE_EXAMPLES", "5"))


@pytest.mark.parametrize("segments", [1, 3])
@settings(max_examples=EXAMPLES, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # shrinking takes long
@given(
    seed=st.integers(0, 2**32),
    steps=st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 2**32)), min_size=1, max_size=8),
)
def test_any_sequence_of_changes(segments: int, seed: int, steps: list[tuple[str, int]]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        store = folder / "lake.mate"
        model = first_lake(random.Random(seed))
        build(store, list(model.tables.values()), segments=segments)
        updates = Updates(str(store))
        for name, dice in steps:
            operate(model, updates, name, dice)
        with open_folder(store) as index:
            compare(index, model, folder, random.Random(seed))
        assert check(str(store)).sound
    finally:
        shutil.rmtree(folder)
