"""A fast wrong answer must not win: all exact methods give a query the same scores, or the run fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.errors import DisagreementError


def check(records: Iterable[Mapping[str, Any]]) -> None:
    """Raise DisagreementError if two exact methods answered a query of a set differently; unfinished ones are left out.

    Scores are compared, not tables: at the last place several tables may have the same joinability.
    """
    first: dict[tuple[str, str, str, int, bool], Mapping[str, Any]] = {}
    for record in records:
        if not record["exact"] or not record["finished"] or record["checksum"] is None:
            continue
        place = record["lake"], record["query_set"], record["query"], record["k"], record["own_table"]
        other = first.setdefault(place, record)
        if other["checksum"] != record["checksum"]:
            raise DisagreementError(
                f"{record['query_set']}, query {record['query']}, k = {record['k']}: "
                f"{other['method']} found {_shown(other)}, {record['method']} found {_shown(record)}; "
                "answers that should be equal differ, so nothing was recorded for this query"
            )


def _shown(record: Mapping[str, Any]) -> str:
    return f"joinabilities {[int(score) for score in record['answer_scores']]}"
