"""`mate search`, `suggest`, `join` and `graph`: find tables that join with yours, or with each other, and join them."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import mate
from mate.cli import Commands
from mate.cli.options import QUERY, add_shared, add_spark, add_whole, chosen
from mate.cli.terminal import ProgressBar, console, print_json, say, show, show_records, table
from mate.display import counted, split_names
from mate.errors import MateError

HEADS = {"of key": "of\nkey", "rows per match": "rows per\nmatch", "vs chance": "vs\nchance"}
"""Long heads of columns in lines."""
WIDE = 120
"""From this width on, a terminal has room for the source of each table."""
MOST_PRINTED = 10
"""Errors of a batch that are printed; all of them are in its file."""

EVIDENCE_HELP = """\
what the columns say:
  of key           share of your distinct key combinations that the table holds
  unique           distinct combinations per row in the table: 100% means that each row of yours meets at most one
  rows per match   rows that one of your combinations meets, on average and at most: more than 1 means a fan-out
  vs chance        how many times more combinations match than if the columns had nothing to do with each other;
                   "chance" marks a result that is no better than that
  names            how alike the names of key columns and of the table are, 0% to 100%; --no-names ignores them
"""

SEARCH = f"""\
examples:
  mate search sensors.csv --key timestamp,city --store lake.mate
  mate search people.csv --key "First name" --key "Last name" --key Country -k 5 --store lake.mate --explain
  mate search movies.parquet --key director,title --store lake.mate --json
  mate search --batch queries.csv --store lake.mate -o answers.parquet

Joinability is the number of distinct combinations of key values of your table that a table holds, each in one row,
under the best assignment of key columns to its columns. The answer is exact. To find out which columns to use as the
key: mate suggest.

{EVIDENCE_HELP}"""

SUGGEST = f"""\
examples:
  mate suggest sensors.csv --store lake.mate
  mate suggest orders.parquet --store lake.mate -k 3 --most-columns 2
  mate suggest orders.csv --columns customer,region,year --store lake.mate --json

You give no key: columns of your table, alone and together, are tried as keys, and those that join with a table of the
index are listed, best first. Use one of them with mate search or mate join. If a part of the key is unique in the
table by itself, a line says so: that part is enough.

{EVIDENCE_HELP}"""

JOIN = """\
examples:
  mate join people.csv --key "First name,Last name" --table 17 --store lake.mate -o enriched.csv
  mate join people.csv --key "First name,Last name" --table wages.csv --store lake.mate -o all.parquet --matches all

Every row of your table is kept, in its order (a left join). Where several rows of the other table match:
  --matches first       take the first of them: the result has as many rows as your table (default)
  --matches all         repeat your row for each of them
  --matches aggregate   combine them: the mean of a column of numbers, the distinct values of any other, and a column
                        "matching rows" that counts them
A column whose name is taken gets the name of the other table appended.

A CSV file contains the cells as they are. A spreadsheet program may run a cell that begins with =, +, - or @ as a
formula: --safe-csv puts an apostrophe before such cells. Plain numbers stay as they are.
"""

GRAPH = """\
examples:
  mate graph --store lake.mate -o graph         then open graph/graph.html in a browser
  mate graph --store /shared/lake.mate -o graph --master spark://host:7077

DIR gets nodes.parquet (one row per table), edges.parquet (one row per join, with its evidence), graph.graphml, and
graph.html, a page that needs no network: search a table, see its neighbours, filter by evidence.

