"""The tables and indexes of the span store.

- **The key of a span is its start time**: `spans.id = start in microseconds << 11 | position`. The
  position distinguishes spans of the same microsecond. If a microsecond is full, its further spans
  get keys of the next microsecond. Therefore every table and index with keys of spans is in the
  order of time.
- **Sums are stored**: the rows of `traces`, `runs`, `threads`, `rollups` and `properties` have the
  same additive counters. The writer adds the difference that each version of a span makes. All
  counters are integers, so the result does not depend on the order of arrival.
- **Revisions identify changes**: `spans.revision` increases with every write of any process. After
  a pause, a live view reads the spans with a higher revision than the last one that it read.

Text with a lone surrogate is not valid UTF-8 and is stored as bytes (`statements.pack_text`).

The tables and triggers that only one engine has are in `sqlite_engine` and `postgres_engine`.
"""

from treadle.spans import totals
from treadle.traces.store.columns import COLUMNS
from treadle.traces.store.counters import COUNTER_NAMES

CALL_KINDS = f"kind IN {tuple(map(str, totals.CALL_KINDS))}"
"""The SQL condition for calls of a model."""

STEP_KINDS = f"kind IN {(*map(str, totals.CALL_KINDS), 'other', 'agent')}"
"""The SQL condition for calls of a model, and for other kinds that may be between two calls."""

KEY_BITS = 11
"""The number of bits of a key that distinguish the spans of one microsecond."""

_SPAN_COLUMNS = ", ".join(f"{name} {column.sql}" for name, column in COLUMNS.items())
COUNTER_TYPE = "INTEGER NOT NULL DEFAULT 0"
_SUMS = ", ".join(f"{name} {COUNTER_TYPE}" for name in COUNTER_NAMES)

STEPS_BY_PARENT = f"""
    CREATE INDEX IF NOT EXISTS steps_by_parent ON spans (trace, parent_id) WHERE {STEP_KINDS}"""

FAULTS = (
    """CREATE INDEX IF NOT EXISTS failed_by_parent ON spans (trace, parent_id)
        WHERE status = 'error'""",
    "CREATE INDEX IF NOT EXISTS faults ON spans (trace) WHERE fault",
)
"""The index of failed spans by parent, and the index of faults by trace."""

SAME_CALLS = (
    """CREATE INDEX IF NOT EXISTS spans_by_response_key ON spans (response_key, start_us)
        WHERE response_key IS NOT NULL""",
    """CREATE INDEX IF NOT EXISTS spans_by_content_key ON spans (content_key, start_us)
        WHERE content_key IS NOT NULL""",
    "CREATE INDEX IF NOT EXISTS same_calls ON spans (trace) WHERE same_as IS NOT NULL",
)

