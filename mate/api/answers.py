"""Answers: the tables that join with yours, each with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, overload

import numpy as np
import pyarrow as pa

from mate.api.explanation import Explanation, search_explanation, suggestion_explanation
from mate.api.outputs import Enriched
from mate.api.snapshot import Snapshot
from mate.api.tables import UserTable, as_frame
from mate.display import counted, fan_out_text, times_text, visible
from mate.lake.records import TableInfo
from mate.search.evidence import Evidence
from mate.search.joins import added_names, enrich, joined_rows
from mate.search.query import KeyTuples, key_tuples
from mate.search.results import Matches, Result, SearchResult

if TYPE_CHECKING:
    from mate.search.suggest import Effort, SuggestionResult

_TEXT, _NUMBER = pa.string(), pa.int64()
_MEASURES = ("containment", "uniqueness", "fan_out", "most_fan_out", "chance", "names", "usefulness", "is_chance")
EVIDENCE = dict.fromkeys(_MEASURES, pa.float64()) | {"most_fan_out": _NUMBER, "is_chance": pa.bool_()}
COLUMNS = {"table_id": _NUMBER, "table": _TEXT, "source": _TEXT, "joinability": _NUMBER, "mapping": _TEXT, **EVIDENCE}
"""Columns of answers as a table, with their types."""
MOST_NAMED = 20
"""Columns that a message names."""
BARS = ("of key", "unique", "names")
"""Columns whose percentages are shown as bars, too."""
STYLE = (
    "<style>"
    ".mate-answers{border-collapse:collapse;font-size:13px}"
    ".mate-answers th,.mate-answers td{padding:3px 10px;text-align:left;font-variant-numeric:tabular-nums}"
    ".mate-answers tr.mate-chance{opacity:.55}"
    ".mate-answers caption{caption-side:top;text-align:left;padding:3px 10px;font-weight:600}"
    ".mate-bar{display:inline-block;width:56px;height:8px;margin-right:6px;background:rgba(128,128,128,.22)}"
    ".mate-bar i{display:block;height:100%;background:#3b7dd8}"
    ".mate-mark{padding:0 5px;border:1px solid currentColor;border-radius:3px;font-size:11px}"
    "</style>"
)


@dataclass(frozen=True, repr=False)
class Answer:
    """One table that joins with the query.

    >>> best = lake.search("sensors.csv", ["city", "day"])[0]
    >>> print(best.table.name, best.joinability, best.mapping)
    weather 5 {'city': 'place', 'day': 'date'}
    """

    query: UserTable = field(repr=False)
    snapshot: Snapshot = field(repr=False)
    result: Result = field(repr=False)
    key: tuple[str, ...]
    """Key columns of the query."""
    find_key: Callable[[], KeyTuples] = field(repr=False, compare=False)

    @property
    def table(self) -> TableInfo:
        """The table: its number, name, source, columns and rows."""
        return self.result.table

    @property
    def table_id(self) -> int:
        """Number of the table in the lake."""
        return self.result.table_id

    @property
    def joinability(self) -> int:
        """Distinct key tuples of the query that the table holds, each in one row."""
        return self.result.joinability

    @property
    def mapping(self) -> dict[str, str]:
        """Key column of the query to column of the table."""
        return self.result.mapping

    @property
    def mapping_text(self) -> str:
        """The mapping for people: `city = place, day = date`."""
        return ", ".join(f"{key} = {column}" for key, column in self.mapping.items())

    @property
    def evidence(self) -> Evidence:
        """Evidence for the join: containment, uniqueness, fan-out, chance, names."""
        if "evidence" not in vars(self.result):  # it was not measured for the ranking
            self.snapshot.require_open()
        return self.result.evidence

    @property
    def matches(self) -> Matches:
        """Which key tuple of the query joins with which row of the table: two parallel arrays."""
        self.snapshot.require_open()
        return self.result.matches

    @property
    def added(self) -> list[str]:
        """Names of the columns that a join adds; a name that the query has too ends with the table's name."""
        return added_names(self.query.query.header, self.result)

    def pairs(self) -> list[tuple[int, int]]:
        """Return pairs of a query row and the first row of the table that joins with it, counted from 0.

        >>> lake.match("sensors.csv", ["city", "day"], "weather").pairs()
        [(0, 0), (1, 1), (2, 2), (4, 3), (5, 4)]
        """
        rows, partner = joined_rows(self.find_key().row_tuple, self.matches, all_matches=False)
        joined = partner >= 0
        return list(zip(rows[joined].tolist(), partner[joined].tolist(), strict=True))

    def rows_with_all(self) -> int:
        """Return the number of rows of a join with all matches.

        >>> lake.match("sensors.csv", ["city", "day"], "traffic").rows_with_all()
        7
        """
        row_tuple = self.find_key().row_tuple
        partners = np.bincount(self.matches.tuple_id, minlength=int(row_tuple.max(initial=0)) + 1)
        return int(np.maximum(partners[row_tuple[row_tuple >= 0]], 1).sum()) + int((row_tuple < 0).sum())

    def join(self, matches: str = "first") -> Any:
        """Return the query with the columns of this table, as the kind of table that the query is.

        Every row of the query is kept, in its order. `matches="first"` takes the first of several matching rows;
        `"all"` repeats the query's row for each; `"aggregate"` makes one row of them: the mean of numbers, the distinct
        values of anything else, and how many there are.

        >>> frame = lake.search("sensors.csv", ["city", "day"])[0].join()
        >>> list(frame.columns)
        ['city', 'day', 'PM10', 'temperature', 'wind']
        """
        return self.enrich(matches).to_table()

    def enrich(self, matches: str = "first") -> Enriched:
        """Join as `join` does; return the table with what is known of the join."""
        join = enrich(self.snapshot.index, self.query.query.header, self.find_key(), self.result, matches)
        rows, added = len(join.query_rows), join.columns.column_names
        return Enriched(rows, join.matched_rows, added, self.mapping, self.query, join, self.snapshot.source_names)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        return {
            "table_id": self.table_id,
            "table": self.table.name,
            "source": self.table.source,
            "joinability": self.joinability,
            "mapping": self.mapping,
            "evidence": {name: getattr(self.evidence, name) for name in EVIDENCE},
        }

    def texts(self) -> dict[str, str]:
        """Return the answer and its evidence for people, by the heads of their columns."""
        evidence = self.evidence
        return {
            "table": f"{self.table_id}",
            "joinability": f"{self.joinability:,}",
            "of key": f"{evidence.containment:.0%}",
            "unique": f"{evidence.uniqueness:.0%}",
            "rows per match": fan_out_text(evidence.fan_out, evidence.most_fan_out),
            "vs chance": "chance" if evidence.is_chance else times_text(self.joinability, evidence.chance),
            "names": "" if evidence.names is None else f"{evidence.names:.0%}",
            "name": self.table.name,
            "join on": self.mapping_text,
            "source": self.table.source,
        }

    def __repr__(self) -> str:
        joins = counted(self.joinability, "key tuple")
        shown = f"{self.table.name} (table {self.table_id}) joins {joins} on {self.mapping_text}"
        return visible(f"<{type(self).__name__}: {shown}>")