A join goes from the table whose key is looked up to the table that holds the key. Joins that chance may produce are
left out: keys of several columns by their evidence; single columns that many other tables hold as well, and numbers
that tell little. Tables with the same columns are marked: duplicates
and near-duplicates have the same rows, others could be appended to each other.
"""


def add(commands: Commands) -> None:
    """Declare the commands."""
    text = "find the tables that join with a table of yours on several columns"
    parser = commands.add_parser("search", help=text, epilog=SEARCH)
    parser.set_defaults(run=_run_search)
    add_shared(parser, "query", nargs="?")
    add_shared(parser, "--encoding", "--store", "--key")
    add_whole(parser, "-k", "how many tables", 10)
    parser.add_argument(
        "--rank",
        default="usefulness",
        choices=("usefulness", "joinability"),
        help="usefulness: of key x unique, then names, then joinability (default); joinability: the count alone, "
        "as in the paper (equal counts are in the order of unique, but table numbers decide which of them are among "
        "the first k)",
    )
    _add_answer_options(parser)
    how = parser.add_argument_group("how to search (the answers are the same)")
    how.add_argument(
        "--system",
        default="column-first",
        help="column-first; mate: the paper's Algorithm 1; or a baseline: scr, mcr, scr-josie, mcr-josie "
        "(default: column-first)",
    )
    how.add_argument("--hash", metavar="NAME[:BITS]", help="mate: which hash function of the index filters rows")
    how.add_argument(
        "--initial-column",
        metavar="HOW",
        help="mate, baselines: how to choose the first key column: cardinality (the paper's), order, longest, "
        "postings, pairs, or the name of a key column (default: cardinality)",
    )
    many = parser.add_argument_group("many queries at once")
    many.add_argument(
        "--batch",
        type=Path,
        metavar="QUERIES",
        help="a folder of tables, each with the columns of --key (or all its columns) as key; or a CSV file with "
        "the columns query (a file), key (columns separated by ;) and optionally name (a label for its answers)",
    )
    text = "where the answers go: a Parquet file, one row per answer"
    many.add_argument("-o", "--output", type=Path, metavar="FILE", help=text)
    add_spark(parser, "none")

    text = "find the key columns of a table of yours, and the tables that they join with"
    parser = commands.add_parser("suggest", help=text, epilog=SUGGEST)
    parser.set_defaults(run=_run_suggest)
    add_shared(parser, *QUERY)
    add_whole(parser, "-k", "how many suggestions", 10)
    add_whole(parser, "--most-columns", "most columns of a key, 1 to 4", 4, most=4)
    text = "columns that a key may contain (default: all); may be repeated"
    parser.add_argument("--columns", action="append", metavar="A,B", help=text)
    _add_answer_options(parser)

    text = "write a table of yours with the columns of a table that was found"
    parser = commands.add_parser("join", help=text, epilog=JOIN)
    parser.set_defaults(run=_run_join)
    add_shared(parser, *QUERY)
    add_shared(parser, "--key", required=True)
    text = "number (from mate search), file or name of a table"
    parser.add_argument("--table", required=True, metavar="T", help=text)
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the result: a .csv or .parquet file")
    choices = ("first", "all", "aggregate")
    parser.add_argument("--matches", default="first", choices=choices, help="what to do with several matches")
    parser.add_argument("--safe-csv", action="store_true", help="keep spreadsheets from running cells as formulas")

    text = "find which tables of the index join with which, and which are copies"
    parser = commands.add_parser("graph", help=text, epilog=GRAPH)
    add_shared(parser, "--store")
    text = "the folder that the graph is written to"
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help=text)
    add_whole(parser, "--most-columns", "most columns of a key, 1 to 4", 3, most=4)
    add_spark(parser, "none")
    parser.set_defaults(run=_run_graph)


def _add_answer_options(parser: argparse.ArgumentParser) -> None:
    text = "ignore the names of columns and tables"
    parser.add_argument("--no-names", dest="names", action="store_false", help=text)
    text = "leave out the tables of the query file itself"
    parser.add_argument("--exclude-self", dest="exclude", action="store_const", const="self", help=text)
    parser.add_argument("--explain", action="store_true", help="show the steps that led to the answer")
    add_shared(parser, "--json")


def _run_search(options: argparse.Namespace) -> int:
    """Search and print the answers; with --batch, answer many queries."""
    system = mate.SearchSystem(options.system, options.hash, options.initial_column)
    if options.batch is not None:
        return _run_batch(options, system)
    if options.query is None:
        raise MateError("name a table to search with, or many of them: --batch QUERIES")
    if options.key is None:
        raise MateError(f"name the key columns of {options.query}: --key A,B; mate suggest finds some")
    if options.output is not None or options.master != "none":
        raise MateError("-o and --master are for many queries: --batch QUERIES")
    with mate.open(options.store) as lake:
        query = mate.read(options.query, options.encoding)
        key = split_names(options.key, query.header)
        found = lake.search(query, key, options.k, **chosen(options, mate.SearchOptions, system=system))
        notes = [] if found else [f"no table of the index joins with {query.name} on {', '.join(found.key)}"]
        if found.rows_left_out:
            rows = counted(found.rows_left_out, "row")
            notes.append(f"left out: {rows} of the query with an empty cell in the key")
        _print(found, {"results": found.to_dicts(), "stats": found.statistics}, notes, options)
    return 0


def _run_batch(options: argparse.Namespace, system: mate.SearchSystem) -> int:
    """Answer all queries and print how many; return 1 if one of them failed."""
    if options.query is not None:
        raise MateError("--batch has its own queries: leave the query table out")
    if options.output is None:
        raise MateError("a batch needs -o FILE, the Parquet file for its answers")
    for name in ("json", "explain"):
        if getattr(options, name):
            raise MateError(f"--{name} is for one query; the answers of a batch are in the file of -o")
    started = perf_counter()
    with mate.open(options.store) as lake, ProgressBar("read queries") as bar:
        how = chosen(options, mate.BatchOptions, system=system, progress=bar)
        found = lake.search_many(options.batch, options.key, options.output, options.k, **how)
    seconds = perf_counter() - started
    rate = (len(found) - found.resumed) / max(seconds, 1e-3)
    earlier = f" ({found.resumed:,} of them in an earlier run)" if found.resumed else ""
    queries = f"{len(found):,} {'query' if len(found) == 1 else 'queries'}{earlier}"
    answers = counted(found.answers, "answer")
    say(f"{options.output}: {queries}, {answers} ({seconds:.1f} s, {rate:,.1f} queries per second)")
    for query, error in list(found.errors.items())[:MOST_PRINTED]:
        say(f"failed: {query}: {error}")
    if len(found.errors) > MOST_PRINTED:
        say(f"failed: {len(found.errors) - MOST_PRINTED:,} more; see the column error")
    return 1 if found.errors else 0


def _run_suggest(options: argparse.Namespace) -> int:
    with mate.open(options.store) as lake:
        query = mate.read(options.query, options.encoding)
        columns = split_names(options.columns, query.header) if options.columns else query.header
        how = chosen(options, mate.SuggestOptions, columns=columns)
        with ProgressBar("look for keys") as bar:
            for found in lake.suggest_in_steps(query, options.k, **how):
                bar.update(0, keys=len(found))
        notes = [] if found else [found.nothing]
        for one in found:
            if one.unique_part:
                part, key = ", ".join(one.unique_part), ", ".join(one.key)
                notes.append(f"{one.table.name}: {part} is unique there without the rest of {key}")
            if one.copies:
                tables = ", ".join(map(str, one.copies))
                notes.append(f"{one.table.name} has copies or near-copies that join as well: tables {tables}")
        _print(found, {"results": found.to_dicts(), "tried": found.tried}, notes, options)
    return 0


def _run_join(options: argparse.Namespace) -> int:
    with mate.open(options.store) as lake:
        query = mate.read(options.query, options.encoding)
        answer = lake.match(query, split_names(options.key, query.header), options.table)
        joined = answer.enrich(options.matches)
    joined.write(options.output, safe=options.safe_csv)
    say(
        f"{options.output}: {joined.rows:,} rows, {joined.matched_rows:,} of them matched on {answer.mapping_text}; "
        f"{len(joined.added)} columns added: {', '.join(joined.added) or 'none'}"
    )
    return 0


def _run_graph(options: argparse.Namespace) -> int:
    started = perf_counter()
    with mate.open(options.store) as lake, ProgressBar() as bar:
        graph = lake.graph(options.most_columns, **chosen(options, mate.WorkOptions, progress=bar))
        files = graph.write(options.output)
    kinds = Counter(graph.edges["kind"].to_pylist())
    groups = len({group for group in graph.nodes["same_columns"].to_pylist() if group is not None})
    say(
        f"{len(graph.nodes):,} tables: {kinds['join']:,} joins, {kinds['duplicate']:,} pairs of duplicates, "
        f"{kinds['near-duplicate']:,} of near-duplicates, {groups:,} groups with the same columns "
        f"({perf_counter() - started:.1f} s)"
    )
    if graph.checked_pairs < graph.sharing_pairs:
        say(
            f"keys of several columns were looked for in {graph.checked_pairs:,} pairs of tables, the least likely "
            f"coincidences of {graph.sharing_pairs:,} that share two columns or more"
        )
    if graph.uncounted:
        say(f"values that more than {graph.uncounted:,} columns hold were too common to be counted")
    say("\n".join(str(path) for path in files))
    return 0


def _print(
    found: mate.Answers | mate.Suggestions, record: object, notes: Sequence[str], options: argparse.Namespace
) -> None:
    """Print answers and notes about them."""
    if options.json:
        print_json(record)
        return
    if found:
        _show_answers(found)
    for note in notes:
        say(note)
    if options.explain:
        say(f"\n{found.explain()}")


def _show_answers(answers: mate.Answers | mate.Suggestions) -> None:
    """Print answers as a table with their evidence, in lines that fit the terminal."""
    texts = [answer.texts() for answer in answers]
    is_wide = console().width >= WIDE
    hidden = {"unique part"} if is_wide else {"unique part", "join on", "source"}
    columns = [column for column in texts[0] if column not in hidden and any(text[column] for text in texts)]
    header = [HEADS.get(column, column) for column in columns]
    rows = [[text[column] for column in columns] for text in texts]
    if is_wide:
        show(table(header, rows))
    else:
        header[1] = "join-\nability"
        show_records(header, rows, [f"on {text['join on']}" for text in texts])
    if any(answer.evidence.is_chance for answer in answers):
        say('"chance": no more combinations match than if the columns had nothing to do with each other')
