"""The tables of the identity store."""

from treadle.database import Schema

_MIGRATIONS = (
    """
    CREATE TABLE projects (
        name TEXT PRIMARY KEY,
        created_us INTEGER NOT NULL,
        repository TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE users (
        id TEXT PRIMARY KEY,
        email TEXT NOT NULL UNIQUE,
        created_us INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE memberships (
        user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        project TEXT NOT NULL REFERENCES projects (name) ON DELETE CASCADE,
        role TEXT NOT NULL,
        PRIMARY KEY (user_id, project)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE invitations (
        id TEXT PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        email TEXT NOT NULL,
        project TEXT NOT NULL REFERENCES projects (name) ON DELETE CASCADE,
        role TEXT NOT NULL,
        created_us INTEGER NOT NULL,
        expires_us INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE sessions (
        hash TEXT PRIMARY KEY,
        user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        created_us INTEGER NOT NULL,
        expires_us INTEGER NOT NULL,
        used_us INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX sessions_by_user ON sessions (user_id);
    CREATE TABLE keys (
        id TEXT PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        project TEXT NOT NULL REFERENCES projects (name) ON DELETE CASCADE,
        name TEXT NOT NULL,
        prefix TEXT NOT NULL,
        scopes TEXT NOT NULL,
        requests_per_minute INTEGER,
        spans_per_minute INTEGER,
        microdollars_per_day INTEGER,
        microdollars_per_month INTEGER,
        created_us INTEGER NOT NULL,
        created_by TEXT NOT NULL,
        expires_us INTEGER,
        last_used_us INTEGER,
        revoked_us INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE key_use (
        key_id TEXT NOT NULL,
        counter TEXT NOT NULL,
        period_us INTEGER NOT NULL,
        amount INTEGER NOT NULL,
        PRIMARY KEY (key_id, counter, period_us)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX key_use_by_period ON key_use (period_us);
    CREATE TABLE audit (
        id TEXT PRIMARY KEY,
        at_us INTEGER NOT NULL,
        action TEXT NOT NULL,
        who TEXT NOT NULL,
        subject TEXT NOT NULL,
        project TEXT NOT NULL,
        address TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX audit_by_project ON audit (project, id);
    INSERT INTO projects (name, created_us) VALUES ('default', 0);
    """,
    """
    CREATE TABLE tickets (
        hash TEXT PRIMARY KEY,
        proof TEXT NOT NULL,
        project TEXT NOT NULL,
        credential TEXT NOT NULL,
        expires_us INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
)
"""Migration n upgrades a store from version n to n + 1. A released migration is never changed."""

SCHEMA = Schema.of_migrations("users and keys", _MIGRATIONS, busy_seconds=5.0)
