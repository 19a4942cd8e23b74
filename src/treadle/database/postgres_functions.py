"""SQL functions of SQLite that PostgreSQL lacks, with SQLite's names and results.

All projects share them. They are in the PostgreSQL schema `treadle`.
"""

SCHEMA = "treadle"

VERSION = 1
"""The version of the functions. Increase it with each change."""

FUNCTIONS: tuple[str, ...] = (
    """CREATE OR REPLACE FUNCTION treadle.iif(boolean, anycompatible, anycompatible)
        RETURNS anycompatible LANGUAGE sql IMMUTABLE PARALLEL SAFE
        AS 'SELECT CASE WHEN $1 THEN $2 ELSE $3 END'""",
    """CREATE OR REPLACE FUNCTION treadle.instr(text, text)
        RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT strpos($1, $2)'""",
    """CREATE OR REPLACE FUNCTION treadle.max(bigint, bigint)
        RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
        AS 'SELECT CASE WHEN $1 > $2 THEN $1 ELSE $2 END'""",
    """CREATE OR REPLACE FUNCTION treadle.min(bigint, bigint)
        RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
        AS 'SELECT CASE WHEN $1 < $2 THEN $1 ELSE $2 END'""",
    """CREATE OR REPLACE FUNCTION treadle.unixepoch()
        RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
        AS 'SELECT floor(extract(epoch FROM statement_timestamp()))::bigint'""",
)
