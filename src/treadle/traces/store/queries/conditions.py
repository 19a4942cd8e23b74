"""Conditions on spans as SQL, and the full-text matches that they need.

The full-text index contains words: sequences of letters and digits, without case and accents. The
index finds candidates. A term with other characters, such as `foo_bar`, `50%` or `not found`, must
also be in the text of a candidate literally. The text is stored with the index.
"""

import json
import operator
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from treadle.database import Connection
from treadle.spans.span import OWN_LABELS
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query import patterns
from treadle.traces.query.amounts import number_in
from treadle.traces.query.conditions import PROPERTIES, Condition, Field, Operator, Query
from treadle.traces.store.properties import encoded_pair
from treadle.traces.store.schema import KEY_BITS
from treadle.traces.store.statements import Value, packed, plain
from treadle.traces.store.text_index import in_word, words_of

_ESCAPE = re.compile(r"\\\w\Z")
"""Matches an escape such as `\\n` at the end of a text.

The index treats the letter of an escape as a part of the following word.
"""


@dataclass(frozen=True, slots=True)
class TextTerm:
    """How the store tests one text condition."""

    match: str | None
    """The argument of MATCH. It is None if the term does not contain a word of the index."""
    literal: str | None
    """The case-folded text that a span must contain. It is None if MATCH is enough."""


def text_term(condition: Condition) -> TextTerm:
    """Return the term of a condition on the text."""
    text = str(condition.values[0])
    begins = condition.operator is Operator.BEGINS
    known = _ESCAPE.sub(" ", text)
    words = words_of(known)
    single = all(map(in_word, text))
    match = None
    if words and not any(map(_unspaced, text)):
        phrase = " ".join(words)
        # The last word may be the beginning of a longer word.
        match = f'"{phrase}"' + (" *" if begins and in_word(known[-1]) else "")
    return TextTerm(match, None if single and match else text.casefold())


def register_functions(connection: Connection) -> None:
    """Add the SQL functions of conditions to a SQLite connection.

    `holds` returns whether a case-folded text of a span contains a literal. `number_in` returns the
    number that the whole text represents, or NULL. The function of `member` is added too.
    """
    if not isinstance(connection, sqlite3.Connection):
        return  # the tables of other engines come with these functions
    connection.create_function("holds", 4, _holds, deterministic=True)
    connection.create_function("number_in", 1, _number_in, deterministic=True)
    connection.create_function("json_member", 2, _json_member, deterministic=True)


def member(column: str) -> str:
    """Return SQL for the text of the member `e` of the JSON in `column`, as bytes.

    SQLite cuts a text of JSON at its first NUL, and decodes a lone surrogate to text that is not
    valid UTF-8.
    """
    return (
        f"CASE WHEN instr({column}, '\\u0000') > 0 THEN json_member({column}, e.key)"
        " ELSE CAST(e.value AS BLOB) END"
    )


def _json_member(text: str, key: str | int) -> bytes:
    return str(json.loads(text)[key]).encode("utf-8", "surrogatepass")


def _holds(*values: str | bytes | None) -> bool:
    *texts, literal = (
        value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""
        for value in values
    )
    return any(literal in text.casefold() for text in texts)


def _number_in(text: str | bytes) -> float | None:
    return None if isinstance(text, bytes) else number_in(text)


def _unspaced(character: str) -> bool:
    """Return whether the script of a character has no spaces between words.

    The index contains whole clauses of such text. The scripts are Chinese, Japanese, Thai, Lao,
    Khmer and Burmese.
    """
    return (
        "\u0e00" <= character <= "\u0eff"
        or "\u1000" <= character <= "\u109f"
        or "\u1780" <= character <= "\u17ff"
        or "\u3040" <= character <= "\u30ff"
        or "\u3400" <= character <= "\u9fff"
        or "\U00020000" <= character <= "\U0003ffff"
    )


COMPARISONS = {
    Operator.MORE: operator.gt,
    Operator.AT_LEAST: operator.ge,
    Operator.LESS: operator.lt,
    Operator.AT_MOST: operator.le,
}

