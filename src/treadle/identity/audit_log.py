"""The audit log: who did what, when, from which address and in which project."""

from treadle.database import Database, storable_text
from treadle.identity.records import Action, AuditEntry
from treadle.ids import new_id
from treadle.secrets import redact

_MAX_SUBJECT = 500


class AuditLog:
    """The audit log in the identity store. Entries are added, and never changed or deleted.

    All methods block, and raise StoreError on failure.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        action: Action,
        *,
        who: str,
        subject: str = "",
        project: str = "",
        address: str = "",
        now_us: int,
    ) -> None:
        """Add an entry. Secrets in `subject` are redacted."""
        subject = storable_text(redact(subject))[:_MAX_SUBJECT]
        with self._database.use() as connection:
            connection.execute(
                "INSERT INTO audit (id, at_us, action, who, subject, project, address)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (str(new_id()), now_us, action.value, storable_text(who), subject, project,
                 address),
            )  # fmt: skip

    def entries(
        self, *, project: str | None = None, since_us: int = 0, limit: int = 100
    ) -> list[AuditEntry]:
        """Return at most `limit` entries, newest first.

        `project` limits the result to the entries of a project.
        """
        condition, values = ("", ()) if project is None else ("AND project = ?", (project,))
        with self._database.use() as connection:
            rows = connection.execute(
                "SELECT id, at_us, action, who, subject, project, address FROM audit"  # noqa: S608  (constants)
                f" WHERE at_us >= ? {condition} ORDER BY id DESC LIMIT ?",
                (since_us, *values, limit),
            )
            return [
                AuditEntry(entry_id, at_us, Action(action), *rest)
                for entry_id, at_us, action, *rest in rows
            ]
