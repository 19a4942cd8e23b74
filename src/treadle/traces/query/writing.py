"""A query back into the query language."""

import re

from treadle.traces.query import patterns
from treadle.traces.query.amounts import write_amount
from treadle.traces.query.conditions import NUMERIC, Condition, Field, Operator, Query

_PLAIN = re.compile(r"[^\s\",*?\\]+")
_COMPARISON = ("<", ">", "=")
"""A value that begins so would be read as the end of the operator before it."""


def format_query(query: Query) -> str:
    """A text that `parse_query` reads as `query`."""
    return " ".join(map(_term, query.conditions))


def _term(condition: Condition) -> str:
    return f"{'-' if condition.negated else ''}{_positive(condition)}"


def _positive(condition: Condition) -> str:
    field, operator, values = condition.field, condition.operator, condition.values
    if field is Field.ERROR:
        return "has:error"
    if field is Field.TEXT:
        (text,) = values
        return _quoted(str(text)) + ("*" if operator is Operator.BEGINS else "")
    if field in NUMERIC:
        compared = ":" if operator is Operator.IS else operator.value
        return f"{field}{compared}{','.join(write_amount(field, int(each)) for each in values)}"
    if operator is Operator.LIKE:
        return f"{field}:{','.join(_pattern(str(each)) for each in values)}"
    return f"{field}:{','.join(write_value(str(each)) for each in values)}"


def write_value(text: str) -> str:
    """A value as it has to be written so that it stands for itself: in quotes where need be."""
    plain = _PLAIN.fullmatch(text) and not text.startswith(_COMPARISON)
    return text if plain else _quoted(text)


def _pattern(pattern: str) -> str:
    return "".join(
        character if special else write_value(character)
        for special, character in patterns.tokens(pattern)
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
