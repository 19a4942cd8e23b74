"""Which state of the store an answer is about."""

import json
import sqlite3

from treadle.spans.span import OWN_LABELS


def newest_asked_about(connection: sqlite3.Connection) -> int:
    """The newest revision of a span that is not one of Treadle's own calls; 0 where there is none.

    What the analyst does is recorded too, so the plain newest revision is another one after each
    question, although every answer is still the same.
    """
    others = " AND ".join(["coalesce(instr(labels, ?), 0) = 0"] * len(OWN_LABELS))
    found = connection.execute(
        f"SELECT revision FROM spans INDEXED BY spans_by_revision"
        f" WHERE {others} ORDER BY revision DESC LIMIT 1",
        tuple(map(json.dumps, OWN_LABELS)),
    ).fetchone()
    return int(found[0]) if found else 0
