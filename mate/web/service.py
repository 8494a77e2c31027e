"""What the page and assistants can ask a lake, as JSON; nothing here changes the lake."""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
from dataclasses import asdict
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import mate
from mate.errors import MateError
from mate.web.cache import LruCache
from mate.web.limits import ServerLimits
from mate.web.profiles import cut, profile, rows_of
from mate.web.replies import Download, WebError
from mate.web.requests import (
    JoinRequest,
    MatchRequest,
    PageRequest,
    QueryRequest,
    Request,
    SearchRequest,
    SuggestRequest,
    TableRequest,
    TablesRequest,
    UploadRequest,
    WorkRequest,
)
from mate.web.uploads import SearchedTable, check_size, read_upload
from mate.web.workers import Ticket

Json: TypeAlias = dict[str, Any]

MEDIA = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
MOST_NOTES = 20
MOST_SUGGESTIONS = 100
PREVIEW_ROWS = 20
PROFILED_CELLS = 1_000_000
"""Cells of the first rows of a table, from which its columns are described."""
CELL_CHARACTERS = 200
"""Longer cells are cut in previews."""


class _LakeState:
    """What was read from the lake; a refresh replaces it by an empty one."""

    def __init__(self, lake: mate.Lake) -> None:
        self._lake = lake
        self.table = lru_cache(maxsize=4)(self._read)
        self.suggestions: LruCache[Json] = LruCache(MOST_SUGGESTIONS)

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