_SPILL_US = 1_000_000
"""The time in a span's key is at most this many microseconds after the span's start.

See `SpanKeys`.
"""

TOKENS = "coalesce(s.input_tokens, 0) + coalesce(s.output_tokens, 0)"

_NUMBERS = {
    Field.COST: "s.cost_nano",
    Field.DURATION: "s.duration_us",
    Field.TTFT: "s.ttft_us",
    Field.INPUT: "s.input_tokens",
    Field.OUTPUT: "s.output_tokens",
    Field.CACHED: "s.cached_tokens",
    Field.START: "s.start_us",
    Field.TOKENS: f"iif(coalesce(s.input_tokens, s.output_tokens) IS NULL, NULL, {TOKENS})",
}
_COLUMNS = {
    Field.SPAN: "s.span_id",
    Field.PARENT: "s.parent_id",
    Field.KIND: "s.kind",
    Field.OPERATION: "s.operation",
    Field.NAME: "s.name",
    Field.STATUS: "s.status",
    Field.MODEL: "s.model",
    Field.PROVIDER: "s.provider",
}
_TRACES = {
    Field.TRACE: "SELECT id FROM traces WHERE trace_id IN ({})",
    Field.RUN: "SELECT id FROM traces WHERE run_id IN ({})",
    Field.THREAD: """SELECT traces.id FROM runs JOIN traces USING (run_id)
        WHERE runs.thread_id IN ({})""",
}
_ROLLED = {Field.MODEL: "model", Field.OPERATION: "operation", Field.LABEL: "label"}
"""Fields for which `rollups` has all values, with the number of spans of each value."""

_NAMED = {
    Field.NAME: "SELECT min(name) FROM spans INDEXED BY spans_by_name WHERE name > ?",
    Field.PROVIDER: """
        SELECT min(provider) FROM spans INDEXED BY spans_by_provider
        WHERE provider IS NOT NULL AND provider > ?""",
}
"""Maps a field that is not in `rollups` to SQL that finds its next value in an index."""

_NAMED_VALUES = "SELECT value FROM properties WHERE name = ? ORDER BY value LIMIT ?"

_FEW_VALUES = 10
"""The maximum number of values of a property that are searched in the row of each span."""

_MAX_NAMES = 5_000
_MAX_SIMILAR = 500
"""The maximum number of values that may replace a pattern on a field of `_NAMED`.

A pattern that matches more values is tested on each span. The same applies to a pattern on a field
with more than `_MAX_NAMES` values.
"""

_KNOWN_VALUES = """
    WITH RECURSIVE known (value) AS (
        SELECT min(value) FROM rollups WHERE dimension = ?1
        UNION ALL
        SELECT (SELECT min(value) FROM rollups WHERE dimension = ?1 AND value > known.value)
        FROM known WHERE value IS NOT NULL
    )
    SELECT value FROM known WHERE value IS NOT NULL"""


@dataclass(frozen=True, slots=True)
class Sql:
    """A part of a SQL statement, with the values of its placeholders."""

    text: str
    values: tuple[Any, ...] = ()


ALL = Sql("TRUE")
"""The condition that every row meets."""


_OF_OTHERS = Sql(
    f"(s.labels IS NULL OR NOT ({' OR '.join(['instr(s.labels, ?) > 0'] * len(OWN_LABELS))}))",
    tuple(map(json.dumps, OWN_LABELS)),
)
"""The condition that a span has none of Treadle's own labels.

The condition needs no join, because the index `spans_in_short` contains `labels`.
"""


def joined(parts: Iterable[Sql], between: str = " AND ") -> Sql:
    """Join the parts with `between`. Without parts, the result is the condition `TRUE`."""
    parts = tuple(parts)
    return Sql(
        between.join(part.text for part in parts) or ALL.text,
        tuple(value for part in parts for value in part.values),
    )


