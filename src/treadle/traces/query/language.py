"""The query language for people: `status:error model:gpt* cost>0.01 label:search "not found"`.

A query is a list of terms, and a span must match all of them. A term is a field with its values, or
text that the span must contain. A `-` before a term negates the term. A `not` before a field or a
quotation mark also negates the term. In `file not found`, `not` is a plain word.
`docs/trace-queries.md` shows the language by example.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from treadle.errors import UsageError
from treadle.traces.query import patterns
from treadle.traces.query.amounts import number_in, read_amount, write_amount
from treadle.traces.query.conditions import (
    NUMERIC,
    Condition,
    Field,
    MetadataKey,
    Operator,
    Query,
)
from treadle.traces.query.moments import read_moment, read_period
from treadle.traces.query.vocabulary import NAMES, Name, Takes

T = TypeVar("T")

_NAME = r"(?:[mM][eE][tT][aA][dD][aA][tT][aA]\.(?:\"(?:[^\"\\]|\\.)+\"|[^\s\",:=<>]+)|[A-Za-z_]+)"
_HEAD = re.compile(rf"(?P<name>{_NAME})(?P<operator>:(?:>=|<=|>|<)|:|>=|<=|>|<|=)")
_NOT = re.compile(rf"not\s+(?=-?(?:{_NAME}(?:[:=]|[<>])|\"))", re.IGNORECASE)
_BARE = re.compile(r'[^\s",]+')
_TEXT = re.compile(r'[^\s"]+')

_COMPARISONS = {"": Operator.IS, "=": Operator.IS} | {
    operator.value: operator
    for operator in (Operator.MORE, Operator.AT_LEAST, Operator.LESS, Operator.AT_MOST)
}


MAX_VALUES = 300
"""The maximum number of values in a query.