class Service:
    """A lake that many clients search, and the tables that they uploaded.

    Each method takes a request and returns the fields of the reply.
    """

    def __init__(self, lake: mate.Lake, limits: ServerLimits) -> None:
        self.lake = lake
        self.limits = limits
        self.tickets: dict[str, Ticket] = {}
        """Requests that wait or run, by the names that clients gave them."""
        self._uploads = LruCache[SearchedTable](limits.kept_queries, limits.kept_bytes, lambda upload: upload.bytes)
        self._refreshing = threading.Lock()
        self._state = _LakeState(lake)

    # The lake

    def about(self, request: Request) -> Json:
        """The size of the lake, how it was built, and the limits of requests."""
        stats = asdict(self.lake.stats())
        del stats["manifest"]
        limits = {"upload_bytes": self.limits.upload_bytes, "seconds": self.limits.seconds}
        return {**stats, "version": mate.__version__, "limits": limits}

    def tables(self, request: TablesRequest) -> Json:
        """Tables of the lake whose name, source or column names contain all the given words."""
        words = request.search.casefold().split()
        found = [info for info, text in self._state.listed if all(word in text for word in words)]
        shown = found[request.offset : request.offset + request.limit]
        return {"total": len(found), "tables": [self._summary(info) for info in shown]}

    def table(self, request: TableRequest) -> Json:
        """One table: its columns with types, distinct values and empty cells, and its first rows."""
        info = self.find_table(request.table_id)
        rows = range(min(info.rows, _most_profiled(len(info.columns))))
        return {**self._summary(info), **self._described(self.lake.table(info, "arrow", rows), info.rows)}

    def rejects(self, request: PageRequest) -> Json:
        """What was not indexed: source, line, kind, reason, count."""
        records = self.lake.rejects(request.offset + request.limit)[request.offset :]
        shown = [{**r, "reason": r["reason"] and cut(r["reason"], CELL_CHARACTERS)} for r in records]
        return {"total": self._state.rejects, "rejects": shown}

    def sources(self, request: PageRequest) -> Json:
        """The files from which the lake was built: source, format, bytes, tables."""
        shown = self._state.sources[request.offset : request.offset + request.limit]
        fields = ("source", "format", "bytes", "tables")
        return {"total": len(self._state.sources), "sources": [{name: one[name] for name in fields} for one in shown]}

    def refresh(self, request: Request) -> Json:
        """Read the lake again as it is now."""
        with self._refreshing:
            self.lake.refresh()
            self._state = _LakeState(self.lake)
        return self.about(request)

    # Searches

    def upload(self, request: UploadRequest) -> Json:
        """Upload a table to search with; it is kept in memory."""
        upload = read_upload(request.name, request.content, self.limits)
        identifier = secrets.token_urlsafe(16)
        self._uploads.add(identifier, upload)
        table = upload.table
        return {
            "query": identifier,
            "name": table.name,
            **self._described(table.columns, table.columns.num_rows),
            "warnings": [cut(note, CELL_CHARACTERS) for note in table.notes[:MOST_NOTES]],
        }

    def suggest(self, request: SuggestRequest) -> Json:
        """Find keys: which columns, alone or together, join with which tables."""
        cache = self._state.suggestions
        found = cache.get(repr(request))
        if found is None:
            found = self.find_keys(request)
            cache.add(repr(request), found)
        return found

    def cached_suggestions(self, request: SuggestRequest) -> Json | None:
        """Return the keys that were found for the same request before."""
        if request.query is not None:
            self.find_query(request)  # an error if it is no longer there
        return self._state.suggestions.get(repr(request))

    def find_keys(self, request: SuggestRequest) -> Json:
        """Find keys, without the cache."""
        query, columns, most = self.find_query(request), request.columns, request.most_columns
        found = self.lake.suggest(query.table, request.k, columns=columns, most_columns=most, exclude=query.exclude)
        arguments = f"k={request.k}, columns={columns}, most_columns={most}, exclude={query.exclude!r}"
        return {
            "suggestions": [_answer(one) for one in found],
            "tried": columns or query.table.header,
            "python": self._lines(query, f"found = lake.suggest(query, {arguments})"),
        }

    def search(self, request: SearchRequest) -> Json:
        """Find the tables that join best on some key columns."""
        query, key, rank, names = self.find_query(request), request.key, request.rank, request.names
        found = self.lake.search(query.table, key, request.k, rank=rank, names=names, exclude=query.exclude)
        arguments = f"{key}, k={request.k}, rank={rank!r}, names={names}, exclude={query.exclude!r}"
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
            "python": self._lines(query, f"found = lake.search(query, {arguments})"),
        }

    def preview(self, request: MatchRequest) -> Json:
        """Rows of the query beside the rows of a table that they match."""
        query = self.find_query(request).table
        answer = self.lake.match(query, request.key, self.find_table(request.with_))
        pairs = answer.pairs()
        shown = pairs[:PREVIEW_ROWS]
        matching = self.lake.table(answer.table, "arrow", [row for _, row in shown])
        return {
            **_answer(answer),
            "rows": query.columns.num_rows,
            "matched_rows": len(pairs),
            "query_columns": query.header,
            "table_columns": matching.column_names,
            "query_rows": rows_of(query.columns.take([row for row, _ in shown]), CELL_CHARACTERS) if shown else [],
            "table_rows": rows_of(matching, CELL_CHARACTERS),
        }

    def join(self, request: JoinRequest) -> Download:
        """Join, and return the file."""
        joined = self.joined(request)
        name = f"enriched.{request.format}"
        with tempfile.TemporaryDirectory(prefix="mate-") as folder:
            path = Path(folder) / name
            joined.write(path, safe=request.safe)
            stream = path.open("rb")
        return Download(stream, os.fstat(stream.fileno()).st_size, name, MEDIA[request.format])

    def join_lines(self, request: JoinRequest) -> Json:
        """The lines of Python that do what a join does."""
        join = f"joined = lake.enrich(query, {request.key}, {request.with_}, matches={request.matches!r})"
        write = f'joined.write("enriched.{request.format}", safe={request.safe})'
        return {"python": self._lines(self.find_query(request), join, write)}

    def joined(self, request: JoinRequest) -> mate.Enriched:
        """Join, unless the result has too many rows."""
        table, most = self.find_query(request).table, self.limits.joined_rows
        answer = self.lake.match(table, request.key, self.find_table(request.with_))
        if request.matches == "all" and (rows := answer.rows_with_all()) > most:
            hint = "take the first match, aggregate them, or use mate join"
            raise WebError(f"all matches are {rows:,} rows, more than {most:,}: {hint}", 413)
        return answer.enrich(request.matches)

    def find_query(self, request: QueryRequest) -> SearchedTable:
        """Return the table that is searched with: an uploaded one, or one of the lake."""
        if request.table is not None:
            info = self.find_table(request.table)
            check_size(info.rows, len(info.columns))
            return self.lake_query(info)
        upload = self._uploads.get(request.query or "")
        if upload is None:
            raise WebError("the uploaded table is no longer in memory; upload it again", 404)
        return upload

    def lake_query(self, info: mate.TableInfo) -> SearchedTable:
        """Return a table of the lake to search with."""
        return SearchedTable(self._state.table(info), info.table_id, [info.table_id])

    def find_table(self, number: int) -> mate.TableInfo:
        """Return a table of the lake."""
        try:
            return self.lake.find(number)
        except MateError as error:
            raise WebError(str(error), 404) from None

    def progress(self, request: WorkRequest) -> Json:
        """Progress of a request: how many wait before it; how many of its known segments or tables are done."""
        ticket = self.tickets.get(request.work)
        if ticket is None:
            raise WebError("no request of that name is waiting or running", 404)
        work = ticket.work
        return {"before": ticket.before, "done": min(work.done, work.total), "total": work.total}

    # Parts of replies

    def _lines(self, query: SearchedTable, *calls: str) -> str:
        """Return lines of Python that do the same as a request."""
        source = query.source
        table = f'lake.table({source}, into="arrow")' if isinstance(source, int) else f"{source!r}  # your file"
        opened = ("import mate", "", f"lake = mate.open({self.lake.address!r})", f"query = {table}")
        return "".join(f"{line}\n" for line in (*opened, *calls))

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
        table = table.slice(0, _most_profiled(table.num_columns))
        return {
            "rows": rows,
            "profiled_rows": table.num_rows,
            "columns": profile(table, self._state.nulls),
            "preview": rows_of(table.slice(0, PREVIEW_ROWS), CELL_CHARACTERS),
        }


def _answer(answer: mate.Answer) -> Json:
    return {**answer.to_dict(), "added": answer.added}


def _most_profiled(columns: int) -> int:
    return max(PREVIEW_ROWS, PROFILED_CELLS // max(1, columns))
