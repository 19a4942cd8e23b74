"""SQL functions of SQLite that PostgreSQL lacks, with SQLite's names and results.

All projects share them. They are in the PostgreSQL schema `treadle`.
"""

from treadle.database.postgres_search import SEARCH_FUNCTIONS

SCHEMA = "treadle"

PROJECT_SETTING = "treadle.project"
"""The session setting with the project of a connection. The row-level policies compare it."""

VERSION = 7
"""The version of the functions. Increase it with each change."""

_JSON_TEXT = r"""
    CREATE OR REPLACE FUNCTION treadle.json_text(escaped text)
    RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
    DECLARE
        rest text := escaped;
        found text := '';
        at integer;
        code integer;
        low integer;
        mark text;
    BEGIN
        LOOP
            at := strpos(rest, '\');
            IF at = 0 THEN
                RETURN found || rest;
            END IF;
            found := found || left(rest, at - 1);
            mark := substr(rest, at + 1, 1);
            rest := substr(rest, at + 2);
            IF mark <> 'u' THEN
                found := found || CASE mark
                    WHEN 'b' THEN E'\b' WHEN 'f' THEN E'\f' WHEN 'n' THEN E'\n'
                    WHEN 'r' THEN E'\r' WHEN 't' THEN E'\t' ELSE mark END;
                CONTINUE;
            END IF;
            code := ('x' || lpad(left(rest, 4), 8, '0'))::bit(32)::integer;
            rest := substr(rest, 5);
            IF code BETWEEN 55296 AND 56319 AND rest ~ '^\\u[dD][c-fC-F]' THEN
                low := ('x' || lpad(substr(rest, 3, 4), 8, '0'))::bit(32)::integer;
                code := 65536 + ((code - 55296) << 10) + low - 56320;
                rest := substr(rest, 7);
            END IF;
            found := found || CASE
                WHEN code = 0 THEN chr(1112064)
                WHEN code BETWEEN 55296 AND 57343 THEN chr(1110016 + code - 55296)
                WHEN code BETWEEN 1110016 AND 1112065 THEN chr(1112065) || chr(code)
                ELSE chr(code) END;
        END LOOP;
    END $$"""
"""Decodes the escapes of a JSON text. NUL and lone surrogates become private characters."""


def _operator(name: str, function: str) -> str:
    """Return SQL that creates an operator of two texts, unless it exists."""
    return f"""DO $$ BEGIN
        CREATE OPERATOR treadle.{name} (
            FUNCTION = treadle.{function}, LEFTARG = text, RIGHTARG = text
        );
        EXCEPTION WHEN duplicate_function THEN NULL;
        END $$"""


_MEMBER = r'"((?:[^"\\]|\\.)*)"'