def listing(values: Sequence[object]) -> tuple[str, tuple[Value, ...]]:
    """Return placeholders for `IN (…)`, and the values as the database stores them.

    Without values the placeholder is NULL, which equals nothing. SQLite would not use an index for
    `IN ()`.
    """
    kept = tuple(packed(each) if isinstance(each, str) else int(str(each)) for each in values)
    return ", ".join("?" * len(kept)) or "NULL", kept


def resolved(connection: Connection, query: Query) -> Query:
    """Replace each pattern in `query` by the values that it matches, if its field has few values.

    If no span in the period has an excluded label, the condition on this label is removed. The
    switch `own` is removed too, because every span meets it.

    """
    return Query(
        tuple(
            _resolve(connection, each)
            for each in query.conditions
            if each.field is not Field.OWN and not _excludes_nothing(connection, each, query)
        )
    )


def on_spans(condition: Condition) -> Sql:
    """Return a condition on the row `s` of `spans`.

    An unknown value meets only negated conditions.
    """
    if condition in OF_OTHERS.conditions:
        return _OF_OTHERS
    sql = _positive(condition)
    return Sql(f"({sql.text}) IS NOT TRUE", sql.values) if condition.negated else sql


def known_values(connection: Connection, dimension: str) -> list[str]:
    """Return all values of a dimension of `rollups`, in order."""
    return [plain(value) for (value,) in connection.execute(_KNOWN_VALUES, (dimension,))]


def key_bounds(query: Query, key: str) -> Sql:
    """Return the range of keys that the times in `query` allow.

    The range may include spans that start later. `key` is the column that contains the keys.
    """
    parts = []
    for condition in query.of(Field.START):
        if condition.negated or condition.operator is Operator.IS:
            continue
        moment = min(max(int(condition.values[0]), -(1 << 51)), 1 << 51)
        if condition.operator in {Operator.AT_LEAST, Operator.MORE}:
            parts.append(Sql(f"{key} >= ?", (moment << KEY_BITS,)))
        else:
            parts.append(Sql(f"{key} < ?", ((moment + _SPILL_US) << KEY_BITS,)))
    return joined(parts)


def _resolve(connection: Connection, condition: Condition) -> Condition:
    if condition.operator is not Operator.LIKE and not _compares_metadata(condition):
        return condition
    if condition.field in _ROLLED:
        known = known_values(connection, _ROLLED[condition.field])
    elif condition.field in _NAMED:
        known = _names(connection, _NAMED[condition.field])
    elif condition.field in PROPERTIES:
        limits = (condition.about.value, _MAX_NAMES + 1)
        known = [plain(value) for (value,) in connection.execute(_NAMED_VALUES, limits)]
    else:
        return condition
    if condition.field not in _ROLLED and len(known) > _MAX_NAMES:
        return condition
    if _compares_metadata(condition):
        matches = partial(_compares, condition.operator, float(condition.values[0]))
        return replace(condition, operator=Operator.IS, values=tuple(filter(matches, known)))
    fitting = [patterns.compiled(str(value)) for value in condition.values]
    values = tuple(
        value for value in known if value and any(pattern.fullmatch(value) for pattern in fitting)
    )
    if condition.field in _NAMED and len(values) > _MAX_SIMILAR:
        return condition
    return replace(condition, operator=Operator.IS, values=values)


def _compares_metadata(condition: Condition) -> bool:
    return condition.field is Field.METADATA and condition.operator in COMPARISONS


def _compares(operator: Operator, bound: float, text: str) -> bool:
    """Return whether the text is a number that meets the comparison with `bound`."""
    number = number_in(text)
    return number is not None and bool(COMPARISONS[operator](number, bound))


def _excludes_nothing(connection: Connection, condition: Condition, query: Query) -> bool:
    if (condition.field, condition.operator) != (Field.LABEL, Operator.IS):
        return False
    bounds = key_bounds(query, "span")
    labelled = f"SELECT 1 FROM span_labels WHERE label = ? AND {bounds.text} LIMIT 1"
    return condition.negated and not any(
        connection.execute(labelled, (packed(str(label)), *bounds.values)).fetchone()
        for label in condition.values
    )


