"""Keys of spans: the microsecond of the start and a place in it, so that keys are in time order."""

import json
import sqlite3
from collections.abc import Sequence

from treadle.traces.store.schema import KEY_BITS

_EARLIEST = -(1 << 51)
_LATEST = (1 << 52) - (1 << 24)  # room to spill: 34 thousand million spans
_REMEMBERED = 10_000

_HIGHEST = """
    SELECT value, highest FROM (
        SELECT value, (
            SELECT max(id) FROM spans WHERE id BETWEEN value << ?2 AND ((value + 1) << ?2) - 1
        ) AS highest FROM json_each(?1)
    ) WHERE highest IS NOT NULL"""


class Keys:
    """Allots keys to new spans. What it remembers only saves look-ups."""

    def __init__(self) -> None:
        self._spilled: dict[int, int] = {}
        """Where there was room the last time for what starts in a full microsecond."""

    def allot(self, connection: sqlite3.Connection, starts: Sequence[int]) -> list[int]:
        """A free key for each start (microseconds), within the transaction that will use it.

        Starts from 1834 to 2112 are in order; what is beyond is kept at the nearer end.
        """
        if len(self._spilled) > _REMEMBERED:
            self._spilled.clear()
        moments = [min(max(start, _EARLIEST), _LATEST) for start in starts]
        free = _free(connection, {self._spilled.get(moment, moment) for moment in moments})
        keys = []
        for moment in moments:
            place = self._spilled.get(moment, moment)
            while free[place] == (place + 1) << KEY_BITS:
                place += 1
                if place not in free:
                    free.update(_free(connection, {place}))
                self._spilled[moment] = place
            keys.append(free[place])
            free[place] += 1
        return keys


def _free(connection: sqlite3.Connection, moments: set[int]) -> dict[int, int]:
    """The first key behind the used ones of each microsecond; of a full one, the next one's."""
    found = connection.execute(_HIGHEST, (json.dumps(list(moments)), KEY_BITS))
    return {moment: moment << KEY_BITS for moment in moments} | {
        moment: highest + 1 for moment, highest in found
    }