@dataclass(frozen=True, repr=False)
class SuggestedKey(Answer):
    """A key of your table, and a table that joins with it: an `Answer` with `unique_part` and `copies`."""

    unique_part: tuple[str, ...] | None = None
    """A part of the key that is unique in the table by itself."""
    copies: tuple[int, ...] = ()
    """Numbers of tables that are copies or near-copies of this one."""

    def to_dict(self) -> dict[str, Any]:
        """Return the suggestion as plain data."""
        part = None if self.unique_part is None else list(self.unique_part)
        return {"key": list(self.key), **super().to_dict(), "unique_part": part, "copies": list(self.copies)}

    def texts(self) -> dict[str, str]:
        """Return the suggestion and its evidence for people, by the heads of their columns."""
        return {**super().texts(), "unique part": ", ".join(self.unique_part or ())}


One = TypeVar("One", bound=Answer)


class _AnswerList(Sequence[One]):
    """Answers in their order."""

    _columns: ClassVar = COLUMNS

    def __init__(self, answers: Sequence[One], caption: str, nothing: str) -> None:
        self._answers = list(answers)
        self.caption = caption
        """The query, for people."""
        self.nothing = nothing
        """What to say if there is no answer."""

    @overload
    def __getitem__(self, place: int) -> One: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> One | Self:
        if not isinstance(place, slice):
            return self._answers[place]
        part = copy(self)
        part._answers = self._answers[place]
        return part

    def __len__(self) -> int:
        return len(self._answers)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the answers as plain data."""
        return [answer.to_dict() for answer in self]

    def to_arrow(self) -> Any:
        """Return the answers as an Arrow table."""
        return pa.Table.from_pylist([_record(answer) for answer in self], pa.schema(self._columns))

    def to_pandas(self) -> Any:
        """Return the answers as a DataFrame."""
        return as_frame(self.to_arrow(), "pandas")

    def _repr_html_(self) -> str:
        """Return the answers as an HTML table, evidence as small bars, all text from data escaped."""
        if not self:
            return f"<p>{_escaped(self.nothing)}</p>"
        texts = [answer.texts() for answer in self]
        header = [column for column in texts[0] if column != "source" and any(text[column] for text in texts)]
        rows = ""
        for answer, text in zip(self, texts, strict=True):
            cells = "".join(f"<td>{_html_cell(column, text[column])}</td>" for column in header)
            kind = "mate-chance" if answer.evidence.is_chance else ""
            rows += f'<tr class="{kind}" title="{_escaped(text["source"])}">{cells}</tr>'
        heads = "".join(f"<th>{column}</th>" for column in header)
        return (
            f'{STYLE}<table class="mate-answers"><caption>{_escaped(self.caption)}</caption>'
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        )

    def __repr__(self) -> str:
        names = ", ".join(f"{answer.table.name} ({answer.joinability})" for answer in self._answers[:5])
        more = f", and {len(self) - 5:,} more" if len(self) > 5 else ""
        return visible(f"<{type(self).__name__}: {names or self.nothing}{more}>")


def _record(answer: Answer) -> dict[str, Any]:
    """Return an answer as a row of a table, lists as text."""
    record = answer.to_dict()
    record |= {**record["evidence"], "mapping": answer.mapping_text}
    return {name: ", ".join(map(str, value)) if isinstance(value, list) else value for name, value in record.items()}


def _html_cell(column: str, text: str) -> str:
    if column in BARS and text:
        return f'<span class="mate-bar"><i style="width:{text}"></i></span>{text}'
    is_mark = column == "vs chance" and text == "chance"
    return '<span class="mate-mark">chance</span>' if is_mark else _escaped(text)


def _escaped(text: str) -> str:
    return escape(visible(text))


class Answers(_AnswerList[Answer]):
    """The answer to a search: joinable tables, best first.

    >>> found = lake.search("sensors.csv", ["city", "day"], k=2)
    >>> print(len(found), [answer.table.name for answer in found])
    2 ['weather', 'traffic']
    """

    def __init__(self, query: UserTable, snapshot: Snapshot, found: SearchResult) -> None:
        columns = found.key.columns
        answers = [Answer(query, snapshot, result, columns, lambda: found.key) for result in found.results]
        caption = f"{query.query.name} on {', '.join(columns)}"
        super().__init__(answers, caption, f"no table of the lake joins with {caption}")
        self._found = found

    @property
    def key(self) -> tuple[str, ...]:
        """Key columns of the query."""
        return self._found.key.columns

    @property
    def key_tuples(self) -> int:
        """Number of distinct key tuples of the query."""
        return len(self._found.key)

    @property
    def rows_left_out(self) -> int:
        """Rows of the query with an empty cell in the key, which join with nothing."""
        return self._found.key.dropped_rows

    @property
    def statistics(self) -> dict[str, Any]:
        """Every counter of the search, and the seconds of its phases."""
        return self._found.statistics.as_json()

    def explain(self) -> Explanation:
        """Return the steps from the query to the answers, and the time of each phase."""
        return search_explanation(self._found.statistics, len(self._found))


class Suggestions(_AnswerList[SuggestedKey]):
    """Keys of your table with the tables that they join with, best first.

    >>> found = lake.suggest("sensors.csv")
    >>> found[:2]
    <Suggestions: events (3), inhabitants (3)>
    >>> found[0].key, found[0].mapping
    (('city',), {'city': 'town'})
    """

    _columns: ClassVar = {"key": _TEXT, **COLUMNS, "unique_part": _TEXT, "copies": _TEXT}

    def __init__(self, query: UserTable, snapshot: Snapshot, found: SuggestionResult) -> None:
        nulls = frozenset(snapshot.index.manifest.nulls)
        answers = []
        for one in found.found:
            find_key = partial(key_tuples, query.query, one.key, nulls)
            answers.append(SuggestedKey(query, snapshot, one.result, one.key, find_key, one.unique_part, one.copies))
        self.complete = found.complete
        """Whether the search is over; False for what `Lake.suggest_in_steps` has found so far."""
        self._effort = found.effort
        super().__init__(answers, f"keys of {query.query.name}", _nothing_found(found.effort))

    @property
    def tried(self) -> dict[str, Any]:
        """What was tried: columns of your table, tables of the lake, and keys of several columns.

        >>> lake.suggest("sensors.csv", columns=["PM10"])
        <Suggestions: nothing found; tried this column: PM10; 4 tables, of which 0 hold enough ...>
        >>> lake.suggest("sensors.csv", columns=["PM10"]).tried
        {'columns': ['PM10'], 'tables': 4, 'tables_with_values': 0, 'keys_of_several_columns': 0}
        """
        return {
            "columns": list(self._effort.columns),
            "tables": self._effort.lake_tables,
            "tables_with_values": self._effort.tables,
            "keys_of_several_columns": self._effort.checks,
        }

    def explain(self) -> Explanation:
        """Return the steps to the suggestions, and the time of each phase."""
        return suggestion_explanation(self._effort, len(self))


def _nothing_found(effort: Effort) -> str:
    """Say that nothing was found, and what was tried; long names, and very many, are cut."""
    names = [name if len(name) <= 40 else f"{name[:40]}…" for name in effort.columns]
    listed = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED:,} more" if names[MOST_NAMED:] else "")
    columns = f"{'these columns' if len(names) > 1 else 'this column'}: {listed}"
    tables = f"{counted(effort.lake_tables, 'table')}, of which {effort.tables:,} hold enough of a column's values"
    return f"nothing found; tried {columns}; {tables}; {counted(effort.checks, 'key')} of several columns"
