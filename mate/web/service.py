"""What the page and assistants can ask a lake, as JSON; nothing here changes the lake."""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Set
from dataclasses import asdict, dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

import mate
from mate.errors import MateError
from mate.web.replies import Download, WebError
from mate.web.uploads import SearchedTable, check_size, read_upload
from mate.web.workers import Ticket

T = TypeVar("T")

Json: TypeAlias = dict[str, Any]
Number = Annotated[int, range(2**53)]
"""A whole number that every JSON parser represents exactly."""
Limit = Annotated[int, range(1, 1_001)]
Key = Annotated[list[str], "key columns of the query"]
Columns = Annotated[list[str] | None, "columns that may be part of a key; all unless given"]
Other = Annotated[Number, "number of the table of the lake to join with"]
Matches = Annotated[Literal["first", "all", "aggregate"], "what to do with several matching rows"]
Safe = Annotated[bool, "whether to put an apostrophe before cells that a spreadsheet may run as formulas"]

MEDIA = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
OVERHEAD = 1_000_000
"""Memory that is counted for an uploaded table besides its cells, so that there are not too many small ones."""
MOST_NOTES = 20
MOST_ANSWERS = 100
PREVIEW_ROWS = 20
PROFILED_CELLS = 1_000_000
"""Cells of the first rows of a table, from which its columns are described."""
CELL_CHARACTERS = 200
"""Longer cells are cut in previews."""
TYPES = (
    ("whole number", r"^[+-]?\d{1,3}(,\d{3})+$|^[+-]?\d+$"),
    ("number", r"^[+-]?(\d+|\d{1,3}(,\d{3})+)?([.,]\d+)?([eE][+-]?\d+)?\s?%?$"),
    ("date", r"^\d{4}-\d{1,2}-\d{1,2}([T ].*)?$|^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}$"),
    ("yes or no", r"(?i)^(true|false|yes|no|ja|nein|y|n|t|f)$"),
)
"""A column has the first type that fits all its values, or else it is text."""


@dataclass(frozen=True)
class ServerLimits:
    """How much requests, uploads and searches may take."""

    upload_bytes: int = 64_000_000
    """Size of an uploaded table."""
    request_bytes: int = 1_000_000
    """Size of any other request."""
    cached_bytes: int = 512_000_000
    """Memory of all uploaded tables; the least recently used is dropped first."""
    seconds: float = 120.0
    """A request that takes longer, or waits longer for others, is answered with an error."""
    threads: int = field(default_factory=lambda: max(2, os.cpu_count() or 2))
    """Searches at a time; half as many suggestions, uploads and joins run beside them."""
    joined_rows: int = 5_000_000
    """Rows of a join."""


