"""What the page and assistants can ask a lake, as JSON; nothing here changes the lake."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import mate
from mate.errors import MateError
from mate.web.cache import AnswerCache
from mate.web.errors import NotFoundError, TooLargeError
from mate.web.limits import ServerLimits
from mate.web.profiles import cut, profile, rows_of
from mate.web.python_lines import join_lines, search_lines, suggest_lines
from mate.web.uploads import Uploads, check_size
from mate.web.workers import Ticket

Given: TypeAlias = Mapping[str, Any]
Json: TypeAlias = dict[str, Any]

MEDIA = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
MOST_NOTES = 20
PREVIEW_ROWS = 20


@dataclass(frozen=True)
class Download:
    """An open file, already deleted from the disk."""

    stream: BinaryIO
    size: int
    name: str
    media: str


@dataclass(frozen=True)
class SearchedTable:
    """The table that is searched with."""

    table: mate.QueryTable
    source: str | int
    """The name of its file, or its number in the lake."""
    exclude: Sequence[int] | Literal["self"] = ()
    """Tables of the lake that are no answers: itself."""


class _LakeState:
    """What was read from the lake; a refresh replaces it by an empty one."""

    def __init__(self, lake: mate.Lake) -> None:
        self._lake = lake
        self.table = lru_cache(maxsize=4)(self._read)
        self.suggestions: AnswerCache[Json] = AnswerCache()

    @cached_property
    def listed(self) -> list[tuple[mate.TableInfo, str]]:
        """All tables, each with the text in which words are looked up."""
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
        """Number of reject records."""
        return len(self._lake.rejects())

    def _read(self, info: mate.TableInfo) -> mate.QueryTable:
        return mate.QueryTable(info.name, self._lake.table(info, "arrow"))


def _question(given: Given) -> str:
    """Return a text that is equal for equal questions."""
    return json.dumps(given, sort_keys=True)


class Service:
    """A lake that many clients search, and the tables that they uploaded.

    Each method takes the fields of a request and returns the fields of the reply.
    """

    def __init__(self, lake: mate.Lake, limits: ServerLimits) -> None:
        self.lake = lake
        self.limits = limits
        self._uploads = Uploads(limits)
        self._tickets: dict[str, Ticket] = {}
        self._refreshing = threading.Lock()
        self._state = _LakeState(lake)

    # The lake

    def about(self, _: Given) -> Json:
        """The size of the lake, how it was built, and the limits of requests."""
        stats = asdict(self.lake.stats())
        del stats["manifest"]
        limits = {"upload_bytes": self.limits.upload_bytes, "seconds": self.limits.seconds}
        return {**stats, "version": mate.__version__, "limits": limits}

    def tables(self, given: Given) -> Json:
        """Tables of the lake whose name, source or column names contain all the given words."""
        words = given["search"].casefold().split()
        found = [info for info, text in self._state.listed if all(word in text for word in words)]
        shown = found[given["offset"] : given["offset"] + given["limit"]]
        return {"total": len(found), "tables": [self._summary(info) for info in shown]}

    def table(self, given: Given) -> Json:
        """One table: its columns with types, distinct values and empty cells, and its first rows."""
        info = self.find_table(given["table_id"])
        rows = range(min(info.rows, self._most_profiled(len(info.columns))))
        return {**self._summary(info), **self._described(self.lake.table(info, "arrow", rows), info.rows)}

    def rejects(self, given: Given) -> Json:
        """What was not indexed: source, line, kind, reason, count."""
        records = self.lake.rejects(given["offset"] + given["limit"])[given["offset"] :]
        longest = self.limits.cell_characters
        shown = [{**r, "reason": r["reason"] and cut(r["reason"], longest)} for r in records]
        return {"total": self._state.rejects, "rejects": shown}

    def sources(self, given: Given) -> Json:
        """The files from which the lake was built: source, format, bytes, tables."""
        shown = self._state.sources[given["offset"] : given["offset"] + given["limit"]]
        fields = ("source", "format", "bytes", "tables")
        return {"total": len(self._state.sources), "sources": [{name: one[name] for name in fields} for one in shown]}

    def refresh(self, given: Given) -> Json:
        """Read the lake again as it is now."""
        with self._refreshing:
            self.lake.refresh()
            self._state = _LakeState(self.lake)
        return self.about(given)

    # Searches

    def upload(self, given: Given) -> Json:
        """Upload a table to search with; it is kept in memory."""
        identifier, upload = self._uploads.add(given["name"], given["content"])
        table, longest = upload.table, self.limits.cell_characters
        return {
            "query": identifier,
            "name": table.name,
            **self._described(table.columns, table.columns.num_rows),
            "warnings": [cut(note, longest) for note in table.notes[:MOST_NOTES]],
        }

    def suggest(self, given: Given) -> Json:
        """Find keys: which columns, alone or together, join with which tables."""
        return self._state.suggestions.get_or_compute(_question(given), lambda: self.find_keys(given))

    def cached_suggestions(self, given: Given) -> Json | None:
        """Return the keys that were found for the same question before."""
        if "query" in given:
            self._uploads.find(given["query"])
        return self._state.suggestions.get(_question(given))

    def find_keys(self, given: Given) -> Json:
        """Find keys, without the cache."""
        query = self.find_query(given)
        found = self.lake.suggest(
            query.table,
            given["k"],
            columns=given.get("columns"),
            most_columns=given["most_columns"],
            exclude=query.exclude,
        )
        return {
            "suggestions": [_answer(one) for one in found],
            "tried": given.get("columns") or query.table.header,
            "python": suggest_lines(self.lake.address, query.source, given),
        }

    def search(self, given: Given) -> Json:
        """Find the tables that join best on some key columns."""
        query = self.find_query(given)
        found = self.lake.search(
            query.table, given["key"], given["k"], rank=given["rank"], names=given["names"], exclude=query.exclude
        )
        why = found.explain()
        return {
            "key": list(found.key),
            "key_tuples": found.key_tuples,
            "rows_left_out": found.rows_left_out,
            "answers": [_answer(answer) for answer in found],
            "explanation": {
                "system": why.system,
                "steps": [{"name": step.name, "text": step.text, "depth": step.depth} for step in why.steps],
                "phases": [{"name": name, "milliseconds": spent} for name, spent in why.phases()],
            },
            "python": search_lines(self.lake.address, query.source, given),
        }

    def preview(self, given: Given) -> Json:
        """Rows of the query beside the rows of a table that they match."""
        query, longest = self.find_query(given).table, self.limits.cell_characters
        answer = self.lake.match(query, given["key"], self.find_table(given["with"]))
        pairs = answer.pairs()
        shown = pairs[:PREVIEW_ROWS]
        matching = self.lake.table(answer.table, "arrow", [row for _, row in shown])
        return {
            **_answer(answer),
            "rows": query.columns.num_rows,
            "matched_rows": len(pairs),
            "query_columns": query.header,
            "table_columns": matching.column_names,
            "query_rows": rows_of(query.columns.take([row for row, _ in shown]), longest) if shown else [],
            "table_rows": rows_of(matching, longest),
        }

    def join_lines(self, given: Given) -> Json:
        """The lines of Python that do what a join does."""
        return {"python": join_lines(self.lake.address, self.find_query(given).source, given)}

    def join(self, given: Given) -> Download:
        """Join, and return the file."""
        joined = self.joined(given)
        name = f"enriched.{given['format']}"
        with tempfile.TemporaryDirectory(prefix="mate-") as folder:
            path = Path(folder) / name
            joined.write(path, safe=given["safe"])
            stream = path.open("rb")
        return Download(stream, os.fstat(stream.fileno()).st_size, name, MEDIA[given["format"]])

    def joined(self, given: Given) -> mate.Enriched:
        """Join, unless the result has too many rows."""
        table, most = self.find_query(given).table, self.limits.joined_rows
        answer = self.lake.match(table, given["key"], self.find_table(given["with"]))
        if given["matches"] == "all" and (rows := answer.rows_with_all()) > most:
            raise TooLargeError(
                f"all matches are {rows:,} rows, more than {most:,}: take the first match, aggregate them, or use "
                "mate join"
            )
        return answer.enrich(given["matches"])

    def find_query(self, given: Given) -> SearchedTable:
        """Return the table that is searched with: an uploaded one, or one of the lake."""
        if "query" in given:
            upload = self._uploads.find(given["query"])
            return SearchedTable(upload.table, upload.file)
        info = self.find_table(given["table"])
        check_size(info.rows, len(info.columns), self.limits)
        return self.lake_query(info)

    def lake_query(self, info: mate.TableInfo) -> SearchedTable:
        """Return a table of the lake to search with."""
        return SearchedTable(self._state.table(info), info.table_id, [info.table_id])

    def find_table(self, number: int) -> mate.TableInfo:
        """Return a table of the lake."""
        try:
            return self.lake.find(number)
        except MateError as error:
            raise NotFoundError(str(error)) from None

    # Progress

    @contextmanager
    def ticket(self, name: str | None) -> Iterator[Ticket]:
        """Let clients ask for the progress of a request by its name while it waits and runs."""
        ticket = Ticket()
        if name is not None:
            self._tickets[name] = ticket
        try:
            yield ticket
        finally:
            if name is not None and self._tickets.get(name) is ticket:
                del self._tickets[name]

    def progress(self, given: Given) -> Json:
        """Progress of a request: how many wait before it; how many of its known segments or tables are done."""
        ticket = self._tickets.get(given["work"])
        if ticket is None:
            raise NotFoundError("no request of that name is waiting or running")
        work = ticket.work
        before = ticket.before if ticket.started is None else None
        return {"before": before, "done": min(work.done, work.total), "total": work.total}

    # Parts of replies

    def _summary(self, info: mate.TableInfo) -> Json:
        return {
            "table_id": info.table_id,
            "name": info.name,
            "source": info.source,
            "rows": info.rows,
            "column_count": len(info.columns),
            "column_names": [cut(name, 80) for name in info.column_names()[:12]],
        }

    def _described(self, table: Any, rows: int) -> Json:
        """Describe the first rows of a table that has `rows` in all."""
        table = table.slice(0, self._most_profiled(table.num_columns))
        return {
            "rows": rows,
            "profiled_rows": table.num_rows,
            "columns": profile(table, self._state.nulls),
            "preview": rows_of(table.slice(0, PREVIEW_ROWS), self.limits.cell_characters),
        }

    def _most_profiled(self, columns: int) -> int:
        return max(PREVIEW_ROWS, self.limits.profiled_cells // max(1, columns))


def _answer(answer: mate.Answer) -> Json:
    return {**answer.to_dict(), "added": answer.added}
