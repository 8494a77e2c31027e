"""The public names; `__init__.py` reads here which module has a name."""

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

__version__: str
__all__: list[str]
