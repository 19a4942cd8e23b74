"""The API keys of the projects."""

from collections.abc import Sequence
from typing import Any

from treadle.database import Database, ids_with_prefix
from treadle.errors import UsageError
from treadle.identity.identity import Limits, Scope
from treadle.identity.records import ApiKey
from treadle.identity.secret_values import new_key, shown_prefix, stored_hash
from treadle.ids import new_id, resolve_prefix

USE_SECONDS = 60
"""The minimum number of seconds between two updates of the time of the last use."""
_MAX_NAME = 100
_COLUMNS = (
    "id, project, name, prefix, scopes, requests_per_minute, spans_per_minute,"
    " microdollars_per_day, microdollars_per_month, created_us, created_by, expires_us,"
    " last_used_us, revoked_us"
)


class ApiKeys:
    """The keys in the identity store. All methods block, and raise StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        project: str,
        name: str,
        scopes: frozenset[Scope],
        limits: Limits,
        *,
        created_by: str,
        expires_us: int | None,
        now_us: int,
    ) -> tuple[ApiKey, str]:
        """Create a key. Returns the key and its secret. The secret is not stored.

        Raises UsageError if the name is invalid, or if another valid key of the project has it.
        """
        name = _require_name(name)
        secret = new_key()
        key = ApiKey(
            str(new_id()),
            project,
            name,
            shown_prefix(secret),
            scopes,
            limits,
            now_us,
            created_by,
            expires_us,
            None,
            None,
        )
        with self._database.transaction() as connection:
            in_use = connection.execute(
                "SELECT 1 FROM keys WHERE project = ? AND name = ? AND revoked_us IS NULL",
                (project, name),
            ).fetchone()
            if in_use:
                raise UsageError(
                    f"The project {project} already has a key {name!r}.",
                    hint="Choose another name, or revoke that key with `treadle keys revoke`.",
                )
            connection.execute(
                f"INSERT INTO keys ({_COLUMNS}, hash)"  # noqa: S608  (constants)
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*_row(key), stored_hash(secret)),
            )
        return key, secret

    def all(self, project: str | None = None, *, revoked: bool = False) -> list[ApiKey]:
        """Return the keys of a project or of all projects, oldest first.

        Revoked keys are included only if `revoked` is true.
        """
        with self._database.use() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM keys ORDER BY id")  # noqa: S608  (constants)
            keys = [_key(row) for row in rows]
        return [
            key
            for key in keys
            if (project is None or key.project == project) and (revoked or key.revoked_us is None)
        ]

    def valid(self, hashed: str, now_us: int) -> ApiKey | None:
        """Return the valid key with this hash, and note its use.

        Returns None if the key is unknown, revoked or expired. One statement decides all three
        cases, so their response times do not differ.
        """
        with self._database.use() as connection:
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM keys WHERE hash = ? AND revoked_us IS NULL"  # noqa: S608  (constants)
                " AND (expires_us IS NULL OR expires_us > ?)",
                (hashed, now_us),
            ).fetchone()
            if row is None:
                return None
            key = _key(row)
            if key.last_used_us is None or key.last_used_us <= now_us - USE_SECONDS * 1_000_000:
                connection.execute(
                    "UPDATE keys SET last_used_us = ? WHERE id = ?", (now_us, key.id)
                )
            return key

    def revoke(self, reference: str, now_us: int) -> ApiKey:
        """Revoke a key, and return the key as it was before the revocation.

        `reference` is the id, the beginning of the id, the name, or the shown beginning of the key.
        Raises NotFoundError if no valid key matches, and UsageError if several keys match.
        """

        def find(prefix: str, limit: int) -> Sequence[str]:
            named = connection.execute(
                "SELECT id FROM keys WHERE (name = ? OR prefix = ?) AND revoked_us IS NULL"
                " ORDER BY id LIMIT ?",
                (reference.strip(), reference.strip(), limit),
            ).fetchall()
            if named:
                return [key_id for (key_id,) in named]
            return ids_with_prefix(connection, "keys", prefix, limit, where="revoked_us IS NULL")

        with self._database.transaction() as connection:
            key_id = resolve_prefix(reference, find, noun="key", listing="`treadle keys list`")
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM keys WHERE id = ?",  # noqa: S608  (constants)
                (key_id,),
            ).fetchone()
            connection.execute("UPDATE keys SET revoked_us = ? WHERE id = ?", (now_us, key_id))
            return _key(row)


def _require_name(name: str) -> str:
    text = " ".join(name.split())
    if not text or len(text) > _MAX_NAME or not text.isprintable():
        raise UsageError(
            f"{name[:100]!r} is not a valid name of a key.",
            hint=f"Use 1 to {_MAX_NAME} printable characters, such as `ci`.",
        )
    return text


_MICRO = 1_000_000


def _microdollars(dollars: float | None) -> int | None:
    return None if dollars is None else round(dollars * _MICRO)


def _dollars(microdollars: int | None) -> float | None:
    return None if microdollars is None else microdollars / _MICRO


def _row(key: ApiKey) -> tuple[object, ...]:
    limits = key.limits
    return (
        key.id, key.project, key.name, key.prefix, " ".join(sorted(key.scopes)),
        limits.requests_per_minute, limits.spans_per_minute,
        _microdollars(limits.dollars_per_day), _microdollars(limits.dollars_per_month),
        key.created_us, key.created_by, key.expires_us, key.last_used_us, key.revoked_us,
    )  # fmt: skip


def _key(row: tuple[Any, ...]) -> ApiKey:
    (key_id, project, name, prefix, scopes, requests, spans, per_day, per_month, *times) = row
    return ApiKey(
        key_id,
        project,
        name,
        prefix,
        frozenset(map(Scope, scopes.split())),
        Limits(requests, spans, _dollars(per_day), _dollars(per_month)),
        *times,
    )