PROPERTY_TABLES: tuple[str, ...] = (
    """CREATE TABLE IF NOT EXISTS span_properties (
        name TEXT NOT NULL, value TEXT NOT NULL, span INTEGER NOT NULL,
        PRIMARY KEY (name, value, span)
    ) WITHOUT ROWID""",
    # One row for each value of a property, with the sums of its spans.
    f"""CREATE TABLE IF NOT EXISTS properties (
        name TEXT NOT NULL, value TEXT NOT NULL, {_SUMS}, PRIMARY KEY (name, value)
    ) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS properties_by_size ON properties (name, spans DESC, value)",
)
"""The tables of the user, the release and the metadata (`store.properties`)."""

TABLES: tuple[str, ...] = (
    # One row for each span, with the columns that lists, filters and skeletons need.
    f"CREATE TABLE spans ({_SPAN_COLUMNS})",
    "CREATE UNIQUE INDEX spans_by_span_id ON spans (span_id, trace)",
    "CREATE INDEX spans_of_trace ON spans (trace)",
    "CREATE UNIQUE INDEX spans_by_revision ON spans (revision)",
    "CREATE INDEX roots_of_trace ON spans (trace) WHERE parent_id IS NULL",
    STEPS_BY_PARENT,
    *FAULTS,
    "CREATE INDEX spans_by_model ON spans (model) WHERE model IS NOT NULL",
    "CREATE INDEX spans_by_operation ON spans (operation)",
    "CREATE INDEX spans_not_ok ON spans (status) WHERE status != 'ok'",
    "CREATE INDEX spans_by_duration ON spans (duration_us) WHERE duration_us IS NOT NULL",
    "CREATE INDEX spans_by_cost ON spans (cost_nano) WHERE cost_nano IS NOT NULL",
    """CREATE INDEX spans_by_tokens ON spans (
        (coalesce(input_tokens, 0) + coalesce(output_tokens, 0))
    ) WHERE coalesce(input_tokens, output_tokens) IS NOT NULL""",
    """CREATE INDEX tool_calls ON spans (kind, name, work_us, start_us, status, error_type)
        WHERE kind = 'tool'""",
    # The complete span as compressed JSON. Large values are in `blobs`.
    "CREATE TABLE contents (id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    """CREATE TABLE blobs (
        hash BLOB PRIMARY KEY, -- BLAKE2b-256 of the bytes
        media_type TEXT, size INTEGER NOT NULL,
        data BLOB NOT NULL -- compressed where it is shorter than `size`
    )""",
    """CREATE TABLE blob_uses (
        span INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (span, hash)
    ) WITHOUT ROWID""",
    "CREATE INDEX uses_of_blob ON blob_uses (hash)",
    # One row for each trace. `own_run` is the smallest id of a run that its spans name.
    # `own_thread` is the thread that its root names, or the smallest one that its spans name.
    # The run of a trace is `own_run`, or the trace's id if `own_run` is NULL. A trace belongs to
    # the thread of its run.
    f"""CREATE TABLE traces (
        id INTEGER PRIMARY KEY,
        trace_id TEXT NOT NULL UNIQUE,
        own_run TEXT, own_thread TEXT,
        run_id TEXT NOT NULL,
        root INTEGER NOT NULL, -- spans.id of the true root, else of the earliest span
        rooted INTEGER NOT NULL, -- 1: a true root is there
        start_us INTEGER NOT NULL, last_us INTEGER NOT NULL, -- first start, last start or end
        {_SUMS}
    )""",
    "CREATE INDEX traces_by_time ON traces (start_us, id)",
    "CREATE INDEX traces_of_run ON traces (run_id, rooted, start_us, trace_id)",
    "CREATE INDEX traces_of_run_by_end ON traces (run_id, last_us)",
    "CREATE INDEX threads_of_run ON traces (run_id, own_thread) WHERE own_thread IS NOT NULL",
    # One row for each run, with the sums of its traces. `thread_id` is the smallest `own_thread` of
    # its traces, or the run's id if no trace has an `own_thread`. `root` is the root of the
    # earliest trace that has a true root, or of the earliest trace if no trace has a true root.
    f"""CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL UNIQUE,
        thread_id TEXT NOT NULL,
        root INTEGER,
        start_us INTEGER NOT NULL, last_us INTEGER NOT NULL,
        {_SUMS}
    )""",
    "CREATE INDEX runs_by_time ON runs (start_us, id)",
    "CREATE INDEX runs_of_thread ON runs (thread_id, start_us)",
    "CREATE INDEX runs_of_thread_by_end ON runs (thread_id, last_us)",
    # One row for each thread, with the sums of its runs.
    f"""CREATE TABLE threads (
        id INTEGER PRIMARY KEY,
        thread_id TEXT NOT NULL UNIQUE,
        runs INTEGER NOT NULL,
        start_us INTEGER NOT NULL, last_us INTEGER NOT NULL,
        {_SUMS}
    )""",
    "CREATE INDEX threads_by_time ON threads (last_us, id)",
    # The number of spans of a trace with each value of a facet.
    """CREATE TABLE trace_facets (
        facet TEXT NOT NULL, -- model, label, operation, run, thread, or the name of a property
        value TEXT NOT NULL, trace INTEGER NOT NULL, count INTEGER NOT NULL,
        PRIMARY KEY (facet, value, trace)
    ) WITHOUT ROWID""",
    "CREATE INDEX facets_of_trace ON trace_facets (trace, facet, value, count)",
    """CREATE TABLE span_labels (
        label TEXT NOT NULL, span INTEGER NOT NULL, PRIMARY KEY (label, span)
    ) WITHOUT ROWID""",
    # Sums by the hour in which spans start. `hour_us` is the beginning of the hour in Unix
    # microseconds.
    f"""CREATE TABLE rollups (
        dimension TEXT NOT NULL, -- all, model, operation, label, or the name of a property
        value TEXT NOT NULL, -- '' for all, and for spans without a model
        hour_us INTEGER NOT NULL,
        {_SUMS},
        PRIMARY KEY (dimension, value, hour_us)
    ) WITHOUT ROWID""",
    *PROPERTY_TABLES,
    # The number of secrets of each kind that were redacted before storing.
    "CREATE TABLE redactions (kind TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID",
    # The highest numbers that were ever assigned, so that deleted numbers are not assigned again.
    "CREATE TABLE given (what TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO given VALUES ('revision', 0), ('trace', 0)",
)

INDEXES: tuple[str, ...] = (
    "DROP INDEX IF EXISTS model_calls_of_parent",
    "DROP INDEX IF EXISTS calls_by_parent",
    STEPS_BY_PARENT,
    *FAULTS,
    # The short columns of a span in the order of time. New spans are added at the end. Sums over
    # many spans read a tenth of the bytes that the whole rows have.
    """CREATE INDEX IF NOT EXISTS spans_in_short ON spans (
        start_us, trace, kind, operation, name, status, model, provider, end_us, duration_us,
        work_us, ttft_us, input_tokens, output_tokens, cached_tokens, cache_write_tokens,
        reasoning_tokens, cost_nano, counted, fault, labels, properties
    )""",
    "CREATE INDEX IF NOT EXISTS spans_by_kind ON spans (kind)",
    "CREATE INDEX IF NOT EXISTS spans_by_name ON spans (name)",
    """CREATE INDEX IF NOT EXISTS spans_by_provider ON spans (provider)
        WHERE provider IS NOT NULL""",
    *SAME_CALLS,
    "CREATE INDEX IF NOT EXISTS runs_by_size ON runs (spans DESC, run_id)",
    "CREATE INDEX IF NOT EXISTS threads_by_size ON threads (spans DESC, thread_id)",
)
"""The indexes that versions 6 to 14 of the schema add. Adding them does not change rows."""
