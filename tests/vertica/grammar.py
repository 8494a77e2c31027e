"""Vertica's grammar as sqlfluff knows it, with the gaps closed that the documentation fills.

Each patch names what it follows. Nothing is loosened beyond that: `tests/vertica/test_grammar.py` checks that wrong
statements are still refused.
"""

from __future__ import annotations

import re
from functools import cache

from sqlfluff.core import FluffConfig, Linter
from sqlfluff.core.parser import Ref, Sequence
from sqlfluff.core.parser.segments.base import BaseSegment
from sqlfluff.dialects import dialect_vertica

from tests.vertica.standin.words import FUNCTIONS

STATEMENTS = {
    "create_schema_statement",
    "create_table_statement",
    "drop_table_statement",
    "copy_statement",
    "insert_statement",
    "update_statement",
    "delete_statement",
    "select_statement",
    "transaction_statement",
    "truncate_table",
}
"""Kinds of statement that the store may emit: sqlfluff takes more than Vertica has, such as CREATE INDEX."""

DOCUMENTED = [re.compile(r"LOCK TABLE [a-z_][\w.]* IN EXCLUSIVE MODE( NOWAIT)?")]
"""What sqlfluff does not know at all, as its page has it.

https://docs.vertica.com/latest/en/sql-reference/statements/lock-table/
"""


def _copy_without_commit() -> None:
    """NO COMMIT, an option of COPY: https://docs.vertica.com/latest/en/sql-reference/statements/copy/parameters/."""
    options = dialect_vertica.CopyOptionsSegment
    options.match_grammar = Sequence(options.match_grammar, Sequence("NO", "COMMIT", optional=True))


def _temporary_table_on_all_nodes() -> None:
    """ON COMMIT before the segmentation.

    https://docs.vertica.com/latest/en/sql-reference/statements/create-statements/create-temporary-table/
    """
    table = dialect_vertica.CreateTableStatementSegment
    table.match_grammar = table.match_grammar.copy(insert=[Ref("SegmentedByClauseSegment", optional=True)])


@cache
def _linter() -> Linter:
    _copy_without_commit()
    _temporary_table_on_all_nodes()
    return Linter(config=FluffConfig(overrides={"dialect": "vertica"}))


def problems(statement: str) -> list[str]:
    """Return what is wrong with a statement: parts that do not parse, its kind, its functions (sqlfluff takes any)."""
    if any(known.fullmatch(statement) for known in DOCUMENTED):
        return []
    parsed = _linter().parse_string(statement)
    if parsed.violations:
        return [str(violation) for violation in parsed.violations]
    tree = parsed.tree
    found = [f"does not parse: {part.raw}" for part in tree.recursive_crawl("unparsable")]
    kinds = {child.type for part in tree.recursive_crawl("statement") for child in part.segments}
    found += [f"kind of statement: {kind}" for kind in kinds - STATEMENTS]
    return found + [f"function: {name}" for name in _functions(tree) - FUNCTIONS.keys()]


def _functions(tree: BaseSegment) -> set[str]:
    return {name.raw.upper() for name in tree.recursive_crawl("function_name")}
