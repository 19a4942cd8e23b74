"""The tables of examinations, which the fifth version of the file adds.

Each row follows from one version of one span and is deleted with it (`keeping.remove`). A span
without a result has no row. `examinations` states up to which revision all spans were examined,
and the digest of their examiner. NULL means that nothing was examined.
"""

TABLES: tuple[str, ...] = (
    """CREATE TABLE examined (
        span INTEGER PRIMARY KEY, -- spans.id
        call BLOB, -- no longer written
        found_nothing INTEGER NOT NULL, -- no longer written: always 0
        told BLOB -- the result of the detectors (diagnosis.detectors)
    )""",
    "CREATE INDEX examined_faults ON examined (span) WHERE told IS NOT NULL",
    "CREATE TABLE ruled (span INTEGER PRIMARY KEY, told BLOB NOT NULL) -- by the user's rules",
    """CREATE TABLE examinations (
        kept_in TEXT PRIMARY KEY, -- the table
        digest BLOB, revision INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "INSERT INTO examinations VALUES ('examined', NULL, 0), ('ruled', NULL, 0)",
)

KEYED_BY_SPAN = ("examined", "ruled")
"""Tables whose column `span` is the key of a span."""