def _names(connection: Connection, following: str) -> list[str]:
    """Return the values of a field in order, at most one more than `_MAX_NAMES`.

    Each value takes one step in the index.
    """
    found: list[str] = []
    value: Value = ""
    while len(found) <= _MAX_NAMES:
        (value,) = connection.execute(following, (value,)).fetchone()
        if value is None:
            break
        found.append(plain(value))
    return found


def _positive(condition: Condition) -> Sql:
    field = condition.field
    if field is Field.ERROR:
        return Sql("s.status = 'error'")
    if field is Field.TEXT:
        return _holding(condition)
    if field in _NUMBERS:
        return compared(_NUMBERS[field], condition)
    if field in PROPERTIES and condition.operator is not Operator.IS:
        return _in_property(condition)
    if condition.operator is Operator.LIKE:
        return _alike(_COLUMNS[field], condition.values)
    return _equal(condition)


def _in_property(condition: Condition) -> Sql:
    """Return SQL that reads the property from the row of a span and tests its value."""
    if _compares_metadata(condition):
        bound = float(condition.values[0])
        fits = Sql(f"number_in(e.value) {condition.operator.value} ?", (bound,))
    else:
        fits = _alike("e.value", condition.values)
    return Sql(
        f"EXISTS (SELECT 1 FROM json_each(s.properties) e WHERE e.key = ? AND {fits.text})",
        (condition.about.value, *fits.values),
    )


def _equal(condition: Condition) -> Sql:
    field = condition.field
    placeholders, values = listing(condition.values)
    if field in _TRACES:
        return Sql(f"s.trace IN ({_TRACES[field].format(placeholders)})", values)
    if field is Field.LABEL:
        # The subquery refers to the span. Otherwise SQLite would list all spans with the label.
        return Sql(
            "EXISTS (SELECT 1 FROM span_labels"
            f" WHERE span_labels.span = s.id AND span_labels.label IN ({placeholders}))",
            values,
        )
    if field in PROPERTIES and len(values) <= _FEW_VALUES:
        # The index `spans_in_short` contains the column, so this needs no look-up for each span.
        found = [encoded_pair(condition.about.value, str(each)) for each in condition.values]
        tests = " OR ".join(["instr(s.properties, ?) > 0"] * len(found)) or "FALSE"
        return Sql(f"({tests})", tuple(found))
    if field in PROPERTIES:
        return Sql(
            "EXISTS (SELECT 1 FROM span_properties p"
            f" WHERE p.span = s.id AND p.name = ? AND p.value IN ({placeholders}))",
            (condition.about.value, *values),
        )
    return Sql(f"{_COLUMNS[field]} IN ({placeholders})", values)


def compared(column: str, condition: Condition) -> Sql:
    """Return a comparison of `column` with the integers of the condition."""
    if condition.operator is Operator.IS:
        placeholders, values = listing(condition.values)
        return Sql(f"{column} IN ({placeholders})", values)
    return Sql(f"{column} {condition.operator.value} ?", (int(condition.values[0]),))


def _alike(column: str, values: Sequence[object]) -> Sql:
    globs = tuple(patterns.glob(str(value)) for value in values)
    return Sql(f"({' OR '.join([f'lower({column}) GLOB ?'] * len(globs))})", globs)


def _holding(condition: Condition) -> Sql:
    """Return the condition that a text of the span contains the term, tested on each span."""
    term = text_term(condition)
    parts = [Sql("x.rowid = s.id")]
    if term.match is not None:
        parts.append(Sql("x.texts MATCH ?", (term.match,)))
    if term.literal is not None:
        parts.append(literally("x", term.literal))
    where = joined(parts)
    return Sql(f"EXISTS (SELECT 1 FROM texts x WHERE {where.text})", where.values)


def literally(table: str, literal: str) -> Sql:
    """Return the condition that a text of a row of `texts` contains the literal."""
    columns = ", ".join(f"{table}.{column}" for column in ("name", "input", "output"))
    return Sql(f"holds({columns}, ?)", (packed(literal),))
