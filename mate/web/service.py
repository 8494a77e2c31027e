"""What the page can ask a lake for, as plain functions: they read the lake and never change it."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import mate
from mate.errors import MateError
from mate.web.errors import NotFoundError, TooLargeError
from mate.web.kept import KeptAnswers
from mate.web.limits import ServerLimits
from mate.web.profiles import cut, preview, profile, rows_of
from mate.web.python_lines import join_lines, search_lines, suggest_lines
from mate.web.queries import Queries, check_size
from mate.web.workers import Ticket

Given: TypeAlias = Mapping[str, Any]
Json: TypeAlias = dict[str, Any]

MEDIA = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
MOST_NOTES = 20
PAIRS = 20
"""Matched rows that a preview shows."""


@dataclass(frozen=True)
class Download:
    """A file to be sent: open, and already without a name."""

    stream: BinaryIO
    size: int
    name: str
    media: str


@dataclass(frozen=True)
class _Asked:
    """The table that is searched with: an uploaded one, or one of the lake."""

    table: mate.QueryTable
    source: str | int
    """What stands for it in Python: the name of a file, or its number in the lake."""

    @property
    def excluded(self) -> list[int]:
        """A table of the lake is left out of its own answers."""
        return [self.source] if isinstance(self.source, int) else []


class _State:
    """What was read from one state of the lake; after a refresh there is another one, which begins with nothing."""

    def __init__(self, lake: mate.Lake) -> None:
        self._lake = lake
        self.table = lru_cache(maxsize=4)(self._read)
        self.suggestions: KeptAnswers[Json] = KeptAnswers()

    @cached_property
    def listed(self) -> list[tuple[mate.TableInfo, str]]:
        """All tables, each with the text that a search for it looks at."""
        return [(t, " ".join((t.name, t.source, *t.columns)).casefold()) for t in self._lake.tables()]

    @cached_property
    def nulls(self) -> frozenset[str]:
        """Texts that count as no value."""
        return frozenset(self._lake.stats().manifest["nulls"])

    @cached_property
    def sources(self) -> list[Json]:
        """The files that were read."""
        return self._lake.sources()

    @cached_property
    def rejects(self) -> int:
        """How many records of rejects there are."""
        return len(self._lake.rejects())

    def _read(self, info: mate.TableInfo) -> mate.QueryTable:
        return mate.QueryTable(info.name, self._lake.table(info, "arrow"))


def _question(given: Given) -> str:
    """Return what is asked for, as a text that is equal for equal questions."""
    return json.dumps(given, sort_keys=True)


class Service:
    """A lake that is asked by many, and the tables that they uploaded."""

    def __init__(self, lake: mate.Lake, limits: ServerLimits) -> None:
        self.lake = lake
        self.limits = limits
        self._queries = Queries(limits)
        self._tickets: dict[str, Ticket] = {}
        self._refreshing = threading.Lock()
        self._state = _State(lake)

    # The lake

    def about(self, _: Given) -> Json:
        """How much the lake holds, what it is made with, and what may be sent to it."""
        stats = asdict(self.lake.stats())
        del stats["manifest"]
        limits = {"upload_bytes": self.limits.upload_bytes, "seconds": self.limits.seconds}
        return {**stats, "version": mate.__version__, "limits": limits}

    def tables(self, given: Given) -> Json:
        """Tables of the lake, by words of their name, source or columns."""
        words = given["search"].casefold().split()
        found = [info for info, text in self._state.listed if all(word in text for word in words)]
        shown = found[given["offset"] : given["offset"] + given["limit"]]
        return {"total": len(found), "tables": [self._summary(info) for info in shown]}

    def table(self, given: Given) -> Json:
        """One table: its columns with types, distinct values and empty cells, and its first rows."""
        info = self._find(given["table_id"])
        rows = min(info.rows, max(PAIRS, self.limits.profiled_cells // max(1, len(info.columns))))
        return {**self._summary(info), **self._described(self.lake.table(info, "arrow", range(rows)), info.rows)}

    def rejects(self, given: Given) -> Json:
        """What was not indexed: source, line, kind, reason, count."""
        records = self.lake.rejects(given["offset"] + given["limit"])
        longest = self.limits.cell_characters
        shown = [{**r, "reason": cut(r["reason"], longest)} for r in records[given["offset"] :]]
        return {"total": self._state.rejects, "rejects": shown}

    def sources(self, given: Given) -> Json:
        """The files that the lake was made of: source, format, bytes, tables."""
        found = self._state.sources
        shown = found[given["offset"] : given["offset"] + given["limit"]]
        fields = ("source", "format", "bytes", "tables")
        return {"total": len(found), "sources": [{name: one[name] for name in fields} for one in shown]}

    # Searches

    def upload(self, given: Given) -> Json:
        """Keep a table to search with, in memory."""
        number, upload = self._queries.add(given["name"], given["content"])
        table, longest = upload.table, self.limits.cell_characters
        return {
            "query": number,
            "name": table.name,
            **self._described(table.columns, table.columns.num_rows),
            "warnings": [cut(note, longest) for note in table.notes[:MOST_NOTES]],
        }

    def suggest(self, given: Given) -> Json:
        """Find keys: which columns, alone or together, join with which tables."""
        return self._state.suggestions.answer(_question(given), lambda: self._suggested(given))

    def known_suggestions(self, given: Given) -> Json | None:
        """Return the keys that were found for the same question, if the lake and the table are the same still."""
        if "query" in given:
            self._queries.find(given["query"])
        return self._state.suggestions.find(_question(given))

    def _suggested(self, given: Given) -> Json:
        asked = self._asked(given)
        found = self.lake.suggest(
            asked.table, given["k"], columns=given.get("columns"), most_columns=given["most_columns"],
            exclude=asked.excluded,
        )  # fmt: skip
        return {
            "suggestions": [self._answer(one) for one in found],
            "tried": given.get("columns") or asked.table.header,
            "python": suggest_lines(self.lake.address, asked.source, given),
        }

    def search(self, given: Given) -> Json:
        """Find the tables that join best on some key columns."""
        asked = self._asked(given)
        found = self.lake.search(
            asked.table, given["key"], given["k"], rank=given["rank"], names=given["names"], exclude=asked.excluded
        )
        why = found.explain()
        return {
            "key": list(found.key),
            "key_tuples": found.key_tuples,
            "rows_left_out": found.rows_left_out,
            "answers": [self._answer(answer) for answer in found],
            "explanation": {
                "system": why.system,
                "steps": [{"name": step.name, "text": step.text, "depth": step.depth} for step in why.steps],
                "phases": [{"name": name, "milliseconds": spent} for name, spent in why.phases()],
            },
            "python": search_lines(self.lake.address, asked.source, given),
        }

    def preview(self, given: Given) -> Json:
        """Rows of the query beside the rows of a table that they match."""
        asked, longest = self._asked(given), self.limits.cell_characters
        answer = self.lake.match(asked.table, given["key"], self._find(given["with"]))
        pairs = answer.pairs()
        shown = pairs[:PAIRS]
        theirs = self.lake.table(answer.table, "arrow", [row for _, row in shown])
        return {
            **self._answer(answer),
            "rows": asked.table.columns.num_rows,
            "matched_rows": len(pairs),
            "query_columns": asked.table.header,
            "table_columns": theirs.column_names,
            "query_rows": rows_of(asked.table.columns, [row for row, _ in shown], longest),
            "table_rows": rows_of(theirs, range(theirs.num_rows), longest),
        }

    def join_lines(self, given: Given) -> Json:
        """The lines of Python that do what a join does."""
        return {"python": join_lines(self.lake.address, self._asked(given).source, given)}

    def join(self, given: Given) -> Download:
        """Join, and return the file."""
        asked = self._asked(given)
        answer = self.lake.match(asked.table, given["key"], self._find(given["with"]))
        if given["matches"] == "all" and answer.rows_with_all() > self.limits.joined_rows:
            raise TooLargeError(
                f"all matches are {answer.rows_with_all():,} rows; this page writes up to {self.limits.joined_rows:,}: "
                "take the first match, aggregate them, or use mate search"
            )
        name = f"enriched.{given['format']}"
        with tempfile.TemporaryDirectory(prefix="mate-") as folder:
            path = Path(folder) / name
            answer.enrich(given["matches"]).write(path, safe=given["safe"])
            stream = path.open("rb")
        return Download(stream, os.fstat(stream.fileno()).st_size, name, MEDIA[given["format"]])

    def progress(self, given: Given) -> Json:
        """How far a request is: requests that wait before it; segments or tables that are behind it, of those known."""
        ticket = self._tickets.get(given["work"])
        if ticket is None:
            raise NotFoundError("no request of that name is waiting or running")
        work = ticket.work
        before = ticket.before if ticket.began is None else None
        return {"before": before, "done": min(work.done, work.total), "total": work.total}

    @contextmanager
    def ticket(self, name: str | None) -> Iterator[Ticket]:
        """Let a request be asked for by its name while it waits and runs."""
        ticket = Ticket()
        if name is not None:
            self._tickets[name] = ticket
        try:
            yield ticket
        finally:
            if name is not None and self._tickets.get(name) is ticket:
                del self._tickets[name]

    def refresh(self, given: Given) -> Json:
        """See the lake as it is now."""
        with self._refreshing:
            self.lake.refresh()
            self._state = _State(self.lake)
        return self.about(given)

    # Parts

    def _summary(self, info: mate.TableInfo) -> Json:
        names = [cut(name, 80) for name in info.column_names()[:12]]
        return {
            "table_id": info.table_id,
            "name": info.name,
            "source": info.source,
            "rows": info.rows,
            "column_count": len(info.columns),
            "column_names": names,
        }

    def _described(self, table: Any, rows: int) -> Json:
        """Describe the first rows of a table; `rows` are all that it has."""
        most = max(PAIRS, self.limits.profiled_cells // max(1, table.num_columns))
        table = table.slice(0, most)
        return {
            "rows": rows,
            "profiled_rows": table.num_rows,
            "columns": profile(table, self._state.nulls),
            "preview": preview(table, self.limits.cell_characters),
        }

    def _answer(self, answer: mate.Answer) -> Json:
        return {**answer.to_dict(), "added": answer.added}

    def _asked(self, given: Given) -> _Asked:
        if "query" in given:
            upload = self._queries.find(given["query"])
            return _Asked(upload.table, upload.file)
        info = self._find(given["table"])
        check_size(info.rows, len(info.columns), self.limits)
        return _Asked(self._state.table(info), info.table_id)

    def _find(self, number: int) -> mate.TableInfo:
        try:
            return self.lake.find(number)
        except MateError as error:
            raise NotFoundError(str(error)) from None
