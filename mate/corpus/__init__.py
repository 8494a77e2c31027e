"""Files to tables: one reader per format, each a function from a byte stream to chunks and rejects."""

from mate.corpus.encoding import check_encoding
from mate.corpus.formats import READERS, File, detect, discover, read
from mate.corpus.table import Chunk, Limits, Reject, Table

__all__ = ["READERS", "Chunk", "File", "Limits", "Reject", "Table", "check_encoding", "detect", "discover", "read"]
