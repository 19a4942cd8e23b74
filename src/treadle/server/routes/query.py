"""Help for queries: the names of the query language, parsed texts, and values to choose from."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from treadle.clock import SystemClock
from treadle.errors import UsageError
from treadle.json_schemas import json_responses
from treadle.server.responses import json_response
from treadle.server.routes.traces import Filter
from treadle.server.state import CurrentServer
from treadle.traces.query import QuerySyntaxError, Rows
from treadle.traces.query.language import Term, parse_terms
from treadle.traces.query.vocabulary import NAMES, VOCABULARY, Takes
from treadle.traces.query.writing import write_value
from treadle.traces.store.reading.facets import COUNTED
from treadle.traces.store.reading.runs import of_the_whole
from treadle.traces.store.results import ValueCount, Values

router = APIRouter(tags=["query"])

MOST_CHARACTERS = 20_000
"""Limits of a query that a person types."""


class QueryField(BaseModel):
    """A field of the query language.

    `choices` are all its values if they are fixed. `listed`: `/query/values` knows values. In
    lists, a field applies to the spans of a row, one of which must match. Fields in `of_the_whole`
    apply to the row itself.
    """

    name: str
    aliases: tuple[str, ...]
    description: str
    takes: Takes
    operators: tuple[str, ...]
    choices: tuple[str, ...]
    listed: bool
    of_the_whole: tuple[Rows, ...]


class QueryFields(BaseModel):
    """All fields of the query language, the most used ones first."""

    data: list[QueryField]


class TermValue(BaseModel):
    """A value in the text: its meaning, and whether it contains a wildcard."""

    text: str
    wildcard: bool
    start: int
    end: int


class QueryTerm(BaseModel):
    """A condition in the text, with its negation. One of its values must match.

    `field` is the name of the field, even if the text has an alias; `text` for plain words.
    """

    start: int
    end: int
    field: str
    operator: str
    negated: bool
    values: list[TermValue]


class QueryProblem(BaseModel):
    """A problem of the text, its position, and a correct form."""

    start: int
    message: str
    hint: str | None


class ParsedQuery(BaseModel):
    """The terms of a query; with a problem, the terms before it.

    Positions count UTF-16 code units from 0, as JavaScript does. An end is exclusive.
    """

    terms: list[QueryTerm]
    problem: QueryProblem | None


class Completing(Filter):
    """The field, and a text that its values contain."""

    field: str = Field(description="a name of the query language")
    prefix: str = Field("", max_length=1_000, description="the beginning or a part of the value")
    limit: int = Field(20, ge=1, le=1_000)


class Faceting(Filter):
    """The list, and the number of values of each facet."""

    rows: Rows = Rows.SPANS
    limit: int = Field(20, ge=1, le=1_000)


class FieldValue(TypedDict):
    """A value, its count, and its form in a query, quoted if necessary.

    `count` is null if it was not counted.
    """

    value: str
    count: int | None
    written: str


class FieldValues(TypedDict):
    """Values of a field, most frequent first. `more`: there are others."""

    field: str
    values: list[FieldValue]
    more: bool


class FacetList(TypedDict):
    """The facets of a list. `complete` is false if only the newest matches were counted."""

    rows: Rows
    data: list[FieldValues]
    complete: bool


@router.get("/query/fields")
async def fields() -> QueryFields:
    """The fields of the query language, for completion and help."""
    return QueryFields(
        data=[
            QueryField(
                name=each.name,
                aliases=each.aliases,
                description=each.description,
                takes=each.takes,
                operators=each.operators,
                choices=each.choices,
                listed=bool(each.choices) or each.field in COUNTED,
                of_the_whole=of_the_whole(each.field),
            )
            for each in VOCABULARY
        ]
    )


@router.get("/query/parse")
async def parse(query: Annotated[str, Query(max_length=MOST_CHARACTERS)] = "") -> ParsedQuery:
    """Parse a query. An incomplete query is valid input: the answer has a `problem`."""
    terms: list[QueryTerm] = []
    try:
        for term in parse_terms(query, now_us=SystemClock().now_us()):
            terms.append(_told(query, term))  # noqa: PERF401  (those before a problem are kept)
    except QuerySyntaxError as error:
        start = _place(query, error.column - 1)
        problem = QueryProblem(start=start, message=error.what, hint=error.hint)
        return ParsedQuery(terms=terms, problem=problem)
    return ParsedQuery(terms=terms, problem=None)


@router.get("/query/values", response_class=Response, responses=json_responses(FieldValues))
async def values(
    server: CurrentServer, asked: Annotated[Completing, Query()], request: Request
) -> Response:
    """Values of a field that contain a text, those that begin with it first."""
    name = NAMES.get(asked.field.lower())
    if name is None:
        raise UsageError(
            f"There is no field {asked.field!r}.", hint="GET /api/v1/query/fields lists them."
        )

    def make() -> FieldValues:
        if name.choices and name.field not in COUNTED:
            held = [each for each in name.choices if asked.prefix.lower() in each]
            told = [FieldValue(value=each, count=None, written=each) for each in held]
            cut = told[: asked.limit]
            return FieldValues(field=name.name, values=cut, more=len(told) > len(cut))
        found = server.traces.values(
            name.field, asked.wanted(), text=asked.prefix, limit=asked.limit
        )
        return _values(name.name, found)

    return await json_response(request, make)


@router.get("/facets", response_class=Response, responses=json_responses(FacetList))
async def facets(
    server: CurrentServer, asked: Annotated[Faceting, Query()], request: Request
) -> Response:
    """The facets of a list.

    They count the rows of each status, model, label and so on. Each facet ignores the conditions on
    itself, so that a choice can be changed.
    """

    def make() -> FacetList:
        found = server.traces.facets(asked.rows, asked.wanted(), limit=asked.limit)
        data = [_values(field.value, each) for field, each in found.values.items()]
        return FacetList(rows=asked.rows, data=data, complete=found.complete)

    return await json_response(request, make)


def _values(field: str, found: Values) -> FieldValues:
    return FieldValues(field=field, values=[_value(each) for each in found.data], more=found.more)


def _value(found: ValueCount) -> FieldValue:
    return FieldValue(value=found.value, count=found.count, written=write_value(found.value))


def _told(text: str, term: Term) -> QueryTerm:
    return QueryTerm(
        start=_place(text, term.start),
        end=_place(text, term.end),
        field=term.name,
        operator=term.operator,
        negated=term.negated,
        values=[
            TermValue(
                text=value.text,
                wildcard=value.special,
                start=_place(text, value.start),
                end=_place(text, value.end),
            )
            for value in term.values
        ],
    )


def _place(text: str, place: int) -> int:
    """The position of a character in UTF-16 code units."""
    return len(text[:place].encode("utf-16-le", "surrogatepass")) // 2
