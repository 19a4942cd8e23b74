"""Which state of the store an answer is about."""

import json
import sqlite3

from treadle.traces.span import ANALYST_LABEL


def newest_asked_about(connection: sqlite3.Connection) -> int:
    """The newest revision of a span that is not the analyst's own; 0 where there is none.

    What the analyst does is recorded too, so the plain newest revision is another one after each
    question, although every answer is still the same.
    """
    found = connection.execute(
        "SELECT revision FROM spans INDEXED BY spans_by_revision"
        " WHERE coalesce(instr(labels, ?), 0) = 0 ORDER BY revision DESC LIMIT 1",
        (json.dumps(ANALYST_LABEL),),
    ).fetchone()
    return int(found[0]) if found else 0