FUNCTIONS: tuple[str, ...] = (
    # The row-level policies call this function. It is declared as IMMUTABLE, so that the planner
    # replaces the call by its result. If the policy were evaluated for each row instead, PostgreSQL
    # would not use the index for text search. The result depends on the project of the connection.
    # PostgreSQL makes new plans when the project changes, because the search path changes with it.
    f"""CREATE OR REPLACE FUNCTION treadle.is_project(text)
        RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
        AS 'SELECT current_setting(''{PROJECT_SETTING}'', true) IS NOT DISTINCT FROM $1'""",  # noqa: S608  (constants)
    """CREATE OR REPLACE FUNCTION treadle.iif(boolean, anycompatible, anycompatible)
        RETURNS anycompatible LANGUAGE sql IMMUTABLE PARALLEL SAFE
        AS 'SELECT CASE WHEN $1 THEN $2 ELSE $3 END'""",
    """CREATE OR REPLACE FUNCTION treadle.instr(text, text)
        RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT strpos($1, $2)'""",
    """CREATE OR REPLACE FUNCTION treadle.max(bigint, bigint)
        RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
        AS 'SELECT CASE WHEN $1 IS NOT NULL AND $2 IS NOT NULL THEN greatest($1, $2) END'""",
    """CREATE OR REPLACE FUNCTION treadle.min(bigint, bigint)
        RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
        AS 'SELECT CASE WHEN $1 IS NOT NULL AND $2 IS NOT NULL THEN least($1, $2) END'""",
    """CREATE OR REPLACE FUNCTION treadle.unixepoch()
        RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
        AS 'SELECT floor(extract(epoch FROM statement_timestamp()))::bigint'""",
    # A sum above 63 bits becomes the largest number.
    """CREATE OR REPLACE FUNCTION treadle.add_tokens(bigint, bigint)
        RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT CASE WHEN abs(coalesce($1, 0) / 2) + abs(coalesce($2, 0) / 2) < 1::bigint << 61
            THEN coalesce($1, 0) + coalesce($2, 0)
            ELSE greatest(least(coalesce($1, 0)::numeric + coalesce($2, 0),
                9223372036854775807), -9223372036854775807)::bigint END $$""",
    # SQLite's `lower` changes ASCII letters only.
    """CREATE OR REPLACE FUNCTION treadle.ascii_lower(text)
        RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT lower($1 COLLATE "C")'""",
    r"""CREATE OR REPLACE FUNCTION treadle.glob(text, text)
        RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT $1 ~ ('^' || regexp_replace(regexp_replace(regexp_replace(
            $2, '([.^$(){}|+\\])', '\\\1', 'g'),
            '(?<!\[)\*', '.*', 'g'), '(?<!\[)\?', '.', 'g') || '$') $$""",
    """CREATE OR REPLACE FUNCTION treadle.not_glob(text, text)
        RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
        AS 'SELECT NOT treadle.glob($1, $2)'""",
    _operator("~@~", "glob"),
    _operator("!~@~", "not_glob"),
    """CREATE OR REPLACE FUNCTION treadle.add_to_total(double precision, bigint)
        RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
        AS 'SELECT $1 + coalesce($2, 0)'""",
    """CREATE OR REPLACE AGGREGATE treadle.total(bigint) (
        sfunc = treadle.add_to_total, stype = double precision, initcond = '0',
        combinefunc = float8pl, parallel = safe
    )""",
    """CREATE OR REPLACE FUNCTION treadle.add_if(bigint, boolean)
        RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
        AS 'SELECT CASE WHEN $2 THEN $1 + 1 ELSE $1 END'""",
    """CREATE OR REPLACE AGGREGATE treadle.total(boolean) (
        sfunc = treadle.add_if, stype = bigint, initcond = '0', combinefunc = int8pl,
        parallel = safe
    )""",
    _JSON_TEXT,
    r"""CREATE OR REPLACE FUNCTION treadle.is_plain_json(text)
        RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
        AS $$ SELECT strpos($1, '\u') = 0 OR $1 !~ '\\u(0000|[dD][89a-fA-F])' $$""",
    # PostgreSQL's own functions reject NUL and lone surrogates. They read all other documents,
    # because they are many times faster.
    rf"""CREATE OR REPLACE FUNCTION treadle.json_each(document text)
        RETURNS TABLE (key text, value text)
        LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 4 AS $$
        SELECT key, value FROM json_each_text(
            CASE WHEN left($1, 1) = '{{' AND treadle.is_plain_json($1) THEN $1::json END)
        UNION ALL
        SELECT (position - 1)::text, listed.value FROM json_array_elements_text(
            CASE WHEN left($1, 1) = '[' AND treadle.is_plain_json($1) THEN $1::json END
        ) WITH ORDINALITY listed (value, position)
        UNION ALL
        SELECT treadle.json_text(found[1]), treadle.json_text(found[2])
        FROM regexp_matches($1, '{_MEMBER}: {_MEMBER}', 'g') found
        WHERE left($1, 1) = '{{' AND NOT treadle.is_plain_json($1)
        UNION ALL
        SELECT (position - 1)::text, treadle.json_text(found[1])
        FROM regexp_matches($1, '{_MEMBER}', 'g') WITH ORDINALITY listed (found, position)
        WHERE left($1, 1) = '[' AND NOT treadle.is_plain_json($1)
        $$""",  # noqa: S608  (constants)
    """CREATE OR REPLACE FUNCTION treadle.json_member(text, text)
        RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
        AS 'SELECT value FROM treadle.json_each($1) WHERE key = $2'""",
    r"""CREATE OR REPLACE FUNCTION treadle.number_in(text)
        RETURNS double precision LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
        BEGIN
            IF $1 !~ '^-?[0-9]{1,255}[0-9]{0,45}(\.[0-9]{1,255}[0-9]{0,45})?([eE][+-]?[0-9]{1,2})?$'
            THEN
                RETURN NULL;
            END IF;
            RETURN $1::double precision;
        EXCEPTION WHEN numeric_value_out_of_range THEN
            RETURN CASE
                WHEN abs($1::numeric) < 1 THEN 0
                WHEN $1 LIKE '-%' THEN '-Infinity'::double precision
                ELSE 'Infinity'::double precision END;
        END $$""",
    *SEARCH_FUNCTIONS,
)
