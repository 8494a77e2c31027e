"""MATE: find the tables of a data lake that join with yours on several columns.

    import mate

    lake = mate.index("tables/", "lake.mate")
    found = lake.search("people.csv", key=["first name", "last name"])
    enriched = found[0].join()

Everything public is a name of this module; docs/api.md lists them. A name's module is loaded when the name is first
used, so that importing `mate` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from mate.api.answers import Answer as Answer
    from mate.api.answers import Answers as Answers
    from mate.api.answers import SuggestedKey as SuggestedKey
    from mate.api.answers import Suggestions as Suggestions
    from mate.api.batch import BatchAnswers as BatchAnswers
    from mate.api.explanation import Explanation as Explanation
    from mate.api.graph import Graph as Graph
    from mate.api.hash_functions import hash_functions as hash_functions
    from mate.api.hash_functions import hash_values as hash_values
    from mate.api.indexing import check as check
    from mate.api.indexing import index as index
    from mate.api.indexing import repair as repair
    from mate.api.lake import Lake as Lake
    from mate.api.lake import open as open
    from mate.api.options import AnswerOptions as AnswerOptions
    from mate.api.options import BatchOptions as BatchOptions
    from mate.api.options import ChangeOptions as ChangeOptions
    from mate.api.options import IndexOptions as IndexOptions
    from mate.api.options import SearchOptions as SearchOptions
    from mate.api.options import SearchSystem as SearchSystem
    from mate.api.options import SuggestOptions as SuggestOptions
    from mate.api.options import WorkOptions as WorkOptions
    from mate.api.outputs import Enriched as Enriched
    from mate.api.stats import Stats as Stats
    from mate.api.synthetic_files import write_synthetic as write_synthetic
    from mate.api.tables import read as read
    from mate.build.changes.change import Report as Report
    from mate.build.changes.check import Findings as Findings
    from mate.build.changes.sync import Difference as Difference
    from mate.errors import MateError as MateError
    from mate.lake.records import TableInfo as TableInfo
    from mate.limits import Limits as Limits
    from mate.search.evidence import Evidence as Evidence
    from mate.search.query import QueryTable as QueryTable
    from mate.sql.vertica_check import Finding as Finding
    from mate.sql.vertica_check import check_vertica as check_vertica

_PUBLIC = {
    "mate.api.answers": "Answer Answers SuggestedKey Suggestions",
    "mate.api.batch": "BatchAnswers",
    "mate.api.explanation": "Explanation",
    "mate.api.graph": "Graph",
    "mate.api.hash_functions": "hash_functions hash_values",
    "mate.api.indexing": "check index repair",
    "mate.api.lake": "Lake open",
    "mate.api.options": "AnswerOptions BatchOptions ChangeOptions IndexOptions SearchOptions SearchSystem "
    "SuggestOptions WorkOptions",
    "mate.api.outputs": "Enriched",
    "mate.api.stats": "Stats",
    "mate.api.synthetic_files": "write_synthetic",
    "mate.api.tables": "read",
    "mate.build.changes.change": "Report",
    "mate.build.changes.check": "Findings",
    "mate.build.changes.sync": "Difference",
    "mate.errors": "MateError",
    "mate.lake.records": "TableInfo",
    "mate.limits": "Limits",
    "mate.search.evidence": "Evidence",
    "mate.search.query": "QueryTable",
    "mate.sql.vertica_check": "Finding check_vertica",
}
"""Public names by their module."""
_MODULES = {name: module for module, names in _PUBLIC.items() for name in names.split()}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'mate' has no attribute {name!r}")
    value: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