@dataclass
class LruCache(Generic[T]):
    """The most recently used values, up to a total size; several threads may use it."""

    most: int
    size: Callable[[T], int] = lambda _: 1
    _values: OrderedDict[str, T] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: str) -> T | None:
        """Return a value, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def add(self, key: str, value: T) -> None:
        """Add a value, and drop the least recently used ones beyond the size; the new one always stays."""
        with self._lock:
            self._values[key] = value
            while len(self._values) > 1 and sum(map(self.size, self._values.values())) > self.most:
                self._values.popitem(last=False)


class Service:
    """A lake that many clients search, and the tables that they uploaded.

    Methods take the fields of a request and return the fields of the reply.
    """

    def __init__(self, lake: mate.Lake, limits: ServerLimits) -> None:
        self.lake = lake
        self.limits = limits
        self.tickets: dict[str, Ticket] = {}
        """Requests that wait or run, by the names that clients gave them."""
        self._uploads = LruCache[SearchedTable](limits.cached_bytes, lambda one: one.table.columns.nbytes + OVERHEAD)
        self._refreshing = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        """Read everything of the lake again when it is next needed."""
        lake = self.lake
        self.answers: LruCache[Json] = LruCache(MOST_ANSWERS)
        self._table = lru_cache(maxsize=4)(lambda info: mate.QueryTable(info.name, lake.table(info, "arrow")))
        self._tables = cache(lambda: [(t, " ".join((t.name, t.source, *t.columns)).casefold()) for t in lake.tables()])
        self._nulls = cache(lambda: frozenset(lake.stats().manifest["nulls"]))
        self._sources = cache(lake.sources)
        self._rejects = cache(lambda: len(lake.rejects()))

    # The lake

    def about(self) -> Json:
        """The size of the lake, how it was built, and the limits of requests."""
        stats = asdict(self.lake.stats())
        del stats["manifest"]
        limits = {"upload_bytes": self.limits.upload_bytes, "seconds": self.limits.seconds}
        return {**stats, "version": mate.__version__, "limits": limits}

    def tables(
        self, search: Annotated[str, "words of the name, source or columns"] = "", offset: Number = 0, limit: Limit = 50
    ) -> Json:
        """Tables of the lake whose name, source or column names contain all the given words."""
        words = search.casefold().split()
        found = [info for info, text in self._tables() if all(word in text for word in words)]
        shown = found[offset : offset + limit]
        return {"total": len(found), "tables": [self._summary(info) for info in shown]}

    def table(self, table_id: Number) -> Json:
        """One table: its columns with types, distinct values and empty cells, and its first rows."""
        info = self.find_table(table_id)
        rows = range(min(info.rows, _most_profiled(len(info.columns))))
        return {**self._summary(info), **self._described(self.lake.table(info, "arrow", rows), info.rows)}

    def rejects(self, offset: Number = 0, limit: Limit = 50) -> Json:
        """What was not indexed: source, line, kind, reason, count."""
        records = self.lake.rejects(offset + limit)[offset:]
        shown = [{**r, "reason": r["reason"] and cut(r["reason"], CELL_CHARACTERS)} for r in records]
        return {"total": self._rejects(), "rejects": shown}

    def sources(self, offset: Number = 0, limit: Limit = 50) -> Json:
        """The files from which the lake was built: source, format, bytes, tables."""
        known = self._sources()
        fields = ("source", "format", "bytes", "tables")
        shown = [{name: one[name] for name in fields} for one in known[offset : offset + limit]]
        return {"total": len(known), "sources": shown}

    def refresh(self) -> Json:
        """Read the lake again as it is now."""
        with self._refreshing:
            self.lake.refresh()
            self._forget()
        return self.about()

    # Searches

    def upload(self, name: Annotated[str, "name of the file: its ending tells the format"], content: bytes) -> Json:
        """Upload a table to search with; it is kept in memory."""
        upload = read_upload(name, content, self.limits.cached_bytes)
        identifier = secrets.token_urlsafe(16)
        self._uploads.add(identifier, upload)
        table = upload.table
        return {
            "query": identifier,
            "name": table.name,
            **self._described(table.columns, table.columns.num_rows),
            "warnings": [cut(note, CELL_CHARACTERS) for note in table.notes[:MOST_NOTES]],
        }

    def suggest(
        self,
        query: SearchedTable,
        columns: Columns = None,
        k: Annotated[int, range(1, 101)] = 10,
        most_columns: Annotated[int, range(1, 5)] = 4,
    ) -> Iterator[Json]:
        """Find keys: which columns, alone or together, join with which tables."""
        options: Json = {"k": k, "columns": columns, "most_columns": most_columns, "exclude": query.exclude}
        for found in self.lake.suggest_in_steps(query.table, **options):
            yield {
                "suggestions": [_answer(one) for one in found],
                "complete": found.complete,
                "tried": found.tried,
                "message": "" if found else found.nothing,
                "python": self._python("suggest", query, **options),
            }

    def search(
        self,
        query: SearchedTable,
        key: Key,
        k: Limit = 10,
        rank: Literal["usefulness", "joinability"] = "usefulness",
        names: Annotated[bool, "whether to compare the names of columns and tables"] = True,
    ) -> Json:
        """Find the tables that join best on some key columns."""
        found, python = self._ask("search", query, key, k=k, rank=rank, names=names, exclude=query.exclude)
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
            "python": python,
        }

    def preview(self, query: SearchedTable, key: Key, with_: Other) -> Json:
        """Rows of the query beside the rows of a table that they match."""
        table = query.table
        answer, python = self._ask("match", query, key, self.find_table(with_).table_id)
        pairs = answer.pairs()
        shown = pairs[:PREVIEW_ROWS]
        matching = self.lake.table(answer.table, "arrow", [row for _, row in shown])
        return {
            **_answer(answer),
            "rows": table.columns.num_rows,
            "matched_rows": len(pairs),
            "query_columns": table.header,
            "table_columns": matching.column_names,
            "query_rows": rows_of(table.columns.take([row for row, _ in shown]), CELL_CHARACTERS) if shown else [],
            "table_rows": rows_of(matching, CELL_CHARACTERS),
            "python": python,
        }

    def join(
        self,
        query: SearchedTable,
        key: Key,
        with_: Other,
        matches: Matches = "first",
        format: Literal["csv", "parquet"] = "csv",
        safe: Safe = False,
    ) -> Download:
        """Join, and return the file."""
        joined = self.joined(query, key, with_, matches)
        name = f"enriched.{format}"
        with tempfile.TemporaryDirectory(prefix="mate-") as folder:
            path = Path(folder) / name
            joined.write(path, safe=safe)
            return Download(path.open("rb"), name, MEDIA[format])

    def joined(self, query: SearchedTable, key: Key, with_: Other, matches: Matches) -> mate.Enriched:
        """Join, unless the result has too many rows."""
        most = self.limits.joined_rows
        answer = self.lake.match(query.table, key, self.find_table(with_))
        if matches == "all" and (rows := answer.rows_with_all()) > most:
            hint = "take the first match, aggregate them, or use mate join"
            raise WebError(f"all matches are {rows:,} rows, more than {most:,}: {hint}", 413)
        return answer.enrich(matches)

    def find_query(self, query: str | None, table: int | None) -> SearchedTable:
        """Return the table that is searched with: an uploaded one, or one of the lake."""
        if table is not None:
            info = self.find_table(table)
            check_size(info.rows, len(info.columns))
            return self.lake_query(info)
        upload = self._uploads.get(query or "")
        if upload is None:
            raise WebError("the uploaded table is no longer in memory; upload it again", 404)
        return upload

    def lake_query(self, info: mate.TableInfo) -> SearchedTable:
        """Return a table of the lake to search with."""
        return SearchedTable(self._table(info), info.table_id, [info.table_id])

    def find_table(self, number: int) -> mate.TableInfo:
        """Return a table of the lake."""
        try:
            return self.lake.find(number)
        except MateError as error:
            raise WebError(str(error), 404) from None

    def progress(self, work: Annotated[str, "the name that the client gave the request"]) -> Json:
        """Progress of a request: how many wait before it; how many of its known segments or tables are done."""
        ticket = self.tickets.get(work)
        if ticket is None:
            raise WebError("no request of that name is waiting or running", 404)
        done = min(ticket.work.done, ticket.work.total)
        return {"before": ticket.before, "done": done, "total": ticket.work.total}

    # Parts of replies

    def _ask(self, call: str, query: SearchedTable, *given: Any, **options: Any) -> tuple[Any, str]:
        """Ask the lake; return its answer, and the lines of Python that ask the same."""
        found = getattr(self.lake, call)(query.table, *given, **options)
        return found, self._python(call, query, *given, **options)

    def _python(self, call: str, query: SearchedTable, *given: Any, **options: Any) -> str:
        """Return the lines of Python that ask the lake."""
        source = query.source
        table = f'lake.table({source}, into="arrow")' if isinstance(source, int) else f"{source!r}  # your file"
        arguments = [*map(repr, given), *(f"{name}={value!r}" for name, value in options.items())]
        lines = (
            "import mate",
            "",
            f"lake = mate.open({self.lake.address!r})",
            f"query = {table}",
            f"found = lake.{call}(query, {', '.join(arguments)})",
        )
        return "".join(f"{line}\n" for line in lines)

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
            "columns": [_profile(name, table[name], self._nulls()) for name in table.column_names],
            "preview": rows_of(table.slice(0, PREVIEW_ROWS), CELL_CHARACTERS),
        }


def _answer(answer: mate.Answer) -> Json:
    return {**answer.to_dict(), "added": answer.added}


def _most_profiled(columns: int) -> int:
    return max(PREVIEW_ROWS, PROFILED_CELLS // max(1, columns))


def _profile(name: str, column: pa.ChunkedArray, nulls: Set[str]) -> Json:
    """Describe a column of texts; `nulls` are those that count as no value."""
    counts = pc.value_counts(column.combine_chunks())
    values = pc.utf8_lower(pc.utf8_trim_whitespace(counts.field("values")))
    empty = pc.fill_null(pc.or_(pc.equal(values, ""), pc.is_in(values, pa.array(sorted(nulls), pa.string()))), True)
    filled = values.filter(pc.invert(empty))
    rows_empty = pc.sum(counts.field("counts").filter(empty)).as_py() or 0
    return {
        "name": name,
        "type": _type(filled),
        "distinct": len(pc.unique(filled)),
        "empty_share": rows_empty / max(1, len(column)),
    }


def _type(values: pa.Array) -> str:
    if not len(values):
        return "empty"
    fitting = (name for name, rule in TYPES if pc.all(pc.match_substring_regex(values, rule)).as_py())
    return next(fitting, "text")


def rows_of(table: pa.Table, longest: int) -> list[list[str | None]]:
    """Return the rows of a table whose cells are text, long cells cut."""
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return [[None if cell is None else cut(cell, longest) for cell in row] for row in rows]


def cut(text: str, longest: int) -> str:
    """Return a text, or its beginning with an ellipsis."""
    return text if len(text) <= longest else f"{text[:longest]}…"
