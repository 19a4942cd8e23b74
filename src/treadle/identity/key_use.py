"""Counters of what each API key used in a period. All servers of an installation share them."""

from enum import StrEnum

from treadle.database import Connection, Database

_KEPT_PERIODS_US = 62 * 86_400 * 1_000_000
"""Microseconds after which the counter of a period is deleted."""


class Counter(StrEnum):
    """A quantity that a limit of a key counts."""

    REQUESTS = "requests"
    SPANS = "spans"
    DAY = "microdollars in a day"
    MONTH = "microdollars in a month"


class KeyUse:
    """The counters in the identity store. All methods block, and raise StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, key_id: str, counter: Counter, period_us: int, amount: int, limit: int) -> int:
        """Add up to `amount` to a counter without exceeding `limit`. Returns the added amount.

        `period_us` is the start of the period. The statement locks the row of the counter until the
        transaction ends, so concurrent servers together never exceed the limit.
        """
        with self._database.transaction() as connection:
            total = _add(connection, key_id, counter, period_us, amount)
            excess = min(amount, max(0, total - limit))
            if excess:
                _add(connection, key_id, counter, period_us, -excess)
            return amount - excess

    def add(self, key_id: str, counter: Counter, period_us: int, amount: int) -> int:
        """Add to a counter, even if it then exceeds its limit. Returns the new total."""
        with self._database.transaction() as connection:
            return _add(connection, key_id, counter, period_us, amount)

    def total(self, key_id: str, counter: Counter, period_us: int) -> int:
        """Return the total of a counter in a period."""
        with self._database.use() as connection:
            row = connection.execute(
                "SELECT amount FROM key_use WHERE key_id = ? AND counter = ? AND period_us = ?",
                (key_id, counter.value, period_us),
            ).fetchone()
            return int(row[0]) if row else 0


def _add(connection: Connection, key_id: str, counter: Counter, period_us: int, amount: int) -> int:
    (total,) = connection.execute(
        "INSERT INTO key_use (key_id, counter, period_us, amount) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (key_id, counter, period_us)"
        " DO UPDATE SET amount = key_use.amount + excluded.amount RETURNING key_use.amount",
        (key_id, counter.value, period_us, amount),
    ).fetchone()
    if total == amount:  # the first use in this period
        connection.execute(
            "DELETE FROM key_use WHERE period_us < ?", (period_us - _KEPT_PERIODS_US,)
        )
    return int(total)
