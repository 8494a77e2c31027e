"""Exact methods must agree, whatever else differs."""

from typing import Any

import pytest

from experiments.agreement import check
from experiments.errors import DisagreementError
from experiments.worker import Outcome


def record(method: str, scores: list[int] | None, **changes: Any) -> dict[str, Any]:
    checksum = Outcome(scores=scores).checksum
    given = {"lake": "l", "query_set": "s", "query": "q", "k": 10, "own_table": True, "method": method}
    given |= {"exact": True, "finished": True}
    return {**given, "checksum": checksum, "answer_scores": scores, **changes}


def test_equal_scores_agree() -> None:
    check([record("a", [3, 2]), record("b", [3, 2]), record("c", [3, 2])])


@pytest.mark.parametrize("other", [[3, 1], [3], [], [3, 2, 1]])
def test_other_scores_are_told_with_query_and_methods(other: list[int]) -> None:
    with pytest.raises(DisagreementError, match=r"s, query q, k = 10: a found .*\[3, 2\], b found"):
        check([record("a", [3, 2]), record("b", other)])


@pytest.mark.parametrize(
    "changes",
    [
        {"exact": False},
        {"finished": False},
        {"k": 5},
        {"query": "r"},
        {"query_set": "t"},
        {"lake": "m"},
        {"checksum": None},
    ],
)
def test_only_what_can_be_compared_is(changes: dict[str, Any]) -> None:
    check([record("a", [3, 2]), record("b", [9], **changes)])
