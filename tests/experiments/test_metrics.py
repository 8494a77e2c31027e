"""Metrics from raw records, on records whose figures are known."""

from typing import Any

import pandas as pd
import pytest

from experiments.metrics import by_query, precisions, query_sets, recalls


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    plain = {
        "lake": "l",
        "query_set": "s",
        "engine": "arrays",
        "counted": True,
        "finished": True,
        "exact": True,
        "precision": 1.0,
    }
    plain |= {"cardinality": 4, "best": 4, "best_other": 2}
    return pd.DataFrame([{**plain, "answer_scores": [5, 3, 3], **row} for row in rows])


RUNS = frame(
    {"method": "a", "query": "1", "seconds": 9.0, "counted": False},
    {"method": "a", "query": "1", "seconds": 1.0},
    {"method": "a", "query": "1", "seconds": 3.0},
    {"method": "a", "query": "2", "seconds": 4.0, "precision": 0.5},
    {"method": "b", "query": "1", "seconds": 8.0, "precision": None},
    {"method": "b", "query": "2", "seconds": None, "finished": False, "precision": None},
)


def test_a_query_has_the_median_of_its_counted_runs() -> None:
    found = by_query(RUNS).set_index(["method", "query"])
    assert found.loc[("a", "1"), "seconds"] == 2.0
    assert found.loc[("a", "1"), "spread"] == 1.0
    assert pd.isna(found.loc[("a", "2"), "spread"])
    assert len(found) == 4


def test_phases_add_up_to_the_median() -> None:
    """Of three runs the middle one counts, but each phase may be longest in another."""
    runs = [(2.0, 1.5, 0.5), (3.0, 0.5, 2.5), (7.0, 2.0, 5.0)]
    found = by_query(
        frame(
            *(
                {"method": "a", "query": "1", "seconds": total, "phase_one": one, "phase_two": two}
                for total, one, two in runs
            )
        )
    )
    assert found["seconds"].tolist() == [3.0]
    assert found["phase_one"].tolist() == [pytest.approx(1.0)]
    assert found["phase_two"].tolist() == [pytest.approx(2.0)]


def test_precision_is_averaged_over_queries_that_all_methods_have_one_for() -> None:
    more = [{"method": "b", "query": "2", "seconds": 1.0, "precision": 0.3}]
    more += [{"method": m, "query": q, "seconds": 1.0, "precision": 0.1} for m, q in (("a", "3"), ("b", "3"))]
    runs = pd.concat([RUNS[RUNS["finished"]], frame(*more)], ignore_index=True)
    found = precisions(runs).set_index("method")
    assert found.loc["a", ["queries", "without", "mean"]].tolist() == [2, 1, pytest.approx(0.3)]
    assert found.loc["b", ["queries", "without", "mean"]].tolist() == [2, 1, pytest.approx(0.2)]
    without = precisions(pd.concat([runs, runs[:1].assign(method="c", precision=float("nan"))]))
    assert without.equals(precisions(runs)), "a method without any precision takes nothing from the others"


@pytest.mark.parametrize(("scores", "recall"), [([5, 3, 3], 1.0), ([5, 3], 2 / 3), ([5, 2, 2], 1 / 3), ([], 0.0)])
def test_recall_counts_tables_as_good_as_the_last(scores: list[int], recall: float) -> None:
    runs = frame(
        {"method": "a", "query": "1", "seconds": 1.0},
        {"method": "mcr-josie", "query": "1", "seconds": 1.0, "exact": False, "answer_scores": scores},
        {"method": "a", "query": "2", "seconds": 1.0, "answer_scores": []},
        {"method": "mcr-josie", "query": "2", "seconds": 1.0, "exact": False, "answer_scores": []},
    )
    (found,) = recalls(runs)["recall"]
    assert found == pytest.approx(recall)


def test_query_sets_have_means() -> None:
    runs = frame(
        {"method": "a", "query": "1", "seconds": 1.0}, {"method": "a", "query": "2", "seconds": 1.0, "best": 2}
    )
    (row,) = query_sets(runs).to_dict("records")
    assert row == {"lake": "l", "query_set": "s", "queries": 2, "cardinality": 4, "joinability": 3, "elsewhere": 2}
