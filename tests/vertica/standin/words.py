"""What of Vertica's language the stand-in knows: functions, types, encodings, reserved words.

Whatever is not listed is an error, also where the database behind it would know what to do.
"""

from __future__ import annotations

_REFERENCE = "https://docs.vertica.com/latest/en/sql-reference/functions"
FUNCTIONS = {
    "HEX_TO_BINARY": f"{_REFERENCE}/string-functions/hex-to-binary/",
    "OCTET_LENGTH": f"{_REFERENCE}/string-functions/octet-length/",
    "INSTR": f"{_REFERENCE}/string-functions/instr/",
    "COALESCE": f"{_REFERENCE}/null-handling-functions/coalesce/",
    "COUNT": f"{_REFERENCE}/aggregate-functions/count-aggregate/",
    "LOWER": f"{_REFERENCE}/string-functions/lower/",
    "SUM": f"{_REFERENCE}/aggregate-functions/sum-aggregate/",
    "HASH": f"{_REFERENCE}/mathematical-functions/hash/",
    "ANALYZE_STATISTICS": f"{_REFERENCE}/management-functions/statistics-management-functions/analyze-statistics/",
    "GET_NUM_ACCEPTED_ROWS": f"{_REFERENCE}/management-functions/session-functions/get-num-accepted-rows/",
}
"""Functions that the store may call, each with its page."""

OTHERS_CALL = {
    "CURRENT_SESSION": f"{_REFERENCE}/system-information-functions/current-session/",
    "VERSION": f"{_REFERENCE}/system-information-functions/version/",
    "THROW_ERROR": f"{_REFERENCE}/error-handling-functions/throw-error/",
    "ATAN": f"{_REFERENCE}/mathematical-functions/atan/",
}
"""Functions that `mate vertica-check`, the tests of the stand-in and vertica-python's own tests call."""

LONGEST = 65_000
LONGEST_LONG = 32_000_000
_INT, _FLOAT = ("int", "BIGINT", 0, 0), ("float", "DOUBLE", 0, 0)
TYPES: dict[str, tuple[str, str, int, int]] = {
    **dict.fromkeys(("INT", "INTEGER", "INT8", "BIGINT", "SMALLINT", "TINYINT"), _INT),
    **dict.fromkeys(("FLOAT", "FLOAT8", "REAL", "DOUBLE PRECISION"), _FLOAT),
    **dict.fromkeys(("VARBINARY", "BYTEA", "RAW"), ("varbinary", "BIT", 80, LONGEST)),
    **dict.fromkeys(("NUMERIC", "DECIMAL"), ("numeric", "NUMERIC", 0, 0)),
    **dict.fromkeys(("BOOLEAN", "BOOL"), ("boolean", "BOOLEAN", 0, 0)),
    **dict.fromkeys(("TIMESTAMP", "DATETIME"), ("timestamp", "TIMESTAMP", 0, 0)),
    "BINARY": ("binary", "BIT", 1, LONGEST),
    "LONG VARBINARY": ("long varbinary", "BIT", 1 << 20, LONGEST_LONG),
    "VARCHAR": ("varchar", "VARCHAR", 80, LONGEST),
    "CHAR": ("char", "VARCHAR", 1, LONGEST),
    "LONG VARCHAR": ("long varchar", "VARCHAR", 1 << 20, LONGEST_LONG),
    "DATE": ("date", "DATE", 0, 0),
    "TIME": ("time", "TIME", 0, 0),
    "TIMETZ": ("timetz", "TIMETZ", 0, 0),
    "TIMESTAMPTZ": ("timestamptz", "TIMESTAMPTZ", 0, 0),
    "UUID": ("uuid", "UUID", 0, 0),
}
"""Types: as the catalogue has them, as DuckDB has them, octets if none are given, octets at most.

https://docs.vertica.com/latest/en/sql-reference/data-types/
"""

ENCODINGS = {
    *("AUTO", "BLOCK_DICT", "BLOCKDICT_COMP", "BZIP_COMP", "COMMONDELTA_COMP", "DELTARANGE_COMP", "DELTAVAL"),
    *("GCDDELTA", "GZIP_COMP", "RLE", "ZSTD_COMP", "ZSTD_FAST_COMP", "ZSTD_HIGH_COMP"),
}
"""https://docs.vertica.com/latest/en/sql-reference/statements/create-statements/create-projection/encoding-types/"""

PRIVILEGES = {
    "TABLE": {"SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES", "TRUNCATE", "ALTER", "DROP"},
    "SCHEMA": {"USAGE", "CREATE", "SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES", "TRUNCATE", "ALTER", "DROP"},
    "DATABASE": {"CREATE", "TEMP"},
}
"""https://docs.vertica.com/latest/en/sql-reference/statements/grant-statements/"""

_WORDS = """
    ALL ANALYSE ANALYZE AND ANY ARRAY AS ASC BINARY BOTH CASE CAST CHECK COLUMN CONSTRAINT CORRELATION CREATE
    CURRENT_DATABASE CURRENT_DATE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DEFAULT DEFERRABLE DESC
    DISTINCT ELSE ENCODED END EXCEPT FALSE FOR FOREIGN FROM GRANT GROUP GROUPED HAVING ILIKE ILIKEB IN INITIALLY INNER
    INTERSECT INTERVAL INTERVALYM INTO IS ISNULL JOIN KSAFE LEADING LEFT LIKE LIKEB LIMIT LOCALTIME LOCALTIMESTAMP MATCH
    NATURAL NEW NOT NOTNULL NULL NULLSEQUAL OFF OFFSET OLD ON ONLY OR ORDER OUTER OVER OVERLAPS PINNED PLACING PRIMARY
    REFERENCES RIGHT SCHEMA SELECT SESSION_USER SIMILAR SOME SYSDATE TABLE THEN TIMESERIES TO TRAILING TRUE UNBOUNDED
    UNION UNIQUE UNSEGMENTED USER USING WHEN WHERE WINDOW WITH WITHIN CROSS FULL
"""
RESERVED = set(_WORDS.split())
"""Words that name nothing: https://docs.vertica.com/latest/en/sql-reference/language-elements/keywords-and-reserved-words/

CROSS and FULL are not reserved there, but begin a join where an alias may stand.
"""
