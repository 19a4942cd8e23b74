"""Compares the stored sums with sums over all spans."""

from treadle.database import Connection
from treadle.traces.store.counters import COUNTER_COLUMNS, COUNTER_NAMES, COUNTERS
from treadle.traces.store.sums import HOUR_US, OWN

_OF_SPANS = ", ".join(f"coalesce(sum({counter.sql}), 0)" for counter in COUNTERS)
_OF_SUMS = ", ".join(f"sum({name})" for name in COUNTER_NAMES)
_HOUR = f"s.start_us - ((s.start_us % {HOUR_US}) + {HOUR_US}) % {HOUR_US}"
_AFTER_OWN = OWN[:-1] + chr(ord(OWN[-1]) + 1)


def _not_own(column: str) -> str:
    return f"NOT ({column} >= '{OWN}' AND {column} < '{_AFTER_OWN}') AND spans <> 0"


def _by_hour(dimension: str, value: str, joined: str = "") -> str:
    return f"""SELECT {dimension}, {value}, {_HOUR}, {_OF_SPANS} FROM spans s {joined}
        GROUP BY 1, 2, 3"""  # noqa: S608  (constants)


_STORED_AND_COUNTED = {
    "traces": (
        f"SELECT id, {COUNTER_COLUMNS} FROM traces",  # noqa: S608
        f"SELECT s.trace, {_OF_SPANS} FROM spans s GROUP BY s.trace",  # noqa: S608
    ),
    "runs": (
        f"SELECT run_id, {COUNTER_COLUMNS} FROM runs",  # noqa: S608
        f"SELECT run_id, {_OF_SUMS} FROM traces GROUP BY run_id",  # noqa: S608
    ),
    "threads": (
        f"SELECT thread_id, runs, {COUNTER_COLUMNS} FROM threads",  # noqa: S608
        f"SELECT thread_id, count(*), {_OF_SUMS} FROM runs GROUP BY thread_id",  # noqa: S608
    ),
    "rollups": (
        f"SELECT dimension, value, hour_us, {COUNTER_COLUMNS} FROM rollups WHERE "  # noqa: S608
        + _not_own("dimension"),
        " UNION ALL ".join(
            (
                _by_hour("CAST('all' AS TEXT)", "CAST('' AS TEXT)"),
                _by_hour("CAST('model' AS TEXT)", "coalesce(s.model, '')"),
                _by_hour("CAST('operation' AS TEXT)", "s.operation"),
                _by_hour("CAST('label' AS TEXT)", "l.label", "JOIN span_labels l ON l.span = s.id"),
                _by_hour("p.name", "p.value", "JOIN span_properties p ON p.span = s.id"),
            )
        ),
    ),
    "properties": (
        f"SELECT name, value, {COUNTER_COLUMNS} FROM properties WHERE {_not_own('name')}",  # noqa: S608
        f"""SELECT p.name, p.value, {_OF_SPANS} FROM span_properties p
            JOIN spans s ON s.id = p.span GROUP BY p.name, p.value""",  # noqa: S608
    ),
}


def wrong_sums(connection: Connection) -> list[str]:
    """Return a sentence for each table of sums that differs from the sums over all spans.

    Call the function in a transaction, so that it sees one state. It reads all spans.
    """
    problems: list[str] = []
    for table, (stored, counted) in _STORED_AND_COUNTED.items():
        (wrong,) = connection.execute(
            f"SELECT count(*) FROM (SELECT * FROM ({stored}) AS a EXCEPT"  # noqa: S608
            f" SELECT * FROM ({counted}) AS b) AS c"
        ).fetchone()
        (missing,) = connection.execute(
            f"SELECT count(*) FROM (SELECT * FROM ({counted}) AS a EXCEPT"  # noqa: S608
            f" SELECT * FROM ({stored}) AS b) AS c"
        ).fetchone()
        if differing := max(wrong, missing):
            problems.append(f"{differing} rows of {table} differ from the sums over all spans")
    return problems
