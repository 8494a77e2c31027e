"""The rules: what cases, factors and correlations come to, each verdict reached."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.reporting.verdicts import (
    Case,
    Finding,
    Untestable,
    Verdict,
    by_cases,
    by_parts,
    correlated,
    difference,
    factor,
    judge,
    overall,
    reached,
    together,
    up_to,
)

HOLDS, IN_PART, FAILS, UNDECIDED, UNTESTED = Verdict


def cases(*ratios: float) -> list[Case]:
    return [factor(f"set {number}", ratio) for number, ratio in enumerate(ratios)]


@pytest.mark.parametrize(("ratio", "lean"), [(2.0, 1), (1.11, 1), (1.05, 0), (0.95, 0), (0.9, -1), (0.5, -1)])
def test_a_ratio_within_the_margin_leans_nowhere(ratio: float, lean: int) -> None:
    assert factor("", ratio).lean == lean


@pytest.mark.parametrize(("value", "lean"), [(0.2, 1), (0.005, 0), (-0.005, 0), (-0.2, -1)])
def test_a_small_difference_of_precision_leans_nowhere(value: float, lean: int) -> None:
    assert difference("", value).lean == lean


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((2, 3, 4), HOLDS),
        ((2, 3, 1.0), HOLDS),
        ((2, 1.0, 1.0), IN_PART),
        ((2, 3, 0.5), IN_PART),
        ((2, 0.5), IN_PART),
        ((2, 0.5, 0.5), FAILS),
        ((1.0, 1.0), FAILS),
        ((0.5,), FAILS),
    ],
)
def test_all_cases_must_speak_for_a_claim_that_holds(ratios: tuple[float, ...], verdict: Verdict) -> None:
    assert judge(cases(*ratios)) is verdict


def test_some_cases_may_speak_against_a_claim_on_most() -> None:
    assert judge(cases(2, 2, 0.5)) is IN_PART
    assert judge(cases(2, 2, 0.5), against=0.5) is HOLDS
    assert judge(cases(2, 0.5, 0.5), against=0.5) is FAILS


def test_no_case_is_no_verdict() -> None:
    with pytest.raises(Untestable):
        judge([])


@pytest.mark.parametrize(
    ("best", "published", "verdict"),
    [(61, 61, HOLDS), (31, 61, HOLDS), (30, 61, IN_PART), (1.2, 61, IN_PART), (1.0, 61, FAILS), (1.05, 1.5, FAILS)],
)
def test_up_to_asks_for_half_the_published_factor(best: float, published: float, verdict: Verdict) -> None:
    found = up_to(cases(0.5, best), published, queries=6)
    assert found.verdict is verdict
    assert f"{found.cases[1].text} (set 1)" in found.measured


def test_cases_weigh_by_their_queries() -> None:
    few, many = factor("few", 0.5, weight=1), factor("many", 2.0, weight=30)
    assert judge([few, many], against=0.1) is HOLDS
    assert judge([replace(few, weight=30), replace(many, weight=1)], against=0.1) is FAILS


SURE, OPEN = np.full(1000, 2.0), np.linspace(0.5, 3.5, 1000)


def test_a_verdict_that_the_draws_do_not_share_is_undecided() -> None:
    sure, open_ = factor("a", 2.0, samples=SURE), factor("a", 2.0, samples=OPEN)
    assert judge([sure]) is HOLDS
    assert judge([open_]) is UNDECIDED
    assert judge([sure, sure, open_], against=0.5) is HOLDS
    assert up_to([open_], 4, 6).verdict is UNDECIDED
    assert up_to([open_, factor("b", 9.0, samples=SURE + 7)], 4, 6).verdict is HOLDS
    assert reached(2.0, 3.0, 1.1, OPEN) is UNDECIDED
    assert reached(2.0, 0.5, 0.1, OPEN) is HOLDS
    assert by_parts([sure, open_]) is UNDECIDED
    assert by_parts([sure, sure]) is HOLDS
    assert "[0.58× to 3.4×]" in open_.text
    assert sure.text == "2.0×"


def test_undecided_lakes_and_readings() -> None:
    assert overall([HOLDS, UNDECIDED]) is UNDECIDED
    assert overall([HOLDS, FAILS, UNDECIDED]) is IN_PART
    assert overall([UNDECIDED, UNTESTED]) is UNDECIDED


@pytest.mark.parametrize(("rho", "verdict"), [(0.9, HOLDS), (0.3, IN_PART), (0.1, FAILS), (-0.9, FAILS)])
def test_correlations(rho: float, verdict: Verdict) -> None:
    assert correlated(rho, "a and b", 6).verdict is verdict


def test_what_does_not_vary_has_no_correlation() -> None:
    with pytest.raises(Untestable, match="nothing varies"):
        correlated(float("nan"), "a and b", 6)


@pytest.mark.parametrize(("value", "verdict"), [(0.1, HOLDS), (0.05, IN_PART), (0.005, FAILS), (-1, FAILS)])
def test_numbers_are_reached_from_half_on(value: float, verdict: Verdict) -> None:
    assert reached(value, 0.2, 0.01) is verdict


def test_few_queries_are_said() -> None:
    assert by_cases(cases(2), queries=4).stands_on == "only 4 queries in a set"
    assert by_cases(cases(2), queries=1).stands_on == "only 1 query in a set"
    assert by_cases(cases(2), queries=5).stands_on == ""
    assert by_cases(cases(2), queries=0).stands_on == ""


def test_readings_that_differ_hold_in_part() -> None:
    yes, no = Finding(HOLDS, "3×", 6), Finding(FAILS, "1×", 4)
    joined = together([("one", yes), ("other", no)])
    assert joined.verdict is IN_PART
    assert joined.queries == 4
    assert "one: 3×" in joined.measured
    assert "other: 1×" in joined.measured
    assert together([("one", no), ("other", no)]).verdict is FAILS
    assert together([("one", yes)]) is yes


def test_lakes_that_differ_hold_in_part_and_untested_ones_do_not_count() -> None:
    assert overall([HOLDS, UNTESTED]) is HOLDS
    assert overall([HOLDS, FAILS]) is IN_PART
    assert overall([FAILS, FAILS]) is FAILS
    assert overall([UNTESTED]) is UNTESTED
