"""Help with queries: the names of their language, what a text says in it, values to choose from."""

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
"""Of a query that is looked at while it is typed."""


class QueryField(BaseModel):
    """A name that may stand before a value.

    `choices` are all its values, where those are fixed. `listed` says that `/query/values` knows
    values of it. Lists have it of a row's spans, one of which has to fit, but for those in
    `of_the_whole`, where it is about the row itself.
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
    """All names of the query language, those that are used most first."""

    data: list[QueryField]


class TermValue(BaseModel):
    """A value as it stands in the text: what it says, and whether a part of it is a wildcard."""

    text: str
    wildcard: bool
    start: int
    end: int


class QueryTerm(BaseModel):
    """A condition as it stands in the text, with what turns it round. Of its values one must fit.

    `field` is the name of a query field, whatever alias was written; `text` for words alone.
    """

    start: int
    end: int
    field: str
    operator: str
    negated: bool
    values: list[TermValue]


class QueryProblem(BaseModel):
    """What cannot be read, where, and what would be right."""

    start: int
    message: str
    hint: str | None


class ParsedQuery(BaseModel):
    """The terms of a query; where there is a problem, those before it.

    Places count UTF-16 code units from 0, as JavaScript does; an end is the place behind.
    """

    terms: list[QueryTerm]
    problem: QueryProblem | None


class Completing(Filter):
    """Of which field values are asked for, and what they hold."""

    field: str = Field(description="a name of the query language")
    prefix: str = Field("", max_length=1_000, description="the beginning or a part of the value")
    limit: int = Field(20, ge=1, le=1_000)


class Faceting(Filter):
    """Which list is to be narrowed, and how many values of each facet are told of."""

    rows: Rows = Rows.SPANS
    limit: int = Field(20, ge=1, le=1_000)


class FieldValue(TypedDict):
    """A value, how many have it, and how it is written in a query: in quotes where need be.

    `count` is null where it was not counted.
    """

    value: str
    count: int | None
    written: str


class FieldValues(TypedDict):
    """Values of a field, those that most have first; `more` says that there are others."""

    field: str
    values: list[FieldValue]
    more: bool


class FacetList(TypedDict):
    """The facets of a list. `complete` is false where so many fit that only the newest count."""

    rows: Rows
    data: list[FieldValues]
    complete: bool


@router.get("/query/fields")
async def fields() -> QueryFields:
    """What the query language knows: for completion and help."""
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
    """What a text says in the query language. Half a query is no failure: it has a `problem`."""
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
    """Values of a field that hold a text, those that begin with it first, among spans that fit."""
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
    """What a list can be narrowed to.

    How many of its rows have each status, model, label and so on; each is counted without the
    conditions on itself, so that a choice can be changed.
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
    """The place of a character, in UTF-16 code units."""
    return len(text[:place].encode("utf-16-le", "surrogatepass")) // 2
