"""SQL functions for text search in PostgreSQL, with the hits of SQLite's full-text index.

A query is the argument of SQLite's MATCH, such as `"not found" AND "time" *`. A star means that the
last word of the phrase may be the beginning of a longer word.
"""

_BETWEEN_WORDS = r"[\u0001-/:-@\[-\u0060{-\u007f]"
"""Matches a character between two words, after ASCII letters were changed to lower case."""

HAS_WORDS = "treadle.has_words"
"""The function that tests the order of words. It prepares the argument of MATCH for each plan."""

SEARCH_FUNCTIONS: tuple[str, ...] = (
    # Each query also matches the word '-'. This word marks texts that are not fully indexed.
    r"""CREATE OR REPLACE FUNCTION treadle.words_query(query text)
        RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT (regexp_replace(replace(
            replace(replace(replace(replace(query, '" * AND "', ':* '), '" AND "', ' '),
                '" *', ':*'), '"', ''),
            ' ', ' & '), '([^ ]{250})[^ ]*', '\1', 'g') || ' | ''-''')::tsquery $$""",
    rf"""CREATE OR REPLACE FUNCTION treadle.phrase_patterns(query text)
        RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT array_agg('{_BETWEEN_WORDS}' || replace(found[1], ' ', '{_BETWEEN_WORDS}+')
            || CASE WHEN found[2] IS NULL THEN '{_BETWEEN_WORDS}' ELSE '' END)
        FROM regexp_matches(query, '"([^"]*)"( \*)?', 'g') found $$""",  # noqa: S608  (constants)
    # The planner replaces the call by this expression, and computes the patterns once. Without
    # CASE, it would expect almost no match, and would read all texts instead of the newest ones.
    """CREATE OR REPLACE FUNCTION treadle.has_phrases(
            tokens text, name text, input text, output text, query text
        ) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT CASE WHEN coalesce($1, lower(
            (' ' || $2 || U&' \2028 ' || $3 || U&' \2028 ' || $4 || ' ') COLLATE "C"
        )) ~ ALL (treadle.phrase_patterns($5)) THEN TRUE ELSE FALSE END $$""",
    # The index is sufficient for single words. Phrases and cut words need the words in order.
    """CREATE OR REPLACE FUNCTION treadle.has_words(
            partial bigint, tokens text, name text, input text, output text, query text
        ) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT $1 = 0 AND $6 ~ '^("[^ "]{1,250}"( \\*)?( AND )?)+$'
            OR treadle.has_phrases($2, $3, $4, $5, $6) $$""",
    # A text whose `folded` is NULL has ASCII characters only.
    """CREATE OR REPLACE FUNCTION treadle.holds(
            folded text[], name text, input text, output text, literal text
        ) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT CASE WHEN $1 IS NULL THEN
            strpos(lower($2 COLLATE "C"), $5) > 0 OR strpos(lower($3 COLLATE "C"), $5) > 0
            OR strpos(lower($4 COLLATE "C"), $5) > 0
        ELSE strpos($1[1], $5) > 0 OR strpos($1[2], $5) > 0 OR strpos($1[3], $5) > 0 END $$""",
)
