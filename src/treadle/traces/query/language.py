"""The query language for people: `status:error model:gpt* cost>0.01 label:search "not found"`.

A query is a row of terms, all of which must hold. A term is a field with its values, or text that
is searched for. `-` before it turns it round, and so does `not` before a field or quotes: in
`file not found` it is a word. `docs/trace-queries.md` shows the language by example.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from treadle.errors import UsageError
from treadle.traces.query import patterns
from treadle.traces.query.amounts import read_amount
from treadle.traces.query.conditions import NUMERIC, Condition, Field, Operator, Query
from treadle.traces.query.moments import read_moment, read_period
from treadle.traces.span import SpanKind, SpanStatus

T = TypeVar("T")

_HEAD = re.compile(r"(?P<name>[A-Za-z_]+)(?P<operator>:(?:>=|<=|>|<)|:|>=|<=|>|<|=)")
_NOT = re.compile(r"not\s+(?=-?(?:[A-Za-z_]+(?:[:=]|[<>])|\"))", re.IGNORECASE)
_BARE = re.compile(r'[^\s",]+')
_TEXT = re.compile(r'[^\s"]+')

_FIELDS = {field.value: field for field in Field if field is not Field.ERROR}
_ALIASES = {"op": Field.OPERATION, "labels": Field.LABEL, "first_token": Field.TTFT}
_SPECIAL = ("since", "until", "period", "has")
_CLOSED: dict[Field, type[SpanKind] | type[SpanStatus]] = {
    Field.KIND: SpanKind,
    Field.STATUS: SpanStatus,
}
_PATTERNS = frozenset({Field.OPERATION, Field.NAME, Field.LABEL, Field.MODEL, Field.PROVIDER})
_COMPARISONS = {"": Operator.IS, "=": Operator.IS} | {
    operator.value: operator
    for operator in (Operator.MORE, Operator.AT_LEAST, Operator.LESS, Operator.AT_MOST)
}


class QuerySyntaxError(UsageError):
    """A query that cannot be read. `column` counts characters from 1."""

    def __init__(self, text: str, column: int, what: str, hint: str) -> None:
        super().__init__(f"The query cannot be read at column {column}: {what}", hint=hint)
        self.text = text
        self.column = column


@dataclass(frozen=True, slots=True)
class _Value:
    """A value as it was written: a pattern, in which what was quoted stands for itself."""

    pattern: str
    column: int

    @property
    def special(self) -> bool:
        return any(special for special, _ in patterns.tokens(self.pattern))

    @property
    def text(self) -> str:
        return "".join(character for _, character in patterns.tokens(self.pattern))


def parse_query(text: str, *, now_us: int) -> Query:
    """The conditions that `text` asks for; `now_us` is what relative times count from.

    Raises QuerySyntaxError, which names the column and what would be right.
    """
    return Query(tuple(_Parser(text, now_us).conditions()))


class _Parser:
    def __init__(self, text: str, now_us: int) -> None:
        self._text = text
        self._now_us = now_us
        self._place = 0

    def conditions(self) -> Iterator[Condition]:
        while True:
            self._skip_blanks()
            if self._place == len(self._text):
                return
            yield from self._term()

    def _term(self) -> list[Condition]:
        start = self._place
        negated = self._negation()
        head = _HEAD.match(self._text, self._place)
        if head is None:
            return [self._searched(negated=negated)]
        self._place = head.end()
        name, operator = head["name"].lower(), head["operator"].removeprefix(":")
        values = self._values(start)
        found = self._compared(name, operator, values, head.start() + 1)
        if negated and len(found) > 1:
            raise self._error(
                start + 1, "a range cannot be turned round.", "Ask for what is below or above it."
            )
        return [
            Condition(each.field, each.operator, each.values, negated=negated) for each in found
        ]

    def _negation(self) -> bool:
        """Step over what turns the next term round."""
        negated = False
        if found := _NOT.match(self._text, self._place):
            negated, self._place = True, found.end()
        if self._text.startswith("-", self._place) and not self._blank_at(self._place + 1):
            negated, self._place = not negated, self._place + 1
        return negated

    def _searched(self, *, negated: bool) -> Condition:
        value = self._value(_TEXT)
        marks = patterns.tokens(value.pattern)
        if len(marks) > 1 and marks[-1] == (True, "*"):
            begun = "".join(character for _, character in marks[:-1])
            return Condition(Field.TEXT, Operator.BEGINS, (begun,), negated)
        return Condition(Field.TEXT, Operator.CONTAINS, (value.text,), negated)

    def _values(self, start: int) -> list[_Value]:
        values = []
        while True:
            if self._blank_at(self._place) or self._text.startswith(",", self._place):
                term = self._text[start : self._place]
                raise self._error(
                    self._place + 1,
                    f"a value is missing after {term!r}.",
                    "Write one without a blank before it, such as `model:gpt*`;"
                    " put text to search for in quotes.",
                )
            values.append(self._value(_BARE))
            if not self._text.startswith(",", self._place):
                return values
            self._place += 1

    def _value(self, bare: re.Pattern[str]) -> _Value:
        """Bare and quoted pieces that follow each other without a blank."""
        column = self._place + 1
        pieces = []
        while True:
            if self._text.startswith('"', self._place):
                pieces.append(patterns.literal(self._quoted()))
            elif found := bare.match(self._text, self._place):
                pieces.append(found[0].replace("\\", "\\\\"))
                self._place = found.end()
            else:
                return _Value("".join(pieces), column)

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

    def _compared(
        self, name: str, operator: str, values: list[_Value], column: int
    ) -> list[Condition]:
        if name in _SPECIAL:
            return self._special(name, operator, values, column)
        field = _FIELDS.get(name) or _ALIASES.get(name)
        if field is None:
            meant = _meant(name, (*_FIELDS, *_ALIASES, *_SPECIAL))
            raise self._error(
                column,
                f"there is no field {name!r}.",
                f"{meant}To search for it as text, put it in quotes.",
            )
        if field in NUMERIC:
            return self._numeric(field, _COMPARISONS[operator], values)
        if operator not in {"", "="}:
            raise self._error(column, f"{name} has no order.", f"Write `{name}:{values[0].text}`.")
        if field is Field.TEXT:
            if len(values) > 1:
                raise self._error(
                    values[1].column, "text is searched for as a whole.", "Put it in quotes."
                )
            return [Condition(field, Operator.CONTAINS, (values[0].text,))]
        return [self._equal(field, values)]

    def _equal(self, field: Field, values: list[_Value]) -> Condition:
        if closed := _CLOSED.get(field):
            return Condition(
                field, Operator.IS, tuple(self._member(field, closed, each) for each in values)
            )
        if field in _PATTERNS and any(value.special for value in values):
            return Condition(field, Operator.LIKE, tuple(value.pattern for value in values))
        return Condition(field, Operator.IS, tuple(value.text for value in values))

    def _member(self, field: Field, closed: Iterable[StrEnum], value: _Value) -> str:
        allowed = [each.value for each in closed]
        if value.text.lower() in allowed:
            return value.text.lower()
        raise self._error(
            value.column,
            f"{field.value} is never {value.text!r}.",
            f"{_meant(value.text, allowed)}It is one of {', '.join(allowed)}.",
        )

    def _numeric(self, field: Field, operator: Operator, values: list[_Value]) -> list[Condition]:
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

    def _amount(self, field: Field, value: _Value, text: str) -> int:
        return self._read(value, lambda: read_amount(field, text, self._now_us))

    def _special(
        self, name: str, operator: str, values: list[_Value], column: int
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

    def _read(self, value: _Value, read: Callable[[], T]) -> T:
        try:
            return read()
        except ValueError as error:
            raise self._error(value.column, *_told(error)) from error

    def _skip_blanks(self) -> None:
        while self._place < len(self._text) and self._text[self._place].isspace():
            self._place += 1

    def _blank_at(self, place: int) -> bool:
        return place >= len(self._text) or self._text[place].isspace()

    def _error(self, column: int, what: str, hint: str) -> QuerySyntaxError:
        return QuerySyntaxError(self._text, column, what, hint)


def _meant(text: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(text.lower(), known, n=1)
    return f"Perhaps you mean {near[0]!r}. " if near else ""


def _told(error: ValueError) -> tuple[str, str]:
    """What is wrong and what would be right, of an error of `amounts` or `moments`."""
    what, hint = error.args
    return what, hint
