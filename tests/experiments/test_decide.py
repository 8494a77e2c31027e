"""What is undecided is measured again with as many queries as would decide it."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments import decide
from experiments.reporting.claims import CLAIMS
from experiments.reporting.claims.claim import Judgement, judged
from experiments.reporting.verdicts import Verdict
from tests.experiments.made_up import results
from tests.experiments.test_report_claims import noisy

COMMAND = "python -m experiments run --all --scale full --queries 50,50,16 --redo --lake mine=tables --results old"


def undecided() -> Judgement:
    claim = next(claim for claim in CLAIMS if claim.name == "faster than SCR")
    (found,) = judged(claim, results({"figure4": noisy(7.5, 0.3)}))
    assert found.verdict is Verdict.UNDECIDED
    return replace(found, command=COMMAND)


def test_the_command_that_measured_it_is_repeated_with_more_queries() -> None:
    found = undecided()
    ((queries, command),) = decide.orders([found], Path("here"))
    assert queries == 50 * found.finding.times
    expected = f"run figure4 --scale full --lake mine=tables --queries {queries} --results here"
    assert command == f"python -m experiments {expected}"


@pytest.mark.parametrize("change", [{"lake": "school"}, {"command": ""}])
def test_where_there_are_no_more_queries_nothing_is_ordered(change: dict[str, str]) -> None:
    assert decide.orders([replace(undecided(), **change)], Path("here")) == []