Each value can make the SQL expression deeper, and SQLite refuses an expression with more than 1,000
levels.
"""


class QuerySyntaxError(UsageError):
    """A query that cannot be parsed. `what` states the error at `column`, counted from 1."""

    def __init__(self, text: str, column: int, what: str, hint: str) -> None:
        super().__init__(f"The query cannot be read at column {column}: {what}", hint=hint)
        self.text = text
        self.column = column
        self.what = what


@dataclass(frozen=True, slots=True)
class Value:
    """A value as a pattern.

    Quoted characters match only themselves. The value is at `start` to `end` (exclusive) of the
    query, in characters from 0.
    """

    pattern: str
    start: int
    end: int

    @property
    def column(self) -> int:
        """The column at which the value begins, counted from 1."""
        return self.start + 1

    @property
    def special(self) -> bool:
        """Whether the value contains a wildcard."""
        return any(special for special, _ in patterns.tokens(self.pattern))

    @property
    def text(self) -> str:
        """The text without quotation marks."""
        return "".join(character for _, character in patterns.tokens(self.pattern))


@dataclass(frozen=True, slots=True)
class Term:
    """A term at `start` to `end` (exclusive) of the query, in characters from 0.

    `name` is a name of the vocabulary, or `text` for a term without a name. An `=` in the query
    becomes the `operator` `:`.
    """

    start: int
    end: int
    name: str
    operator: str
    values: tuple[Value, ...]
    negated: bool
    conditions: tuple[Condition, ...]


def parse_query(text: str, *, now_us: int) -> Query:
    """Return the conditions of the query `text`. Relative times are relative to `now_us`.

    Raises QuerySyntaxError, which states the column and how to correct the query.
    """
    terms = parse_terms(text, now_us=now_us)
    return Query(tuple(each for term in terms for each in term.conditions))


def parse_terms(text: str, *, now_us: int) -> Iterator[Term]:
    """Return an iterator over the terms of a query.

    The iterator yields the terms before the first error, and then raises QuerySyntaxError.
    """
    return _Parser(text, now_us).terms()


class _Parser:
    def __init__(self, text: str, now_us: int) -> None:
        self._text = text
        self._now_us = now_us
        self._place = 0

    def terms(self) -> Iterator[Term]:
        count = 0
        while True:
            self._skip_blanks()
            if self._place == len(self._text):
                return
            start = self._place
            term = self._term()
            count += len(term.values)
            if count > MAX_VALUES:
                raise self._error(
                    start + 1,
                    f"it has more than {MAX_VALUES} values.",
                    "Split it into several queries.",
                )
            yield term

    def _term(self) -> Term:
        start = self._place
        negated = self._negation()
        head = _HEAD.match(self._text, self._place)
        if head is None:
            value = self._value(_TEXT)
            searched = (_searched(value, negated=negated),)
            text = Field.TEXT.value
            return Term(start, self._place, text, ":", (value,), negated, searched)
        self._place = head.end()
        metadata = MetadataKey.read(head["name"])
        written = "metadata" if metadata else head["name"].lower()
        operator = head["operator"].removeprefix(":")
        values = self._values(start)
        name = self._name(written, head.start() + 1)
        if name.keyed and not metadata:
            raise self._error(
                head.start() + 1,
                f"{written} has no key.",
                f"Write the key after a dot, such as `{written}.tenant:{values[0].text}`.",
            )
        key = metadata.key if metadata else ""
        found = self._compared(name, written, operator, values, head.start() + 1)
        if negated and len(found) > 1:
            raise self._error(
                start + 1, "a range cannot be negated.", "Compare with its ends, using < or >."
            )
        conditions = tuple(replace(each, negated=negated, key=key) for each in found)
        shown = ":" if operator == "=" else operator or ":"
        full_name = metadata.written if metadata else name.name
        return Term(start, self._place, full_name, shown, tuple(values), negated, conditions)

    def _negation(self) -> bool:
        """Skip `-` or `not`, and return whether the next term is negated."""
        negated = False
        if found := _NOT.match(self._text, self._place):
            negated, self._place = True, found.end()
        if self._text.startswith("-", self._place) and not self._blank_at(self._place + 1):
            negated, self._place = not negated, self._place + 1
        return negated

    def _values(self, start: int) -> list[Value]:
        values = []
        while True:
            if self._blank_at(self._place) or self._text.startswith(",", self._place):
                term = self._text[start : self._place]
                raise self._error(
                    self._place + 1,
                    f"a value is missing after {term!r}.",
                    "Write the value without a space before it, such as `model:gpt*`;"
                    " put text to search for in quotes.",
                )
            values.append(self._value(_BARE))
            if not self._text.startswith(",", self._place):
                return values
            self._place += 1

    def _value(self, bare: re.Pattern[str]) -> Value:
        """Read a value, which consists of bare and quoted parts without spaces between them."""
        start = self._place
        parts = []
        while True:
            if self._text.startswith('"', self._place):
                parts.append(patterns.literal(self._quoted()))
            elif found := bare.match(self._text, self._place):
                parts.append(found[0].replace("\\", "\\\\"))
                self._place = found.end()
            else:
                return Value("".join(parts), start, self._place)

    def _quoted(self) -> str:
        opened = self._place
        self._place += 1
        kept: list[str] = []
        while self._place < len(self._text):
            character = self._text[self._place]
            self._place += 1
            if character == '"':
                return "".join(kept)
            if character == "\\" and self._text[self._place : self._place + 1] in {'"', "\\"}:
                character = self._text[self._place]
                self._place += 1
            kept.append(character)
        raise self._error(opened + 1, "this quotation mark is never closed.", 'Add a `"`.')

    def _name(self, written: str, column: int) -> Name:
        if (name := NAMES.get(written)) is not None:
            return name
        raise self._error(
            column,
            f"there is no field {written!r}.",
            f"{_meant(written, tuple(NAMES))}To search for it as text, put it in quotes.",
        )

    def _compared(
        self, name: Name, written: str, operator: str, values: list[Value], column: int
    ) -> list[Condition]:
        if name.short:
            return self._special(name.name, operator, values, column)
        if name.field in NUMERIC:
            return self._numeric(name.field, _COMPARISONS[operator], values)
        if operator not in {"", "="}:
            if name.keyed:
                return [self._metadata_number(name, _COMPARISONS[operator], values)]
            raise self._error(
                column, f"{written} has no order.", f"Write `{written}:{values[0].text}`."
            )
        if name.takes is Takes.TEXT:
            if len(values) > 1:
                raise self._error(
                    values[1].column, "a search text has no list of values.", "Put it in quotes."
                )
            return [Condition(name.field, Operator.CONTAINS, (values[0].text,))]
        return [self._equal(name, values)]

    def _equal(self, name: Name, values: list[Value]) -> Condition:
        if name.choices:
            chosen = tuple(self._choice(name, each) for each in values)
            return Condition(name.field, Operator.IS, chosen)
        if name.takes is Takes.PATTERN and any(value.special for value in values):
            fitting = tuple(name.prefix + value.pattern for value in values)
            return Condition(name.field, Operator.LIKE, fitting)
        return Condition(name.field, Operator.IS, tuple(name.prefix + v.text for v in values))

    def _choice(self, name: Name, value: Value) -> str:
        if value.text.lower() in name.choices:
            return value.text.lower()
        raise self._error(
            value.column,
            f"{name.name} is never {value.text!r}.",
            f"{_meant(value.text, name.choices)}It is one of {', '.join(name.choices)}.",
        )

    def _numeric(self, field: Field, operator: Operator, values: list[Value]) -> list[Condition]:
        first = values[0]
        low, dots, high = first.text.partition("..")
        if dots and operator is Operator.IS and len(values) == 1:
            return [
                Condition(field, Operator.AT_LEAST, (self._amount(field, first, low),)),
                Condition(field, Operator.AT_MOST, (self._amount(field, first, high),)),
            ]
        if len(values) > 1 and operator is not Operator.IS:
            raise self._error(values[1].column, "only one value can be compared.", "Give one.")
        return [
            Condition(
                field, operator, tuple(self._amount(field, value, value.text) for value in values)
            )
        ]

    def _metadata_number(self, name: Name, operator: Operator, values: list[Value]) -> Condition:
        if len(values) > 1:
            raise self._error(values[1].column, "only one value can be compared.", "Give one.")
        text = values[0].text
        if number_in(text) is None:
            raise self._error(
                values[0].column,
                f"{text!r} is not a number, and other values of the metadata have no order.",
                "Compare with a number, such as 5 or 0.5, or write a colon for an equal value.",
            )
        return Condition(name.field, operator, (text,))

    def _amount(self, field: Field, value: Value, text: str) -> int:
        return self._read(value, lambda: read_amount(field, text, self._now_us))

    def _special(
        self, name: str, operator: str, values: list[Value], column: int
    ) -> list[Condition]:
        if operator not in {"", "="} or len(values) > 1:
            raise self._error(column, f"{name} takes one value after a colon.", "Give one.")
        value = values[0]
        if name == "has":
            if value.text != "error":
                raise self._error(
                    value.column, f"nothing has {value.text!r}.", "Write `has:error`."
                )
            return [Condition(Field.ERROR, Operator.IS)]
        if name == "period":
            since, until = self._read(value, lambda: read_period(value.text, self._now_us))
            bounds = [Condition(Field.START, Operator.AT_LEAST, (since,))]
            if until is not None:
                bounds.append(Condition(Field.START, Operator.LESS, (until,)))
            return bounds
        moment = self._read(value, lambda: read_moment(value.text, self._now_us))
        compared = Operator.AT_LEAST if name == "since" else Operator.LESS
        return [Condition(Field.START, compared, (moment,))]

    def _read(self, value: Value, read: Callable[[], T]) -> T:
        try:
            return read()
        except ValueError as error:
            raise self._error(value.column, *_message_and_hint(error)) from error

    def _skip_blanks(self) -> None:
        while self._place < len(self._text) and self._text[self._place].isspace():
            self._place += 1

    def _blank_at(self, place: int) -> bool:
        return place >= len(self._text) or self._text[place].isspace()

    def _error(self, column: int, what: str, hint: str) -> QuerySyntaxError:
        return QuerySyntaxError(self._text, column, what, hint)


def _searched(value: Value, *, negated: bool) -> Condition:
    marks = patterns.tokens(value.pattern)
    if len(marks) > 1 and marks[-1] == (True, "*"):
        begun = "".join(character for _, character in marks[:-1])
        return Condition(Field.TEXT, Operator.BEGINS, (begun,), negated)
    return Condition(Field.TEXT, Operator.CONTAINS, (value.text,), negated)


def _meant(text: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(text.lower(), known, n=1)
    return f"Perhaps you mean {near[0]!r}. " if near else ""


def _message_and_hint(error: ValueError) -> tuple[str, str]:
    """Return the message and the hint of an error of `amounts` or `moments`."""
    what, hint = error.args
    return what, hint


_PLAIN = re.compile(r"[^\s\",*?\\]+")
_COMPARISON = ("<", ">", "=")
"""Characters that are operators. A value that begins with one of them is quoted."""


def format_query(query: Query) -> str:
    """Return a text that `parse_query` reads as `query`."""
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
    about = condition.about
    name = about.written if isinstance(about, MetadataKey) else about.value
    if operator not in {Operator.IS, Operator.LIKE}:
        return f"{name}{operator.value}{values[0]}"
    if operator is Operator.LIKE:
        return f"{name}:{','.join(_pattern(str(each)) for each in values)}"
    return f"{name}:{','.join(write_value(str(each)) for each in values)}"


def write_value(text: str) -> str:
    """Return a value in the syntax of the query language, quoted if necessary."""
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
