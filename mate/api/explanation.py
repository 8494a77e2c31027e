"""How an answer came about: the steps from the query to the answers, and the time of each phase."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mate.display import visible

if TYPE_CHECKING:
    from mate.search.statistics import Statistics
    from mate.search.suggest import Effort


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a search."""

    name: str
    count: float | None
    """How many are left or done; a fraction for precision."""
    depth: int = 0
    """1 for a part of the step before it."""

    @property
    def text(self) -> str:
        """The count for people."""
        if self.count is None:
            return ""
        return f"{self.count:.1%}" if isinstance(self.count, float) else f"{self.count:,}"


@dataclass(frozen=True)
class Explanation:
    """The steps and phases of one search.

    >>> why = lake.search("sensors.csv", ["city", "day"]).explain()
    >>> why.system, why.steps[0].name, why.steps[0].count
    ('column-first', 'distinct key tuples of the query', 6)
    """

    system: str
    steps: tuple[Step, ...]
    seconds: dict[str, float] = field(compare=False)
    """Seconds per phase, summed over threads."""

    @property
    def total_seconds(self) -> float:
        """Seconds of all phases."""
        return sum(self.seconds.values())

    def phases(self) -> list[tuple[str, float]]:
        """Return the milliseconds of each phase, and their total."""
        spent = [(name, seconds * 1e3) for name, seconds in self.seconds.items()]
        return [*spent, ("total", self.total_seconds * 1e3)]

    def __str__(self) -> str:
        lines = [(f"{'  ' * step.depth}{step.name}", step.text) for step in self.steps]
        lines += [(f"{name} (ms)", f"{spent:.1f}") for name, spent in self.phases()]
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{visible(name):{width}}  {text:>12}" for name, text in lines)


def search_explanation(statistics: Statistics, answers: int) -> Explanation:
    """Return what a search did."""
    steps = [
        Step("distinct key tuples of the query", statistics.key_tuples),
        Step("whose values all occur in the index", statistics.known_tuples, 1),
        Step("segments", statistics.segments),
        Step("that know too few of the key tuples", statistics.segments_cut, 1),
    ]
    if statistics.system == "column-first":
        steps += [
            Step("tables with a value of every key column", statistics.tables),
            Step("that their bound left out", statistics.tables_cut_rule_1, 1),
            Step("looked at", statistics.tables_checked, 1),
            Step("of these, counted row by row", statistics.tables_by_row, 1),
            Step("mappings bounded by joint key tuples", statistics.mappings_bounded),
            Step("mappings checked exactly", statistics.mappings_checked),
            Step("rows read", statistics.rows_read),
        ]
    else:
        steps += [
            Step(f"postings of the initial column, {statistics.initial_column}", statistics.postings),
            Step("pairs of posting and key tuple", statistics.pairs),
            Step(f"that pass the row filter ({statistics.hash})", statistics.candidates, 1),
            Step("tables", statistics.tables),
            Step("cut by rule 1", statistics.tables_cut_rule_1, 1),
            Step("cut by rule 2", statistics.tables_cut_rule_2, 1),
            Step("checked exactly", statistics.tables_checked, 1),
            Step("rows read", statistics.rows_read),
            Step("candidates checked", statistics.checked),
            Step("that hold", statistics.true_positives, 1),
            Step("precision of the filter", statistics.precision, 1),
        ]
    steps += [
        Step("rounds, until no other table could rank as high", statistics.rounds),
        Step("tables whose evidence was measured to rank them", statistics.tables_measured),
        Step("answers", answers),
    ]
    return Explanation(statistics.system, tuple(steps), dict(statistics.seconds))


def suggestion_explanation(effort: Effort, suggestions: int) -> Explanation:
    """Return what a suggestion of keys did."""
    steps = (
        Step("columns of the table with values", len(effort.columns)),
        Step("tables with enough values of a column", effort.tables),
        Step("searched for keys of several columns", effort.tables_tried, 1),
        Step("left out, as the work would be too much", effort.tables - effort.tables_tried, 1),
        Step("keys of several columns checked on a sample", effort.checks),
        Step("keys of which a table holds enough, of one column and of several", effort.candidates),
        Step("the best of them, answered with all rows", effort.answered, 1),
        Step("no better than chance", effort.chance, 1),
        Step("suggestions", suggestions),
    )
    return Explanation("suggest", steps, dict(effort.seconds))
