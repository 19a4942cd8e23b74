"""The tables of what was examined, which the fifth form of the file adds.

Each row follows from one version of one span, and goes with it (`keeping.remove`). Spans that have
nothing to tell have none. `examinations` says up to which revision all spans were examined, and by
what: the digest of the detectors, or of the user's rules. NULL is nothing at all.
"""

TABLES: tuple[str, ...] = (
    """CREATE TABLE examined (
        span INTEGER PRIMARY KEY, -- spans.id
        call BLOB, -- of a tool's span: the digest of tool and arguments
        found_nothing INTEGER NOT NULL, -- 1: its result is empty
        told BLOB -- what the detectors said (detectors.examined), null for nothing
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
