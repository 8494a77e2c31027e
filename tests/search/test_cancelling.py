"""Searches and suggestions tell how far they are, and end at their next step when they are cancelled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import mate
from mate.errors import CancelledError
from mate.work import Work, doing
from tests.api.conftest import folder, lake, shared_folder

__all__ = ["folder", "lake", "shared_folder"]

WAYS: dict[str, Callable[[mate.Lake], object]] = {
    "search": lambda lake: lake.search("sensors.csv", ["city", "day"]),
    "ranking": lambda lake: [answer.evidence for answer in lake.search("sensors.csv", "city", rank="joinability")],
    "suggest": lambda lake: lake.suggest("sensors.csv"),
}


@pytest.mark.parametrize("way", WAYS)
def test_work_that_is_not_wanted_ends(lake: mate.Lake, folder: Path, way: str) -> None:
    with doing(Work()) as work:
        WAYS[way](lake)
    assert 0 < work.done <= work.total
    unwanted = Work()
    unwanted.cancel()
    with doing(unwanted), pytest.raises(CancelledError, match="cancelled"):
        WAYS[way](lake)


class Impatient(Work):
    """Work that is cancelled after its first step."""

    def advance(self, steps: int = 1) -> None:
        super().advance(steps)
        self.cancel()


def test_a_lake_of_several_segments_is_left_in_between(lake: mate.Lake, folder: Path) -> None:
    for number in range(6):
        (folder / f"more{number}.csv").write_text("town,day\nBonn,2019-01-01\nUlm,2019-01-02\n", encoding="utf-8")
        lake.add(folder / f"more{number}.csv")
    with doing(Impatient()) as work, pytest.raises(CancelledError):
        lake.search("sensors.csv", ["city", "day"])
    assert 0 < work.done < work.total == 7


def test_an_iterator_of_suggestions_that_is_closed_does_no_more(lake: mate.Lake, folder: Path) -> None:
    with doing(Work()) as work:
        steps = lake.suggest_in_steps("sensors.csv")
        assert not next(steps).complete
        done = work.done
        steps.close()
        assert list(steps) == []
        assert work.done == done
        *_, last = lake.suggest_in_steps("sensors.csv")
    assert (last.complete, last.to_dicts()) == (True, lake.suggest("sensors.csv").to_dicts())
