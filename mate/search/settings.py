"""What a search may be told; only the first four settings change its answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mate.errors import QueryError, did_you_mean
from mate.search.evidence.ranking import JOINABILITY, RANKINGS


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """How searches by posting lists filter tables and rows: Algorithm 1, its relatives, and searches in databases."""

    hash_name: str | None = None
    """Which of the index's hash functions is the row filter; the first one unless named."""
    bits: int | None = None
    row_filter: bool = True
    """Off: no super key is used, as in SCR."""
    initial_column: str | None = None
    """How the initial column is chosen: see `mate.search.query.STRATEGIES`, or the name of a key column. By cardinality
    unless given, as in the paper; column-first search, which has one in databases only, takes the fewest pairs."""
    table_filters: bool = True
    """Rules 1 and 2 of section 6.2; column-first search, too, visits every table without them."""
    semi_join: bool = False
    """Drop key tuples with a value that the index does not have before Algorithm 1 begins. The paper does not;
    column-first search always does."""
    tight_bound: bool = False
    """Bound a table by the distinct key tuples among its candidates, column by column, not by its postings as the paper
    does."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How a search is done."""

    k: int = 10
    exclude: frozenset[int] = frozenset()
    """Tables that are not wanted, such as the query's own."""
    rank: str = JOINABILITY
    """What the best tables are: ``joinability``, the paper's, or ``usefulness`` (`mate.search.evidence.ranking`)."""
    names: bool = True
    """Whether the names of columns and tables order tables that are equally useful."""
    filters: FilterSettings = field(default_factory=FilterSettings)
    threads: bool = True
    """Whether a large search may use several threads; off where many searches keep all cores busy anyway."""

    def check(self) -> None:
        """Raise QueryError if k or the ranking makes no sense, whatever the query."""
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise QueryError(f"k must be a whole number of at least 1, not {self.k!r}")
        if self.rank not in RANKINGS:
            raise QueryError(f'there is no ranking "{self.rank}"; {did_you_mean(self.rank, RANKINGS)}')

    def unfiltered(self) -> SearchSettings:
        """Return the same settings without a row filter."""
        return replace(self, filters=replace(self.filters, row_filter=False))
