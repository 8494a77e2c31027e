"""Files to build an index of."""

from tests.sql.conftest import files as files
